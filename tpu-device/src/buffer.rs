//! The host memory behind a tensor: aligned bytes, zeroed when made.
//!
//! Rules: the only module of the crate with `unsafe`; a failed allocation is an error, not an abort.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of every buffer, bytes: a cache line, and the widest vector register of any host.
pub(crate) const ALIGN: usize = 64;

/// Owned bytes, aligned to [`ALIGN`].
pub(crate) struct Buffer {
    start: NonNull<u8>,
    len: usize,
}

impl Buffer {
    /// `len` zero bytes, or `None` where the host has no such memory.
    pub(crate) fn zeroed(len: usize) -> Option<Buffer> {
        if len == 0 {
            return Some(Buffer { start: NonNull::dangling(), len });
        }
        let layout = Layout::from_size_align(len, ALIGN).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        NonNull::new(start).map(|start| Buffer { start, len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (dangling, not null, for 0), which nothing writes while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: `zeroed` allocated it with this layout, which was valid there.
            unsafe { dealloc(self.start.as_ptr(), Layout::from_size_align_unchecked(self.len, ALIGN)) }
        }
    }
}

// SAFETY: a buffer owns its bytes alone and has no interior mutability.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_writable() {
        for len in [0, 1, 63, 64, 65, 4097] {
            let mut buffer = Buffer::zeroed(len).unwrap();
            assert_eq!(buffer.bytes(), vec![0; len]);
            assert!(len == 0 || (buffer.bytes().as_ptr() as usize).is_multiple_of(ALIGN));
            buffer.bytes_mut().fill(7);
            assert_eq!(buffer.bytes(), vec![7; len]);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(Buffer::zeroed(usize::MAX).is_none());
        assert!(Buffer::zeroed(isize::MAX as usize - ALIGN).is_none());
    }
}
