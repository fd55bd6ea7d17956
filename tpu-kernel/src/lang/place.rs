//! Places in memory: an index along each dimension, and what has as many dimensions as an array in HBM.

use super::Dim;
use super::session::Raw;
use super::shape::Shape;
use super::value::{Handle, IntoScalar, Scalar};

/// In place of a shape: all of an array with `R` dimensions, whose sizes are those of the launch.
#[derive(Clone, Copy, Debug)]
pub struct WholeArray<const R: usize>;

/// One element of memory of shape `S`, or one of so many semaphores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name an element of `{S}`",
    label = "expected a tuple with one index per dimension, each an `i32` or a `Scalar<i32>`, as in `(i, 0)`; of one dimension also `i`",
    note = "a single semaphore has the shape `()`, and is taken as it is"
)]
pub trait Place<S> {
    #[doc(hidden)]
    #[track_caller]
    fn indices(self) -> Vec<Raw>;
}

/// A shape with `R` dimensions: that of a part of an array with as many.
#[diagnostic::on_unimplemented(
    message = "a part of shape `{Self}` has not as many dimensions as its array, which has {R}",
    label = "a part has the rank of its array; `.slot(0)` drops a first dimension of `One`"
)]
pub trait OfRank<const R: usize>: Shape {}

/// The shape of memory with at least two dimensions: slots along the first.
#[diagnostic::on_unimplemented(
    message = "memory of shape `{Self}` has no slots",
    label = "a slot is what lies at an index of the first of two dimensions or more; `.view::<P>(…)` is any part"
)]
pub trait Slots: Shape {
    /// The shape of a slot: without the first dimension.
    type Slot: Shape;
    /// The shape of a slot with its first dimension.
    type Row: Shape;
}

macro_rules! places {
    ($rank:literal: $($d:ident $i:ident $n:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim,)+ $($i: IntoScalar<i32>),+> Place<($($d,)+)> for ($($i,)+) {
            #[track_caller]
            fn indices(self) -> Vec<Raw> {
                vec![$(self.$n.into_scalar().raw()),+]
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($i: IntoScalar<i32>),+> Place<WholeArray<$rank>> for ($($i,)+) {
            #[track_caller]
            fn indices(self) -> Vec<Raw> {
                vec![$(self.$n.into_scalar().raw()),+]
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim),+> OfRank<$rank> for ($($d,)+) {}
    };
}

places!(1: A I 0);
places!(2: A I 0, B J 1);
places!(3: A I 0, B J 1, C K 2);
places!(4: A I 0, B J 1, C K 2, E L 3);

macro_rules! single {
    ($($index:ty),+) => { $(
        #[diagnostic::do_not_recommend]
        impl<A: Dim> Place<(A,)> for $index {
            #[track_caller]
            fn indices(self) -> Vec<Raw> {
                vec![IntoScalar::<i32>::into_scalar(self).raw()]
            }
        }
        #[diagnostic::do_not_recommend]
        impl Place<WholeArray<1>> for $index {
            #[track_caller]
            fn indices(self) -> Vec<Raw> {
                vec![IntoScalar::<i32>::into_scalar(self).raw()]
            }
        }
    )+ };
}

single!(i32, Scalar<i32>);

macro_rules! slots {
    ($($first:ident $($rest:ident)+;)+) => { $(
        #[diagnostic::do_not_recommend]
        impl<$first: Dim, $($rest: Dim),+> Slots for ($first, $($rest,)+) {
            type Slot = ($($rest,)+);
            type Row = (super::One, $($rest,)+);
        }
    )+ };
}

slots! {
    A B;
    A B C;
    A B C E;
}
