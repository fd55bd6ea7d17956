//! Packing buffers: one a thread, kept between calls so that a call in a loop does not allocate.

use std::cell::RefCell;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u32>>> = const { RefCell::new(Vec::new()) };
}

/// Above this a buffer is given back to the allocator after use.
const KEEP_WORDS: usize = 8 << 20;

/// Calls `f` with a buffer of that many 32-bit words, of any content.
pub(crate) fn with<R>(words: usize, f: impl FnOnce(&mut [u32]) -> R) -> R {
    let mut buffer = BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default();
    if buffer.len() < words {
        buffer.resize(words, 0);
    }
    let result = f(&mut buffer[..words]);
    if buffer.len() <= KEEP_WORDS {
        BUFFERS.with_borrow_mut(|all| all.push(buffer));
    }
    result
}
