//! Whole arrays in HBM: [`Hbm`] inputs and [`HbmOut`] outputs, of which copies move parts.

use super::element::Element;
use super::session::Raw;
use std::marker::PhantomData;

/// An input array with `R` dimensions where it lies, in HBM. Copies read parts of it, `x.view::<P>(start)`; nothing else does.
pub struct Hbm<T, const R: usize> {
    pub(super) raw: Raw,
    of: PhantomData<(T, *const ())>,
}

/// An output array with `R` dimensions where it lies, in HBM. It starts as poison; copies write parts of it, and may read them.
pub struct HbmOut<T, const R: usize> {
    pub(super) raw: Raw,
    of: PhantomData<(T, *const ())>,
}

macro_rules! array {
    ($name:ident) => {
        impl<T, const R: usize> Clone for $name<T, R> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, const R: usize> Copy for $name<T, R> {}
        #[diagnostic::do_not_recommend]
        impl<T, const R: usize> super::value::Shaped for $name<T, R> {
            type Shape = ();
        }
        impl<T: Element, const R: usize> $name<T, R> {
            pub(super) fn wrap(raw: Raw) -> Self {
                $name { raw, of: PhantomData }
            }

            /// Memory behind a reference is no variable that is carried.
            #[doc(hidden)]
            pub fn __tpu_kernel_place(&mut self) -> Box<()> {
                Box::new(())
            }
        }
    };
}

array!(Hbm);
array!(HbmOut);
