//! Elements as numbers, and arrays of random ones.

use super::failure::Failure;
use crate::tensor::Unwritten;
use crate::{Device, Tensor};
use tpu_kernel::ir::{DType, Literal};

/// The number that an element is; of a bool 0 or 1.
pub(super) fn number(literal: Literal) -> f64 {
    let int = || literal.as_int().map(|v| v as f64);
    let bool = || literal.as_bool().map(|v| f64::from(u8::from(v)));
    literal.as_f32().map(f64::from).or_else(int).or_else(bool).unwrap_or(f64::NAN)
}

/// The elements of a tensor in row-major order.
pub(super) fn values(tensor: &Tensor) -> Vec<f64> {
    let dtype = tensor.dtype();
    let of = |bits: u32| number(Literal::from_bits(dtype, bits & dtype.mask()));
    let bytes = tensor.bytes();
    match dtype.bytes() {
        4 if dtype == DType::F32 => bytes.as_chunks().0.iter().map(|&b| f64::from(f32::from_ne_bytes(b))).collect(),
        4 => bytes.as_chunks().0.iter().map(|&b| of(u32::from_ne_bytes(b))).collect(),
        2 => bytes.as_chunks().0.iter().map(|&b| of(u32::from(u16::from_ne_bytes(b)))).collect(),
        _ => bytes.iter().map(|&b| of(u32::from(b))).collect(),
    }
}

/// A generator of numbers: splitmix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// At least `low`, below `high`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (self.next() >> 11) as f64 / (1u64 << 53) as f64 * (high - low)
    }
}

/// A tensor of random elements, each rounded to the type; of integers from `low` to below `high`.
pub(super) fn random(
    device: &Device,
    dtype: DType,
    shape: &[usize],
    range: Option<(f64, f64)>,
    random: &mut Random,
) -> Result<Tensor, Failure> {
    let mut tensor = Unwritten::new(device, dtype, shape)?;
    let (low, high) = range.unwrap_or(if dtype.is_float() { (-1.0, 1.0) } else { (-8.0, 8.0) });
    let mut draw = || match dtype {
        DType::Bool => Literal::from(random.next() & 1 == 1),
        _ if dtype.is_integer() => Literal::from_f64(dtype, random.between(low, high).floor()),
        _ => Literal::from_f64(dtype, random.between(low, high)),
    };
    let bytes = tensor.bytes();
    match dtype.bytes() {
        4 => bytes.as_chunks_mut().0.iter_mut().for_each(|to| *to = draw().memory().to_ne_bytes()),
        2 => bytes.as_chunks_mut().0.iter_mut().for_each(|to| *to = (draw().memory() as u16).to_ne_bytes()),
        _ => bytes.iter_mut().for_each(|to| *to = draw().memory() as u8),
    }
    Ok(tensor.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_elements_lie_in_their_range_and_repeat_with_the_seed() {
        let device = Device::new("v5e").unwrap();
        for dtype in DType::ALL {
            let make = |seed| random(&device, dtype, &[7, 9], None, &mut Random::new(seed)).unwrap();
            let numbers = values(&make(1));
            assert_eq!(numbers.len(), 63);
            let limit = if dtype.is_float() { 1.0 } else { 8.0 };
            assert!(numbers.iter().all(|v| v.abs() <= limit), "{dtype}: {numbers:?}");
            assert!(numbers.iter().any(|v| *v != numbers[0]), "{dtype}");
            assert_eq!(numbers, values(&make(1)));
            assert_ne!(numbers, values(&make(2)), "{dtype}");
        }
    }

    #[test]
    fn numbers_of_every_kind() {
        assert_eq!(number(Literal::from(-1.5f32)), -1.5);
        assert_eq!(number(Literal::from(-3i8)), -3.0);
        assert_eq!(number(Literal::from(u32::MAX)), 4294967295.0);
        assert_eq!(number(Literal::from(true)), 1.0);
    }
}
