//! Products of tiles: matrices, batches of them, and sums over any axis.
//!
//! Rules: floats multiply floats of any format and integers of at most 8 bits, and accumulate in `f32`; integers of at
//! most 16 bits, and `i32` with `i32`, accumulate in `i32`, which wraps. `f32` enters at the precision of the launch.

use super::dim::Dim;
use super::element::{Element, Float, Number};
use super::session;
use super::shape::{Axis, Lanes, Shape, Sublanes};
use super::value::{Handle, Tile};
use crate::formats::{I2, I4, U4};
use crate::ir::{DotDims, Loc, OpKind, Precision};

/// Elements that those of `A` can be multiplied with, and what the sums are made of: `f32`, or of two integers `i32`.
///
/// `Acc` is a parameter and not an associated type: so that a product that has no rule is one error.
#[diagnostic::on_unimplemented(
    message = "there is no product of `{A}` and `{Self}` elements",
    label = "floats multiply floats and integers of at most 8 bits; integers of at most 16 bits, and `i32`, each other",
    note = "convert one side: `x.cast::<f32>()`"
)]
pub trait Product<A, Acc>: Number {}

#[diagnostic::do_not_recommend]
impl<A: Float, B: Float> Product<A, f32> for B {}

macro_rules! products {
    ($($narrow:ident)+) => { $(
        #[diagnostic::do_not_recommend]
        impl<B: Float> Product<$narrow, f32> for B {}
        #[diagnostic::do_not_recommend]
        impl<A: Float> Product<A, f32> for $narrow {}
    )+ };
    ([$($a:ident)+] $all:tt) => { $(products!(@one $a $all);)+ };
    (@one $a:ident [$($b:ident)+]) => { $(
        #[diagnostic::do_not_recommend]
        impl Product<$a, i32> for $b {}
    )+ };
}

products!(i8 I4 I2 u8 U4);
products!([i16 i8 I4 I2 u16 u8 U4] [i16 i8 I4 I2 u16 u8 U4]);
products!([i32][i32]);

/// The inner dimensions of a product are the same: the columns of the left operand, the rows of the right one.
#[diagnostic::on_unimplemented(
    message = "the inner dimensions of this product differ: `{A}` against `{Self}`",
    label = "the left operand has `{A}` columns, the right one `{Self}` rows",
    note = "`dot(a, b)` multiplies `(M, K)` by `(K, N)`, and `dot(a, b.t())` multiplies `(M, K)` by `(N, K)`"
)]
pub trait Inner<A>: Dim {}
#[diagnostic::do_not_recommend]
impl<D: Dim> Inner<D> for D {}

/// The matrix product `a · b`, accumulated in f32 (of integers, i32), at the precision of the launch.
///
/// Write `dot(a, b.t())` for a transposed operand: the transpose is part of the product.
#[track_caller]
pub fn dot<A: Element, B: Product<A, Acc>, Acc: Element, M: Dim, K: Dim, L: Inner<K>, N: Dim>(
    a: Tile<A, (M, K)>,
    b: Tile<B, (L, N)>,
) -> Tile<Acc, (M, N)> {
    dot_with(session::precision(), a, b)
}

/// [`dot`] at this precision, whatever the launch says.
#[track_caller]
pub fn dot_with<A: Element, B: Product<A, Acc>, Acc: Element, M: Dim, K: Dim, L: Inner<K>, N: Dim>(
    precision: Precision,
    a: Tile<A, (M, K)>,
    b: Tile<B, (L, N)>,
) -> Tile<Acc, (M, N)> {
    let kind = OpKind::Dot { dims: DotDims::matrices(false, false), precision };
    Tile::wrap(session::emit(kind, &[a.raw(), b.raw()], Loc::caller()))
}

/// A shape of which the axis `X` is summed over, and the leading axes `Bt` go side by side with the other operand's:
/// none, `()`, or one or two.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` is no factor that sums over `{X}` beside the batch axes `{Bt}`",
    label = "a factor has its batch axes first, the axis that is summed over, and at most one more"
)]
pub trait Factor<X, Bt>: Shape {
    /// The number of the axis that is summed over.
    const AXIS: usize;
    /// Its size.
    type Over: Dim;
    /// The batch dimensions, as a tuple.
    type Batch;
    /// What is left: nothing, or one dimension.
    type Free;
}

