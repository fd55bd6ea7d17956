//! The handles of memory: [`In`] and [`Out`] windows on arrays, and [`Vmem`] scratch.
//!
//! Rules: memory is not a value: it is loaded before arithmetic and stored after. An access names a
//! corner and a static shape; one that leaves the block is an error, at build time where the corner
//! is constant, else while the kernel runs. Nothing is clamped.

use super::arith::tiles;
use super::bounds;
use super::element::{Element, Number};
use super::session::{self, Raw};
use super::shape::{BcastShape, Shape};
use super::value::{Handle, IntoScalar, Join, Operand, Tile};
use super::{Dim, select, strided};
use crate::ir::{BinaryOp, Loc, OpKind};
use std::marker::PhantomData;

/// A window on an input array: the block of this grid step. Read only.
///
/// Where a block reaches past the array, the elements outside are poison (NaN, the smallest signed or the largest unsigned integer, true):
/// replace them with [`In::load_or`], or select them away with [`In::in_bounds`].
pub struct In<T, S> {
    pub(super) raw: Raw,
    of: PhantomData<(T, S, *const ())>,
}

/// A window on an output array: the block of this grid step. It starts as poison, keeps its
/// contents while consecutive steps have the same block, and is written back when the block
/// changes; what reaches past the array is dropped.
pub struct Out<T, S> {
    pub(super) raw: Raw,
    of: PhantomData<(T, S, *const ())>,
}

/// Scratch in VMEM. It starts as poison and keeps its contents over the whole grid.
pub struct Vmem<T, S> {
    pub(super) raw: Raw,
    of: PhantomData<(T, S, *const ())>,
}

macro_rules! memory {
    ($name:ident) => {
        impl<T, S> Clone for $name<T, S> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, S> Copy for $name<T, S> {}
        #[diagnostic::do_not_recommend]
        impl<T, S> super::value::Shaped for $name<T, S> {
            type Shape = S;
        }

        impl<T: Element, S: Shape> $name<T, S> {
            pub(super) fn wrap(raw: Raw) -> Self {
                $name { raw, of: PhantomData }
            }

            /// Before that of [`Behind`](super::behind::Behind): memory behind a reference is no variable that is carried.
            #[doc(hidden)]
            pub fn __tpu_kernel_place(&mut self) -> Box<()> {
                Box::new(())
            }

            /// The whole block.
            #[track_caller]
            pub fn load(self) -> Tile<T, S> {
                load(self.raw, [0; 4], S::RANK, Loc::caller())
            }

            /// The tile of shape `P` whose first element is at `corner`: a start for each dimension, constant or computed.
            ///
            /// A start below 0 or a part that leaves the block is an error, never clamped.
            #[track_caller]
            pub fn load_at<P: SameRank<S>>(self, corner: impl Corner<S>) -> Tile<T, P> {
                let operands = [vec![self.raw], corner.starts()].concat();
                Tile::wrap(session::emit(OpKind::Load(P::shape()), &operands, Loc::caller()))
            }

            /// As `load_at`, of elements `strides` apart, one constant for each dimension: 2 reads every other row, 0 repeats one.
            ///
            /// An error, too, where the last element leaves the block.
            #[track_caller]
            pub fn load_strided<P: SameRank<S>>(self, corner: impl Corner<S>, strides: S::Array<usize>) -> Tile<T, P> {
                let loc = Loc::caller();
                Tile::wrap(strided::load(self.raw, corner.starts(), strides.as_ref(), P::shape(), &loc))
            }
        }
    };
}

memory!(In);
memory!(Out);
memory!(Vmem);

fn load<T: Element, S: Shape>(raw: Raw, corner: [i32; 4], rank: usize, loc: Loc) -> Tile<T, S> {
    let operands = [vec![raw], origin(&corner[..rank], &loc)].concat();
    Tile::wrap(session::emit(OpKind::Load(S::shape()), &operands, loc))
}

fn origin(corner: &[i32], loc: &Loc) -> Vec<Raw> {
    corner.iter().map(|&start| session::emit(OpKind::Const(start.into()), &[], loc.clone())).collect()
}

fn store(raw: Raw, value: Raw, starts: Vec<Raw>, loc: Loc) {
    session::emit(OpKind::Store, &[vec![raw, value], starts].concat(), loc);
}

impl<T: Element, S: Shape> In<T, S> {
    /// Which elements of the block are elements of the array.
    #[track_caller]
    pub fn in_bounds(self) -> Tile<bool, S> {
        bounds::mask(self.raw, Loc::caller())
    }

    /// The whole block, with `fill` in place of what lies outside the array.
    #[track_caller]
    pub fn load_or(self, fill: impl IntoScalar<T>) -> Tile<T, S> {
        select(self.in_bounds(), self.load(), fill.into_scalar())
    }
}

