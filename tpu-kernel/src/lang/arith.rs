//! Rust's operators on tiles, scalars and literals.

use super::element::{Bits, Element, Int, Number};
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

/// The right operand of `+`, `-`, `*`, `/`, `%` on elements of `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value with elements of `{T}`",
    label = "expected a tile, a scalar or a literal of `{T}`",
    note = "memory is loaded first, `x.load()`; other elements are converted, `x.cast::<{T}>()`; a float literal has a point, `2.0`; a Rust constant of the type is wrapped, `Scalar::new(f16::MAX)`"
)]
pub trait Arithmetic<T: Element>: Operand<T> {}
impl<T: Number, B: Operand<T>> Arithmetic<T> for B {}

/// The right operand of `&`, `|`, `^` on elements of `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value with elements of `{T}`",
    label = "expected a tile, a scalar or a literal of `{T}`",
    note = "memory is loaded first, `x.load()`; other elements are converted, `x.cast::<{T}>()`; a float literal has a point, `2.0`; a Rust constant of the type is wrapped, `Scalar::new(f16::MAX)`"
)]
pub trait Bitwise<T: Element>: Operand<T> {}
impl<T: Bits, B: Operand<T>> Bitwise<T> for B {}

/// The right operand of `<<` and `>>` on elements of `T`: how far, of the same type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value with elements of `{T}`",
    label = "expected a tile, a scalar or a literal of `{T}`",
    note = "memory is loaded first, `x.load()`; other elements are converted, `x.cast::<{T}>()`"
)]
pub trait Shifted<T: Element>: Operand<T> {}
impl<T: Int, B: Operand<T>> Shifted<T> for B {}

// Every bound is on the right operand, which is a parameter: what may not stand there is then an error about
// it, in its own words, where a bound on the left one would be "binary operation cannot be applied".
macro_rules! binary {
    ($class:ident: $($tr:ident $method:ident $assign_tr:ident $assign:ident $op:ident),+ $(,)?) => { $(
        impl<T: Element, A: Shape + BcastShape<B::Shape>, B: $class<T>> ops::$tr<B> for Tile<T, A> {
            type Output = Tile<T, Join<A, B::Shape>>;
            #[track_caller]
            fn $method(self, other: B) -> Self::Output {
                tiles::<T, Join<A, B::Shape>>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<T: Element, B: $class<T>> ops::$tr<B> for Scalar<T> {
            type Output = B::WithScalar;
            #[track_caller]
            fn $method(self, other: B) -> B::WithScalar {
                other.after_scalar(OpKind::Binary(BinaryOp::$op), self, &Loc::caller())
            }
        }
        // The tile on the left keeps its shape: the right one broadcasts to it.
        impl<T: Element, A: Shape + BcastShape<B::Shape, J = A>, B: $class<T>> ops::$assign_tr<B> for Tile<T, A> {
            #[track_caller]
            fn $assign(&mut self, other: B) {
                *self = tiles::<T, A>(BinaryOp::$op, *self, other, Loc::caller());
            }
        }
        impl<T: Element, B: $class<T, WithScalar = Scalar<T>>> ops::$assign_tr<B> for Scalar<T> {
            #[track_caller]
            fn $assign(&mut self, other: B) {
                *self = other.after_scalar(OpKind::Binary(BinaryOp::$op), *self, &Loc::caller());
            }
        }
    )+ };
}

/// Operators with a Rust literal of type `$lit` on the left.
macro_rules! literal {
    ($class:ident $lit:ty: $($tr:ident $method:ident $op:ident),+ $(,)?) => { $(
        impl<T: $class, S: Shape> ops::$tr<Tile<T, S>> for $lit
        where
            $lit: Operand<T>,
        {
            type Output = Tile<T, S>;
            #[track_caller]
            fn $method(self, other: Tile<T, S>) -> Tile<T, S> {
                tiles::<T, S>(BinaryOp::$op, self, other, Loc::caller())
            }
        }
        impl<T: $class> ops::$tr<Scalar<T>> for $lit
        where
            $lit: IntoScalar<T>,
        {
            type Output = Scalar<T>;
            #[track_caller]
            fn $method(self, other: Scalar<T>) -> Scalar<T> {
                scalars::<T>(BinaryOp::$op, self, other)
            }
        }
    )+ };
}

binary!(Arithmetic:
    Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub, Mul mul MulAssign mul_assign Mul,
    Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem,
);
binary!(Bitwise:
    BitAnd bitand BitAndAssign bitand_assign And, BitOr bitor BitOrAssign bitor_assign Or,
    BitXor bitxor BitXorAssign bitxor_assign Xor,
);
binary!(Shifted: Shl shl ShlAssign shl_assign Shl, Shr shr ShrAssign shr_assign Shr);
literal!(Number f32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);
literal!(Number i32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);
literal!(Bits i32: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);
literal!(Int i32: Shl shl Shl, Shr shr Shr);

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

impl Scalar<i32> {
    /// The quotient, rounded up: of a size and a block size the number of blocks that cover it, as `m / BM` is in the size
    /// expressions of a signature. In the body `/` truncates.
    #[track_caller]
    pub fn div_ceil(self, by: impl IntoScalar<i32>) -> Scalar<i32> {
        let by = by.into_scalar();
        let (quotient, rest) = (self / by, self % by);
        // Truncation has rounded up already where the signs differ.
        let up = rest.ne(0) & !(rest.lt(0) ^ by.lt(0));
        super::choose(up, quotient + 1, quotient)
    }
}
