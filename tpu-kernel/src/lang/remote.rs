//! Copies to other devices: from a memory here to the same memory there.
//!
//! Rules: each device counts its own end. The device that copies waits with the semaphore of sending until its source is free again;
//! what arrives is waited for where it arrives, with the semaphore of receiving, by a line of that device. Where every device sends and
//! receives alike, what one waits for is what another has sent.

use super::copy::{CopyTarget, Forgotten, Memory, Moved};
use super::element::Element;
use super::semaphore::CountsCopies;
use super::session::{self, Raw};
use super::value::{Handle, IntoScalar};
use crate::BuildFault;
use crate::ir::{Loc, OpKind};

/// Describes a copy to the same memory of another device: `to` is scratch, or an output in HBM, as it lies there. `.start(send, receive)`
/// begins it.
#[track_caller]
pub fn copy_to_device<T: Element, S, A: Memory<T, S>, B: CopyTarget<T, S>>(
    device: impl IntoScalar<i32>,
    from: A,
    to: B,
) -> RemoteTransfer {
    let loc = Loc::caller();
    let moved = Moved { from: from.memory(), to: to.target(), rows: None };
    let (device, forgotten) = (device.into_scalar().raw(), Forgotten::new(BuildFault::CopyNotMade, loc));
    RemoteTransfer { moved, device, priority: 0, forgotten }
}

/// A copy to another device that is described, and not made yet.
#[must_use = "this copies nothing yet: call `.start(send, receive)`"]
pub struct RemoteTransfer {
    moved: Moved,
    device: Raw,
    priority: u8,
    forgotten: Forgotten,
}

impl RemoteTransfer {
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

    /// Begins the copy: `send` counts its bytes here, `receive` there.
    #[track_caller]
    pub fn start(mut self, send: impl CountsCopies, receive: impl CountsCopies) -> Sent {
        let loc = Loc::caller();
        self.forgotten.settle();
        let (mut send, mut receive, sound) = (send.semaphore(), receive.semaphore(), session::faults());
        let mut operands = vec![self.moved.from, self.moved.to, receive, send, self.device];
        operands.extend(self.moved.rows);
        session::emit(OpKind::RemoteStart { priority: self.priority }, &operands, loc.clone());
        let mut forgotten = Forgotten::new(BuildFault::CopyNotAwaited, loc);
        if session::faults() > sound {
            // What is wrong with the copy is said; its wait, or that there is none, would be a second error.
            forgotten.settle();
            (send, receive) = (session::dead(), session::dead());
        }
        let block = session::block();
        Sent { arriving: Arriving { moved: self.moved, semaphore: receive, block, forgotten }, send }
    }
}

/// A copy to another device that has begun, and one like it that arrives here.
#[must_use = "a copy that was started is waited for: `.wait()`, or `.wait_send()` and what that returns"]
pub struct Sent {
    arriving: Arriving,
    send: Raw,
}

impl Sent {
    /// Waits until all has left, and until as much has arrived here.
    #[track_caller]
    pub fn wait(self) {
        self.wait_send().wait();
    }

    /// Waits until all has left: the source may be written again.
    #[track_caller]
    pub fn wait_send(mut self) -> Arriving {
        let loc = Loc::caller();
        if self.arriving.block == session::block() {
            self.arriving.moved.wait(self.send, &loc);
        } else {
            self.arriving.forgotten.settle();
            session::fault(BuildFault::AwaitedElsewhere(loc));
        }
        self.arriving
    }
}

/// What another device sends as this one has sent.
#[must_use = "what arrives is waited for: `.wait()`, or `.leave()` where another line does, or nothing arrives here"]
pub struct Arriving {
    moved: Moved,
    semaphore: Raw,
    /// The branch, or turn of a loop, in which the copy began.
    block: Option<u32>,
    forgotten: Forgotten,
}

impl Arriving {
    /// Waits until as much has arrived here as was sent.
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

    /// Leaves the wait to `copy(from, to).finish(semaphore)`, on this device or nowhere.
    pub fn leave(mut self) {
        self.forgotten.settle();
    }
}
