//! Random bits: Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) with 20 rounds, keyed and
//! counted as `jax.random.bits` does.

use super::tile::Tile;
use crate::ir::{DType, Literal, Shape};

/// The generator of a launch, once it is seeded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random {
    key: [u32; 2],
    /// The number of the next element.
    counter: u64,
}

impl Random {
    /// The generator of one seed or two.
    pub(super) fn new(seeds: &[u32]) -> Random {
        let key = match *seeds {
            [low] => [0, low],
            [high, low] => [high, low],
            _ => panic!("verified: one seed or two"),
        };
        Random { key, counter: 0 }
    }

    /// The next elements, in row-major order: of each, the two words of its block, exclusive or.
    pub(super) fn draw(&mut self, shape: Shape) -> Tile {
        Tile::new(DType::U32, shape, |_| {
            let block = threefry2x32(self.key, [(self.counter >> 32) as u32, self.counter as u32]);
            self.counter = self.counter.wrapping_add(1);
            Literal::from(block[0] ^ block[1])
        })
    }
}

fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda];
    let [mut a, mut b] = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            a = a.wrapping_add(b);
            b = b.rotate_left(rotation) ^ a;
        }
        a = a.wrapping_add(keys[(group + 1) % 3]);
        b = b.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [a, b]
}

#[cfg(test)]
mod tests {
    use super::threefry2x32;

    /// The known answers of the authors' library (Random123) for 20 rounds.
    #[test]
    fn known_answers() {
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry2x32([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }
}
