//! Scalar memory: [`Smem`] scratch, and [`Prefetch`], inputs that lie there before the grid starts.
//!
//! Rule: one element at a time, at an index for each dimension; one outside of the memory is an error, never clamped.

use super::element::Element;
use super::place::{Place, WholeArray};
use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, IntoScalar, Scalar};
use crate::ir::{Loc, OpKind};
use std::marker::PhantomData;

/// Memory of the scalar unit: scratch, or a part of scratch. It starts as poison and keeps its contents over the whole grid.
pub struct Smem<T, S> {
    pub(super) raw: Raw,
    of: PhantomData<(T, S, *const ())>,
}

/// An input array with `R` dimensions that lies in scalar memory before the grid starts, so that the index maps of the windows after
/// it may read it.
///
/// What the body writes to it is seen by later reads, and lost at the end. The index maps of outputs see it from the next step on,
/// those of inputs, whose blocks are fetched while the step before runs, one step later.
pub struct Prefetch<T, const R: usize> {
    pub(super) raw: Raw,
    of: PhantomData<(T, *const ())>,
}

macro_rules! scalar_memory {
    ([$($g:tt)*] $name:ident<$p:ident>, $all:ty, $shaped:ty) => {
        impl<T, $($g)*> Clone for $name<T, $p> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, $($g)*> Copy for $name<T, $p> {}
        #[diagnostic::do_not_recommend]
        impl<T, $($g)*> super::value::Shaped for $name<T, $p> {
            type Shape = $shaped;
        }
    };
    (@access [$($g:tt)*] $name:ident<$p:ident>, $all:ty) => {
        impl<T: Element, $($g)*> $name<T, $p> {
            pub(super) fn wrap(raw: Raw) -> Self {
                $name { raw, of: PhantomData }
            }

            /// Memory behind a reference is no variable that is carried.
            #[doc(hidden)]
            pub fn __tpu_kernel_place(&mut self) -> Box<()> {
                Box::new(())
            }

            /// The element at `place`.
            #[track_caller]
            pub fn read(self, place: impl Place<$all>) -> Scalar<T> {
                let operands = [vec![self.raw], place.indices()].concat();
                Scalar::wrap(session::emit(OpKind::LoadScalar, &operands, Loc::caller()))
            }

            /// Writes the element at `place`.
            #[track_caller]
            pub fn write(self, place: impl Place<$all>, value: impl IntoScalar<T>) {
                let operands = [vec![self.raw, value.into_scalar().raw()], place.indices()].concat();
                session::emit(OpKind::StoreScalar, &operands, Loc::caller());
            }
        }
    };
}

scalar_memory!([S] Smem<S>, S, S);
scalar_memory!(@access [S: Shape] Smem<S>, S);
scalar_memory!([const R: usize] Prefetch<R>, WholeArray<R>, ());
scalar_memory!(@access [const R: usize] Prefetch<R>, WholeArray<R>);
