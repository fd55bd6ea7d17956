//! Random bits: threefry2x32 of a counter.

/// The generator of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rng {
    /// The key.
    pub key: [u32; 2],
    /// Words drawn since the seed.
    pub counter: u64,
    /// 1 where it has a seed.
    pub seeded: u32,
    /// Padding, zero.
    pub reserved: u32,
}

/// The block cipher of 20 rounds.
fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda];
    let [mut a, mut b] = [counter[0].wrapping_add(schedule[0]), counter[1].wrapping_add(schedule[1])];
    for group in 0..5 {
        for by in ROTATIONS[group % 2] {
            a = a.wrapping_add(b);
            b = b.rotate_left(by) ^ a;
        }
        a = a.wrapping_add(schedule[(group + 1) % 3]);
        b = b.wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [a, b]
}

impl Rng {
    /// Fills the words with the next bits: of each counter the two halves of the cipher, xored.
    pub fn draw(&mut self, words: &mut [u32]) {
        for word in words {
            let [a, b] = threefry2x32(self.key, [(self.counter >> 32) as u32, self.counter as u32]);
            *word = a ^ b;
            self.counter = self.counter.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the Random123 distribution.
    #[test]
    fn known_answers() {
        assert_eq!(threefry2x32([0; 2], [0; 2]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry2x32([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }

    #[test]
    fn the_counter_runs_into_the_high_word() {
        let mut rng = Rng { key: [3, 4], counter: u64::from(u32::MAX), seeded: 1, reserved: 0 };
        let mut words = [0; 2];
        rng.draw(&mut words);
        let want = [[0, u32::MAX], [1, 0]].map(|counter| threefry2x32([3, 4], counter)).map(|[a, b]| a ^ b);
        assert_eq!((words, rng.counter), (want, 1 << 32 | 1));
    }
}
