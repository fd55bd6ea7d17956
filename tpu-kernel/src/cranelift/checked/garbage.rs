//! What memory holds that nothing has written: anything, drawn from the seed, so that no result can hang on what poison reads as.

use super::order::Random;
use crate::ir::DType;

/// The elements of which a shadow says that they are poison.
pub(super) fn poison_of(shadow: &[u8]) -> impl Iterator<Item = usize> {
    shadow.iter().enumerate().filter(|(_, poison)| **poison != 0).map(|(at, _)| at)
}

/// Fills these elements.
///
/// # Safety
/// `to` is valid for writes of each of them.
pub(super) unsafe fn scatter(to: *mut u8, dtype: DType, elements: impl Iterator<Item = usize>, random: &mut Random) {
    let mut state = random.below(u64::MAX) | 1;
    for at in elements {
        // Xorshift (Marsaglia 2003): fast, and good enough for garbage.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bits = state as u32;
        // SAFETY: by this function's contract; bool is 0 or 1, which compiled code relies on.
        unsafe {
            match (dtype, dtype.bytes()) {
                (DType::Bool, _) => to.add(at).write((bits & 1) as u8),
                (_, 4) => to.cast::<u32>().add(at).write_unaligned(bits),
                (_, 2) => to.cast::<u16>().add(at).write_unaligned(bits as u16),
                _ => to.add(at).write(bits as u8),
            }
        }
    }
}
