//! Which of Rust's control flow is the kernel's: ranges that are loops, and exits that are branches.

use syn::{BinOp, Block, Expr, Stmt, Token};

/// Whether a condition has a `let`: then it is a matter of Rust patterns, decided at build time.
pub(crate) fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

/// The bounds and step of a loop of the kernel.
pub(crate) struct Range {
    pub(crate) from: Expr,
    pub(crate) to: Expr,
    pub(crate) by: Option<Expr>,
}

/// `a..b` or `(a..b).step_by(n)`: a loop of the kernel; `None`: a loop of Rust.
pub(crate) fn range(expr: &Expr) -> syn::Result<Option<Range>> {
    match expr {
        Expr::Range(range) => {
            let refuse = |message| Err(syn::Error::new_spanned(range, message));
            if matches!(range.limits, syn::RangeLimits::Closed(_)) {
                return refuse("a loop of the kernel goes from `a` up to but without `b`: write `a..b + 1`");
            }
            match (&range.start, &range.end) {
                (Some(from), Some(to)) => Ok(Some(Range { from: (**from).clone(), to: (**to).clone(), by: None })),
                _ => refuse("a loop of the kernel has two bounds: `a..b`"),
            }
        }
        Expr::Paren(inner) => range(&inner.expr),
        Expr::Group(inner) => range(&inner.expr),
        Expr::MethodCall(call) => match range(&call.receiver)? {
            Some(inner) if call.method == "step_by" && call.args.len() == 1 && inner.by.is_none() => {
                Ok(Some(Range { by: Some(call.args[0].clone()), ..inner }))
            }
            Some(_) => {
                let message = "a loop of the kernel counts up: `a..b` or `(a..b).step_by(n)`; for any other order use `for i in unroll(a..b)` or compute the index";
                Err(syn::Error::new(call.method.span(), message))
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// `if c { …; EXIT; } rest` becomes `if c { … } else { rest }`, for each statement of a body.
pub(crate) fn early_exit(stmts: &mut Vec<Stmt>, exits: &dyn Fn(&Expr) -> bool) {
    let found = stmts.iter().position(|stmt| match stmt {
        Stmt::Expr(Expr::If(branch), _) if branch.else_branch.is_none() => {
            matches!(branch.then_branch.stmts.last(), Some(Stmt::Expr(last, _)) if exits(last))
        }
        _ => false,
    });
    let Some(at) = found else {
        // The exit as the last statement of a body does nothing.
        if matches!(stmts.last(), Some(Stmt::Expr(last, _)) if exits(last)) {
            stmts.pop();
        }
        return;
    };
    let mut rest = stmts.split_off(at + 1);
    early_exit(&mut rest, exits);
    let Some(Stmt::Expr(Expr::If(branch), _)) = stmts.last_mut() else { return };
    branch.then_branch.stmts.pop();
    let block = Block { brace_token: syn::token::Brace::default(), stmts: rest };
    let otherwise = Expr::Block(syn::ExprBlock { attrs: vec![], label: None, block });
    branch.else_branch = Some((Token![else](branch.if_token.span), Box::new(otherwise)));
}
