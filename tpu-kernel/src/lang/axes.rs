//! Axes beyond one that stays: several at once, and those that come, go, fold and unfold.

use super::dim::{Dim, One, Prod, Sum};
use super::shape::{Axis, HasAxis, Lanes, Shape, Sublanes};

/// Every axis of a tile: `x.sum(AllAxes)`.
#[derive(Clone, Copy, Debug)]
pub struct AllAxes;

/// A shape that has the axis or axes `A`: one, a tuple of them, or [`AllAxes`].
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` has no axis `{A}`",
    label = "name an axis of the tile, a tuple of axes, or `AllAxes`: `Lanes` (the last), `Sublanes` (the one before), `Axis::<N>` counted from 0"
)]
pub trait HasAxes<A>: Shape {
    /// The shape with [`One`] along each.
    type Reduced: Shape;
    /// Their numbers.
    fn axes() -> Vec<usize>;
}

macro_rules! one_axis {
    ([$($g:tt)*] $axis:ty) => {
        #[diagnostic::do_not_recommend]
        impl<S: HasAxis<$axis>, $($g)*> HasAxes<$axis> for S {
            type Reduced = S::Reduced;
            fn axes() -> Vec<usize> {
                vec![S::AXIS]
            }
        }
    };
}

one_axis!([] Lanes);
one_axis!([] Sublanes);
one_axis!([const N: usize] Axis<N>);

/// What is left after reducing the axis `A`.
type After<S, A> = <S as HasAxis<A>>::Reduced;

#[diagnostic::do_not_recommend]
impl<S: HasAxis<A>, A> HasAxes<(A,)> for S {
    type Reduced = S::Reduced;
    fn axes() -> Vec<usize> {
        vec![S::AXIS]
    }
}
#[diagnostic::do_not_recommend]
impl<S: HasAxis<A> + HasAxis<B>, A, B> HasAxes<(A, B)> for S
where
    After<S, A>: HasAxis<B>,
{
    type Reduced = After<After<S, A>, B>;
    fn axes() -> Vec<usize> {
        vec![<S as HasAxis<A>>::AXIS, <S as HasAxis<B>>::AXIS]
    }
}
#[diagnostic::do_not_recommend]
impl<S: HasAxis<A> + HasAxis<B> + HasAxis<C>, A, B, C> HasAxes<(A, B, C)> for S
where
    After<S, A>: HasAxis<B>,
    After<After<S, A>, B>: HasAxis<C>,
{
    type Reduced = After<After<After<S, A>, B>, C>;
    fn axes() -> Vec<usize> {
        vec![<S as HasAxis<A>>::AXIS, <S as HasAxis<B>>::AXIS, <S as HasAxis<C>>::AXIS]
    }
}

macro_rules! all_axes {
    ($($d:ident)+ => $($out:ty),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim),+> HasAxes<AllAxes> for ($($d,)+) {
            type Reduced = ($($out,)+);
            fn axes() -> Vec<usize> {
                (0..Self::RANK).collect()
            }
        }
    };
}

all_axes!(A => One);
all_axes!(A B => One, One);
all_axes!(A B C => One, One, One);
all_axes!(A B C E => One, One, One, One);

/// A shape that can follow `S` along the axis `A`.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` cannot follow one of shape `{S}` along `{A}`",
    label = "both have this axis, and every other dimension is the same"
)]
pub trait Follows<S, A>: Shape {
    /// Both, one after the other.
    type Both: Shape;
    /// The number of the axis.
    const AXIS: usize;
}

#[diagnostic::do_not_recommend]
impl<P: HasAxis<A, Reduced = S::Reduced>, S: HasAxis<A>, A> Follows<S, A> for P {
    type Both = S::With<Sum<S::Dim, P::Dim>>;
    const AXIS: usize = S::AXIS;
}

/// A shape of indices into `S` along the axis `A`.
#[diagnostic::on_unimplemented(
    message = "indices of shape `{Self}` do not fit a tile of shape `{S}` along `{A}`",
    label = "both have this axis, and every other dimension is the same"
)]
pub trait Indexes<S, A>: Shape {
    /// The number of the axis.
    const AXIS: usize;
}

#[diagnostic::do_not_recommend]
impl<P: HasAxis<A, Reduced = S::Reduced>, S: HasAxis<A>, A> Indexes<S, A> for P {
    const AXIS: usize = S::AXIS;
}

/// Shapes that are one element.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` is more than one element",
    label = "every dimension is `One`: reduce it, or pick an element with `.at([…])`"
)]
pub trait SingleElement: Shape {}

macro_rules! single {
    ($($one:ty),+) => {
        #[diagnostic::do_not_recommend]
        impl SingleElement for ($($one,)+) {}
    };
}

single!(One);
single!(One, One);
single!(One, One, One);
single!(One, One, One, One);

