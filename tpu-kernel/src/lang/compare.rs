//! Comparisons and conditions: what the macro makes of `==`, `<`, `&&` and `||`.
//!
//! Rules: two Rust values compare as Rust compares them, at build time; a tile or scalar on either
//! side makes the comparison part of the kernel. Plain helper functions, which no macro rewrites,
//! call the methods `eq`, `lt`… instead.

use super::control::{Decision, When, lazily};
use super::element::{Element, Number};
use super::memory::{In, Out, Vmem};
use super::session;
use super::shape::{BcastShape, Shape};
use super::unloaded::LoadedFirst;
use super::value::{Handle, IntoScalar, Join, Operand, Scalar, Tile, constant};
use crate::ir::{CompareOp, Loc, OpKind};

fn tiles<T: Element, J: Shape>(op: CompareOp, a: impl Operand<T>, b: impl Operand<T>, loc: Loc) -> Tile<bool, J> {
    let operands = [a.operand::<J>(&loc), b.operand::<J>(&loc)];
    Tile::wrap(session::emit(OpKind::Compare(op), &operands, loc))
}

#[track_caller]
fn scalars<T: Element>(op: CompareOp, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> Scalar<bool> {
    let operands = [a.into_scalar().raw(), b.into_scalar().raw()];
    Scalar::wrap(session::emit(OpKind::Compare(op), &operands, Loc::caller()))
}

macro_rules! methods {
    ($class:ident: $($(#[$doc:meta])* $method:ident $op:ident),+ $(,)?) => {
        impl<T: $class, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method<B: Operand<T>>(self, other: B) -> Tile<bool, Join<S, B::Shape>>
            where
                S: BcastShape<B::Shape>,
            {
                tiles(CompareOp::$op, self, other, Loc::caller())
            }
        )+ }
        impl<T: $class> Scalar<T> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self, other: impl IntoScalar<T>) -> Scalar<bool> {
                scalars(CompareOp::$op, self, other)
            }
        )+ }
    };
}

methods!(Element:
    /// Elementwise `==`; NaN equals nothing.
    eq Eq,
    /// Elementwise `!=`; NaN differs from everything.
    ne Ne,
);
methods!(Number:
    /// Elementwise `<`.
    lt Lt,
    /// Elementwise `<=`.
    le Le,
    /// Elementwise `>`.
    gt Gt,
    /// Elementwise `>=`.
    ge Ge,
);

/// Values that `==` and `!=` compare, at build time or in the kernel, to `Out`: `bool`, `Scalar<bool>` or a mask.
///
/// `Out` is a parameter and not an associated type: so the rules of plain values and of tiles do not overlap,
/// and a comparison that has no rule is one error.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}`",
    label = "no `==` between `{Self}` and `{B}`",
    note = "tiles and scalars compare with tiles, scalars and literals of their element type; memory is loaded first: `x.load()`"
)]
pub trait Equality<B, Out> {
    #[doc(hidden)]
    #[track_caller]
    fn equality(&self, op: CompareOp, other: &B) -> Out;
}

