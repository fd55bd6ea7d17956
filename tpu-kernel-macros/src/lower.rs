//! Rewrites the body: comparisons, conditions and loops become calls that work at build time or record.
//!
//! Rules: what cannot be lowered is refused at its token, with what to write instead; the user's
//! tokens keep their spans; names made here cannot capture the user's.

use crate::carry;
use crate::control::{Range, early_exit, has_let, range};
use crate::errors::Errors;
use crate::scope::{Reference, Scopes};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Expr, ExprBinary, ExprForLoop, ExprIf, ExprWhile, Pat, Stmt};

/// What the rewriting needs to know of the function around the body.
pub(crate) struct Lower<'a> {
    /// Block sizes: numbers in value position.
    pub(crate) blocks: &'a [Ident],
    /// Grid indices by dimension; none in a helper.
    pub(crate) grid: &'a [Ident],
    pub(crate) errors: &'a mut Errors,
    pub(crate) scopes: Scopes,
    /// What the arms of a `match` and the closures of a method call take apart.
    pub(crate) taken: Reference,
    /// The loops around the current expression, innermost last.
    pub(crate) loops: Vec<(Loop, Option<Ident>)>,
    /// Whether the closures of the current call are the body of a `scoped`.
    pub(crate) region: bool,
    /// Whether the closure of the current call is the body of a pipeline, `.run(|[i], (x, o)| …)`.
    pub(crate) pipeline: bool,
    /// Whether `return` with a value is plain Rust here: in a helper function, not in a kernel.
    pub(crate) returns: bool,
}

/// A loop around an expression.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Loop {
    /// A loop of the kernel: nothing leaves it half-way.
    Rolled,
    /// A loop of Rust, run while the kernel is built; or a `while`, whose condition's type decides.
    Plain,
}

/// A name of this macro's own at the user's place.
fn own(name: &str, span: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(span))
}