/// What may be written to the memory `M`: to an input, nothing.
#[diagnostic::on_unimplemented(
    message = "`{M}` is an input: it is read only",
    label = "write to an operand `o: Out<T, S>`, or to scratch"
)]
pub trait Written<M> {}

/// So that writing to an input is an error about inputs.
#[doc(hidden)]
impl<T: Element, S: Shape> In<T, S> {
    pub fn store<R: Written<Self>>(self, _value: R) {}

    pub fn store_at<R: Written<Self>>(self, _corner: impl Corner<S>, _value: R) {}

    pub fn store_strided<R: Written<Self>>(self, _corner: impl Corner<S>, _strides: S::Array<usize>, _value: R) {}

    pub fn fill<R: Written<Self>>(self, _value: R) {}
}

impl<T: Element, S: Shape, R: Written<In<T, S>>> std::ops::AddAssign<R> for In<T, S> {
    fn add_assign(&mut self, _other: R) {}
}

macro_rules! writable {
    ($name:ident) => {
        impl<T: Element, S: Shape> $name<T, S> {
            /// Writes the whole block; the value broadcasts to its shape.
            #[track_caller]
            pub fn store<B: Operand<T>>(self, value: B)
            where
                S: BcastShape<B::Shape, J = S>,
            {
                let loc = Loc::caller();
                let value = value.operand::<S>(&loc);
                store(self.raw, value, origin(&[0; 4][..S::RANK], &loc), loc);
            }

            /// Writes `value` with its first element at `corner`: a start for each dimension, constant or computed.
            #[track_caller]
            pub fn store_at<P: SameRank<S>>(self, corner: impl Corner<S>, value: Tile<T, P>) {
                store(self.raw, value.raw(), corner.starts(), Loc::caller());
            }

            /// As `store_at`, to elements `strides` apart, at least 1 in each dimension. Those between stay as they are.
            #[track_caller]
            pub fn store_strided<P: SameRank<S>>(self, corner: impl Corner<S>, strides: S::Array<usize>, value: Tile<T, P>) {
                strided::store(self.raw, corner.starts(), strides.as_ref(), value.raw(), P::shape(), &Loc::caller());
            }

            /// Writes one value everywhere.
            #[track_caller]
            pub fn fill(self, value: impl IntoScalar<T>) {
                let loc = Loc::caller();
                let value = value.into_scalar().operand::<S>(&loc);
                store(self.raw, value, origin(&[0; 4][..S::RANK], &loc), loc);
            }
        }

        /// Loads, adds and stores.
        impl<T: Number, S: Shape, B: Operand<T>> std::ops::AddAssign<B> for $name<T, S>
        where
            S: BcastShape<B::Shape, J = S>,
        {
            #[track_caller]
            fn add_assign(&mut self, other: B) {
                let loc = Loc::caller();
                let sum: Tile<T, Join<S, B::Shape>> =
                    tiles(BinaryOp::Add, load::<T, S>(self.raw, [0; 4], S::RANK, loc.clone()), other, loc.clone());
                store(self.raw, sum.raw(), origin(&[0; 4][..S::RANK], &loc), loc);
            }
        }
    };
}

writable!(Out);
writable!(Vmem);

/// Where a part of a block of shape `S` starts: a tuple with an `i32` or `Scalar<i32>` for each dimension.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a corner of a block of shape `{S}`",
    label = "expected a tuple with one start per dimension, each an `i32` or a `Scalar<i32>`, as in `(j * BK, 0)`"
)]
pub trait Corner<S> {
    #[doc(hidden)]
    #[track_caller]
    fn starts(self) -> Vec<Raw>;
}

/// A shape with as many dimensions as `S`.
#[diagnostic::on_unimplemented(
    message = "a part of shape `{Self}` has not as many dimensions as the block of shape `{S}`",
    label = "a part has the rank of the block; reshape it afterwards"
)]
pub trait SameRank<S>: Shape {}

macro_rules! corner {
    ($($d:ident $e:ident $i:ident $n:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim,)+ $($i: IntoScalar<i32>),+> Corner<($($d,)+)> for ($($i,)+) {
            #[track_caller]
            fn starts(self) -> Vec<Raw> {
                vec![$(self.$n.into_scalar().raw()),+]
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($d: Dim,)+ $($e: Dim),+> SameRank<($($d,)+)> for ($($e,)+) {}
    };
}

corner!(A B I 0);
corner!(A B I 0, C D J 1);
corner!(A B I 0, C D J 1, E F K 2);
corner!(A B I 0, C D J 1, E F K 2, G H L 3);
