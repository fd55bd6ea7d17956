//! Dynamic control flow: what the macro makes of `if`, `for` and `while`, and what they carry.
//!
//! Rules: `if` and `while` are decided at build time by a `bool` and become part of the kernel by a
//! `Scalar<bool>`; a range `for` always becomes part of the kernel. Variables that a region assigns
//! are carried through it. A token that is dropped half-way (by `break`, `return`, `?`) closes its
//! regions and records one fault.

use super::element::Element;
use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, IntoScalar, Scalar, Tile};
use crate::BuildFault;
use crate::ir::{DType, Loc, OpKind, Region, Type};

/// A condition: `bool` at build time, `Scalar<bool>` in the kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition",
    label = "expected `bool` or `Scalar<bool>`",
    note = "a mask decides element by element: use `select(mask, a, b)`"
)]
pub trait Condition: Copy {
    #[doc(hidden)]
    const DYNAMIC: bool;
    #[doc(hidden)]
    fn known(self) -> Option<bool>;
    #[doc(hidden)]
    fn dynamic(self) -> Option<Raw>;
}

impl Condition for bool {
    const DYNAMIC: bool = false;
    fn known(self) -> Option<bool> {
        Some(self)
    }
    fn dynamic(self) -> Option<Raw> {
        None
    }
}
impl Condition for Scalar<bool> {
    const DYNAMIC: bool = true;
    fn known(self) -> Option<bool> {
        None
    }
    fn dynamic(self) -> Option<Raw> {
        Some(self.raw())
    }
}

/// A variable that may change inside control flow on a condition of type `C`: anything under `bool`,
/// tiles and scalars (and tuples and arrays of them) under `Scalar<bool>`.
#[diagnostic::on_unimplemented(
    message = "a Rust `{Self}` cannot change inside a dynamic `if` or loop",
    label = "only tiles and scalars of the kernel are carried out of a dynamic `if` or loop",
    note = "make it a `Scalar` (for example `let mut n = Scalar::from(0);`), or make the condition or range known when the kernel is built"
)]
pub trait Carry<C> {
    #[doc(hidden)]
    fn collect(&self, into: &mut Vec<Raw>);
    #[doc(hidden)]
    fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>);
}

#[diagnostic::do_not_recommend]
impl<V> Carry<bool> for V {
    fn collect(&self, _into: &mut Vec<Raw>) {}
    fn replace(&mut self, _from: &mut std::vec::IntoIter<Raw>) {}
}

macro_rules! carry_handle {
    ([$($g:tt)*] $ty:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($g)*> Carry<Scalar<bool>> for $ty {
            fn collect(&self, into: &mut Vec<Raw>) {
                into.push(self.raw());
            }
            fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>) {
                if let Some(raw) = from.next() {
                    *self = Self::wrap(raw);
                }
            }
        }
    };
}

carry_handle!([T: Element, S: Shape] Tile<T, S>);
carry_handle!([T: Element] Scalar<T>);

macro_rules! carry_tuple {
    ($($v:ident $n:tt),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($v: Carry<Scalar<bool>>),*> Carry<Scalar<bool>> for ($($v,)*) {
            fn collect(&self, _into: &mut Vec<Raw>) {
                $(<$v as Carry<Scalar<bool>>>::collect(&self.$n, _into);)*
            }
            fn replace(&mut self, _from: &mut std::vec::IntoIter<Raw>) {
                $(<$v as Carry<Scalar<bool>>>::replace(&mut self.$n, _from);)*
            }
        }
    };
}

carry_tuple!();
carry_tuple!(A 0);
carry_tuple!(A 0, B 1);
carry_tuple!(A 0, B 1, C 2);
carry_tuple!(A 0, B 1, C 2, D 3);

#[diagnostic::do_not_recommend]
impl<V: Carry<Scalar<bool>>, const N: usize> Carry<Scalar<bool>> for [V; N] {
    fn collect(&self, into: &mut Vec<Raw>) {
        self.iter().for_each(|v| <V as Carry<Scalar<bool>>>::collect(v, into));
    }
    fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>) {
        self.iter_mut().for_each(|v| <V as Carry<Scalar<bool>>>::replace(v, from));
    }
}

