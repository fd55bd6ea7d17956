//! Views: parts of memory under a handle of their own.
//!
//! Rules: a view has a static shape and starts anywhere; views of views compose. A part of scratch or of an output window is
//! memory like scratch, so that a helper takes both; what is read only, or lies in HBM, keeps that in its type. A view that leaves
//! its memory is an error, never clamped.

use super::element::{Element, Number, SameWidth};
use super::hbm::{Hbm, HbmOut};
use super::memory::{Corner, In, Out, SameRank, Vmem};
use super::place::{OfRank, Slots};
use super::rearrange::Matrix;
use super::session::{self, Raw};
use super::shape::Shape;
use super::smem::{Prefetch, Smem};
use super::strided;
use super::value::{Handle, Tile};
use crate::ir::{Loc, OpKind, Rule, Type};
use std::marker::PhantomData;

/// A part of memory that is not simply scratch: of an input window (`View<InputWindow, T, S>`), which is read only, or of an
/// array in HBM (`View<HbmInput, T, S>`, `View<HbmOutput, T, S>`), which copies alone reach.
pub struct View<Sp, T, S> {
    pub(super) raw: Raw,
    of: PhantomData<(Sp, T, S, *const ())>,
}

impl<Sp, T, S> Clone for View<Sp, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Sp, T, S> Copy for View<Sp, T, S> {}

impl<Sp, T, S> View<Sp, T, S> {
    pub(super) fn wrap(raw: Raw) -> Self {
        View { raw, of: PhantomData }
    }

    /// Memory behind a reference is no variable that is carried.
    #[doc(hidden)]
    pub fn __tpu_kernel_place(&mut self) -> Box<()> {
        Box::new(())
    }
}

#[diagnostic::do_not_recommend]
impl<Sp, T, S> super::value::Shaped for View<Sp, T, S> {
    type Shape = S;
}

/// Of a [`View`]: the window of an input.
#[derive(Clone, Copy, Debug)]
pub struct InputWindow;

/// Of a [`View`]: an input array in HBM.
#[derive(Clone, Copy, Debug)]
pub struct HbmInput;

/// Of a [`View`]: an output array in HBM.
#[derive(Clone, Copy, Debug)]
pub struct HbmOutput;

/// A part of a memory: elements `strides` apart from `starts` on.
pub(super) fn part<P: Shape>(memory: Raw, starts: Vec<Raw>, strides: &[usize], loc: Loc) -> Raw {
    let kind = OpKind::View { shape: P::shape(), strides: strides.to_vec() };
    session::emit(kind, &[vec![memory], starts].concat(), loc)
}

/// A view under the shape `J`, which the user says; another one is a fault.
fn seen<J: Shape>(memory: Raw, kind: OpKind, loc: Loc) -> Raw {
    let at = kind.mnemonic();
    let view = session::emit(kind, &[memory], loc.clone());
    match session::type_of(view) {
        Some(Type::Ref(space, dtype, shape)) if shape != J::shape() => {
            let [want, got] = [J::shape(), shape].map(|shape| Type::Ref(space, dtype, shape).to_string());
            session::broken(Rule::Results { want, got }, at, &loc)
        }
        _ => view,
    }
}

/// What lies at an index of the first dimension, without that dimension.
fn slot<S: Slots>(memory: Raw, index: Raw, loc: Loc) -> Raw {
    let zero = session::emit(OpKind::Const(0.into()), &[], loc.clone());
    let starts = [vec![index], vec![zero; S::RANK - 1]].concat();
    let row = part::<S::Row>(memory, starts, &[1; 4][..S::RANK], loc.clone());
    session::emit(OpKind::ViewSqueezed(vec![0]), &[row], loc)
}

