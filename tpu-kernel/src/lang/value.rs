//! The handles of values: [`Tile`] and [`Scalar`], and what else may stand where one is expected.

use super::element::{Element, Float, Int};
use super::session::{self, Raw};
use super::shape::{BcastShape, Shape};
use crate::BuildFault;
use crate::formats::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, Format, I2, I4, Overflow, U4};
use crate::ir::{Literal, Loc, OpKind, Type};
use std::fmt;
use std::marker::PhantomData;

/// A block of elements of type `T` and shape `S`: a value of the kernel being built, not data.
///
/// Copying a tile copies the handle. Arithmetic broadcasts dimensions of [`One`](super::One).
pub struct Tile<T, S> {
    raw: Raw,
    // Neither `Send` nor `Sync`: a handle belongs to the thread that builds the kernel.
    of: PhantomData<(T, S, *const ())>,
}

/// One element of type `T`, computed by the scalar unit: indices, sizes, conditions.
pub struct Scalar<T> {
    raw: Raw,
    of: PhantomData<(T, *const ())>,
}

impl<T, S> Clone for Tile<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for Tile<T, S> {}
impl<T, S> Tile<T, S> {
    pub(super) const fn new(raw: Raw) -> Self {
        Tile { raw, of: PhantomData }
    }
}
impl<T> Clone for Scalar<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Scalar<T> {}

impl<T: Element, S: Shape> fmt::Debug for Tile<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", <Self as Handle>::ty())
    }
}
impl<T: Element> fmt::Debug for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", T::DTYPE)
    }
}

/// What [`Tile`] and [`Scalar`] have in common.
pub trait Handle: Copy {
    /// The element type.
    type Elem: Element;
    /// The same kind of value with other elements.
    type With<U: Element>: Handle<Elem = U>;
    /// The type in the IR.
    fn ty() -> Type;
    #[doc(hidden)]
    fn raw(self) -> Raw;
    #[doc(hidden)]
    fn wrap(raw: Raw) -> Self;
}

impl<T: Element, S: Shape> Handle for Tile<T, S> {
    type Elem = T;
    type With<U: Element> = Tile<U, S>;
    fn ty() -> Type {
        Type::Tile(T::DTYPE, S::shape())
    }
    fn raw(self) -> Raw {
        self.raw
    }
    fn wrap(raw: Raw) -> Self {
        Tile { raw, of: PhantomData }
    }
}

impl<T: Element> Handle for Scalar<T> {
    type Elem = T;
    type With<U: Element> = Scalar<U>;
    fn ty() -> Type {
        Type::Scalar(T::DTYPE)
    }
    fn raw(self) -> Raw {
        self.raw
    }
    fn wrap(raw: Raw) -> Self {
        Scalar { raw, of: PhantomData }
    }
}

/// What may stand where a scalar of type `T` is expected: a [`Scalar`] or a literal.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar of `{T}`",
    label = "expected a `Scalar<{T}>` or a literal of `{T}`",
    note = "a number of Rust's `i32` or `f32` fits itself to the elements, as `0`, `0.5` or `f32::NEG_INFINITY`; one of exactly their type is wrapped, as in `Scalar::new(f16::NEG_INFINITY)`"
)]
pub trait IntoScalar<T: Element> {
    /// The scalar.
    #[track_caller]
    fn into_scalar(self) -> Scalar<T>;
}

#[diagnostic::do_not_recommend]
impl<T: Element> IntoScalar<T> for Scalar<T> {
    fn into_scalar(self) -> Scalar<T> {
        self
    }
}
/// One outside the range of `T` is a fault.
#[diagnostic::do_not_recommend]
impl<T: Int> IntoScalar<T> for i32 {
    #[track_caller]
    fn into_scalar(self) -> Scalar<T> {
        integer(self, Loc::caller())
    }
}
#[diagnostic::do_not_recommend]
impl IntoScalar<bool> for bool {
    #[track_caller]
    fn into_scalar(self) -> Scalar<bool> {
        constant(self.into(), Loc::caller())
    }
}
/// Rounded to `T`.
#[diagnostic::do_not_recommend]
impl<T: Float> IntoScalar<T> for f32 {
    #[track_caller]
    fn into_scalar(self) -> Scalar<T> {
        float(self, Loc::caller())
    }
}

macro_rules! from_literal {
    ($($ty:ty),+) => { $(
        /// A constant of the kernel.
        impl From<$ty> for Scalar<$ty> {
            #[track_caller]
            fn from(value: $ty) -> Scalar<$ty> {
                constant(value.into(), Loc::caller())
            }
        }
    )+ };
}
// Of the integers of Rust `i32` alone: a literal has one type. `Scalar::new` takes the others.
from_literal!(f32, half::bf16, half::f16, F8E4M3, F8E5M2, F8E4M3B11, F4E2M1, i32, I4, I2, U4, bool);

impl<T: Element> Scalar<T> {
    /// A constant of the kernel, of exactly this value.
    #[track_caller]
    pub fn new(value: T) -> Scalar<T> {
        constant(value.into(), Loc::caller())
    }
}

/// What has a shape, right or wrong where it stands: a trait of its own, so that a wrong operand is one error.
pub trait Shaped {
    /// The tile's shape; `()` of a scalar.
    type Shape;
}

macro_rules! shaped {
    ($($ty:ty),+) => { $(
        #[diagnostic::do_not_recommend]
        impl Shaped for $ty {
            type Shape = ();
        }
    )+ };
}

