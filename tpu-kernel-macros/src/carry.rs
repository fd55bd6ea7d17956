//! Which variables a region assigns: what a loop or branch has to carry.
//!
//! A variable counts when the region assigns it or a part of it, borrows it mutably, calls a method on
//! it that may change it, or hands it to a call, and no scope inside the region declares it. What is assigned through a reference
//! is carried as the place that the reference points to. The order is that of the first assignment.

use quote::ToTokens;
use std::collections::HashSet;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Ident, Local, Pat, Token};

/// A variable that a region may change, with the place of the first change.
pub(crate) struct Assigned {
    pub(crate) name: Ident,
    /// Whether only parts of it are assigned, or what it points to.
    pub(crate) part: bool,
    pub(crate) how: How,
    /// Whether it, or what it points to, is replaced as a whole, as in `r = x` and `*r = x`.
    pub(crate) replaced: bool,
    /// The field of it that goes into a call or is called, which may be a reference of its own.
    pub(crate) field: Option<Expr>,
}

/// How a variable may change, by what is known of it, least first.
#[derive(Clone, PartialEq)]
pub(crate) enum How {
    /// It goes into a call, which changes what a reference points to.
    Passed,
    /// A method is called that may change it.
    Called(Ident),
    /// It is assigned or borrowed mutably.
    Assigned,
}

