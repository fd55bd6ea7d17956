//! Shapes are tuples of dimensions, rank 1 to 4; broadcasting, reduction and axes in the types.

use super::dim::{Bcast, Dim, One};
use crate::ir;

/// The shape of a tile: a tuple of one to four dimensions, outermost first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of a tile",
    label = "a shape is a tuple of one to four dimensions, as in `(BM, D<128>)` or `(BM,)`"
)]
pub trait Shape: Copy + 'static + BcastShape<Self, J = Self> + BcastShape<(), J = Self> {
    /// Number of dimensions.
    const RANK: usize;

    /// The dimensions as an array of `RANK` numbers of that type: what a permutation or a corner is made of.
    type Array<X: Copy>: AsRef<[X]>;

    /// The shape in the IR.
    fn shape() -> ir::Shape;
}

/// Shapes that broadcast to `J`: equal, or of equal rank with [`One`] where they differ. `()` stands for a scalar.
#[diagnostic::on_unimplemented(
    message = "block shapes do not match: `{Self}` against `{B}`",
    label = "`{Self}` and `{B}` do not broadcast: dimensions are the same, or one of them is `One`",
    note = "ranks are the same, too: a vector of columns becomes a row by `.reshape::<(One, C)>()`"
)]
pub trait BcastShape<B> {
    /// The common shape.
    type J: Shape;
}

/// The last dimension: what a vector register holds side by side.
#[derive(Clone, Copy, Debug)]
pub struct Lanes;

/// The dimension before the last.
#[derive(Clone, Copy, Debug)]
pub struct Sublanes;

/// The dimension of that number, outermost 0.
#[derive(Clone, Copy, Debug)]
pub struct Axis<const N: usize>;

/// A shape that has the axis `A`.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` has no axis `{A}`",
    label = "name an axis of the tile: `Lanes` (the last), `Sublanes` (the one before), or `Axis::<N>` counted from 0"
)]
pub trait HasAxis<A>: Shape {
    /// Its number.
    const AXIS: usize;
    /// Its size.
    type Dim: Dim;
    /// The shape with [`One`] there.
    type Reduced: Shape;
    /// The shape with `N` there.
    type With<N: Dim>: Shape;
}

/// An axis of the shape `S`: [`HasAxis`] seen from the axis.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{S}` has no axis `{Self}`",
    label = "name an axis of the tile: `Lanes` (the last), `Sublanes` (the one before), or `Axis::<N>` counted from 0"
)]
pub trait AxisOf<S> {
    /// Its number.
    const AXIS: usize;
    #[doc(hidden)]
    fn shape() -> ir::Shape;
}

#[diagnostic::do_not_recommend]
impl<A, S: HasAxis<A>> AxisOf<S> for A {
    const AXIS: usize = S::AXIS;
    fn shape() -> ir::Shape {
        S::shape()
    }
}

macro_rules! shape {
    ($rank:literal: $($d:ident $e:ident),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim),+> Shape for ($($d,)+) {
            const RANK: usize = $rank;
            type Array<X: Copy> = [X; $rank];
            fn shape() -> ir::Shape {
                ir::Shape::new(&[$($d::size()),+])
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($d: Bcast<$e>, $e),+> BcastShape<($($e,)+)> for ($($d,)+) {
            type J = ($($d::Out,)+);
        }
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim),+> BcastShape<()> for ($($d,)+) {
            type J = ($($d,)+);
        }
    };
}

shape!(1: A X);
shape!(2: A X, B Y);
shape!(3: A X, B Y, C Z);
shape!(4: A X, B Y, C Z, E W);

macro_rules! axis {
    ($($axis:ty = $number:literal: [$($before:ident)*] $dim:ident [$($after:ident)*];)+) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($before: Dim,)* $dim: Dim, $($after: Dim),*> HasAxis<$axis> for ($($before,)* $dim, $($after,)*) {
            const AXIS: usize = $number;
            type Dim = $dim;
            type Reduced = ($($before,)* One, $($after,)*);
            type With<N: Dim> = ($($before,)* N, $($after,)*);
        }
    )+ };
}

axis! {
    Axis<0> = 0: [] A [];
    Lanes = 0: [] A [];
    Axis<0> = 0: [] A [B];
    Axis<1> = 1: [A] B [];
    Sublanes = 0: [] A [B];
    Lanes = 1: [A] B [];
    Axis<0> = 0: [] A [B C];
    Axis<1> = 1: [A] B [C];
    Axis<2> = 2: [A B] C [];
    Sublanes = 1: [A] B [C];
    Lanes = 2: [A B] C [];
    Axis<0> = 0: [] A [B C E];
    Axis<1> = 1: [A] B [C E];
    Axis<2> = 2: [A B] C [E];
    Axis<3> = 3: [A B C] E [];
    Sublanes = 2: [A B] C [E];
    Lanes = 3: [A B C] E [];
}
