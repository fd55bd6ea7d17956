//! Rust's operators on tiles, scalars and literals.

use super::element::{Bits, Element, Float, Number};
use super::session::{self, Raw};
use super::shape::{BcastShape, Shape};
use super::value::{Handle, IntoScalar, Join, Operand, Scalar, Tile};
use crate::ir::{BinaryOp, Loc, OpKind, UnaryOp};
use std::ops;

/// Elementwise on two operands, broadcast to `J`.
pub(super) fn tiles<T: Element, J: Shape>(op: BinaryOp, a: impl Operand<T>, b: impl Operand<T>, loc: Loc) -> Tile<T, J> {
    let operands = [a.operand::<J>(&loc), b.operand::<J>(&loc)];
    Tile::wrap(session::emit(OpKind::Binary(op), &operands, loc))
}

/// On two scalars.
#[track_caller]
pub(super) fn scalars<T: Element>(op: BinaryOp, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> Scalar<T> {
    let operands: [Raw; 2] = [a.into_scalar().raw(), b.into_scalar().raw()];
    Scalar::wrap(session::emit(OpKind::Binary(op), &operands, Loc::caller()))
}

macro_rules! binary {
    ($class:ident: $($tr:ident $method:ident $assign_tr:ident $assign:ident $op:ident),+ $(,)?) => { $(
        impl<T: $class, A: Shape + BcastShape<B>, B: Shape> ops::$tr<Tile<T, B>> for Tile<T, A> {
            type Output = Tile<T, Join<A, B>>;
            #[track_caller]
            fn $method(self, other: Tile<T, B>) -> Tile<T, Join<A, B>> {
                tiles::<T, Join<A, B>>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<T: $class, S: Shape> ops::$tr<Scalar<T>> for Tile<T, S> {
            type Output = Tile<T, S>;
            #[track_caller]
            fn $method(self, other: Scalar<T>) -> Tile<T, S> {
                tiles::<T, S>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<T: $class, S: Shape> ops::$tr<Tile<T, S>> for Scalar<T> {
            type Output = Tile<T, S>;
            #[track_caller]
            fn $method(self, other: Tile<T, S>) -> Tile<T, S> {
                tiles::<T, S>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<T: $class> ops::$tr<Scalar<T>> for Scalar<T> {
            type Output = Scalar<T>;
            #[track_caller]
            fn $method(self, other: Scalar<T>) -> Scalar<T> {
                scalars(BinaryOp::$op, self, other)
            }
        }
        // The tile on the left keeps its shape: the right one broadcasts to it.
        impl<T: $class, A: Shape + BcastShape<B, J = A>, B: Shape> ops::$assign_tr<Tile<T, B>> for Tile<T, A> {
            #[track_caller]
            fn $assign(&mut self, other: Tile<T, B>) {
                *self = tiles::<T, A>(BinaryOp::$op, *self, other, Loc::caller());
            }
        }
        impl<T: $class, S: Shape> ops::$assign_tr<Scalar<T>> for Tile<T, S> {
            #[track_caller]
            fn $assign(&mut self, other: Scalar<T>) {
                *self = tiles::<T, S>(BinaryOp::$op, *self, other, Loc::caller());
            }
        }
        impl<T: $class> ops::$assign_tr<Scalar<T>> for Scalar<T> {
            #[track_caller]
            fn $assign(&mut self, other: Scalar<T>) {
                *self = scalars(BinaryOp::$op, *self, other);
            }
        }
    )+ };
}

/// Operators with a Rust literal of type `$lit` on one side; `[$($g)*]` are the generics, `$t` the element type.
macro_rules! literal {
    ($g:tt $t:ty, $lit:ty: $($tr:ident $method:ident $assign_tr:ident $assign:ident $op:ident),+ $(,)?) => {
        $(literal!(@one $g $t, $lit: $tr $method $assign_tr $assign $op);)+
    };
    (@one [$($g:tt)*] $t:ty, $lit:ty: $tr:ident $method:ident $assign_tr:ident $assign:ident $op:ident) => {
        impl<$($g)* S: Shape> ops::$tr<$lit> for Tile<$t, S> {
            type Output = Tile<$t, S>;
            #[track_caller]
            fn $method(self, other: $lit) -> Tile<$t, S> {
                tiles::<$t, S>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<$($g)* S: Shape> ops::$tr<Tile<$t, S>> for $lit {
            type Output = Tile<$t, S>;
            #[track_caller]
            fn $method(self, other: Tile<$t, S>) -> Tile<$t, S> {
                tiles::<$t, S>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<$($g)*> ops::$tr<$lit> for Scalar<$t> {
            type Output = Scalar<$t>;
            #[track_caller]
            fn $method(self, other: $lit) -> Scalar<$t> {
                scalars::<$t>(BinaryOp::$op, self, other)
            }
        }
        impl<$($g)*> ops::$tr<Scalar<$t>> for $lit {
            type Output = Scalar<$t>;
            #[track_caller]
            fn $method(self, other: Scalar<$t>) -> Scalar<$t> {
                scalars::<$t>(BinaryOp::$op, self, other)
            }
        }
        impl<$($g)* S: Shape> ops::$assign_tr<$lit> for Tile<$t, S> {
            #[track_caller]
            fn $assign(&mut self, other: $lit) {
                *self = tiles::<$t, S>(BinaryOp::$op, *self, other, Loc::caller());
            }
        }
        impl<$($g)*> ops::$assign_tr<$lit> for Scalar<$t> {
            #[track_caller]
            fn $assign(&mut self, other: $lit) {
                *self = scalars::<$t>(BinaryOp::$op, *self, other);
            }
        }
    };
}

binary!(Number:
    Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub, Mul mul MulAssign mul_assign Mul,
    Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem,
);
binary!(Bits:
    BitAnd bitand BitAndAssign bitand_assign And, BitOr bitor BitOrAssign bitor_assign Or,
    BitXor bitxor BitXorAssign bitxor_assign Xor,
);
literal!([T: Float,] T, f32:
    Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub, Mul mul MulAssign mul_assign Mul,
    Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem,
);
literal!([] i32, i32:
    Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub, Mul mul MulAssign mul_assign Mul,
    Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem, BitAnd bitand BitAndAssign bitand_assign And,
    BitOr bitor BitOrAssign bitor_assign Or, BitXor bitxor BitXorAssign bitxor_assign Xor,
);

/// Elementwise on one operand.
pub(super) fn unary<H: Handle>(op: UnaryOp, value: H, loc: Loc) -> H {
    H::wrap(session::emit(OpKind::Unary(op), &[value.raw()], loc))
}

macro_rules! prefix {
    ($class:ident: $tr:ident $method:ident $op:ident) => {
        impl<T: $class, S: Shape> ops::$tr for Tile<T, S> {
            type Output = Tile<T, S>;
            #[track_caller]
            fn $method(self) -> Tile<T, S> {
                unary(UnaryOp::$op, self, Loc::caller())
            }
        }
        impl<T: $class> ops::$tr for Scalar<T> {
            type Output = Scalar<T>;
            #[track_caller]
            fn $method(self) -> Scalar<T> {
                unary(UnaryOp::$op, self, Loc::caller())
            }
        }
    };
}

prefix!(Number: Neg neg Neg);
prefix!(Bits: Not not Not);
