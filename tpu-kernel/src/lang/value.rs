//! The handles of values: [`Tile`] and [`Scalar`], and what else may stand where one is expected.

use super::element::{Element, Float};
use super::session::{self, Raw};
use super::shape::{BcastShape, Shape};
use crate::ir::{DType, Literal, Loc, OpKind, Type};
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
    label = "expected a `Scalar<{T}>` or a literal of that class"
)]
pub trait IntoScalar<T: Element> {
    /// The scalar.
    #[track_caller]
    fn into_scalar(self) -> Scalar<T>;
}

impl<T: Element> IntoScalar<T> for Scalar<T> {
    fn into_scalar(self) -> Scalar<T> {
        self
    }
}
impl IntoScalar<i32> for i32 {
    #[track_caller]
    fn into_scalar(self) -> Scalar<i32> {
        constant(self.into(), Loc::caller())
    }
}
impl IntoScalar<bool> for bool {
    #[track_caller]
    fn into_scalar(self) -> Scalar<bool> {
        constant(self.into(), Loc::caller())
    }
}
/// Rounded to `T`.
impl<T: Float> IntoScalar<T> for f32 {
    #[track_caller]
    fn into_scalar(self) -> Scalar<T> {
        constant(float(T::DTYPE, self), Loc::caller())
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
from_literal!(f32, half::bf16, i32, bool);

/// What may stand where a tile of `T` is expected: a [`Tile`], a [`Scalar`] or a literal, which broadcast.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tile or scalar of `{T}`",
    label = "expected a tile, a scalar or a literal with elements of `{T}`; memory is loaded first: `x.load()`"
)]
pub trait Operand<T: Element> {
    /// The tile's shape; `()` of a scalar.
    type Shape;
    /// The value, broadcast to the shape `J`.
    #[doc(hidden)]
    fn operand<J: Shape>(self, loc: &Loc) -> Raw;
}

impl<T: Element, S: Shape> Operand<T> for Tile<T, S> {
    type Shape = S;
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        broadcast::<J>(self.raw, loc)
    }
}
impl<T: Element> Operand<T> for Scalar<T> {
    type Shape = ();
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        broadcast::<J>(self.raw, loc)
    }
}
impl<T: Float> Operand<T> for f32 {
    type Shape = ();
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        broadcast::<J>(constant::<T>(float(T::DTYPE, self), loc.clone()).raw, loc)
    }
}
impl Operand<i32> for i32 {
    type Shape = ();
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        broadcast::<J>(constant::<i32>(self.into(), loc.clone()).raw, loc)
    }
}
impl Operand<bool> for bool {
    type Shape = ();
    fn operand<J: Shape>(self, loc: &Loc) -> Raw {
        broadcast::<J>(constant::<bool>(self.into(), loc.clone()).raw, loc)
    }
}

/// A constant of the type of the literal, which is `T`.
pub(super) fn constant<T: Element>(literal: Literal, loc: Loc) -> Scalar<T> {
    Scalar::wrap(session::emit(OpKind::Const(literal), &[], loc))
}

/// A Rust float literal as an element of that type.
pub(super) fn float(dtype: DType, value: f32) -> Literal {
    match dtype {
        DType::F32 => value.into(),
        _ => half::bf16::from_f32(value).into(),
    }
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