/// The variables assigned in these parts of a region, in order.
pub(crate) fn assigned(exprs: &[&Expr], blocks: &[&Block]) -> Vec<Assigned> {
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

fn by_mutable_reference(pat: &Pat) -> bool {
    struct Found(bool);
    impl<'p> Visit<'p> for Found {
        fn visit_pat_ident(&mut self, pat: &'p syn::PatIdent) {
            self.0 |= pat.by_ref.is_some() && pat.mutability.is_some();
            visit::visit_pat_ident(self, pat);
        }
        fn visit_expr(&mut self, _: &'p Expr) {}
    }
    let mut found = Found(false);
    found.visit_pat(pat);
    found.0
}

/// The variable of a place: `v`, `v[i]`, `v.f`, `*v`, `*v.first_mut().unwrap()`.
pub(crate) fn base(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Index(index) => base(&index.expr),
        Expr::Field(field) => base(&field.base),
        Expr::Paren(inner) => base(&inner.expr),
        Expr::Group(inner) => base(&inner.expr),
        Expr::MethodCall(call) if leads_to_place(call) => base(&call.receiver),
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => base(&unary.expr),
        _ => None,
    }
}

/// Whether a name says that something is borrowed mutably: `mut`, `iter_mut`, not `permutation`.
pub(crate) fn says_mut(name: &str) -> bool {
    name.split('_').any(|part| part == "mut")
}

/// Whether a chain of calls borrows mutably on its way: `v.first_mut().unwrap()`.
fn leads_to_place(call: &syn::ExprMethodCall) -> bool {
    says_mut(&call.method.to_string()) || matches!(&*call.receiver, Expr::MethodCall(inner) if leads_to_place(inner))
}

/// Whether a place is a field of a variable, or a field of one.
fn is_field(place: &Expr) -> bool {
    matches!(place, Expr::Field(field) if matches!(&*field.base, Expr::Path(_)) || is_field(&field.base))
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

/// Methods that change nothing: those of tiles, scalars and memory, and the common ones of collections and numbers.
/// Any other method of a `mut` variable may change it: `fill` is not here, since a slice has one too, nor is what
/// draws random numbers.
const READING: &str = "
    abs acos acosh argmax argmin argsort argsort_descending asin asinh at atan atan2 atanh bitcast bitcast_rows broadcast cast
    cbrt ceil chunks clamp clone cloned clz concat contains copied copysign cos cosh cummax cummax_reverse cummin cummin_reverse
    cumprod cumprod_reverse cumsum cumsum_reverse div_ceil elu enumerate eq erf erf_inv erfc exp exp2 expand expm1 finish first floor
    floor_div floor_mod fold_axes fold_in ge gelu gelu_tanh get gt hard_sigmoid hard_swish hypot in_bounds into_iter is_empty
    is_finite is_inf is_nan is_none is_some iter last le leaky_relu leave len like load load_at load_or load_strided log log1p
    log2 log_sigmoid log_softmax logsumexp lt map max maximum mean min minimum mish ne next_after now one_hot pad popcount pow
    powi prod read recip recip_approx relu relu6 repeat reshape roll roll_strided round round_even rsqrt same_as scalar selu
    shr_logical sigmoid sign signal silu sin sinh slice slice_strided slot softmax softplus sorted sorted_descending sorted_with
    sorted_with_descending split sqrt square squeeze start std_dev stochastic_round store store_at store_strided sum t
    take_along_axis tan tanh tile to_string to_vec top_k transpose trunc unfold_axis unpack unwrap unwrap_or variance view
    view_strided wait windows words zip
";

/// Of tiles these take axes, of iterators a function, and then they change the iterator.
const READING_AXES: [&str; 2] = ["all", "any"];

/// Methods that change what they are called on. On a variable that is not `mut` they change something behind it,
/// a cell or what a reference points to, where nothing is carried.
const HIDING: [&str; 23] = [
    "borrow_mut",
    "clear",
    "extend",
    "get_or_insert",
    "insert",
    "lock",
    "pop",
    "push",
    "remove",
    "replace",
    "retain",
    "reverse",
    "rotate_left",
    "rotate_right",
    "set",
    "sort",
    "swap",
    "take",
    "truncate",
    "try_borrow_mut",
    "try_lock",
    "update",
    "write",
];

/// Whether a call changes nothing of what it is called on.
fn reads(call: &syn::ExprMethodCall) -> bool {
    // The name of an axis is that of a type.
    fn axis(argument: &Expr) -> bool {
        match argument {
            Expr::Path(path) => path.path.segments.first().is_some_and(|s| s.ident.to_string().starts_with(char::is_uppercase)),
            Expr::Tuple(tuple) => tuple.elems.iter().all(axis),
            _ => false,
        }
    }
    READING.split_whitespace().any(|method| call.method == method)
        // Of scalar memory this takes a place and a value, of all else nothing or one of them.
        || call.method == "write" && call.args.len() == 2
        || READING_AXES.iter().any(|method| call.method == method) && call.args.iter().all(axis)
}

impl Assigned {
    /// Whether the call changes something behind a variable that is not `mut`.
    pub(crate) fn hides(&self) -> bool {
        matches!(&self.how, How::Called(method) if HIDING.iter().any(|m| method == m))
    }
}

/// Macros whose arguments are plain expressions. Others could assign what they capture.
pub(crate) const MACROS: [&str; 12] = [
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
    "debug_print",
    "debug_check",
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
    found: Vec<Assigned>,
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

    /// `let ref mut q = t` borrows t.
    fn borrowed(&mut self, pat: &Pat, from: &Expr) {
        if by_mutable_reference(pat) {
            self.assign(from);
        }
    }

    fn assign(&mut self, place: &Expr) {
        match place {
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|e| self.assign(e)),
            Expr::Array(array) => array.elems.iter().for_each(|e| self.assign(e)),
            Expr::Paren(inner) => self.assign(&inner.expr),
            Expr::Call(call) => call.args.iter().for_each(|e| self.assign(e)),
            Expr::Struct(value) => value.fields.iter().for_each(|f| self.assign(&f.expr)),
            _ => self.change(place, How::Assigned),
        }
    }

    /// Notes the variables that an assignment replaces, or whose target.
    fn replace(&mut self, place: &Expr) {
        match place {
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|e| self.replace(e)),
            Expr::Array(array) => array.elems.iter().for_each(|e| self.replace(e)),
            Expr::Paren(inner) => self.replace(&inner.expr),
            Expr::Reference(borrow) => self.replace(&borrow.expr),
            Expr::Path(_) | Expr::Unary(_) => {
                let name = base(place);
                self.found.iter_mut().filter(|known| Some(&known.name) == name).for_each(|known| known.replaced = true);
            }
            _ => {}
        }
    }

    fn change(&mut self, place: &Expr, how: How) {
        let Some(name) = base(place) else { return };
        if self.scopes.iter().any(|scope| scope.contains(&name.to_string())) {
            return;
        }
        let part = !matches!(place, Expr::Path(_));
        let field = (how != How::Assigned && is_field(place)).then(|| place.clone());
        let text = |field: &Option<Expr>| field.as_ref().map(|place| place.to_token_stream().to_string());
        match self.found.iter_mut().find(|known| known.name == *name && text(&known.field) == text(&field)) {
            Some(known) => match (&known.how, &how) {
                (How::Passed, How::Passed) => {}
                (How::Passed, _) => (known.part, known.how) = (part, how),
                (_, How::Passed) => {}
                _ => {
                    known.part &= part;
                    if how == How::Assigned {
                        known.how = how;
                    }
                }
            },
            None => self.found.push(Assigned { name: name.clone(), part, how, replaced: false, field }),
        }
    }

    /// A variable as it stands goes somewhere: a mutable reference may change there what it points to.
    fn pass<'e>(&mut self, values: impl IntoIterator<Item = &'e Expr>) {
        for value in values {
            match value {
                Expr::Path(_) => self.change(value, How::Passed),
                _ if is_field(value) => self.change(value, How::Passed),
                Expr::Paren(inner) => self.pass([&*inner.expr]),
                Expr::Group(inner) => self.pass([&*inner.expr]),
                _ => {}
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
            self.borrowed(&local.pat, &init.expr);
            self.pass([&*init.expr]);
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
        self.declare(&local.pat);
    }

    fn visit_expr_assign(&mut self, assign: &'e syn::ExprAssign) {
        self.assign(&assign.left);
        self.replace(&assign.left);
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

    fn visit_expr_method_call(&mut self, call: &'e syn::ExprMethodCall) {
        if !reads(call) {
            self.change(&call.receiver, How::Called(call.method.clone()));
        }
        self.pass(&call.args);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'e syn::ExprCall) {
        self.pass(&call.args);
        visit::visit_expr_call(self, call);
        // `std::mem::swap(&mut a, &mut b)`.
        let last = |path: &'e syn::ExprPath| path.path.segments.last().map(|segment| &segment.ident);
        if matches!(&*call.func, Expr::Path(path) if last(path).is_some_and(|name| name == "swap" || name == "replace")) {
            call.args.iter().for_each(|argument| self.replace(argument));
        }
    }

    fn visit_expr_match(&mut self, matched: &'e syn::ExprMatch) {
        matched.arms.iter().for_each(|arm| self.borrowed(&arm.pat, &matched.expr));
        visit::visit_expr_match(self, matched);
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

    // The pattern of `if let` is in scope in what follows it and in the first branch, that of `while let` in the body.
    fn visit_expr_if(&mut self, branch: &'e syn::ExprIf) {
        self.scoped(|inner| {
            inner.visit_expr(&branch.cond);
            inner.visit_block(&branch.then_branch);
        });
        if let Some((_, otherwise)) = &branch.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, looped: &'e syn::ExprWhile) {
        self.scoped(|inner| visit::visit_expr_while(inner, looped));
    }

    fn visit_expr_let(&mut self, binding: &'e syn::ExprLet) {
        self.borrowed(&binding.pat, &binding.expr);
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
