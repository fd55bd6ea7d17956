//! Memory and semaphores of a region of their own.

use super::control::{Carry, Dynamic};
use super::element::Element;
use super::memory::Vmem;
use super::semaphore::{Barrier, DmaSemaphore, Semaphore};
use super::session::{self, Raw};
use super::shape::Shape;
use super::smem::Smem;
use crate::ir::{self, Loc, OpKind, SemaphoreKind, Space, Type};

/// What a region, or the scratch of a kernel, is made of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory of a region",
    label = "a region has `Vmem<T, S>`, `Smem<T, S>`, `DmaSemaphore` and `Semaphore` of its own"
)]
pub trait Allocated: Copy {
    #[doc(hidden)]
    fn ty() -> Type;
    #[doc(hidden)]
    fn of(raw: Raw) -> Self;
}

/// The shape of semaphores: `()` for one, a tuple for an array of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of semaphores",
    label = "of one semaphore it is left out, of an array it is a tuple of dimensions, as in `DmaSemaphore<(D<2>,)>`"
)]
pub trait SemaphoreShape {
    #[doc(hidden)]
    fn semaphores() -> ir::Shape;
}
impl SemaphoreShape for () {
    fn semaphores() -> ir::Shape {
        ir::Shape::new(&[])
    }
}
#[diagnostic::do_not_recommend]
impl<S: Shape> SemaphoreShape for S {
    fn semaphores() -> ir::Shape {
        S::shape()
    }
}

macro_rules! allocated {
    ([$($g:tt)*] $name:ident<$($p:ident),+> = $ty:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($g)*> Allocated for $name<$($p),+> {
            fn ty() -> Type {
                $ty
            }
            fn of(raw: Raw) -> Self {
                $name::wrap(raw)
            }
        }
    };
}

allocated!([T: Element, S: Shape] Vmem<T, S> = Type::Ref(Space::Vmem, T::DTYPE, S::shape()));
allocated!([T: Element, S: Shape] Smem<T, S> = Type::Ref(Space::Smem, T::DTYPE, S::shape()));
allocated!([S: SemaphoreShape] DmaSemaphore<S> = Type::Semaphore(SemaphoreKind::Dma, S::semaphores()));
#[diagnostic::do_not_recommend]
impl<const ID: u32> Allocated for Barrier<ID> {
    fn ty() -> Type {
        Type::Semaphore(SemaphoreKind::Barrier(ID), ir::Shape::new(&[]))
    }
    fn of(raw: Raw) -> Self {
        Barrier::wrap(raw)
    }
}
allocated!([S: SemaphoreShape] Semaphore<S> = Type::Semaphore(SemaphoreKind::Regular, S::semaphores()));

/// What may leave a region: tiles and scalars, and tuples and arrays of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot leave `scoped`",
    label = "a region returns tiles and scalars, and tuples and arrays of them; its memory ends with it"
)]
pub trait Returned: Carry<Dynamic> {}
#[diagnostic::do_not_recommend]
impl<R: Carry<Dynamic>> Returned for R {}

/// The body of a region: a closure whose parameters are its memory, with their types.
#[diagnostic::on_unimplemented(
    message = "this is not the body of a region",
    label = "expected a closure of one to eight parameters with their types: `|buffer: Vmem<f32, (BM, C)>, semaphore: DmaSemaphore| …`",
    note = "what a region may have of its own is `Vmem<T, S>`, `Smem<T, S>`, `DmaSemaphore` and `Semaphore`"
)]
pub trait Body<A> {
    /// What it returns.
    type Output;
    #[doc(hidden)]
    fn types() -> Vec<Type>;
    #[doc(hidden)]
    fn run(self, memory: &mut std::vec::IntoIter<Raw>) -> Self::Output;
}

macro_rules! body {
    ($($a:ident)+) => {
        #[diagnostic::do_not_recommend]
        impl<F: FnOnce($($a),+) -> R, R, $($a: Allocated),+> Body<($($a,)+)> for F {
            type Output = R;
            fn types() -> Vec<Type> {
                vec![$($a::ty()),+]
            }
            fn run(self, memory: &mut std::vec::IntoIter<Raw>) -> R {
                self($($a::of(memory.next().unwrap_or(session::dead()))),+)
            }
        }
    };
}

body!(A);
body!(A B);
body!(A B C);
body!(A B C D);
body!(A B C D E);
body!(A B C D E G);
body!(A B C D E G H);
body!(A B C D E G H I);

/// Runs the body with memory and semaphores that live until its end: `scoped(|buffer: Vmem<f32, (BM, C)>, semaphore: DmaSemaphore| { … })`.
///
/// The memory starts as poison. A semaphore starts at 0, and is 0 again at the end, else the launch ends with R012. Tiles and scalars
/// may be returned.
#[track_caller]
pub fn scoped<A, F: Body<A>>(body: F) -> F::Output
where
    F::Output: Returned,
{
    let loc = Loc::caller();
    let own = session::begin_scoped(&F::types());
    let mut value = body.run(&mut own.into_iter());
    let mut yields = vec![];
    Carry::<Dynamic>::collect(&value, &mut yields);
    let region = session::end_region(&yields, &loc);
    let results = session::control(OpKind::Scoped, &[], region.map(|r| vec![r]), &yields, loc);
    Carry::<Dynamic>::replace(&mut value, &mut results.into_iter());
    value
}
