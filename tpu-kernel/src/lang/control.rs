//! Dynamic control flow: what the macro makes of `if`, `for` and `while`, and what they carry.
//!
//! Rules: `if` and `while` are decided at build time by a `bool` and become part of the kernel by a
//! `Scalar<bool>`; a range `for` always becomes part of the kernel. Variables that a region assigns
//! are carried through it. A token that is dropped half-way (by `break`, `return`, `?`) closes its
//! regions and records one fault.

use super::element::Element;
use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, Scalar, Tile, constant};
use crate::BuildFault;
use crate::ir::{DType, Loc, OpKind, Region, Type};
use std::marker::PhantomData;

/// Of control flow: decided while the kernel is built.
#[derive(Clone, Copy, Debug)]
pub struct Known;

/// Of control flow: part of the kernel, decided while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic;

/// [`Known`] or [`Dynamic`].
pub trait When: Copy {
    #[doc(hidden)]
    const DYNAMIC: bool;
    #[doc(hidden)]
    const WHEN: Self;
    /// The type of such a condition.
    type Value: Condition;
    /// When `&&` and `||` of this and another condition are decided.
    type With<B: When>: When;
    #[doc(hidden)]
    fn value(decided: Result<Scalar<bool>, bool>, loc: &Loc) -> Self::Value;
}

impl When for Known {
    const DYNAMIC: bool = false;
    const WHEN: Known = Known;
    type Value = bool;
    type With<B: When> = B;
    fn value(decided: Result<Scalar<bool>, bool>, _loc: &Loc) -> bool {
        // Of two sides that are known the outcome is.
        decided.err().unwrap_or_default()
    }
}
impl When for Dynamic {
    const DYNAMIC: bool = true;
    const WHEN: Dynamic = Dynamic;
    type Value = Scalar<bool>;
    type With<B: When> = Dynamic;
    fn value(decided: Result<Scalar<bool>, bool>, loc: &Loc) -> Scalar<bool> {
        decided.unwrap_or_else(|known| constant(known.into(), loc.clone()))
    }
}

/// A condition: `bool` at build time, `Scalar<bool>` in the kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition",
    label = "expected `bool` or `Scalar<bool>`",
    note = "a mask, which is a tile of `bool`, decides element by element: `select(mask, a, b)`; masks are joined with `&` and `|`",
    note = "to branch once for the whole tile, reduce the mask: `mask.any(AllAxes).scalar()`, or `all`"
)]
pub trait Condition: Copy {
    /// When it is decided.
    type When: When;
    #[doc(hidden)]
    fn decision(self) -> Decision<Self::When>;
}

#[diagnostic::do_not_recommend]
impl Condition for bool {
    type When = Known;
    fn decision(self) -> Decision<Known> {
        Decision { value: Err(self), when: PhantomData }
    }
}
#[diagnostic::do_not_recommend]
impl Condition for Scalar<bool> {
    type When = Dynamic;
    fn decision(self) -> Decision<Dynamic> {
        Decision { value: Ok(self), when: PhantomData }
    }
}

/// The value of a condition: a scalar of the kernel, or else the known outcome.
#[doc(hidden)]
pub struct Decision<W> {
    value: Result<Scalar<bool>, bool>,
    when: PhantomData<W>,
}

impl<W> Decision<W> {
    pub(super) fn dynamic(self) -> Result<Scalar<bool>, bool> {
        self.value
    }
}

// The macro checks the user's expressions one by one, each at its own place, by the methods of the traits that say
// what is wrong: a function with a bound would be named in the message. The tokens of control flow then take what
// cannot be wrong, so that one mistake is one error.

