//! Which variables a region assigns: what a loop or branch has to carry.
//!
//! A variable counts when the region assigns it, assigns a part of it, or borrows it mutably, and no
//! scope inside the region declares it. Names come in the order of their first assignment.

use std::collections::HashSet;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Ident, Local, Pat, Token};

/// The variables assigned in these parts of a region, in order, with the place of the first assignment.
pub(crate) fn assigned(exprs: &[&Expr], blocks: &[&Block]) -> Vec<Ident> {
    let mut finder = Finder { scopes: vec![HashSet::new()], found: vec![] };
    exprs.iter().for_each(|e| finder.visit_expr(e));
    blocks.iter().for_each(|b| finder.visit_block(b));
    finder.found
}

/// The variables that a pattern declares.
pub(crate) fn declared(pat: &Pat) -> Vec<(Ident, bool)> {
    struct Names(Vec<(Ident, bool)>);
    impl<'p> Visit<'p> for Names {
        fn visit_pat_ident(&mut self, pat: &'p syn::PatIdent) {
            self.0.push((pat.ident.clone(), pat.mutability.is_some()));
            visit::visit_pat_ident(self, pat);
        }
        // Expressions inside patterns declare nothing.
        fn visit_expr(&mut self, _: &'p Expr) {}
    }
    let mut names = Names(vec![]);
    names.visit_pat(pat);
    names.0
}

/// The variable of a place: `v`, `v[i]`, `v.f`, `*v`.
pub(crate) fn base(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Index(index) => base(&index.expr),
        Expr::Field(field) => base(&field.base),
        Expr::Paren(inner) => base(&inner.expr),
        Expr::Group(inner) => base(&inner.expr),
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => base(&unary.expr),
        _ => None,
    }
}

/// Whether an operator assigns to its left operand.
pub(crate) const fn assigns(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// Macros whose arguments are plain expressions. Others could assign what they capture.
pub(crate) const MACROS: [&str; 10] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "format",
    "vec",
];

/// The arguments of a macro that the language knows; `None` for others.
pub(crate) fn macro_arguments(call: &syn::Macro) -> Option<Punctuated<Expr, Token![,]>> {
    let name = call.path.segments.last()?;
    if !MACROS.iter().any(|known| name.ident == known) {
        return None;
    }
    Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone()).ok()
}

struct Finder {
    scopes: Vec<HashSet<String>>,
    found: Vec<Ident>,
}

impl Finder {
    fn declare(&mut self, pat: &Pat) {
        let scope = self.scopes.last_mut().expect("one scope is always open");
        scope.extend(declared(pat).into_iter().map(|(name, _)| name.to_string()));
    }

    fn scoped(&mut self, inside: impl FnOnce(&mut Finder)) {
        self.scopes.push(HashSet::new());
        inside(self);
        self.scopes.pop();
    }

    fn assign(&mut self, place: &Expr) {
        match place {
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|e| self.assign(e)),
            Expr::Array(array) => array.elems.iter().for_each(|e| self.assign(e)),
            Expr::Paren(inner) => self.assign(&inner.expr),
            Expr::Call(call) => call.args.iter().for_each(|e| self.assign(e)),
            Expr::Struct(value) => value.fields.iter().for_each(|f| self.assign(&f.expr)),
            _ => {
                if let Some(name) = base(place)
                    && !self.scopes.iter().any(|scope| scope.contains(&name.to_string()))
                    && !self.found.contains(name)
                {
                    self.found.push(name.clone());
                }
            }
        }
    }
}

impl<'e> Visit<'e> for Finder {
    fn visit_block(&mut self, block: &'e Block) {
        self.scoped(|inner| visit::visit_block(inner, block));
    }

    fn visit_local(&mut self, local: &'e Local) {
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
        self.declare(&local.pat);
    }

    fn visit_expr_assign(&mut self, assign: &'e syn::ExprAssign) {
        self.assign(&assign.left);
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_binary(&mut self, binary: &'e syn::ExprBinary) {
        if assigns(&binary.op) {
            self.assign(&binary.left);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_reference(&mut self, reference: &'e syn::ExprReference) {
        if reference.mutability.is_some() {
            self.assign(&reference.expr);
        }
        visit::visit_expr_reference(self, reference);
    }

    fn visit_expr_for_loop(&mut self, looped: &'e syn::ExprForLoop) {
        self.visit_expr(&looped.expr);
        self.scoped(|inner| {
            inner.declare(&looped.pat);
            inner.visit_block(&looped.body);
        });
    }

    fn visit_expr_closure(&mut self, closure: &'e syn::ExprClosure) {
        self.scoped(|inner| {
            closure.inputs.iter().for_each(|pat| inner.declare(pat));
            inner.visit_expr(&closure.body);
        });
    }

    fn visit_arm(&mut self, arm: &'e syn::Arm) {
        self.scoped(|inner| {
            inner.declare(&arm.pat);
            visit::visit_arm(inner, arm);
        });
    }

    // The pattern of `if let` and `while let` is in scope in what follows it.
    fn visit_expr_if(&mut self, branch: &'e syn::ExprIf) {
        self.scoped(|inner| visit::visit_expr_if(inner, branch));
    }

    fn visit_expr_while(&mut self, looped: &'e syn::ExprWhile) {
        self.scoped(|inner| visit::visit_expr_while(inner, looped));
    }

    fn visit_expr_let(&mut self, binding: &'e syn::ExprLet) {
        self.visit_expr(&binding.expr);
        self.declare(&binding.pat);
    }

    fn visit_macro(&mut self, call: &'e syn::Macro) {
        for argument in macro_arguments(call).into_iter().flatten() {
            // The arguments are parsed here and live only here: collect by a visit of their own.
            let mut inner = Finder { scopes: std::mem::take(&mut self.scopes), found: std::mem::take(&mut self.found) };
            Visit::visit_expr(&mut inner, &argument);
            (self.scopes, self.found) = (inner.scopes, inner.found);
        }
    }

    // Functions inside the kernel have variables of their own.
    fn visit_item(&mut self, _: &'e syn::Item) {}
}