shaped!(f32, f64, bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
shaped!(half::bf16, half::f16, F8E4M3, F8E5M2, F8E4M3B11, F4E2M1, I4, I2, U4);
#[diagnostic::do_not_recommend]
impl<T> Shaped for Scalar<T> {
    type Shape = ();
}
#[diagnostic::do_not_recommend]
impl<T, S> Shaped for Tile<T, S> {
    type Shape = S;
}

/// What may stand where a tile of `T` is expected: a [`Tile`], a [`Scalar`] or a literal, which broadcast.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value with elements of `{T}`",
    label = "expected a tile, a scalar or a literal of `{T}`",
    note = "memory is loaded first, `x.load()`; other elements are converted, `x.cast::<{T}>()`; a float literal has a point, `2.0`; a Rust constant of the type is wrapped, `Scalar::new(f16::MAX)`"
)]
pub trait Operand<T: Element>: Shaped {
    /// What an operator makes of a scalar and this operand: a scalar, or a tile where this is one.
    type WithScalar: Handle;
    /// The value, broadcast to the shape `J`.
    #[doc(hidden)]
    fn operand<J: Shape>(self, loc: &Loc) -> Raw;
    /// The operation `kind` on a scalar and this operand.
    #[doc(hidden)]
    fn after_scalar(self, kind: OpKind, left: Scalar<T>, loc: &Loc) -> Self::WithScalar;
}

#[diagnostic::do_not_recommend]
impl<T: Element, S: Shape> Operand<T> for Tile<T, S> {
    type WithScalar = Tile<T, S>;
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        broadcast::<J>(self.raw, loc)
    }
    fn after_scalar(self, kind: OpKind, left: Scalar<T>, loc: &Loc) -> Self {
        let left = broadcast::<S>(left.raw, loc);
        Tile::wrap(session::emit(kind, &[left, self.raw], loc.clone()))
    }
}

macro_rules! scalar_operand {
    ([$($g:tt)*] $ty:ty, $t:ty, |$value:ident, $loc:ident| $scalar:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($g)*> Operand<$t> for $ty {
            type WithScalar = Scalar<$t>;
            fn operand<J: Shape>(self, $loc: &Loc) -> Raw {
                let $value = self;
                let scalar: Scalar<$t> = $scalar;
                broadcast::<J>(scalar.raw, $loc)
            }
            fn after_scalar(self, kind: OpKind, left: Scalar<$t>, $loc: &Loc) -> Scalar<$t> {
                let $value = self;
                let scalar: Scalar<$t> = $scalar;
                Scalar::wrap(session::emit(kind, &[left.raw, scalar.raw], $loc.clone()))
            }
        }
    };
}

scalar_operand!([T: Element] Scalar<T>, T, |value, _loc| value);
scalar_operand!([T: Int] i32, T, |value, loc| integer(value, loc.clone()));
scalar_operand!([] bool, bool, |value, loc| constant(value.into(), loc.clone()));

// The one that errors show: where a float literal is wrong, the elements are not floating-point.
impl<T: Float> Operand<T> for f32 {
    type WithScalar = Scalar<T>;
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        float::<T>(self, loc.clone()).operand::<J>(loc)
    }
    fn after_scalar(self, kind: OpKind, left: Scalar<T>, loc: &Loc) -> Scalar<T> {
        float::<T>(self, loc.clone()).after_scalar(kind, left, loc)
    }
}

/// A constant of the type of the literal, which is `T`.
pub(super) fn constant<T: Element>(literal: Literal, loc: Loc) -> Scalar<T> {
    Scalar::wrap(session::emit(OpKind::Const(literal), &[], loc))
}

/// A Rust float literal as an element of `T`, rounded; one beyond the largest element is a fault, as is an infinity or
/// NaN of a type that has none.
pub(super) fn float<T: Float>(value: f32, loc: Loc) -> Scalar<T> {
    let literal = Literal::from_f32(T::DTYPE, value);
    let cut = Format::of(T::DTYPE).is_some_and(|format| format.overflow == Overflow::Saturate && beyond(format, value));
    let fits = literal.as_f32().is_some_and(|kept| match value {
        _ if value.is_nan() => kept.is_nan(),
        _ if value.is_infinite() => kept == value,
        _ => kept.is_finite() && !cut,
    });
    if !fits {
        return unfit(format!("{value:?}"), literal, loc);
    }
    constant(literal, loc)
}

/// Whether a number is further above the largest of a format than rounding goes.
fn beyond(format: Format, value: f32) -> bool {
    let (below, largest) = (format.decode(format.largest() - 1), format.decode(format.largest()));
    value.abs() > largest + (largest - below) / 2.0
}

/// A Rust integer literal as an element of `T`.
pub(super) fn integer<T: Int>(value: i32, loc: Loc) -> Scalar<T> {
    let literal = Literal::from_int(T::DTYPE, i64::from(value));
    if literal.as_int() != Some(i64::from(value)) {
        return unfit(value.to_string(), literal, loc);
    }
    constant(literal, loc)
}

fn unfit<T: Element>(value: String, becomes: Literal, loc: Loc) -> Scalar<T> {
    session::fault(BuildFault::Literal { value, dtype: T::DTYPE, becomes, loc });
    Scalar::wrap(session::dead())
}

/// The value repeated to the shape `J`; nothing is recorded where it has that shape.
pub(super) fn broadcast<J: Shape>(raw: Raw, loc: &Loc) -> Raw {
    let to = J::shape();
    match session::type_of(raw) {
        Some(Type::Tile(_, from)) if from == to => raw,
        _ => session::emit(OpKind::Broadcast(to), &[raw], loc.clone()),
    }
}

/// The shape that a tile of shape `A` and an operand of shape `B` broadcast to.
pub(super) type Join<A, B> = <A as BcastShape<B>>::J;
