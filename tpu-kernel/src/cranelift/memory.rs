//! The memory of a run: arena, copies of blocks, and scratch, in one allocation that is kept for the next.

use crate::exec::RunError;
use crate::ir::{DType, Literal};
use std::sync::Mutex;

/// Alignment of everything that is handed to compiled code.
pub(super) const ALIGN: usize = 64;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; ALIGN]);

/// Zeroed or used memory, aligned to [`ALIGN`].
#[derive(Default)]
pub(super) struct Memory(Vec<Line>);

impl Memory {
    /// Its first byte.
    pub(super) fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len() * ALIGN)
    }
}

/// Memories that no run uses.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<Memory>>);

/// So many are kept.
const KEEP: usize = 4;

impl Pool {
    /// Memory of at least that size.
    pub(super) fn take(&self, bytes: usize) -> Result<Memory, RunError> {
        let kept = self.0.lock().ok().and_then(|mut all| all.pop());
        let mut memory = kept.unwrap_or_default();
        let lines = bytes.div_ceil(ALIGN);
        if memory.0.len() < lines {
            memory.0.try_reserve_exact(lines - memory.0.len()).map_err(|_| RunError::OutOfMemory { bytes })?;
            memory.0.resize(lines, Line([0; ALIGN]));
        }
        Ok(memory)
    }

    /// Gives memory back.
    pub(super) fn give(&self, memory: Memory) {
        if let Ok(mut all) = self.0.lock()
            && all.len() < KEEP
        {
            all.push(memory);
        }
    }
}

/// Fills elements with poison.
///
/// # Safety
/// `to` is valid for writes of that many elements.
pub(super) unsafe fn poison(to: *mut u8, dtype: DType, elements: usize) {
    let bits = Literal::poison(dtype).memory();
    // SAFETY: by this function's contract; all writes stay within the elements.
    unsafe {
        match dtype.bytes() {
            4 => (0..elements).for_each(|i| to.cast::<u32>().add(i).write_unaligned(bits)),
            2 => (0..elements).for_each(|i| to.cast::<u16>().add(i).write_unaligned(bits as u16)),
            _ => to.write_bytes(bits as u8, elements),
        }
    }
}