/// A dimension of size 1.
#[diagnostic::on_unimplemented(
    message = "the dimension `{Self}` is not `One`",
    label = "along this axis the tile has a size of `One`"
)]
pub trait IsOne {}
impl IsOne for One {}

/// An axis that is [`One`] in the shape `S` and can go.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{S}` cannot lose the axis `{Self}`",
    label = "only a dimension of `One` can go, and one dimension stays"
)]
pub trait Squeeze<S> {
    /// The shape without it.
    type Squeezed: Shape;
}

/// A shape into which an axis of [`One`] fits that is then the axis `A`.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` cannot get a new axis `{A}`",
    label = "name the place of the new axis in the result, which has at most four dimensions"
)]
pub trait Expand<A>: Shape {
    /// The shape with it.
    type Expanded: Shape;
}

/// A shape whose axis `A` and the one after it can become one.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` has no two axes at `{A}` to fold",
    label = "name the first of two axes side by side"
)]
pub trait Fold<A>: Shape {
    /// The shape with their product in their place.
    type Folded: Shape;
}

/// A shape whose axis `A` can become two.
#[diagnostic::on_unimplemented(
    message = "the axis `{A}` of a tile of shape `{Self}` cannot become two",
    label = "name an axis of the tile; the result has at most four dimensions"
)]
pub trait Unfold<A>: HasAxis<A> {
    /// The shape with `X` and `Y` in its place.
    type Unfolded<X: Dim, Y: Dim>: Shape;
}

macro_rules! changes {
    ($first:ident $second:ident: $($list:tt)+) => {
        changes! { $first: $($list)+ }
        changes! { $second: $($list)+ }
    };
    ($tr:ident: $($axis:ty: [$($before:ident)*] [$($after:ident)*];)+) => { $(
        changes!(@one $tr $axis: [$($before)*] [$($after)*]);
    )+ };
    (@one Squeeze $axis:ty: [$($before:ident)*] [$($after:ident)*]) => {
        #[diagnostic::do_not_recommend]
        impl<$($before: Dim,)* $($after: Dim),*> Squeeze<($($before,)* One, $($after,)*)> for $axis {
            type Squeezed = ($($before,)* $($after,)*);
        }
    };
    (@one Expand $axis:ty: [$($before:ident)*] [$($after:ident)*]) => {
        #[diagnostic::do_not_recommend]
        impl<$($before: Dim,)* $($after: Dim),*> Expand<$axis> for ($($before,)* $($after,)*) {
            type Expanded = ($($before,)* One, $($after,)*);
        }
    };
    (@one Fold $axis:ty: [$($before:ident)*] [$($after:ident)*]) => {
        #[diagnostic::do_not_recommend]
        impl<X: Dim, Y: Dim, $($before: Dim,)* $($after: Dim),*> Fold<$axis> for ($($before,)* X, Y, $($after,)*) {
            type Folded = ($($before,)* Prod<X, Y>, $($after,)*);
        }
    };
    (@one Unfold $axis:ty: [$($before:ident)*] [$($after:ident)*]) => {
        #[diagnostic::do_not_recommend]
        impl<Z: Dim, $($before: Dim,)* $($after: Dim),*> Unfold<$axis> for ($($before,)* Z, $($after,)*) {
            type Unfolded<X: Dim, Y: Dim> = ($($before,)* X, Y, $($after,)*);
        }
    };
}

// What stands before and after the axis. `Lanes` and `Sublanes` are the last and the one before: of the operand, but
// of `Expand` of the result.
changes! { Squeeze Expand:
    Axis<0>: [] [A];
    Axis<1>: [A] [];
    Sublanes: [] [A];
    Lanes: [A] [];
    Axis<0>: [] [A B];
    Axis<1>: [A] [B];
    Axis<2>: [A B] [];
    Sublanes: [A] [B];
    Lanes: [A B] [];
    Axis<0>: [] [A B C];
    Axis<1>: [A] [B C];
    Axis<2>: [A B] [C];
    Axis<3>: [A B C] [];
    Sublanes: [A B] [C];
    Lanes: [A B C] [];
}
changes! { Fold:
    Axis<0>: [] [];
    Sublanes: [] [];
    Axis<0>: [] [A];
    Axis<1>: [A] [];
    Sublanes: [A] [];
    Axis<0>: [] [A B];
    Axis<1>: [A] [B];
    Axis<2>: [A B] [];
    Sublanes: [A B] [];
}
changes! { Unfold:
    Axis<0>: [] [];
    Lanes: [] [];
    Axis<0>: [] [A];
    Axis<1>: [A] [];
    Sublanes: [] [A];
    Lanes: [A] [];
    Axis<0>: [] [A B];
    Axis<1>: [A] [B];
    Axis<2>: [A B] [];
    Sublanes: [A] [B];
    Lanes: [A B] [];
}