/// A variable that may change inside control flow: anything where it is [`Known`], tiles and
/// scalars (and tuples and arrays of them) where it is [`Dynamic`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot change inside a dynamic `if` or loop",
    label = "only tiles and scalars of the kernel are carried out of a dynamic `if` or loop",
    note = "a number becomes a `Scalar`, as in `let mut n = Scalar::from(0);`; tiles are carried alone, in tuples and in arrays; memory is written, not exchanged",
    note = "anything may change where the condition or range is known when the kernel is built, as in `for i in unroll(0..4)`"
)]
pub trait Carry<C> {
    /// A variable that a region assigns. The kind comes first: the compiler would else infer it from the variable.
    #[doc(hidden)]
    fn carried(_when: C, variable: &mut Self) -> &mut dyn Carry<C>
    where
        Self: Sized,
    {
        variable
    }
    #[doc(hidden)]
    fn collect(&self, into: &mut Vec<Raw>);
    #[doc(hidden)]
    fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>);
}

#[diagnostic::do_not_recommend]
impl<V> Carry<Known> for V {
    fn collect(&self, _into: &mut Vec<Raw>) {}
    fn replace(&mut self, _from: &mut std::vec::IntoIter<Raw>) {}
}

macro_rules! carry_handle {
    ([$($g:tt)*] $ty:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($g)*> Carry<Dynamic> for $ty {
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
        impl<$($v: Carry<Dynamic>),*> Carry<Dynamic> for ($($v,)*) {
            fn collect(&self, _into: &mut Vec<Raw>) {
                $(<$v as Carry<Dynamic>>::collect(&self.$n, _into);)*
            }
            fn replace(&mut self, _from: &mut std::vec::IntoIter<Raw>) {
                $(<$v as Carry<Dynamic>>::replace(&mut self.$n, _from);)*
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
impl<V: Carry<Dynamic>, const N: usize> Carry<Dynamic> for [V; N] {
    fn collect(&self, into: &mut Vec<Raw>) {
        self.iter().for_each(|v| <V as Carry<Dynamic>>::collect(v, into));
    }
    fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>) {
        self.iter_mut().for_each(|v| <V as Carry<Dynamic>>::replace(v, from));
    }
}

/// The variables that a region assigns.
type Carried<'a, 'v, W> = &'a mut [&'v mut dyn Carry<W>];

// By full path: a method call on a reference would find the implementation of `Carry<Known>` for the reference
// itself, which carries nothing.
fn collect<W>(variable: &dyn Carry<W>, into: &mut Vec<Raw>) {
    <dyn Carry<W> as Carry<W>>::collect(variable, into);
}

fn collected<W>(carried: Carried<'_, '_, W>) -> Vec<Raw> {
    let mut raws = vec![];
    carried.iter().for_each(|v| collect(&**v, &mut raws));
    raws
}

fn replace<W>(carried: Carried<'_, '_, W>, raws: Vec<Raw>) {
    let mut raws = raws.into_iter();
    carried.iter_mut().for_each(|v| <dyn Carry<W> as Carry<W>>::replace(&mut **v, &mut raws));
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
pub struct If<W> {
    condition: Result<Scalar<bool>, bool>,
    before: Vec<Raw>,
    /// Of each finished arm: the region, and what it yields.
    arms: Vec<(Option<Region>, Vec<Raw>)>,
    open: Open,
    when: PhantomData<W>,
}

impl<W: When> If<W> {
    #[track_caller]
    pub fn begin(condition: Decision<W>) -> If<W> {
        let open = Open::new(condition.value.is_ok(), Loc::caller());
        If { condition: condition.value, before: vec![], arms: vec![], open, when: PhantomData }
    }

    pub fn when(&self) -> W {
        W::WHEN
    }

    /// Notes what the variables are before the arms.
    pub fn carry(&mut self, carried: Carried<'_, '_, W>) {
        self.before = collected(carried);
    }

    /// Whether this arm is built: `true` names the `then` arm.
    pub fn enter(&mut self, arm: bool) -> bool {
        let taken = self.condition.err().is_none_or(|known| known == arm);
        if taken && self.condition.is_ok() {
            session::begin_region(&[], &[]);
        }
        taken
    }

    /// Ends an arm; its value comes after the variables, which are again what they were before the `if`.
    pub fn leave(&mut self, carried: Carried<'_, '_, W>, value: &mut dyn Carry<W>) {
        if self.condition.is_ok() {
            let mut yields = collected(carried);
            collect(value, &mut yields);
            let region = session::end_region(&yields, &self.open.loc);
            self.arms.push((region, yields));
            replace(carried, self.before.clone());
        }
    }

    /// The value of the arm that was built, or of the first of two.
    pub fn value<V>(&self, then: Option<V>, otherwise: Option<V>) -> V {
        then.or(otherwise).expect("one arm was built")
    }

    /// Ends the `if`: the variables and the value become what the taken arm left.
    pub fn end(&mut self, carried: Carried<'_, '_, W>, value: &mut dyn Carry<W>) {
        self.open.done = true;
        if let Ok(condition) = self.condition {
            let like = self.arms.first().map(|(_, yields)| yields.clone()).unwrap_or_default();
            let regions: Option<Vec<Region>> = self.arms.drain(..).map(|(region, _)| region).collect();
            let mut results = session::control(OpKind::If, &[condition.raw()], regions, &like, self.open.loc.clone());
            let own = results.split_off(self.before.len());
            replace(carried, results);
            replace(&mut [value], own);
        }
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
    pub fn begin(from: Scalar<i32>, to: Scalar<i32>, by: Scalar<i32>, carried: Carried<'_, '_, Dynamic>) -> For {
        let bounds = [from.raw(), to.raw(), by.raw()];
        let open = Open::new(true, Loc::caller());
        let before = collected(carried);
        let (index, args) = session::begin_region(&[Type::Scalar(DType::I32)], &before);
        replace(carried, args);
        For { bounds, before, index: index[0], open }
    }

    pub fn index(&self) -> Scalar<i32> {
        Scalar::wrap(self.index)
    }

    pub fn end(mut self, carried: Carried<'_, '_, Dynamic>) {
        self.open.done = true;
        let yields = collected(carried);
        let region = session::end_region(&yields, &self.open.loc);
        let operands = [&self.bounds[..], &self.before].concat();
        let regions = region.map(|r| vec![r]);
        replace(carried, session::control(OpKind::For, &operands, regions, &self.before, self.open.loc.clone()));
    }
}

/// A `while` under construction.
#[doc(hidden)]
pub struct While<W> {
    before: Vec<Raw>,
    test: Option<Region>,
    stage: Stage,
    open: Open,
    when: PhantomData<W>,
}

#[derive(PartialEq)]
enum Stage {
    Test,
    Body,
    Done,
}

impl<W: When> While<W> {
    /// `_test` is never called: its type says which kind of loop this is before any of it is built.
    #[track_caller]
    pub fn begin(_test: impl FnOnce() -> Decision<W>) -> While<W> {
        While { before: vec![], test: None, stage: Stage::Test, open: Open::new(W::DYNAMIC, Loc::caller()), when: PhantomData }
    }

    pub fn when(&self) -> W {
        W::WHEN
    }

    /// Before the test: of a dynamic loop, opens its region.
    pub fn test(&mut self, carried: Carried<'_, '_, W>) {
        if W::DYNAMIC && self.stage == Stage::Test {
            self.before = collected(carried);
            let (_, args) = session::begin_region(&[], &self.before);
            replace(carried, args);
        }
    }

    /// After the test: whether the body is built (again).
    pub fn enter(&mut self, condition: Decision<W>, carried: Carried<'_, '_, W>) -> bool {
        let raw = match condition.value {
            Err(known) => return known,
            Ok(_) if self.stage != Stage::Test => return false,
            Ok(scalar) => scalar.raw(),
        };
        self.test = session::end_region(&[raw], &self.open.loc);
        let (_, args) = session::begin_region(&[], &self.before);
        replace(carried, args);
        self.stage = Stage::Body;
        true
    }

    /// After the body: whether the loop goes round once more while it is built.
    pub fn again(&mut self, carried: Carried<'_, '_, W>) -> bool {
        if self.stage == Stage::Test {
            return true;
        }
        let yields = collected(carried);
        let body = session::end_region(&yields, &self.open.loc);
        let regions = self.test.take().zip(body).map(|(test, body)| vec![test, body]);
        replace(carried, session::control(OpKind::While, &self.before, regions, &self.before, self.open.loc.clone()));
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
