//! a^b = 2^(b · log₂|a|), in f64: a relative error of 2^-50 in the logarithm is one of 2^-43 in the largest power. Signs and
//! special cases as C99, F.9.4.4.

use super::body::binary;
use super::parts;

binary! {
    Pow = pow;
}

#[inline(always)]
fn pow(x: f64, y: f64) -> f64 {
    let (size, exponent) = (x.abs(), y.abs());
    let log = parts::log2(size);
    let log = if size == 0.0 { f64::NEG_INFINITY } else { log };
    let log = if size < f64::INFINITY { log } else { size };
    let power = parts::exp2(y * log);

    // From 2^24 on every f32 is an even integer.
    let (integer, odd) = parity(exponent);
    let negative = x.is_sign_negative();
    let power = if negative & odd { -power } else { power };
    let impossible = negative & !integer & (size > 0.0) & (size < f64::INFINITY);
    let power = if impossible { f64::NAN } else { power };
    // 1 to any power, and (-1)^±∞.
    let unit = (x == 1.0) | ((size == 1.0) & (exponent == f64::INFINITY));
    if unit | (y == 0.0) { 1.0 } else { power }
}

/// Whether y ≥ 0 is an integer, and whether it is an odd one; ∞ is an even integer, NaN is neither.
#[inline(always)]
fn parity(y: f64) -> (bool, bool) {
    let sum = y + parts::TO_INTEGER;
    let near = sum - parts::TO_INTEGER == y;
    let large = y >= 16_777_216.0;
    (near | large, near & !large & (sum.to_bits() & 1 == 1))
}
