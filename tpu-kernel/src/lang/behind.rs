//! What a variable changes where it goes into a call: what it points to, where it is a mutable reference.
//!
//! Rule: `v.__tpu_kernel_place()` finds the first of these that fits, by the order in which rustc looks for methods:
//! of a `&mut T` that of [`Behind`], of memory its own, of all else that of [`Beside`]. No variable need be `mut`.

use super::control::{Carry, Dynamic};
use super::session::Raw;
use std::ops::{Deref, DerefMut};

/// Of what a mutable reference points to: the place.
#[doc(hidden)]
pub trait Behind {
    type Place<'a>
    where
        Self: 'a;
    fn __tpu_kernel_place(&mut self) -> Self::Place<'_>;
}
impl<T> Behind for T {
    type Place<'a>
        = &'a mut T
    where
        T: 'a;
    fn __tpu_kernel_place(&mut self) -> &mut T {
        self
    }
}
impl<T> Behind for [T] {
    type Place<'a>
        = Slice<'a, T>
    where
        T: 'a;
    fn __tpu_kernel_place(&mut self) -> Slice<'_, T> {
        Slice(Elements(self))
    }
}

/// Of whatever is no mutable reference: nothing.
#[doc(hidden)]
pub trait Beside {
    fn __tpu_kernel_place(&self) -> Box<()> {
        Box::new(())
    }
}
impl<T: ?Sized> Beside for T {}

/// Places of one kind, as many as there are.
#[doc(hidden)]
pub struct Slice<'a, T>(Elements<'a, T>);

/// What a [`Slice`] holds.
#[doc(hidden)]
pub struct Elements<'a, T>(&'a mut [T]);

impl<'a, T> Deref for Slice<'a, T> {
    type Target = Elements<'a, T>;
    fn deref(&self) -> &Elements<'a, T> {
        &self.0
    }
}
impl<'a, T> DerefMut for Slice<'a, T> {
    fn deref_mut(&mut self) -> &mut Elements<'a, T> {
        &mut self.0
    }
}

#[diagnostic::do_not_recommend]
impl<V: Carry<Dynamic>> Carry<Dynamic> for Elements<'_, V> {
    fn collect(&self, into: &mut Vec<Raw>) {
        self.0.iter().for_each(|v| <V as Carry<Dynamic>>::collect(v, into));
    }
    fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>) {
        self.0.iter_mut().for_each(|v| <V as Carry<Dynamic>>::replace(v, from));
    }
}