macro_rules! factors {
    ($($axis:ty = $number:literal, $bt:ty: [$($batch:ident)*] [$($before:ident)?] [$($after:ident)?];)+) => { $(
        #[diagnostic::do_not_recommend]
        impl<K: Dim, $($batch: Dim,)* $($before: Dim,)? $($after: Dim)?> Factor<$axis, $bt> for ($($batch,)* $($before,)? K, $($after,)?) {
            const AXIS: usize = $number;
            type Over = K;
            type Batch = ($($batch,)*);
            type Free = ($($before,)? $($after,)?);
        }
    )+ };
}

factors! {
    Axis<0> = 0, (): [] [] [];
    Lanes = 0, (): [] [] [];
    Axis<0> = 0, (): [] [] [N];
    Sublanes = 0, (): [] [] [N];
    Axis<1> = 1, (): [] [M] [];
    Lanes = 1, (): [] [M] [];
    Axis<1> = 1, Axis<0>: [P] [] [];
    Lanes = 1, Axis<0>: [P] [] [];
    Axis<1> = 1, Axis<0>: [P] [] [N];
    Sublanes = 1, Axis<0>: [P] [] [N];
    Axis<2> = 2, Axis<0>: [P] [M] [];
    Lanes = 2, Axis<0>: [P] [M] [];
    Axis<2> = 2, (Axis<0>, Axis<1>): [P Q] [] [];
    Lanes = 2, (Axis<0>, Axis<1>): [P Q] [] [];
    Axis<2> = 2, (Axis<0>, Axis<1>): [P Q] [] [N];
    Sublanes = 2, (Axis<0>, Axis<1>): [P Q] [] [N];
    Axis<3> = 3, (Axis<0>, Axis<1>): [P Q] [M] [];
    Lanes = 3, (Axis<0>, Axis<1>): [P Q] [M] [];
}

/// The dimensions that are summed over are the same.
#[diagnostic::on_unimplemented(
    message = "the dimensions that are summed over differ: `{A}` against `{Self}`",
    label = "both operands have the same size along the axis that is summed over"
)]
pub trait SameDim<A> {}
#[diagnostic::do_not_recommend]
impl<D: Dim> SameDim<D> for D {}

/// The batch dimensions are the same.
#[diagnostic::on_unimplemented(
    message = "the batch dimensions differ: `{A}` against `{Self}`",
    label = "both operands have the same batch dimensions first"
)]
pub trait SameBatch<A> {}
macro_rules! same_batch {
    ($($d:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim),*> SameBatch<($($d,)*)> for ($($d,)*) {}
    };
}
same_batch!();
same_batch!(P);
same_batch!(P Q);

/// Batch dimensions, what is left of the left operand, and of the right, as one shape `J`.
pub trait Joined<J> {}

macro_rules! joined {
    ($([$($batch:ident)*] [$($left:ident)?] [$($right:ident)?];)+) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($batch: Dim,)* $($left: Dim,)? $($right: Dim)?> Joined<($($batch,)* $($left,)? $($right,)?)>
            for (($($batch,)*), ($($left,)?), ($($right,)?))
        {
        }
    )+ };
}
joined! {
    // Of two vectors nothing is left: that is no shape, and said so.
    [] [] [];
    [] [M] [];
    [] [] [N];
    [] [M] [N];
    [P] [] [];
    [P] [M] [];
    [P] [] [N];
    [P] [M] [N];
    [P Q] [] [];
    [P Q] [M] [];
    [P Q] [] [N];
    [P Q] [M] [N];
}

/// What is left of both operands, which is a tile's shape.
#[diagnostic::on_unimplemented(
    message = "nothing is left of two vectors: their product is no tile",
    label = "one side keeps a dimension that is not summed over: `.reshape::<(One, K)>()` makes a vector a row"
)]
pub trait Remains: Shape {}
#[diagnostic::do_not_recommend]
impl<S: Shape> Remains for S {}

