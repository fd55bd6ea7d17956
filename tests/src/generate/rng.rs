//! Random numbers: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

use tpu_kernel::ir::{DType, Literal};

/// A generator; the same seed gives the same numbers for ever.
#[derive(Clone, Debug)]
pub struct Rng(u64);

const FLOATS: [u32; 16] = [
    0x7fc0_0000,
    0x7f80_0000,
    0xff80_0000,
    0,
    0x8000_0000,
    1,
    0x8040_0000,
    0x0080_0000,
    0x7f7f_ffff,
    0x3f80_8000,
    0x3f81_8000,
    0x4f00_0000,
    0xcf00_0001,
    0x42b1_7218,
    0xc2ce_8ed0,
    0x4020_0000,
];
const INTS: [i32; 10] = [0, 1, -1, 2, 7, -7, 255, i32::MAX, i32::MIN, 1_900_019_749];

impl Rng {
    /// The generator of that seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// True in `percent` of 100.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// An element of that type: moderate or, in `percent` of 100, special.
    pub fn literal(&mut self, dtype: DType, percent: usize) -> Literal {
        let special = self.chance(percent);
        match dtype {
            DType::Bool => self.chance(50).into(),
            DType::F32 if special => Literal::from_bits(dtype, self.pick(&FLOATS)),
            // The upper half of f32, or any bits at all.
            DType::Bf16 if special => Literal::from_bits(dtype, self.pick(&FLOATS) >> 16),
            _ if special && dtype.is_float() => Literal::from_bits(dtype, self.bits() as u32),
            _ if special => Literal::from_int(dtype, i64::from(self.pick(&INTS))),
            _ if dtype.is_float() => Literal::from_f32(dtype, self.moderate()),
            _ => Literal::from_int(dtype, self.below(41) as i64 - 20),
        }
    }

    /// 1/16 to 8, of either sign, with all its bits random, so that sums round.
    fn moderate(&mut self) -> f32 {
        let bits = self.bits() as u32;
        let exponent = 123 + self.below(7) as u32;
        f32::from_bits((bits & 0x807f_ffff) | (exponent << 23))
    }
}
