//! Copies whose writes pass the caches by: of data that nobody reads soon again, and that is more than the caches hold.
//! Without them each line that is written is first read.

/// Copies bytes, past the caches where the processor can. Before another thread is told of them, [`done`].
///
/// # Safety
/// Both are valid for that many bytes, and apart.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        const WIDTH: usize = size_of::<__m128i>();
        let head = to.addr().wrapping_neg() % WIDTH;
        if bytes >= head + WIDTH {
            let vectors = (bytes - head) / WIDTH;
            let tail = head + vectors * WIDTH;
            // SAFETY: all three parts lie within the bytes; the target of each vector is aligned.
            unsafe {
                std::ptr::copy_nonoverlapping(from, to, head);
                for at in (head..tail).step_by(WIDTH) {
                    _mm_stream_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast()));
                }
                std::ptr::copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
            }
            return;
        }
    }
    // SAFETY: by this function's contract.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// What was copied so is seen by whoever sees a later write of this thread.
pub fn done() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_any_alignment() {
        let source: Vec<u8> = (0..600).map(|n| n as u8).collect();
        for (start, to, len) in [(0, 0, 0), (1, 3, 1), (0, 5, 11), (3, 1, 15), (2, 16, 16), (5, 7, 33), (1, 2, 255), (0, 0, 512)] {
            let mut target = vec![0xaau8; 600];
            // SAFETY: both ranges lie within their lists.
            unsafe { copy(source.as_ptr().add(start), target.as_mut_ptr().add(to), len) };
            done();
            let mut want = vec![0xaau8; 600];
            want[to..to + len].copy_from_slice(&source[start..start + len]);
            assert_eq!(target, want, "{start} {to} {len}");
        }
    }
}
