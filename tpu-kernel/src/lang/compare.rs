//! Comparisons and conditions: what the macro makes of `==`, `<`, `&&` and `||`.
//!
//! Rules: two Rust values compare as Rust compares them, at build time; a tile or scalar on either
//! side makes the comparison part of the kernel. Plain helper functions, which no macro rewrites,
//! call the methods `eq`, `lt`… instead.

use super::element::{Element, Float, Number};
use super::session;
use super::shape::{BcastShape, Shape};
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

/// Values that `==` and `!=` compare, at build time or in the kernel.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}`",
    label = "no `==` between `{Self}` and `{B}`",
    note = "tiles compare with tiles, scalars and literals of their element type; memory is loaded first"
)]
pub trait Equality<B> {
    /// `bool`, `Scalar<bool>` or a mask.
    type Out;
    #[doc(hidden)]
    #[track_caller]
    fn equality(&self, op: CompareOp, other: &B) -> Self::Out;
}

/// Values that `<`, `<=`, `>` and `>=` compare, at build time or in the kernel.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}`",
    label = "no `<` between `{Self}` and `{B}`",
    note = "tiles compare with tiles, scalars and literals of their element type; memory is loaded first"
)]
pub trait Order<B> {
    /// `bool`, `Scalar<bool>` or a mask.
    type Out;
    #[doc(hidden)]
    #[track_caller]
    fn order(&self, op: CompareOp, other: &B) -> Self::Out;
}

impl<A: PartialEq<B>, B> Equality<B> for A {
    type Out = bool;
    fn equality(&self, op: CompareOp, other: &B) -> bool {
        if op == CompareOp::Eq { self == other } else { self != other }
    }
}
impl<A: PartialOrd<B>, B> Order<B> for A {
    type Out = bool;
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
    ($tr:ident $method:ident $class:ident) => {
        #[diagnostic::do_not_recommend]
        impl<T: $class, A: Shape + BcastShape<B>, B: Shape> $tr<Tile<T, B>> for Tile<T, A> {
            type Out = Tile<bool, Join<A, B>>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Tile<T, B>) -> Self::Out {
                tiles(op, *self, *other, Loc::caller())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, S: Shape> $tr<Scalar<T>> for Tile<T, S> {
            type Out = Tile<bool, S>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Scalar<T>) -> Self::Out {
                tiles(op, *self, *other, Loc::caller())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, S: Shape> $tr<Tile<T, S>> for Scalar<T> {
            type Out = Tile<bool, S>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Tile<T, S>) -> Self::Out {
                tiles(op, *self, *other, Loc::caller())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class> $tr<Scalar<T>> for Scalar<T> {
            type Out = Scalar<bool>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Scalar<T>) -> Self::Out {
                scalars(op, *self, *other)
            }
        }
    };
    ($tr:ident $method:ident [$($g:tt)*] $t:ty, $lit:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($g)* S: Shape> $tr<$lit> for Tile<$t, S> {
            type Out = Tile<bool, S>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &$lit) -> Self::Out {
                tiles::<$t, S>(op, *self, *other, Loc::caller())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($g)* S: Shape> $tr<Tile<$t, S>> for $lit {
            type Out = Tile<bool, S>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Tile<$t, S>) -> Self::Out {
                tiles::<$t, S>(op, *self, *other, Loc::caller())
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($g)*> $tr<$lit> for Scalar<$t> {
            type Out = Scalar<bool>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &$lit) -> Self::Out {
                scalars::<$t>(op, *self, *other)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($g)*> $tr<Scalar<$t>> for $lit {
            type Out = Scalar<bool>;
            #[track_caller]
            fn $method(&self, op: CompareOp, other: &Scalar<$t>) -> Self::Out {
                scalars::<$t>(op, *self, *other)
            }
        }
    };
}

staged!(Equality equality Element);
staged!(Equality equality [T: Float,] T, f32);
staged!(Equality equality [] i32, i32);
staged!(Equality equality [] bool, bool);
staged!(Order order Number);
staged!(Order order [T: Float,] T, f32);
staged!(Order order [] i32, i32);

/// `&&` and `||` between conditions, known at build time or in the kernel.
#[diagnostic::on_unimplemented(
    message = "`&&` and `||` join conditions, not `{Self}` and `{B}`",
    label = "expected `bool` or `Scalar<bool>`; masks are joined with `&` and `|`"
)]
pub trait Logic<B> {
    /// `bool` if both are, else `Scalar<bool>`.
    type Out;
    #[doc(hidden)]
    #[track_caller]
    fn and(self, right: impl FnOnce() -> B) -> Self::Out;
    #[doc(hidden)]
    #[track_caller]
    fn or(self, right: impl FnOnce() -> B) -> Self::Out;
}

impl Logic<bool> for bool {
    type Out = bool;
    fn and(self, right: impl FnOnce() -> bool) -> bool {
        self && right()
    }
    fn or(self, right: impl FnOnce() -> bool) -> bool {
        self || right()
    }
}
/// A side known at build time decides there: nothing of the other side is recorded.
impl Logic<Scalar<bool>> for bool {
    type Out = Scalar<bool>;
    #[track_caller]
    fn and(self, right: impl FnOnce() -> Scalar<bool>) -> Scalar<bool> {
        if self { right() } else { false.into_scalar() }
    }
    #[track_caller]
    fn or(self, right: impl FnOnce() -> Scalar<bool>) -> Scalar<bool> {
        if self { true.into_scalar() } else { right() }
    }
}
impl Logic<bool> for Scalar<bool> {
    type Out = Scalar<bool>;
    #[track_caller]
    fn and(self, right: impl FnOnce() -> bool) -> Scalar<bool> {
        if right() { self } else { false.into_scalar() }
    }
    #[track_caller]
    fn or(self, right: impl FnOnce() -> bool) -> Scalar<bool> {
        if right() { true.into_scalar() } else { self }
    }
}
/// The right side is computed only where the left leaves it open: it may load.
impl Logic<Scalar<bool>> for Scalar<bool> {
    type Out = Scalar<bool>;
    #[track_caller]
    fn and(self, right: impl FnOnce() -> Scalar<bool>) -> Scalar<bool> {
        let loc = Loc::caller();
        super::control::lazily(self, right, || constant(false.into(), loc.clone()), loc.clone())
    }
    #[track_caller]
    fn or(self, right: impl FnOnce() -> Scalar<bool>) -> Scalar<bool> {
        let loc = Loc::caller();
        super::control::lazily(self, || constant(true.into(), loc.clone()), right, loc.clone())
    }
}
