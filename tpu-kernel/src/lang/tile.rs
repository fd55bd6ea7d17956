//! What tiles and scalars can do beside operators: mathematics, casts, shapes, reductions, products.

use super::Dim;
use super::arith::{scalars, tiles, unary};
use super::element::{Element, Float, Number};
use super::session;
use super::shape::{AxisOf, BcastShape, HasAxis, Shape};
use super::value::{Handle, IntoScalar, Join, Operand, Scalar, Tile, constant, float};
use crate::ir::{BinaryOp, DotDims, Loc, OpKind, Precision, ReduceOp, UnaryOp};

macro_rules! unary_methods {
    ($class:ident: $($(#[$doc:meta])* $method:ident $op:ident),+ $(,)?) => {
        impl<T: $class, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Self {
                unary(UnaryOp::$op, self, Loc::caller())
            }
        )+ }
        impl<T: $class> Scalar<T> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Self {
                unary(UnaryOp::$op, self, Loc::caller())
            }
        )+ }
    };
}

unary_methods!(Float:
    /// e to the power of each element, within 1 ulp.
    exp Exp,
    /// The square root of each element, correctly rounded; NaN below zero.
    sqrt Sqrt,
    /// One over the square root of each element.
    rsqrt Rsqrt,
    /// The hyperbolic tangent of each element, within 2 ulp.
    tanh Tanh,
);
unary_methods!(Number:
    /// The absolute value of each element; of `i32::MIN`, itself.
    abs Abs,
);

impl<T: Element, S: Shape> Tile<T, S> {
    /// A tile with this value everywhere: a literal or a scalar.
    #[track_caller]
    pub fn full(value: impl IntoScalar<T>) -> Self {
        let loc = Loc::caller();
        Tile::wrap(value.into_scalar().operand::<S>(&loc))
    }

    /// A tile of this tile's type with another value everywhere.
    #[track_caller]
    pub fn like(self, value: impl IntoScalar<T>) -> Self {
        Self::full(value)
    }

    /// The elements converted to `U`: f32 to i32 truncates and saturates, NaN becomes 0; to bool is `!= 0`.
    #[track_caller]
    pub fn cast<U: Element>(self) -> Tile<U, S> {
        Tile::wrap(session::emit(OpKind::Cast(U::DTYPE), &[self.raw()], Loc::caller()))
    }

    /// Dimensions of [`One`](super::One) repeated to those of `J`.
    #[track_caller]
    pub fn broadcast<J: Shape>(self) -> Tile<T, J>
    where
        S: BcastShape<J, J = J>,
    {
        Tile::wrap(self.operand::<J>(&Loc::caller()))
    }

    /// The same elements in row-major order as another shape; the numbers of elements must agree (V007).
    #[track_caller]
    pub fn reshape<J: Shape>(self) -> Tile<T, J> {
        Tile::wrap(session::emit(OpKind::Reshape(J::shape()), &[self.raw()], Loc::caller()))
    }

    /// Result dimension `d` is dimension `perm[d]` of this tile. `J` must be the permuted shape (V007).
    #[track_caller]
    pub fn transpose<J: Shape>(self, perm: J::Array<usize>) -> Tile<T, J> {
        let loc = Loc::caller();
        let permuted = session::emit(OpKind::Transpose(perm.as_ref().to_vec()), &[self.raw()], loc.clone());
        match session::type_of(permuted) {
            // The builder typed the permutation; `J` is the user's claim about it.
            Some(ty) if ty.shape() != J::shape() => {
                let rule = crate::ir::Rule::Results { want: Tile::<T, J>::ty().to_string(), got: ty.to_string() };
                session::fault(crate::BuildFault::Rule(crate::ir::Fault { rule, at: "transpose".into(), loc }));
                Tile::wrap(session::dead())
            }
            _ => Tile::wrap(permuted),
        }
    }

    #[track_caller]
    fn reduce<A>(self, op: ReduceOp) -> Tile<T, S::Reduced>
    where
        S: HasAxis<A>,
    {
        Tile::wrap(session::emit(OpKind::Reduce { op, axis: S::AXIS }, &[self.raw()], Loc::caller()))
    }
}

impl<T: Number, S: Shape> Tile<T, S> {
    /// The sum along an axis, which stays as [`One`](super::One). The order of additions does not depend on the block size.
    #[track_caller]
    pub fn sum<A>(self, _axis: A) -> Tile<T, S::Reduced>
    where
        S: HasAxis<A>,
    {
        self.reduce::<A>(ReduceOp::Sum)
    }

    /// The largest element along an axis, which stays as [`One`](super::One); NaN wins.
    #[track_caller]
    pub fn max<A>(self, _axis: A) -> Tile<T, S::Reduced>
    where
        S: HasAxis<A>,
    {
        self.reduce::<A>(ReduceOp::Max)
    }

    /// The smallest element along an axis, which stays as [`One`](super::One); NaN wins.
    #[track_caller]
    pub fn min<A>(self, _axis: A) -> Tile<T, S::Reduced>
    where
        S: HasAxis<A>,
    {
        self.reduce::<A>(ReduceOp::Min)
    }

