//! Copies between memories: what moves, how, and the wait.
//!
//! Rules: source and target have one shape and element type, and nothing is converted on the way. Between the start of a copy and its
//! wait the source is not written, and the target neither read nor written. A copy that is described and not made, or started and
//! forgotten, is a fault.

use super::element::{Element, Number};
use super::hbm::{Hbm, HbmOut};
use super::memory::{In, Out, Vmem};
use super::place::WholeArray;
use super::semaphore::CountsCopies;
use super::session::{self, Raw};
use super::smem::Smem;
use super::value::{Handle, IntoScalar};
use super::view::{HbmInput, HbmOutput, InputWindow, View};
use crate::BuildFault;
use crate::ir::{Loc, OpKind, SemaphoreKind, Shape, Type};
use std::marker::PhantomData;

/// Memory that a copy reads, of elements `T` in shape `S`; of a whole array in HBM that is [`WholeArray`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory",
    label = "a copy moves between windows, scratch, and views of arrays in HBM; a tile is written with `.store(…)`"
)]
pub trait Memory<T, S>: Copy {
    #[doc(hidden)]
    fn memory(self) -> Raw;
}

/// Memory that takes a copy of elements `T` in shape `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory",
    label = "a copy moves between windows, scratch, and views of arrays in HBM; a tile is written with `.store(…)`"
)]
pub trait CopyTarget<T, S>: Copy {
    #[doc(hidden)]
    fn target(self) -> Raw;
}

/// Elements that a copy moves to memory of elements `U`: the same.
#[diagnostic::on_unimplemented(
    message = "a copy does not convert: it moves elements of `{Self}` to memory of `{U}`",
    label = "the element types differ: load, `.cast::<{U}>()` and store instead"
)]
pub trait SameElements<U> {}
#[diagnostic::do_not_recommend]
impl<T> SameElements<T> for T {}

/// A shape in which a copy moves to memory of shape `P`: the same.
#[diagnostic::on_unimplemented(
    message = "a copy moves between memories of one shape: `{Self}` against `{P}`",
    label = "the shapes differ; a part of memory is a view: `x.view::<P>(start)`, `x.slot(i)`"
)]
pub trait SameShape<P> {}
#[diagnostic::do_not_recommend]
impl<S> SameShape<S> for S {}

/// Memory that may be written by a copy: not an input.
#[diagnostic::on_unimplemented(
    message = "`{M}` is an input: it is read only",
    label = "copy to scratch, to an operand `o: Out<T, S>`, or to a view of `o: HbmOut<T, R>`"
)]
pub trait Writable<M> {}

macro_rules! memory {
    (@source [$($g:tt)*] $ty:ty, $shape:ty) => {
        #[diagnostic::do_not_recommend]
        impl<T: Element, $($g)*> Memory<T, $shape> for $ty {
            fn memory(self) -> Raw {
                self.raw
            }
        }
    };
    (written [$($g:tt)*] $ty:ty, $shape:ty) => {
        memory!(@source [$($g)*] $ty, $shape);
        impl<E: SameElements<T>, P: SameShape<$shape>, T: Element, $($g)*> CopyTarget<E, P> for $ty {
            fn target(self) -> Raw {
                self.raw
            }
        }
    };
    (read [$($g:tt)*] $ty:ty, $shape:ty) => {
        memory!(@source [$($g)*] $ty, $shape);
        impl<E, P, T: Element, $($g)*> CopyTarget<E, P> for $ty
        where
            (): Writable<$ty>,
        {
            fn target(self) -> Raw {
                self.raw
            }
        }
    };
}

memory!(read [S] In<T, S>, S);
memory!(written [S] Out<T, S>, S);
memory!(written [S] Vmem<T, S>, S);
memory!(written [S] Smem<T, S>, S);
memory!(read [const R: usize] Hbm<T, R>, WholeArray<R>);
memory!(written [const R: usize] HbmOut<T, R>, WholeArray<R>);
memory!(read [S] View<InputWindow, T, S>, S);
memory!(read [S] View<HbmInput, T, S>, S);
memory!(written [S] View<HbmOutput, T, S>, S);

/// Describes a copy from one memory to another of the same shape and element type. `.now()` makes it; `.start(semaphore)` begins
/// it, and `.finish(semaphore)` waits for one that began elsewhere.
#[track_caller]
pub fn copy<T: Element, S, A: Memory<T, S>, B: CopyTarget<T, S>>(from: A, to: B) -> Transfer<T> {
    let loc = Loc::caller();
    let moved = Moved { from: from.memory(), to: to.target(), rows: None };
    Transfer { moved, priority: 0, add: false, forgotten: Forgotten::new(BuildFault::CopyNotMade, loc), of: PhantomData }
}

/// Source, target, and how many rows.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub from: Raw,
    pub to: Raw,
    pub rows: Option<Raw>,
}