/// When the control flow of this token is decided, at the token's place.
fn kind(token: &Ident) -> TokenStream {
    quote_spanned!(token.span()=> #token.when())
}

/// A condition, checked at its own place.
fn condition(expr: &Expr) -> TokenStream {
    // All at one place: what is checked at two is two errors.
    let (at, value) = (expr.span(), Ident::new("__tpu_kernel_condition", expr.span()));
    quote_spanned!(at=> { let #value = #expr; ::tpu_kernel::lang::Condition::decision(#value) })
}

/// A Rust expression in parentheses that no lint takes for the user's.
fn tight(expr: &Expr) -> TokenStream {
    match expr {
        Expr::Path(_)
        | Expr::Lit(_)
        | Expr::Call(_)
        | Expr::MethodCall(_)
        | Expr::Paren(_)
        | Expr::Verbatim(_)
        | Expr::Field(_) => expr.to_token_stream(),
        _ => quote_spanned!(Span::mixed_site().located_at(expr.span())=> (#expr)),
    }
}

impl<'a> Lower<'a> {
    /// For the body of a kernel.
    pub(crate) fn new(blocks: &'a [Ident], grid: &'a [Ident], errors: &'a mut Errors, scopes: Scopes) -> Lower<'a> {
        Lower { blocks, grid, errors, scopes, taken: Reference::No, loops: vec![], region: false, pipeline: false, returns: false }
    }
}

impl Lower<'_> {
    /// The body of a kernel or helper.
    pub(crate) fn body(&mut self, body: &mut Block) {
        if !self.returns {
            early_exit(&mut body.stmts, &|e| matches!(e, Expr::Return(r) if r.expr.is_none()));
        }
        self.visit_block_mut(body);
        // What the places of references are found by, see `carries`.
        body.stmts.insert(
            0,
            syn::parse_quote!(
                #[allow(unused_imports)]
                use ::tpu_kernel::lang::expanded::{Behind as _, Beside as _};
            ),
        );
    }

    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        self.scopes.open();
        inside(self);
        self.scopes.close();
    }

    fn taking(&mut self, taken: Reference, inside: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.taken, taken);
        inside(self);
        self.taken = outer;
    }

    fn looped(&mut self, kind: Loop, label: Option<&syn::Label>, inside: impl FnOnce(&mut Self)) {
        self.loops.push((kind, label.map(|l| l.name.ident.clone())));
        inside(self);
        self.loops.pop();
    }

    fn lower_if(&mut self, branch: &mut ExprIf) -> TokenStream {
        let span = branch.if_token.span;
        let (token, first, second, value) = (own("branch", span), own("then", span), own("otherwise", span), own("value", span));
        let otherwise = branch.else_branch.as_ref().map(|(_, e)| (**e).clone());
        let when = |span| kind(&own("branch", span));
        let carried = match &otherwise {
            Some(e) => self.carries(&when, &[e], &[&branch.then_branch]),
            None => self.carries(&when, &[], &[&branch.then_branch]),
        };
        self.visit_expr_mut(&mut branch.cond);
        self.visit_block_mut(&mut branch.then_branch);
        let otherwise = match otherwise {
            Some(mut e) => {
                self.visit_expr_mut(&mut e);
                e.to_token_stream()
            }
            None => quote_spanned!(span=> {}),
        };
        let (condition, then) = (condition(&branch.cond), &branch.then_branch);
        // Both arms' values have one type: what is wrong with it is said once, at the first.
        let at = Span::mixed_site().located_at(then.span());
        let arm = Ident::new("value", at);
        let when = when(at);
        let yielded = quote_spanned!(at=> ::tpu_kernel::lang::Carry::carried(#when, &mut #arm));
        quote_spanned! {span=> {
            let mut #token = ::tpu_kernel::lang::expanded::If::begin(#condition);
            #token.carry(#carried);
            let #first = if #token.enter(true) {
                let mut #value = #then;
                #token.leave(#carried, #yielded);
                ::tpu_kernel::lang::expanded::Option::Some(#value)
            } else {
                ::tpu_kernel::lang::expanded::Option::None
            };
            let #second = if #token.enter(false) {
                let mut #value = if ::tpu_kernel::lang::expanded::never() {
                    ::tpu_kernel::lang::expanded::absent(&#first)
                } else #otherwise;
                #token.leave(#carried, #yielded);
                ::tpu_kernel::lang::expanded::Option::Some(#value)
            } else {
                ::tpu_kernel::lang::expanded::Option::None
            };
            let mut #value = #token.value(#first, #second);
            #token.end(#carried, #yielded);
            #value
        }}
    }

    fn lower_while(&mut self, looped: &mut ExprWhile) -> TokenStream {
        if let Some(change) = self.changes(&looped.cond) {
            let message = format!("{change} in the condition of a `while`: {} in the body", change.advice());
            self.errors.at(change.name.span(), message);
        }
        let span = looped.while_token.span;
        let (token, test) = (own("looped", span), own("test", span));
        let carried = self.carries(&|span| kind(&own("looped", span)), &[&looped.cond], &[&looped.body]);
        self.visit_expr_mut(&mut looped.cond);
        self.looped(Loop::Plain, looped.label.as_ref(), |inner| inner.visit_block_mut(&mut looped.body));
        let (condition, body, label) = (condition(&looped.cond), &looped.body, &looped.label);
        quote_spanned! {span=> {
            let mut #token = ::tpu_kernel::lang::expanded::While::begin(|| #condition);
            #label loop {
                #token.test(#carried);
                let #test = #condition;
                if !#token.enter(#test, #carried) { break; }
                #body
                if !#token.again(#carried) { break; }
            }
            #token.end();
        }}
    }

    fn lower_for(&mut self, looped: &mut ExprForLoop, range: Range) -> TokenStream {
        let Range { mut from, mut to, mut by } = range;
        if let Some(label) = &looped.label {
            self.errors.over(label, "a loop of the kernel has no label: nothing can leave it half-way");
        }
        if !matches!(&*looped.pat, Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none())
            && !matches!(&*looped.pat, Pat::Wild(_))
        {
            self.errors.over(&looped.pat, "the index of a loop is one name");
        }
        early_exit(&mut looped.body.stmts, &|e| matches!(e, Expr::Continue(c) if c.label.is_none()));
        let when = |span| quote_spanned!(span=> ::tpu_kernel::lang::Dynamic);
        let carried = self.carries(&when, &[], &[&looped.body]);
        for bound in [Some(&mut from), Some(&mut to), by.as_mut()].into_iter().flatten() {
            self.visit_expr_mut(bound);
        }
        self.scoped(|inner| {
            inner.scopes.declare(&looped.pat, Reference::No);
            inner.looped(Loop::Rolled, None, |inner| inner.visit_block_mut(&mut looped.body));
        });
        let bound = |e: &Expr| {
            let e = tight(e);
            quote_spanned!(e.span()=> ::tpu_kernel::lang::IntoScalar::<i32>::into_scalar(#e))
        };
        let by = by.as_ref().map_or_else(
            || quote_spanned!(looped.for_token.span=> ::tpu_kernel::lang::IntoScalar::<i32>::into_scalar(1i32)),
            bound,
        );
        let (from, to) = (bound(&from), bound(&to));
        let (span, pat, body) = (looped.for_token.span, &looped.pat, &looped.body);
        let token = own("looped", span);
        quote_spanned! {span=> {
            let #token = ::tpu_kernel::lang::expanded::For::begin(#from, #to, #by, #carried);
            {
                let #pat = #token.index();
                #body
            }
            #token.end(#carried);
        }}
    }

    fn lower_binary(&mut self, binary: &mut ExprBinary) -> Option<TokenStream> {
        let (class, variant) = match binary.op {
            BinOp::Eq(_) => ("equality", "Eq"),
            BinOp::Ne(_) => ("equality", "Ne"),
            BinOp::Lt(_) => ("order", "Lt"),
            BinOp::Le(_) => ("order", "Le"),
            BinOp::Gt(_) => ("order", "Gt"),
            BinOp::Ge(_) => ("order", "Ge"),
            BinOp::And(_) => ("logic", "and"),
            BinOp::Or(_) => ("logic", "or"),
            _ => return None,
        };
        let span = binary.op.span();
        let (left, right) = (tight(&binary.left), tight(&binary.right));
        let variant = Ident::new(variant, span);
        Some(match class {
            "equality" => quote_spanned! {span=>
                ::tpu_kernel::lang::Equality::equality(&#left, ::tpu_kernel::ir::CompareOp::#variant, &#right)
            },
            "order" => quote_spanned! {span=>
                ::tpu_kernel::lang::Order::order(&#left, ::tpu_kernel::ir::CompareOp::#variant, &#right)
            },
            _ => {
                // Both sides are checked at the operator: two masks joined are one mistake.
                let at = Span::mixed_site().located_at(span);
                let side = Ident::new("side", at);
                let side = |e: &Expr| quote_spanned!(at=> { let #side = #e; ::tpu_kernel::lang::Condition::decision(#side) });
                let (left, right) = (side(&binary.left), side(&binary.right));
                quote_spanned!(span=> ::tpu_kernel::lang::expanded::#variant(#left, || #right))
            }
        })
    }

    /// `last(kk)`: the last index along a grid dimension.
    fn lower_last(&mut self, call: &syn::ExprCall) -> Option<TokenStream> {
        let is_last = matches!(&*call.func, Expr::Path(p) if p.path.is_ident("last"));
        if !is_last || self.grid.is_empty() || call.args.len() != 1 {
            return None;
        }
        let argument = &call.args[0];
        let axis = carry::base(argument).and_then(|name| self.grid.iter().position(|g| g == name));
        let Some(axis) = axis else {
            let known: Vec<String> = self.grid.iter().map(|g| format!("`{g}`")).collect();
            self.errors.over(argument, format!("`last` takes an index of the grid: {}", known.join(", ")));
            return Some(quote!(::tpu_kernel::lang::num_programs(0)));
        };
        let span = call.func.span();
        Some(quote_spanned!(span=> (::tpu_kernel::lang::num_programs(#axis) - 1)))
    }

    fn refuse(&mut self, expr: &Expr) {
        // Whether the jump leaves a loop of the kernel.
        let leaves = |label: &Option<syn::Lifetime>| {
            let of = |(_, name): &&(Loop, Option<Ident>)| label.as_ref().is_none_or(|l| name.as_ref() == Some(&l.ident));
            let depth = self.loops.iter().rev().position(|l| of(&l)).unwrap_or(self.loops.len());
            self.loops.iter().rev().take(depth + 1).any(|(kind, _)| *kind == Loop::Rolled)
        };
        match expr {
            Expr::Loop(e) => {
                let message = "a kernel has no `loop`: write `while condition { … }`, or `for i in unroll(a..b)` for a loop run at build time";
                self.errors.over(e.loop_token, message);
            }
            Expr::Break(e) if leaves(&e.label) => {
                let message = "a loop of the kernel cannot be left half-way: put the condition into a `while`, or use `for i in unroll(a..b)`";
                self.errors.over(e.break_token, message);
            }
            Expr::Continue(e) if leaves(&e.label) => {
                let message =
                    "`continue` ends an `if` without `else` at the top of the loop's body; elsewhere write `if … { } else { … }`";
                self.errors.over(e.continue_token, message);
            }
            Expr::Return(e) if self.loops.iter().any(|(kind, _)| *kind == Loop::Rolled) => {
                self.errors.over(e.return_token, "a loop of the kernel cannot be left half-way");
            }
            Expr::Return(e) if !self.returns => {
                let message = match e.expr {
                    Some(_) => "a kernel returns nothing: write results to an output with `.store(…)`",
                    None => {
                        "`return` ends an `if` without `else` at the top of the kernel's body; elsewhere write `if … { } else { … }`"
                    }
                };
                self.errors.over(e.return_token, message);
            }
            Expr::Binary(e) if crate::zero::divides(&e.op) && crate::zero::is_zero(&e.right) => {
                self.errors.over(e, "an integer is divided by zero here");
            }
            Expr::Async(e) => {
                self.errors.over(e.async_token, "a kernel has no `async`: it is staged once and then runs on the device")
            }
            Expr::Await(e) => {
                self.errors.over(e.await_token, "a kernel has no `await`: it is staged once and then runs on the device")
            }
            Expr::Unsafe(e) => self.errors.over(e.unsafe_token, "a kernel needs no `unsafe`: its memory is checked"),
            Expr::Try(e) => self.errors.over(e.question_token, "a kernel has no `?`: it cannot end half-way"),
            Expr::Yield(e) => self.errors.over(e, "a kernel has no `yield`"),
            Expr::Closure(e) => {
                let region = std::mem::take(&mut self.region);
                if let Some(change) = self.changes(expr) {
                    let message = match (region, self.pipeline) {
                        (true, _) => change.in_region(),
                        (_, true) => change.in_pipeline(),
                        _ => change.in_closure(),
                    };
                    self.errors.at(change.name.span(), message);
                }
                if let Some(token) = &e.asyncness {
                    self.errors.over(token, "a kernel has no `async`: it is staged once and then runs on the device");
                }
            }
            _ => {}
        }
    }
}

impl VisitMut for Lower<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.scoped(|inner| visit_mut::visit_block_mut(inner, block));
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        let mut reference = Reference::No;
        match &mut local.init {
            Some(init) => {
                reference = self.scopes.value(&init.expr);
                self.visit_expr_mut(&mut init.expr);
                if let Some((_, diverge)) = &mut init.diverge {
                    self.visit_expr_mut(diverge);
                }
            }
            None => self.errors.over(&local.pat, "a variable of a kernel is initialised where it is declared"),
        }
        self.scopes.declare(&local.pat, reference);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        self.refuse(expr);
        let lowered = match expr {
            Expr::If(branch) if !has_let(&branch.cond) => Some(self.lower_if(branch)),
            Expr::While(looped) if !has_let(&looped.cond) => Some(self.lower_while(looped)),
            Expr::ForLoop(looped) => match range(&looped.expr) {
                Ok(Some(range)) => Some(self.lower_for(looped, range)),
                Ok(None) => {
                    let reference = self.scopes.value(&looped.expr).of_part();
                    self.visit_expr_mut(&mut looped.expr);
                    self.scoped(|inner| {
                        inner.scopes.declare(&looped.pat, reference);
                        inner.looped(Loop::Plain, looped.label.as_ref(), |inner| inner.visit_block_mut(&mut looped.body));
                    });
                    return;
                }
                Err(error) => {
                    self.errors.push(error);
                    return;
                }
            },
            Expr::Call(call) => match self.lower_last(call) {
                Some(tokens) => Some(tokens),
                None => {
                    let name = |path: &syn::ExprPath| path.path.segments.last().is_some_and(|last| last.ident == "scoped");
                    let scoped = matches!(&*call.func, Expr::Path(path) if name(path));
                    let outer = std::mem::replace(&mut self.region, scoped);
                    visit_mut::visit_expr_call_mut(self, call);
                    self.region = outer;
                    None
                }
            },
            Expr::Binary(binary) => {
                if matches!(binary.op, BinOp::And(_) | BinOp::Or(_))
                    && let Some(change) = self.changes(&binary.right)
                {
                    let message = format!("{change} on the right of `&&` or `||`, which may not run: {} before", change.advice());
                    self.errors.at(change.name.span(), message);
                }
                visit_mut::visit_expr_binary_mut(self, binary);
                self.lower_binary(binary)
            }
            Expr::Path(path) => {
                let block = path.path.get_ident().filter(|name| self.blocks.contains(name));
                block.map(|name| quote_spanned!(name.span()=> ::tpu_kernel::lang::expanded::block::<#name>()))
            }
            Expr::Closure(closure) => {
                let taken = self.taken;
                let windows = std::mem::take(&mut self.pipeline) && closure.inputs.len() == 2;
                self.scoped(|inner| {
                    closure.inputs.iter().for_each(|pat| inner.scopes.declare(pat, taken));
                    if windows {
                        inner.scopes.declare_memory(&closure.inputs[1]);
                    }
                    // A closure's body is outside the loops around it: `return` there is its own.
                    let (loops, returns) = (std::mem::take(&mut inner.loops), std::mem::replace(&mut inner.returns, true));
                    inner.visit_expr_mut(&mut closure.body);
                    (inner.loops, inner.returns) = (loops, returns);
                });
                None
            }
            Expr::Macro(call) => {
                self.lower_macro(&mut call.mac);
                None
            }
            // Plain Rust, decided while the kernel is built; its pattern is in scope in the branch.
            Expr::If(branch) => {
                self.scoped(|inner| {
                    inner.visit_expr_mut(&mut branch.cond);
                    inner.visit_block_mut(&mut branch.then_branch);
                });
                if let Some((_, otherwise)) = &mut branch.else_branch {
                    self.visit_expr_mut(otherwise);
                }
                None
            }
            Expr::While(looped) => {
                self.scoped(|inner| {
                    inner.visit_expr_mut(&mut looped.cond);
                    inner.looped(Loop::Plain, looped.label.as_ref(), |inner| inner.visit_block_mut(&mut looped.body));
                });
                None
            }
            _ => {
                visit_mut::visit_expr_mut(self, expr);
                None
            }
        };
        if let Some(tokens) = lowered {
            *expr = Expr::Verbatim(tokens);
        }
    }

    fn visit_expr_let_mut(&mut self, binding: &mut syn::ExprLet) {
        let reference = self.scopes.value(&binding.expr).of_part();
        self.visit_expr_mut(&mut binding.expr);
        self.scopes.declare(&binding.pat, reference);
    }

    fn visit_expr_match_mut(&mut self, matched: &mut syn::ExprMatch) {
        let taken = self.scopes.value(&matched.expr);
        self.taking(taken, |inner| visit_mut::visit_expr_match_mut(inner, matched));
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        let closures = call.args.iter().any(|argument| matches!(argument, Expr::Closure(_)));
        let taken = if closures { self.scopes.value(&call.receiver).of_part() } else { Reference::No };
        self.visit_expr_mut(&mut call.receiver);
        let outer = std::mem::replace(&mut self.pipeline, call.method == "run");
        self.taking(taken, |inner| call.args.iter_mut().for_each(|argument| inner.visit_expr_mut(argument)));
        self.pipeline = outer;
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        let taken = self.taken;
        self.scoped(|inner| {
            inner.scopes.declare(&arm.pat, taken);
            visit_mut::visit_arm_mut(inner, arm);
        });
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt {
            self.lower_macro(&mut call.mac);
            return;
        }
        visit_mut::visit_stmt_mut(self, stmt);
    }

    // Functions and constants inside the kernel are plain Rust.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
