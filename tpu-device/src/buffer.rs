//! The host memory behind a tensor: aligned bytes, zeroed when made.
//!
//! Rules: the only module of the crate with `unsafe`; a failed allocation is an error, not an abort.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of every buffer, bytes: a cache line, and the widest vector register of any host.
pub(crate) const ALIGN: usize = 64;

/// What the host's allocator gives without being asked. Asked for more it neither is fast nor hands out
/// large blocks as untouched zero pages, so a buffer asks for [`PAD`] bytes more and starts inside.
const BASE_ALIGN: usize = 16;
const PAD: usize = ALIGN - BASE_ALIGN;

/// Owned bytes, aligned to [`ALIGN`].
pub(crate) struct Buffer {
    /// What was allocated, of size `len + PAD`; dangling where `len` is 0.
    base: NonNull<u8>,
    /// From `base` to the first byte; at most `PAD`.
    offset: usize,
    len: usize,
}

impl Buffer {
    /// `len` zero bytes, or `None` where the host has no such memory.
    pub(crate) fn zeroed(len: usize) -> Option<Buffer> {
        if len == 0 {
            return Some(Buffer { base: NonNull::dangling(), offset: 0, len });
        }
        let layout = Layout::from_size_align(len.checked_add(PAD)?, BASE_ALIGN).ok()?;
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let address = base.addr().get();
        Some(Buffer { base, offset: address.next_multiple_of(ALIGN) - address, len })
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: `base` is aligned to BASE_ALIGN, so `offset` is at most PAD, which lies within the allocation (0 where there is none).
        unsafe { self.base.as_ptr().add(self.offset) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes follow `start`, and nothing writes them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: `zeroed` allocated `base` with this layout, which was valid there.
            unsafe { dealloc(self.base.as_ptr(), Layout::from_size_align_unchecked(self.len + PAD, BASE_ALIGN)) }
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
