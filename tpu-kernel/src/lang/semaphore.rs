//! Semaphores: [`DmaSemaphore`] counts the bytes of copies, [`Semaphore`] what is signalled.
//!
//! Rules: one that is not 0 again at the end of the launch, or of the region that it was made for, is an error; a wait that nothing
//! can end is an error, too. The two kinds never mix.

use super::place::Place;
use super::session::{self, Raw};
use super::value::{Handle, IntoScalar, Scalar};
use crate::ir::{Loc, OpKind};
use std::marker::PhantomData;

/// Counts the bytes that copies have moved: one, `DmaSemaphore`, or an array of them, `DmaSemaphore<(D<2>,)>`.
pub struct DmaSemaphore<S = ()> {
    pub(super) raw: Raw,
    of: PhantomData<(S, *const ())>,
}

/// Counts signals: one, `Semaphore`, or an array of them, `Semaphore<(D<2>,)>`.
pub struct Semaphore<S = ()> {
    pub(super) raw: Raw,
    of: PhantomData<(S, *const ())>,
}

/// The shape of a single semaphore: none.
#[diagnostic::on_unimplemented(message = "this is an array of semaphores, of shape `{Self}`", label = "take one of them: `.at(i)`")]
pub trait Single {}
impl Single for () {}

macro_rules! semaphore {
    ($name:ident) => {
        impl<S> Clone for $name<S> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<S> Copy for $name<S> {}

        impl<S> $name<S> {
            pub(super) fn wrap(raw: Raw) -> Self {
                $name { raw, of: PhantomData }
            }

            /// A semaphore behind a reference is no variable that is carried.
            #[doc(hidden)]
            pub fn __tpu_kernel_place(&mut self) -> Box<()> {
                Box::new(())
            }

            /// One of an array of semaphores.
            #[track_caller]
            pub fn at(self, place: impl Place<S>) -> $name {
                let operands = [vec![self.raw], place.indices()].concat();
                $name::wrap(session::emit(OpKind::SemaphoreAt, &operands, Loc::caller()))
            }

            /// What it has counted.
            #[track_caller]
            pub fn read(self) -> Scalar<i32>
            where
                S: Single,
            {
                Scalar::wrap(session::emit(OpKind::SemaphoreRead, &[self.raw], Loc::caller()))
            }
        }
    };
}

semaphore!(DmaSemaphore);
semaphore!(Semaphore);

/// The barrier semaphore of a device: one for all kernels of that collective id, which has to be the same on each device. It counts
/// signals as a [`Semaphore`] does.
pub struct Barrier<const ID: u32> {
    raw: Raw,
    of: PhantomData<*const ()>,
}

impl<const ID: u32> Clone for Barrier<ID> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<const ID: u32> Copy for Barrier<ID> {}

impl<const ID: u32> Barrier<ID> {
    pub(super) fn wrap(raw: Raw) -> Self {
        Barrier { raw, of: PhantomData }
    }

    /// A semaphore behind a reference is no variable that is carried.
    #[doc(hidden)]
    pub fn __tpu_kernel_place(&mut self) -> Box<()> {
        Box::new(())
    }

    /// Adds `n` to the barrier semaphore of a device.
    #[track_caller]
    pub fn signal_on(self, device: impl IntoScalar<i32>, n: impl IntoScalar<i32>) {
        let operands = [self.raw, n.into_scalar().raw(), device.into_scalar().raw()];
        session::emit(OpKind::SemaphoreSignal, &operands, Loc::caller());
    }

    /// Waits until it has counted to at least `n`, and takes `n` off.
    #[track_caller]
    pub fn wait(self, n: impl IntoScalar<i32>) {
        session::emit(OpKind::SemaphoreWait, &[self.raw, n.into_scalar().raw()], Loc::caller());
    }
}

/// The number of the device that runs the kernel, among those that run it together.
#[track_caller]
pub fn device_id() -> Scalar<i32> {
    Scalar::wrap(session::emit(OpKind::DeviceId, &[], Loc::caller()))
}

impl<S> Semaphore<S> {
    /// Adds `n` to this semaphore as it is on a device.
    #[track_caller]
    pub fn signal_on(self, device: impl IntoScalar<i32>, n: impl IntoScalar<i32>)
    where
        S: Single,
    {
        let operands = [self.raw, n.into_scalar().raw(), device.into_scalar().raw()];
        session::emit(OpKind::SemaphoreSignal, &operands, Loc::caller());
    }

    /// Adds `n` to this semaphore as a core of the same device has it, in a kernel whose first grid dimension is `core_parallel`. A core
    /// that does not run the kernel is an error while it runs (R021).
    #[track_caller]
    pub fn signal_on_core(self, core: impl IntoScalar<i32>, n: impl IntoScalar<i32>)
    where
        S: Single,
    {
        let operands = [self.raw, n.into_scalar().raw(), core.into_scalar().raw()];
        session::emit(OpKind::CoreSignal, &operands, Loc::caller());
    }

    /// Adds `n`.
    #[track_caller]
    pub fn signal(self, n: impl IntoScalar<i32>)
    where
        S: Single,
    {
        session::emit(OpKind::SemaphoreSignal, &[self.raw, n.into_scalar().raw()], Loc::caller());
    }

    /// Waits until it has counted to at least `n`, and takes `n` off.
    #[track_caller]
    pub fn wait(self, n: impl IntoScalar<i32>)
    where
        S: Single,
    {
        session::emit(OpKind::SemaphoreWait, &[self.raw, n.into_scalar().raw()], Loc::caller());
    }
}

/// What is signalled: never a semaphore of copies. The bound makes it an error about that.
#[diagnostic::on_unimplemented(
    message = "`{M}` counts the bytes of copies: only copies change it",
    label = "signals and waits take a `Semaphore`; a copy is waited for by what `.start(…)` returns, or with `copy(from, to).finish(semaphore)`"
)]
pub trait Signalled<M> {}

#[doc(hidden)]
impl<S> DmaSemaphore<S> {
    pub fn signal<N>(self, _n: N)
    where
        (): Signalled<Self>,
    {
    }

    pub fn wait<N>(self, _n: N)
    where
        (): Signalled<Self>,
    {
    }
}

/// A semaphore that a copy counts on.
#[diagnostic::on_unimplemented(
    message = "a copy counts on one `DmaSemaphore`, not on `{Self}`",
    label = "expected a `DmaSemaphore`; of an array of them one is `.at(i)`, and a `Semaphore` counts signals"
)]
pub trait CountsCopies {
    #[doc(hidden)]
    fn semaphore(self) -> Raw;
}

impl CountsCopies for DmaSemaphore {
    fn semaphore(self) -> Raw {
        self.raw
    }
}
