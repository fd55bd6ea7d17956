//! The HBM of a simulated chip: a capacity, and a table of what lives in it.
//!
//! Rules: bytes are reserved before the host allocates, so a program that does not fit the chip never
//! reaches the host's limit; an array counts its elements' bits on the chip, packed into bytes, without the
//! padding of tiles. So two elements of 4 bits count as a byte, though each takes one on the host.

use crate::{DeviceError, LiveTensor};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tpu_kernel::ir::{DType, Shape};

/// How many of the largest live tensors an out-of-memory error lists.
const LARGEST: usize = 5;

#[derive(Debug)]
pub(crate) struct Memory {
    capacity: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: u64,
    peak: u64,
    table: Vec<Option<Entry>>,
    /// Empty places of the table.
    free: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    dtype: DType,
    shape: Shape,
    bytes: u64,
}

/// A place in the table.
#[derive(Debug)]
pub(crate) struct Slot(usize);

impl Memory {
    pub(crate) fn new(capacity: u64) -> Memory {
        Memory { capacity, state: Mutex::default() }
    }

    /// Every update below is complete before anything can panic, so a poisoned lock is still sound.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an array of that many elements, or refuses it.
    pub(crate) fn reserve(&self, dtype: DType, shape: Shape, elements: usize) -> Result<Slot, DeviceError> {
        let bytes = packed(dtype, elements);
        let mut state = self.state();
        let live = match state.live.checked_add(bytes) {
            Some(live) if live <= self.capacity => live,
            _ => return Err(self.exhausted(&state, bytes)),
        };
        state.live = live;
        state.peak = state.peak.max(live);
        let entry = Some(Entry { dtype, shape, bytes });
        Ok(Slot(match state.free.pop() {
            Some(at) => {
                state.table[at] = entry;
                at
            }
            None => {
                state.table.push(entry);
                state.table.len() - 1
            }
        }))
    }

    pub(crate) fn release(&self, slot: &Slot) {
        let mut state = self.state();
        if let Some(entry) = state.table[slot.0].take() {
            state.live -= entry.bytes;
            state.free.push(slot.0);
        }
    }

    fn exhausted(&self, state: &State, bytes: u64) -> DeviceError {
        let mut entries: Vec<Entry> = state.table.iter().flatten().copied().collect();
        entries.sort_by_key(|e| std::cmp::Reverse(e.bytes));
        let largest =
            entries.iter().take(LARGEST).map(|e| LiveTensor { dtype: e.dtype, shape: e.shape.dims().to_vec(), bytes: e.bytes });
        DeviceError::OutOfMemory {
            bytes,
            live: state.live,
            capacity: self.capacity,
            tensors: entries.len(),
            largest: largest.collect(),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes live now, and at most so far.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let state = self.state();
        (state.live, state.peak)
    }
}

/// The bytes of that many elements on the chip.
fn packed(dtype: DType, elements: usize) -> u64 {
    // Elements × bits may exceed 64 bits where the bytes do not.
    let (elements, bits) = (elements as u64, u64::from(dtype.bits()));
    match bits {
        8.. => elements.saturating_mul(bits / 8),
        _ => elements.div_ceil(8 / bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let memory = Memory::new(100);
        let shape = Shape::new(&[10]);
        let a = memory.reserve(DType::F32, shape, 10).unwrap();
        let b = memory.reserve(DType::F32, shape, 10).unwrap();
        memory.release(&a);
        let c = memory.reserve(DType::F32, shape, 15).unwrap();
        assert_eq!(memory.usage(), (100, 100));
        assert_eq!(memory.state().table.len(), 2);
        memory.release(&b);
        memory.release(&c);
        assert_eq!(memory.usage(), (0, 100));
    }

    #[test]
    fn narrow_elements_are_packed() {
        for (dtype, elements, bytes) in [
            (DType::F32, 3, 12),
            (DType::F16, 3, 6),
            (DType::Bool, 3, 3),
            (DType::I4, 0, 0),
            (DType::U4, 3, 2),
            (DType::F4E2M1Fn, 4, 2),
            (DType::I2, 5, 2),
            (DType::F32, usize::MAX, u64::MAX),
            (DType::I4, usize::MAX, 1 << 63),
        ] {
            assert_eq!(packed(dtype, elements), bytes, "{elements} of {dtype}");
        }
    }
}
