//! What memory outside of VMEM is not: loads, stores, operators and functions of tiles, on arrays in HBM and on scalar memory, where
//! each is an error that says what to do first; and what a view of an input window is not. Nothing here records anything.

use super::element::Element;
use super::hbm::{Hbm, HbmOut};
use super::memory::Written;
use super::session;
use super::shape::Shape;
use super::smem::{Prefetch, Smem};
use super::unloaded::LoadedFirst;
use super::value::{Handle, Scalar, Tile};
use super::view::{HbmInput, HbmOutput, InputWindow, View};

/// What a computation reaches: never memory in HBM.
#[diagnostic::on_unimplemented(
    message = "`{M}` lies in HBM: copy it into VMEM first",
    label = "only copies reach HBM",
    note = "a part goes into scratch, `copy(x.view::<(BM, C)>((i * BM, 0)), buffer).now()`, and is loaded there, `buffer.load()`; results go back by a copy, too"
)]
pub trait CopiedFirst<M> {}

/// What a computation on tiles reaches: never scalar memory.
#[diagnostic::on_unimplemented(
    message = "`{M}` is scalar memory, not a value",
    label = "read an element first: `.read((i,))`",
    note = "scalar memory holds single elements: `.read(place)` and `.write(place, value)`"
)]
pub trait ReadFirst<M> {}

macro_rules! operators {
    ($needs:ident $g:tt $ty:ty: $($tr:ident $method:ident),+) => {
        $(operators!(@one $needs $g $ty, $tr $method);)+
    };
    (@one $needs:ident [$($g:tt)*] $ty:ty, $tr:ident $method:ident) => {
        impl<$($g)*, Rhs: $needs<$ty>> std::ops::$tr<Rhs> for $ty {
            type Output = Scalar<T>;
            fn $method(self, _other: Rhs) -> Scalar<T> {
                Scalar::wrap(session::dead())
            }
        }
        operators!(@literal f32, $needs [$($g)*] $ty, $tr $method);
        operators!(@literal i32, $needs [$($g)*] $ty, $tr $method);
    };
    (@literal $literal:ty, $needs:ident [$($g:tt)*] $ty:ty, $tr:ident $method:ident) => {
        impl<$($g)*> std::ops::$tr<$ty> for $literal
        where
            $literal: $needs<$ty>,
        {
            type Output = Scalar<T>;
            fn $method(self, _other: $ty) -> Scalar<T> {
                Scalar::wrap(session::dead())
            }
        }
    };
}

macro_rules! elsewhere {
    ($($needs:ident [$($g:tt)*] $ty:ty: [$($other:ident)*];)+) => { $(
        operators!($needs [$($g)*] $ty: Add add, Sub sub, Mul mul, Div div, Rem rem);
        #[doc(hidden)]
        impl<$($g)*> $ty {
            // The bound is the method's, not the block's: a method that is found and then refused explains itself.
            pub fn load_at<P: Shape>(self, _corner: impl Sized) -> Tile<T, P>
            where
                (): $needs<$ty>,
            {
                Tile::wrap(session::dead())
            }
            elsewhere!(@value $needs $ty: load exp log sqrt rsqrt recip tanh sigmoid abs square relu gelu silu);
            elsewhere!(@value_of $needs $ty: load_or maximum minimum pow sum prod max min mean softmax $($other)*);
            elsewhere!(@nothing $needs $ty: store fill);
            pub fn store_at<V>(self, _corner: impl Sized, _value: V)
            where
                (): $needs<$ty>,
            {
            }
            pub fn cast<U: Element>(self) -> Scalar<U>
            where
                (): $needs<$ty>,
            {
                Scalar::wrap(session::dead())
            }
        }
    )+ };
    (@value $needs:ident $ty:ty: $($method:ident)+) => { $(
        pub fn $method(self) -> Scalar<T>
        where
            (): $needs<$ty>,
        {
            Scalar::wrap(session::dead())
        }
    )+ };
    (@value_of $needs:ident $ty:ty: $($method:ident)+) => { $(
        pub fn $method<B>(self, _other: B) -> Scalar<T>
        where
            (): $needs<$ty>,
        {
            Scalar::wrap(session::dead())
        }
    )+ };
    (@nothing $needs:ident $ty:ty: $($method:ident)+) => { $(
        pub fn $method<B>(self, _value: B)
        where
            (): $needs<$ty>,
        {
        }
    )+ };
}

elsewhere! {
    CopiedFirst [T: Element, const R: usize] Hbm<T, R>: [read];
    CopiedFirst [T: Element, const R: usize] HbmOut<T, R>: [read];
    CopiedFirst [T: Element, S: Shape] View<HbmInput, T, S>: [read];
    CopiedFirst [T: Element, S: Shape] View<HbmOutput, T, S>: [read];
    ReadFirst [T: Element, S: Shape] Smem<T, S>: [];
    ReadFirst [T: Element, const R: usize] Prefetch<T, R>: [];
}

operators!(LoadedFirst [T: Element, S: Shape] View<InputWindow, T, S>: Add add, Sub sub, Mul mul, Div div, Rem rem);

#[doc(hidden)]
impl<T: Element, S: Shape> View<InputWindow, T, S> {
    elsewhere!(@nothing Written View<InputWindow, T, S>: store fill);
}
