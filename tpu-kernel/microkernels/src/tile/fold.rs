//! The same bits as elements of another width: rows fold into words, or words into rows, low bits first.

use super::RANK;
use super::view::{Bits, View, lines};

/// The width in bits of an element, and whether it is sign-extended in memory.
#[derive(Clone, Copy)]
pub(super) struct Width {
    pub(super) bits: u32,
    pub(super) signed: bool,
}

impl Width {
    fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    /// The low bits as they lie in memory.
    fn extended(self, word: u32) -> u32 {
        let unused = 32 - self.bits;
        if self.signed { ((word << unused) as i32 >> unused) as u32 } else { word & self.mask() }
    }
}

/// Rows of the second to last dimension fold: `rows` of the result there.
pub(super) fn bitcast<S: Bits, D: Bits>(from: &View<'_, S>, from_bits: u32, to: &mut [D], width: Width, rows: usize) {
    let (axis, last) = (RANK - 2, RANK - 1);
    let mut dims = from.dims;
    dims[axis] = rows;
    let ratio = (from_bits.max(width.bits) / from_bits.min(width.bits)) as usize;
    let mask = Width { bits: from_bits, signed: false }.mask();
    for (index, row) in lines(dims, last).zip(to.chunks_exact_mut(dims[last])) {
        let mut source = index;
        if from_bits > width.bits {
            source[axis] = index[axis] / ratio;
            let by = width.bits * (index[axis] % ratio) as u32;
            let words = from.line(source, last);
            row.iter_mut().enumerate().for_each(|(x, to)| *to = D::from_word(width.extended(words.at(x).word() >> by)));
            continue;
        }
        for (x, to) in row.iter_mut().enumerate() {
            source[last] = x;
            let word = (0..ratio).fold(0, |word, part| {
                source[axis] = index[axis] * ratio + part;
                word | (from.at(source).word() & mask) << (from_bits * part as u32)
            });
            *to = D::from_word(width.extended(word));
        }
    }
}