/// Sums of products over an axis of each operand, matrices or vectors: `dot_over(a, Sublanes, b, Sublanes)` is `aᵀ · b`,
/// `dot_over(m, Lanes, v, Lanes)` a matrix times a vector. What is left of `a` comes before what is left of `b`.
#[track_caller]
pub fn dot_over<A: Element, B: Product<A, Acc>, Acc: Element, S, X, R, Y, J: Remains>(
    a: Tile<A, S>,
    over: X,
    b: Tile<B, R>,
    with: Y,
) -> Tile<Acc, J>
where
    S: Factor<X, ()>,
    R: Factor<Y, ()>,
    R::Over: SameDim<S::Over>,
    (S::Batch, S::Free, R::Free): Joined<J>,
{
    contracted::<A, B, Acc, S, X, R, Y, (), J>(a, over, b, with, 0, Loc::caller())
}

/// [`dot_over`] for each index of the batch axes, which come first: `Axis::<0>`, or `(Axis::<0>, Axis::<1>)`.
#[track_caller]
pub fn batch_dot_over<A: Element, B: Product<A, Acc>, Acc: Element, S, X, R, Y, Bt: BatchAxes, J: Shape>(
    a: Tile<A, S>,
    over: X,
    b: Tile<B, R>,
    with: Y,
    _batch: Bt,
) -> Tile<Acc, J>
where
    S: Factor<X, Bt>,
    R: Factor<Y, Bt>,
    R::Over: SameDim<S::Over>,
    R::Batch: SameBatch<S::Batch>,
    (S::Batch, S::Free, R::Free): Joined<J>,
{
    contracted::<A, B, Acc, S, X, R, Y, Bt, J>(a, over, b, with, Bt::COUNT, Loc::caller())
}

/// The axes of a batch: `Axis::<0>`, or `(Axis::<0>, Axis::<1>)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the axes of a batch",
    label = "the batch axes come first: `Axis::<0>`, or `(Axis::<0>, Axis::<1>)`"
)]
pub trait BatchAxes {
    /// How many.
    const COUNT: usize;
}
impl BatchAxes for Axis<0> {
    const COUNT: usize = 1;
}
impl BatchAxes for (Axis<0>, Axis<1>) {
    const COUNT: usize = 2;
}

fn contracted<A: Element, B: Element, Acc: Element, S: Factor<X, Bt>, X, R: Factor<Y, Bt>, Y, Bt, J: Shape>(
    a: Tile<A, S>,
    _over: X,
    b: Tile<B, R>,
    _with: Y,
    batch: usize,
    loc: Loc,
) -> Tile<Acc, J> {
    let dims = DotDims { contract: (S::AXIS, R::AXIS), batch: (0..batch).map(|axis| (axis, axis)).collect() };
    let kind = OpKind::Dot { dims, precision: session::precision() };
    Tile::wrap(session::emit(kind, &[a.raw(), b.raw()], loc))
}

/// Shapes of which each pair of matrices multiplies: `(P, M, K)` and `(P, K, N)`, or with two batch dimensions, to `J`.
#[diagnostic::on_unimplemented(
    message = "there is no product of a batch of shape `{S}` and one of shape `{Self}`",
    label = "expected `(P, M, K)` and `(P, K, N)`, or two batch dimensions: `(P, Q, M, K)` and `(P, Q, K, N)`"
)]
pub trait BatchOfMatrices<S, J>: Shape {}
#[diagnostic::do_not_recommend]
impl<P: Dim, M: Dim, K: Dim, N: Dim> BatchOfMatrices<(P, M, K), (P, M, N)> for (P, K, N) {}
#[diagnostic::do_not_recommend]
impl<P: Dim, Q: Dim, M: Dim, K: Dim, N: Dim> BatchOfMatrices<(P, Q, M, K), (P, Q, M, N)> for (P, Q, K, N) {}

/// The matrix product `a · b` for each index of the leading dimensions.
#[track_caller]
pub fn batch_dot<A: Element, B: Product<A, Acc>, Acc: Element, S: Shape, R: BatchOfMatrices<S, J>, J: Shape>(
    a: Tile<A, S>,
    b: Tile<B, R>,
) -> Tile<Acc, J> {
    let batch = S::RANK - 2;
    let dims = DotDims { contract: (batch + 1, batch), batch: (0..batch).map(|axis| (axis, axis)).collect() };
    let kind = OpKind::Dot { dims, precision: session::precision() };
    Tile::wrap(session::emit(kind, &[a.raw(), b.raw()], Loc::caller()))
}