impl Moved {
    fn operands(self, semaphore: Raw) -> Vec<Raw> {
        [self.from, self.to, semaphore].into_iter().chain(self.rows).collect()
    }

    fn start(self, semaphore: Raw, priority: u8, add: bool, loc: &Loc) {
        session::emit(OpKind::DmaStart { priority, add }, &self.operands(semaphore), loc.clone());
    }

    pub(super) fn wait(self, semaphore: Raw, loc: &Loc) {
        session::emit(OpKind::DmaWait, &self.operands(semaphore), loc.clone());
    }
}

/// A copy that is described, and not made yet.
#[must_use = "this copies nothing yet: call `.now()`, `.start(semaphore)` or `.finish(semaphore)`"]
pub struct Transfer<T> {
    moved: Moved,
    priority: u8,
    add: bool,
    forgotten: Forgotten,
    of: PhantomData<(T, *const ())>,
}

impl<T: Element> Transfer<T> {
    /// Moves only the first `n` along the first dimension: 0 up to all of them, else an error while the kernel runs (R010).
    #[track_caller]
    pub fn rows(mut self, n: impl IntoScalar<i32>) -> Self {
        self.moved.rows = Some(n.into_scalar().raw());
        self
    }

    /// Lets copies without this go first. It changes when a copy happens, never what it moves.
    pub fn low_priority(mut self) -> Self {
        self.priority = 1;
        self
    }

    /// Adds to the target's elements, in place of replacing them.
    #[allow(clippy::should_implement_trait)]
    pub fn add(mut self) -> Self
    where
        T: Number,
    {
        self.add = true;
        self
    }

    /// Makes the copy, from start to end.
    #[track_caller]
    pub fn now(mut self) {
        let loc = Loc::caller();
        self.forgotten.settle();
        let own = session::begin_region(&[Type::Semaphore(SemaphoreKind::Dma, Shape::new(&[]))], &[]).0;
        let sound = session::faults();
        self.moved.start(own[0], self.priority, self.add, &loc);
        if session::faults() == sound {
            self.moved.wait(own[0], &loc);
        }
        let region = session::end_region(&[], &loc);
        session::control(OpKind::Scoped, &[], region.map(|r| vec![r]), &[], loc);
    }

    /// Begins the copy. What this returns waits for its end.
    #[track_caller]
    pub fn start(mut self, semaphore: impl CountsCopies) -> Started {
        let loc = Loc::caller();
        self.forgotten.settle();
        let (mut semaphore, sound) = (semaphore.semaphore(), session::faults());
        self.moved.start(semaphore, self.priority, self.add, &loc);
        let mut forgotten = Forgotten::new(BuildFault::CopyNotAwaited, loc);
        if session::faults() > sound {
            // What is wrong with the copy is said; its wait, or that there is none, would be a second error.
            forgotten.settle();
            semaphore = session::dead();
        }
        Started { moved: self.moved, semaphore, block: session::block(), forgotten }
    }

    /// Waits for such a copy that was started elsewhere, in an earlier step or turn of a loop, and [left](Started::leave).
    #[track_caller]
    pub fn finish(mut self, semaphore: impl CountsCopies) {
        self.forgotten.settle();
        self.moved.wait(semaphore.semaphore(), &Loc::caller());
    }
}

/// A copy that has begun. It is waited for, or left for another line to finish; one that is dropped is a fault (B010).
#[must_use = "a copy that was started is waited for: `.wait()`, or `.leave()` where another line finishes it"]
pub struct Started {
    moved: Moved,
    semaphore: Raw,
    /// The branch, or turn of a loop, in which it began.
    block: Option<u32>,
    forgotten: Forgotten,
}

impl Started {
    /// Waits until all has arrived. In the branch or turn of a loop in which the copy began: elsewhere it would be waited for
    /// more often, or less.
    #[track_caller]
    pub fn wait(mut self) {
        let loc = Loc::caller();
        self.forgotten.settle();
        if self.block == session::block() {
            self.moved.wait(self.semaphore, &loc);
        } else {
            session::fault(BuildFault::AwaitedElsewhere(loc));
        }
    }

    /// Leaves the wait to `copy(from, to).finish(semaphore)`, here or in a later step.
    pub fn leave(mut self) {
        self.forgotten.settle();
    }
}

/// A fault, unless it is settled before it is dropped.
pub(super) struct Forgotten {
    fault: fn(Loc) -> BuildFault,
    loc: Option<Loc>,
}

impl Forgotten {
    pub(super) fn new(fault: fn(Loc) -> BuildFault, loc: Loc) -> Forgotten {
        Forgotten { fault, loc: Some(loc) }
    }

    pub(super) fn settle(&mut self) {
        self.loc = None;
    }
}

impl Drop for Forgotten {
    fn drop(&mut self) {
        // A panic is reported as such.
        if let Some(loc) = self.loc.take().filter(|_| !std::thread::panicking()) {
            session::fault((self.fault)(loc));
        }
    }
}