/// The variables that a region assigns, as a list `(&mut a, (&mut b, ()))` that the macro makes.
pub trait Carries<C> {
    #[doc(hidden)]
    fn collect(&self, into: &mut Vec<Raw>);
    #[doc(hidden)]
    fn replace(self, from: &mut std::vec::IntoIter<Raw>);
}

impl<C> Carries<C> for () {
    fn collect(&self, _into: &mut Vec<Raw>) {}
    fn replace(self, _from: &mut std::vec::IntoIter<Raw>) {}
}
#[diagnostic::do_not_recommend]
impl<C, V: Carry<C>, R: Carries<C>> Carries<C> for (&mut V, R) {
    fn collect(&self, into: &mut Vec<Raw>) {
        // By full path: `self.0.collect` would find the implementation for `&mut V` under `bool`, which carries nothing.
        <V as Carry<C>>::collect(&*self.0, into);
        self.1.collect(into);
    }
    fn replace(self, from: &mut std::vec::IntoIter<Raw>) {
        <V as Carry<C>>::replace(self.0, from);
        self.1.replace(from);
    }
}

fn collected<C>(carried: &impl Carries<C>) -> Vec<Raw> {
    let mut raws = vec![];
    carried.collect(&mut raws);
    raws
}

/// Closes what a token left open when it was dropped before its end.
struct Open {
    depth: usize,
    loc: Loc,
    done: bool,
}

impl Open {
    /// A token that records nothing (its condition is known at build time) has nothing to close.
    fn new(dynamic: bool, loc: Loc) -> Open {
        Open { depth: session::depth(), loc, done: !dynamic }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.done {
            session::abandon(self.depth);
            // A panic is reported as such, not as a loop left half-way.
            if !std::thread::panicking() {
                session::fault(BuildFault::BrokenRegion(self.loc.clone()));
            }
        }
    }
}

/// An `if` under construction.
#[doc(hidden)]
pub struct If<C: Condition> {
    condition: C,
    before: Vec<Raw>,
    /// Of each finished arm: the region, and what it yields.
    arms: Vec<(Option<Region>, Vec<Raw>)>,
    open: Open,
}

impl<C: Condition> If<C> {
    #[track_caller]
    pub fn begin(condition: C, carried: impl Carries<C>) -> If<C> {
        If { condition, before: collected(&carried), arms: vec![], open: Open::new(C::DYNAMIC, Loc::caller()) }
    }

    /// Whether this arm is built: `true` names the `then` arm.
    pub fn enter(&mut self, arm: bool) -> bool {
        let taken = self.condition.known().is_none_or(|known| known == arm);
        if taken && self.condition.dynamic().is_some() {
            session::begin_region(&[], &[]);
        }
        taken
    }

    /// Ends an arm with its value; the variables are again what they were before the `if`.
    pub fn leave<V: Carry<C>>(&mut self, carried: impl Carries<C>, value: V) -> V {
        if self.condition.dynamic().is_some() {
            let mut yields = collected(&carried);
            <V as Carry<C>>::collect(&value, &mut yields);
            let region = session::end_region(&yields, &self.open.loc);
            self.arms.push((region, yields));
            carried.replace(&mut self.before.clone().into_iter());
        }
        value
    }

    /// Ends the `if`: the variables and the value are what the taken arm left.
    pub fn end<V: Carry<C>>(mut self, carried: impl Carries<C>, then: Option<V>, otherwise: Option<V>) -> V {
        self.open.done = true;
        let mut value = then.or(otherwise).expect("one arm was built");
        if let Some(condition) = self.condition.dynamic() {
            let like = self.arms.first().map(|(_, yields)| yields.clone()).unwrap_or_default();
            let regions: Option<Vec<Region>> = self.arms.drain(..).map(|(region, _)| region).collect();
            let results = session::control(OpKind::If, &[condition], regions, &like, self.open.loc.clone());
            let mut results = results.into_iter();
            carried.replace(&mut results);
            <V as Carry<C>>::replace(&mut value, &mut results);
        }
        value
    }
}

/// Never true: `if never() { absent(&a) } else { b }` gives `a` and `b` one type, in rustc's own words.
#[doc(hidden)]
pub const fn never() -> bool {
    false
}

/// The type of an arm's value; never called.
#[doc(hidden)]
pub fn absent<V>(_of: &Option<V>) -> V {
    unreachable!("`never` is false")
}

/// A range `for` under construction.
#[doc(hidden)]
pub struct For {
    bounds: [Raw; 3],
    before: Vec<Raw>,
    index: Raw,
    open: Open,
}

