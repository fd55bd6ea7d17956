//! Large buffers that tensors have left, kept for the next: their pages are mapped already, which for an output of a launch costs
//! as much time as to write it.
//!
//! Rules: a buffer is taken for just its length, and holds what was in it; few are kept, the latest first, and they are no
//! tensors, so that the device does not count them.

use crate::buffer::Buffer;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is smaller is quick to get from the host.
const LEAST: usize = 1 << 20;
/// So many are kept.
const KEPT: usize = 4;

/// The spare buffers of a device.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<Buffer>>);

impl Spare {
    fn buffers(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer of that many bytes, whatever they hold.
    pub(crate) fn take(&self, len: usize) -> Option<Buffer> {
        if len < LEAST {
            return None;
        }
        let mut buffers = self.buffers();
        let at = buffers.iter().rposition(|b| b.bytes().len() == len)?;
        Some(buffers.remove(at))
    }

    /// Keeps a buffer, if it is large; else, and of more than are kept, the host has it back.
    pub(crate) fn give(&self, buffer: Buffer) {
        if buffer.bytes().len() < LEAST {
            return;
        }
        let mut buffers = self.buffers();
        buffers.push(buffer);
        // Given back where nobody waits for the lock.
        let oldest = (buffers.len() > KEPT).then(|| buffers.remove(0));
        drop(buffers);
        drop(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_a_length_is_used_again() {
        let spare = Spare::default();
        let large = |fill: u8| {
            let mut buffer = Buffer::zeroed(LEAST).expect("a mebibyte");
            buffer.bytes_mut()[0] = fill;
            buffer
        };
        (1..=6).for_each(|n| spare.give(large(n)));
        assert!(spare.take(LEAST + 1).is_none(), "another length");
        let taken: Vec<u8> = std::iter::from_fn(|| spare.take(LEAST)).map(|b| b.bytes()[0]).collect();
        assert_eq!(taken, [6, 5, 4, 3]);
        spare.give(Buffer::zeroed(64).expect("a line"));
        assert!(spare.take(64).is_none(), "small ones are not kept");
    }
}