macro_rules! views {
    ([$($sp:ident)?] $memory:ty => $view:ident<$($pre:ty)?>) => {
        impl<$($sp,)? T: Element, S: Shape> $memory {
            /// The part of shape `P` that begins at `start`: an index for each dimension, constant or computed.
            #[track_caller]
            pub fn view<P: SameRank<S>>(self, start: impl Corner<S>) -> $view<$($pre,)? T, P> {
                $view::wrap(part::<P>(self.raw, start.starts(), &[1; 4][..S::RANK], Loc::caller()))
            }

            /// As `view`, of elements `strides` apart, one constant for each dimension, at least 1.
            #[track_caller]
            pub fn view_strided<P: SameRank<S>>(self, start: impl Corner<S>, strides: S::Array<usize>) -> $view<$($pre,)? T, P> {
                $view::wrap(part::<P>(self.raw, start.starts(), strides.as_ref(), Loc::caller()))
            }

            /// What lies at an index of the first dimension, constant or computed; the view has no such dimension.
            #[track_caller]
            pub fn slot<P: Shape>(self, index: impl super::IntoScalar<i32>) -> $view<$($pre,)? T, P>
            where
                S: Slots<Slot = P>,
            {
                $view::wrap(slot::<S>(self.raw, index.into_scalar().raw(), Loc::caller()))
            }

            /// The same elements in row-major order under the shape `J`, which has as many (V007). Dimensions become one only where
            /// their elements lie at one distance (V052): those of a whole block, or of a part that is whole along all but the first.
            #[track_caller]
            pub fn view_reshaped<J: Shape>(self) -> $view<$($pre,)? T, J> {
                $view::wrap(session::emit(OpKind::ViewReshaped(J::shape()), &[self.raw], Loc::caller()))
            }

            /// Dimension `d` of the view is dimension `perm[d]` of this memory. `J` must be the permuted shape (V019).
            #[track_caller]
            pub fn view_transposed<J: Shape>(self, perm: J::Array<usize>) -> $view<$($pre,)? T, J> {
                $view::wrap(seen::<J>(self.raw, OpKind::ViewTransposed(perm.as_ref().to_vec()), Loc::caller()))
            }

            /// The transpose of a matrix.
            #[track_caller]
            pub fn view_t<J: Shape>(self) -> $view<$($pre,)? T, J>
            where
                S: Matrix<J>,
            {
                $view::wrap(session::emit(OpKind::ViewTransposed(vec![1, 0]), &[self.raw], Loc::caller()))
            }

            /// The elements' bits as elements of `U`, which has as many.
            #[track_caller]
            pub fn view_bitcast<U: Number>(self) -> $view<$($pre,)? U, S>
            where
                T: SameWidth<U>,
            {
                $view::wrap(session::emit(OpKind::ViewBitcast(U::DTYPE), &[self.raw], Loc::caller()))
            }

            /// The bits as elements of another width, as [`Tile::bitcast_rows`] of a tile: row r of `f32` is rows 2r and 2r + 1 of
            /// `bf16`. `J` is the shape that comes out (V019). Scalar memory keeps the width (V053).
            #[track_caller]
            pub fn view_bitcast_rows<U: Number, J: Shape>(self) -> $view<$($pre,)? U, J>
            where
                T: Number,
            {
                $view::wrap(seen::<J>(self.raw, OpKind::ViewBitcast(U::DTYPE), Loc::caller()))
            }
        }
    };
}

views!([] In<T, S> => View<InputWindow>);
views!([] Out<T, S> => Vmem<>);
views!([] Vmem<T, S> => Vmem<>);
views!([] Smem<T, S> => Smem<>);
views!([Sp] View<Sp, T, S> => View<Sp>);

macro_rules! views_of_arrays {
    ($memory:ident => $view:ident<$($pre:ty)?>) => {
        impl<T: Element, const R: usize> $memory<T, R> {
            /// The part of shape `P` that begins at `start`: an index for each dimension, constant or computed.
            ///
            /// A part that leaves the array is an error while the kernel runs (R001).
            #[track_caller]
            pub fn view<P: OfRank<R>>(self, start: impl Corner<P>) -> $view<$($pre,)? T, P> {
                $view::wrap(part::<P>(self.raw, start.starts(), &[1; 4][..P::RANK], Loc::caller()))
            }

            /// As `view`, of elements `strides` apart, one constant for each dimension, at least 1.
            #[track_caller]
            pub fn view_strided<P: OfRank<R>>(self, start: impl Corner<P>, strides: P::Array<usize>) -> $view<$($pre,)? T, P> {
                $view::wrap(part::<P>(self.raw, start.starts(), strides.as_ref(), Loc::caller()))
            }
        }
    };
}

views_of_arrays!(Hbm => View<HbmInput>);
views_of_arrays!(HbmOut => View<HbmOutput>);
views_of_arrays!(Prefetch => Smem<>);

/// As of the window.
impl<T: Element, S: Shape> View<InputWindow, T, S> {
    /// The whole part.
    #[track_caller]
    pub fn load(self) -> Tile<T, S> {
        let loc = Loc::caller();
        let zero = session::emit(OpKind::Const(0.into()), &[], loc.clone());
        Tile::wrap(session::emit(OpKind::Load(S::shape()), &[vec![self.raw], vec![zero; S::RANK]].concat(), loc))
    }

    /// The tile of shape `P` whose first element is at `corner`.
    #[track_caller]
    pub fn load_at<P: SameRank<S>>(self, corner: impl Corner<S>) -> Tile<T, P> {
        let operands = [vec![self.raw], corner.starts()].concat();
        Tile::wrap(session::emit(OpKind::Load(P::shape()), &operands, Loc::caller()))
    }

    /// As `load_at`, of elements `strides` apart.
    #[track_caller]
    pub fn load_strided<P: SameRank<S>>(self, corner: impl Corner<S>, strides: S::Array<usize>) -> Tile<T, P> {
        let loc = Loc::caller();
        Tile::wrap(strided::load(self.raw, corner.starts(), strides.as_ref(), P::shape(), &loc))
    }
}
