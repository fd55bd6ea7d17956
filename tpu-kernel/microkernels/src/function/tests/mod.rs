//! Tests of the functions: corner values, strips against scalars, and errors against an independent library.

mod corners;
mod hashes;
mod integers;
#[expect(unreachable_pub, reason = "the crate of tests has this file, too")]
mod reference;
mod strips;
mod sweep;

/// Words without an end, from a generator with one word of state (D. Lehmer's, modulus 2^64).
struct Words(u64);

impl Words {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        (self.0 >> 32) as u32
    }
}

/// Words that are special to some function, as floats or as integers.
fn special_words() -> Vec<u32> {
    let floats = [0.0, 1.0, 0.5, 1.5, 2.5, 2.0, 3.0, 10.5, 88.0, 104.0, 151.0, 8_388_607.5, 8_388_609.0, 16_777_216.0, 1_048_576.0];
    let floats = floats.into_iter().chain([f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::INFINITY, f32::NAN, f32::EPSILON]);
    let floats = floats.flat_map(|x| [x.to_bits(), (-x).to_bits()]);
    floats.chain([1, 2, 7, 31, 32, 33, u32::MAX, u32::MAX - 1, i32::MAX as u32, 0x8000_0001, 0x7f80_0001]).collect()
}