    /// The larger of each two elements; NaN wins, -0 is below +0.
    #[track_caller]
    pub fn maximum<B: Operand<T>>(self, other: B) -> Tile<T, Join<S, B::Shape>>
    where
        S: BcastShape<B::Shape>,
    {
        tiles(BinaryOp::Max, self, other, Loc::caller())
    }

    /// The smaller of each two elements; NaN wins, -0 is below +0.
    #[track_caller]
    pub fn minimum<B: Operand<T>>(self, other: B) -> Tile<T, Join<S, B::Shape>>
    where
        S: BcastShape<B::Shape>,
    {
        tiles(BinaryOp::Min, self, other, Loc::caller())
    }
}

impl<T: Element, R: Dim, C: Dim> Tile<T, (R, C)> {
    /// The transpose of a matrix. Inside [`dot`] it costs nothing.
    #[track_caller]
    pub fn t(self) -> Tile<T, (C, R)> {
        Tile::wrap(session::emit(OpKind::Transpose(vec![1, 0]), &[self.raw()], Loc::caller()))
    }
}

impl<T: Element> Scalar<T> {
    /// The scalar converted to `U`, as [`Tile::cast`].
    #[track_caller]
    pub fn cast<U: Element>(self) -> Scalar<U> {
        Scalar::wrap(session::emit(OpKind::Cast(U::DTYPE), &[self.raw()], Loc::caller()))
    }
}

impl<T: Number> Scalar<T> {
    /// The larger of two scalars; NaN wins.
    #[track_caller]
    pub fn maximum(self, other: impl IntoScalar<T>) -> Scalar<T> {
        scalars(BinaryOp::Max, self, other)
    }

    /// The smaller of two scalars; NaN wins.
    #[track_caller]
    pub fn minimum(self, other: impl IntoScalar<T>) -> Scalar<T> {
        scalars(BinaryOp::Min, self, other)
    }
}

/// The index along an axis of each element: `iota::<(BM, BN)>(Lanes)` counts columns 0, 1, 2, …
#[track_caller]
pub fn iota<S>(axis: impl AxisOf<S>) -> Tile<i32, S> {
    let (shape, axis) = of(axis);
    Tile::new(session::emit(OpKind::Iota { shape, axis }, &[], Loc::caller()))
}

fn of<S, A: AxisOf<S>>(_axis: A) -> (crate::ir::Shape, usize) {
    (A::shape(), A::AXIS)
}

/// The shape that a mask and two operands broadcast to.
type Selected<S, A, B> = Join<Join<S, A>, B>;

/// `a` where `mask` is true, `b` elsewhere; mask and operands broadcast. What is not selected may be anything, NaN included.
#[track_caller]
pub fn select<T: Element, S, A, B>(mask: Tile<bool, S>, a: A, b: B) -> Tile<T, Selected<S, A::Shape, B::Shape>>
where
    A: Operand<T>,
    B: Operand<T>,
    S: Shape + BcastShape<A::Shape>,
    Join<S, A::Shape>: BcastShape<B::Shape>,
{
    let loc = Loc::caller();
    let mask = mask.operand::<Selected<S, A::Shape, B::Shape>>(&loc);
    let a = a.operand::<Selected<S, A::Shape, B::Shape>>(&loc);
    let b = b.operand::<Selected<S, A::Shape, B::Shape>>(&loc);
    Tile::wrap(session::emit(OpKind::Select, &[mask, a, b], loc))
}

/// `a` if `condition`, else `b`, both computed; for scalars.
#[track_caller]
pub fn choose<T: Element>(condition: Scalar<bool>, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> Scalar<T> {
    let operands = [condition.raw(), a.into_scalar().raw(), b.into_scalar().raw()];
    Scalar::wrap(session::emit(OpKind::Select, &operands, Loc::caller()))
}

/// The matrix product `a · b`, accumulated in f32 (i32 for i32), at the precision of the launch.
///
/// Write `dot(a, b.t())` for a transposed operand: the transpose is part of the product.
#[track_caller]
pub fn dot<T: Number, M: Dim, K: Dim, N: Dim>(a: Tile<T, (M, K)>, b: Tile<T, (K, N)>) -> Tile<T::Acc, (M, N)> {
    dot_with(session::precision(), a, b)
}

/// [`dot`] at this precision, whatever the launch says.
#[track_caller]
pub fn dot_with<T: Number, M: Dim, K: Dim, N: Dim>(
    precision: Precision,
    a: Tile<T, (M, K)>,
    b: Tile<T, (K, N)>,
) -> Tile<T::Acc, (M, N)> {
    let kind = OpKind::Dot { dims: DotDims::matrices(false, false), precision };
    Tile::wrap(session::emit(kind, &[a.raw(), b.raw()], Loc::caller()))
}

/// An element of `T` from a Rust float, rounded: for code generic over the element type.
#[track_caller]
pub fn literal<T: Float>(value: f32) -> Scalar<T> {
    constant(float(T::DTYPE, value), Loc::caller())
}