impl For {
    #[track_caller]
    pub fn begin(
        from: impl IntoScalar<i32>,
        to: impl IntoScalar<i32>,
        by: impl IntoScalar<i32>,
        carried: impl Carries<Scalar<bool>>,
    ) -> For {
        let bounds = [from.into_scalar().raw(), to.into_scalar().raw(), by.into_scalar().raw()];
        let open = Open::new(true, Loc::caller());
        let before = collected(&carried);
        let (index, args) = session::begin_region(&[Type::Scalar(DType::I32)], &before);
        carried.replace(&mut args.into_iter());
        For { bounds, before, index: index[0], open }
    }

    pub fn index(&self) -> Scalar<i32> {
        Scalar::wrap(self.index)
    }

    pub fn end(mut self, carried: impl Carries<Scalar<bool>>) {
        self.open.done = true;
        let yields = collected(&carried);
        let region = session::end_region(&yields, &self.open.loc);
        let operands = [&self.bounds[..], &self.before].concat();
        let regions = region.map(|r| vec![r]);
        let results = session::control(OpKind::For, &operands, regions, &self.before, self.open.loc.clone());
        carried.replace(&mut results.into_iter());
    }
}

/// A `while` under construction. Which kind it is shows when the test has been built.
#[doc(hidden)]
pub struct While<C> {
    before: Vec<Raw>,
    test: Option<Region>,
    stage: Stage,
    open: Open,
    kind: std::marker::PhantomData<C>,
}

#[derive(PartialEq)]
enum Stage {
    Test,
    Body,
    Done,
}

impl<C: Condition> While<C> {
    #[track_caller]
    pub fn begin(carried: impl Carries<C>) -> While<C> {
        let before = collected(&carried);
        While { before, test: None, stage: Stage::Test, open: Open::new(C::DYNAMIC, Loc::caller()), kind: std::marker::PhantomData }
    }

    /// Before the test: of a dynamic loop, opens its region.
    pub fn test(&mut self, carried: impl Carries<C>) {
        if C::DYNAMIC && self.stage == Stage::Test {
            let (_, args) = session::begin_region(&[], &self.before);
            carried.replace(&mut args.into_iter());
        }
    }

    /// After the test: whether the body is built (again).
    pub fn enter(&mut self, condition: C, carried: impl Carries<C>) -> bool {
        let Some(raw) = condition.dynamic() else { return condition.known() == Some(true) };
        if self.stage != Stage::Test {
            return false;
        }
        self.test = session::end_region(&[raw], &self.open.loc);
        let (_, args) = session::begin_region(&[], &self.before);
        carried.replace(&mut args.into_iter());
        self.stage = Stage::Body;
        true
    }

    /// After the body: whether the loop goes round once more while it is built.
    pub fn again(&mut self, carried: impl Carries<C>) -> bool {
        if self.stage == Stage::Test {
            return true;
        }
        let yields = collected(&carried);
        let body = session::end_region(&yields, &self.open.loc);
        let regions = self.test.take().zip(body).map(|(test, body)| vec![test, body]);
        let results = session::control(OpKind::While, &self.before, regions, &self.before, self.open.loc.clone());
        carried.replace(&mut results.into_iter());
        self.stage = Stage::Done;
        false
    }

    /// After the loop. A dynamic loop that was left half-way is a fault.
    pub fn end(mut self) {
        self.open.done |= self.stage == Stage::Done;
    }
}

/// `if condition { then() } else { otherwise() }` on scalars, recorded.
pub(super) fn lazily(
    condition: Scalar<bool>,
    then: impl FnOnce() -> Scalar<bool>,
    otherwise: impl FnOnce() -> Scalar<bool>,
    loc: Loc,
) -> Scalar<bool> {
    let (then, like) = arm(then, &loc);
    let (otherwise, _) = arm(otherwise, &loc);
    let regions = then.zip(otherwise).map(|(a, b)| vec![a, b]);
    Scalar::wrap(session::control(OpKind::If, &[condition.raw()], regions, &[like], loc)[0])
}

fn arm(value: impl FnOnce() -> Scalar<bool>, loc: &Loc) -> (Option<Region>, Raw) {
    session::begin_region(&[], &[]);
    let raw = value().raw();
    (session::end_region(&[raw], loc), raw)
}