/// Values that `<`, `<=`, `>` and `>=` compare, as [`Equality`].
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}`",
    label = "no `<` between `{Self}` and `{B}`",
    note = "numbers compare with tiles, scalars and literals of their element type; memory is loaded first: `x.load()`"
)]
pub trait Order<B, Out> {
    #[doc(hidden)]
    #[track_caller]
    fn order(&self, op: CompareOp, other: &B) -> Out;
}

#[diagnostic::do_not_recommend]
impl<A: PartialEq<B>, B> Equality<B, bool> for A {
    fn equality(&self, op: CompareOp, other: &B) -> bool {
        if op == CompareOp::Eq { self == other } else { self != other }
    }
}
#[diagnostic::do_not_recommend]
impl<A: PartialOrd<B>, B> Order<B, bool> for A {
    fn order(&self, op: CompareOp, other: &B) -> bool {
        match op {
            CompareOp::Lt => self < other,
            CompareOp::Le => self <= other,
            CompareOp::Gt => self > other,
            _ => self >= other,
        }
    }
}

macro_rules! staged {
    ($($tr:ident $method:ident $class:ident),+) => { $(
        #[diagnostic::do_not_recommend]
        impl<T: $class, A: Shape + BcastShape<B::Shape>, B: Operand<T> + Copy> $tr<B, Tile<bool, Join<A, B::Shape>>> for Tile<T, A> {
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &B) -> Tile<bool, Join<A, B::Shape>> {
                tiles(op, *self, *other, Loc::caller())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, B: Operand<T, WithScalar = Scalar<T>> + Copy> $tr<B, Scalar<bool>> for Scalar<T> {
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &B) -> Scalar<bool> {
                Scalar::wrap(other.after_scalar(OpKind::Compare(op), *self, &Loc::caller()).raw())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, S: Shape> $tr<Tile<T, S>, Tile<bool, S>> for Scalar<T> {
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Tile<T, S>) -> Tile<bool, S> {
                tiles(op, *self, *other, Loc::caller())
            }
        }
        staged!(@literal $tr $method $class f32);
        staged!(@literal $tr $method $class i32);
        staged!(@literal $tr $method $class bool);
        staged!(@memory $tr $method In);
        staged!(@memory $tr $method Out);
        staged!(@memory $tr $method Vmem);
    )+ };
    (@literal $tr:ident $method:ident $class:ident $left:ty) => {
        #[diagnostic::do_not_recommend]
        impl<T: $class, S: Shape> $tr<Tile<T, S>, Tile<bool, S>> for $left
        where
            $left: Operand<T>,
        {
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Tile<T, S>) -> Tile<bool, S> {
                let loc = Loc::caller();
                let operands = [self.operand::<S>(&loc), other.raw()];
                Tile::wrap(session::emit(OpKind::Compare(op), &operands, loc))
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class> $tr<Scalar<T>, Scalar<bool>> for $left
        where
            $left: IntoScalar<T>,
        {
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Scalar<T>) -> Scalar<bool> {
                scalars::<T>(op, *self, *other)
            }
        }
    };
    // Never satisfied: beside the rule of plain values, so that the compiler does not take memory for one.
    (@memory $tr:ident $method:ident $memory:ident) => {
        #[diagnostic::do_not_recommend]
        impl<T: Element, S: Shape, B: LoadedFirst<$memory<T, S>>> $tr<B, Tile<bool, S>> for $memory<T, S> {
            fn $method(&self, _op: CompareOp, _other: &B) -> Tile<bool, S> {
                Tile::wrap(session::dead())
            }
        }
    };
}

staged!(Equality equality Element, Order order Number);

/// `a && b`: the right side is computed only where the left leaves it open: it may load. A side known
/// at build time decides there, and nothing of the other is recorded.
#[doc(hidden)]
#[track_caller]
pub fn and<A: When, B: When>(left: Decision<A>, right: impl FnOnce() -> Decision<B>) -> <A::With<B> as When>::Value {
    <A::With<B>>::value(joined(left, right, false, &Loc::caller()), &Loc::caller())
}

/// `a || b`, as [`and`].
#[doc(hidden)]
#[track_caller]
pub fn or<A: When, B: When>(left: Decision<A>, right: impl FnOnce() -> Decision<B>) -> <A::With<B> as When>::Value {
    <A::With<B>>::value(joined(left, right, true, &Loc::caller()), &Loc::caller())
}

/// `left || right()` where `decides` is true, `left && right()` where it is false.
fn joined<A: When, B: When>(
    left: Decision<A>,
    right: impl FnOnce() -> Decision<B>,
    decides: bool,
    loc: &Loc,
) -> Result<Scalar<bool>, bool> {
    let left = match left.dynamic() {
        Err(known) if known == decides => return Err(decides),
        Err(_) => return right().dynamic(),
        Ok(left) => left,
    };
    if !B::DYNAMIC {
        return if matches!(right().dynamic(), Err(known) if known == decides) { Err(decides) } else { Ok(left) };
    }
    let decided = || constant(decides.into(), loc.clone());
    let open = || right().dynamic().unwrap_or_else(|known| constant(known.into(), loc.clone()));
    Ok(if decides { lazily(left, decided, open, loc.clone()) } else { lazily(left, open, decided, loc.clone()) })
}
