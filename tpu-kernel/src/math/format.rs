//! Narrow floats in registers: from their bits to f32, to the nearest of their numbers, and back to bits.
//!
//! Rules: a register holds a number of a format as that f32. [`decode`] and [`pack`] are exact, of NaN too;
//! [`round`] rounds to nearest even and overflows as [`Format::encode`], which is [`pack`] after [`round`].
//!
//! Method: as an f32, a number of the format has its exponent and mantissa bits, but for a difference of the exponents; a
//! denormal has them after adding the smallest normal number, and a minimum or maximum tells which of the two it is. The
//! wider formats, where denormals are rare, take a product with a power of two instead, which is shorter but makes
//! denormal f32 of denormals: not where these are lost. Rounding adds and subtracts a power of two so large that the sum keeps exactly the bits of
//! the format.

use super::Lanes;
use crate::formats::{Format, Overflow};

const SIGN: i32 = i32::MIN;
const EXPONENT: i32 = 0x7f80_0000;

/// The bits of an f32 that the format lacks.
pub(super) const fn dropped(format: Format) -> u32 {
    23 - format.mantissa
}

/// From the format's sign bit to that of an f32.
const fn above(format: Format) -> u32 {
    31 - format.exponent - format.mantissa
}

/// Whether the exponents of the format are those of f32.
pub(super) const fn is_upper_half(format: Format) -> bool {
    format.exponent == 8
}

/// Whether exponents change by a product: of the formats with infinity, where denormals of f32 count.
fn by_product<L: Lanes>(l: &L, format: Format) -> bool {
    format.overflow == Overflow::Infinity && l.keeps_denormals()
}

pub(super) fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent + 127).cast_unsigned() << 23)
}

/// What a finite number beyond the largest becomes: the magnitude.
pub(super) fn beyond(format: Format) -> f32 {
    match format.overflow {
        Overflow::Infinity => f32::INFINITY,
        Overflow::Nan | Overflow::NanAtNegativeZero => f32::NAN,
        Overflow::Saturate => format.decode(format.largest()),
    }
}

/// The number that the low bits mean; the other bits do not matter.
pub fn decode<L: Lanes>(l: &mut L, format: Format, bits: L::I) -> L::F {
    if is_upper_half(format) {
        let wide = l.shl(bits, 16);
        return l.from_bits(wide);
    }
    let (low, sign) = (l.i32((format.sign() - 1).cast_signed()), l.i32(format.sign().cast_signed()));
    let magnitude = l.iand(bits, low);
    let sign = l.iand(bits, sign);
    let shifted = l.shl(magnitude, dropped(format));
    let value = if by_product(l, format) {
        let (small, scale) = (l.from_bits(shifted), l.f32(power_of_two(127 - format.bias)));
        l.mul(small, scale)
    } else {
        let more = l.i32((127 - format.bias) << 23);
        let normal = l.iadd(shifted, more);
        let normal = l.from_bits(normal);
        // (1 + f) 2^-bias for a fraction f becomes f 2^(1 - bias). From the smallest normal number on this is not below it.
        let (double, smallest) = (l.add(normal, normal), l.f32(power_of_two(1 - format.bias)));
        let denormal = l.sub(double, smallest);
        let is_normal = l.lt(normal, denormal);
        l.select(is_normal, normal, denormal)
    };
    let value = match format.overflow {
        Overflow::Infinity | Overflow::Nan => {
            let largest = l.f32(format.decode(format.largest()));
            let special = l.lt(largest, value);
            let ones = if format.overflow == Overflow::Nan { 0x7fc0_0000 } else { EXPONENT };
            let (ones, none) = (l.i32(ones), l.i32(0));
            let ones = l.iselect(special, ones, none);
            let bits = l.to_bits(value);
            l.ior(bits, ones)
        }
        Overflow::NanAtNegativeZero => {
            let whole = l.ior(magnitude, sign);
            let (negative_zero, nan) = (l.i32(format.sign().cast_signed()), l.i32(0x7fc0_0000));
            let is_nan = l.ieq(whole, negative_zero);
            let bits = l.to_bits(value);
            l.iselect(is_nan, nan, bits)
        }
        Overflow::Saturate => l.to_bits(value),
    };
    let sign = l.shl(sign, above(format));
    let bits = l.ior(value, sign);
    l.from_bits(bits)
}

/// The bits of a number of the format, or of NaN; the upper bits are 0.
pub fn pack<L: Lanes>(l: &mut L, format: Format, x: L::F) -> L::I {
    let bits = l.to_bits(x);
    if is_upper_half(format) {
        return l.ushr(bits, 16);
    }
    let mask = l.i32(format.sign().cast_signed());
    let sign = l.ushr(bits, above(format));
    let sign = l.iand(sign, mask);
    let small = if by_product(l, format) {
        let scale = l.f32(power_of_two(format.bias - 127));
        let small = l.mul(x, scale);
        let small = l.to_bits(small);
        // The product made a signalling NaN quiet.
        let is_nan = l.is_nan(x);
        l.iselect(is_nan, bits, small)
    } else {
        let (mask, less) = (l.i32(!SIGN), l.i32((127 - format.bias) << 23));
        let magnitude = l.iand(bits, mask);
        let normal = l.isub(magnitude, less);
        let smallest = power_of_two(1 - format.bias);
        let (number, one) = (l.from_bits(magnitude), l.f32(smallest));
        let sum = l.add(number, one);
        let (sum, one) = (l.to_bits(sum), l.i32(smallest.to_bits().cast_signed()));
        let denormal = l.isub(sum, one);
        let small = l.imax(normal, denormal);
        if format.overflow == Overflow::Infinity {
            let last = l.i32(EXPONENT - 1);
            let special = l.ult(last, magnitude);
            l.iselect(special, magnitude, small)
        } else {
            small
        }
    };
    let (small, mask) = (l.ushr(small, dropped(format)), l.i32((format.sign() - 1).cast_signed()));
    // The exponent of infinity and NaN, all ones, is cut to all ones.
    let magnitude = l.iand(small, mask);
    match format.overflow {
        Overflow::Infinity | Overflow::Saturate => l.ior(magnitude, sign),
        Overflow::Nan => {
            let (is_nan, nan) = (l.is_nan(x), l.i32(format.nan().cast_signed()));
            let magnitude = l.iselect(is_nan, nan, magnitude);
            l.ior(magnitude, sign)
        }
        Overflow::NanAtNegativeZero => {
            let (is_nan, nan) = (l.is_nan(x), l.i32(format.nan().cast_signed()));
            let whole = l.ior(magnitude, sign);
            l.iselect(is_nan, nan, whole)
        }
    }
}

/// The nearest number of the format, ties to even; NaN stays NaN where the format has one.
pub fn round<L: Lanes>(l: &mut L, format: Format, x: L::F) -> L::F {
    let bits = l.to_bits(x);
    if is_upper_half(format) {
        return round_to_upper_half(l, x, bits);
    }
    let mask = l.i32(!SIGN);
    let magnitude = l.iand(bits, mask);
    let (mask, lowest) = (l.i32(EXPONENT), l.i32(power_of_two(1 - format.bias).to_bits().cast_signed()));
    let exponent = l.iand(magnitude, mask);
    let exponent = l.imax(exponent, lowest);
    let by = l.i32((dropped(format) << 23).cast_signed());
    // Where this wraps, the number is NaN, which stays, or too large, and the outcome not used.
    let large = l.iadd(exponent, by);
    let (magnitude, large) = (l.from_bits(magnitude), l.from_bits(large));
    let sum = l.add(magnitude, large);
    let rounded = l.sub(sum, large);

    let largest = format.decode(format.largest());
    let step = largest - format.decode(format.largest() - 1);
    // The last f32 that is not rounded up from the largest number: a tie goes to the even one.
    let middle = largest + step / 2.0;
    let last = l.f32(f32::from_bits(middle.to_bits() - (format.largest() & 1)));
    let (over, beyond) = (l.lt(last, magnitude), l.f32(beyond(format)));
    let rounded = l.select(over, beyond, rounded);
    with_sign_of(l, format, rounded, x, bits)
}

/// A magnitude with the sign of x, as the format has it; where x is NaN, what the format has for that.
pub(super) fn with_sign_of<L: Lanes>(l: &mut L, format: Format, magnitude: L::F, x: L::F, bits: L::I) -> L::F {
    let mask = l.i32(SIGN);
    let sign = l.iand(bits, mask);
    let magnitude = l.to_bits(magnitude);
    let whole = l.ior(magnitude, sign);
    let whole = l.from_bits(whole);
    match format.overflow {
        Overflow::Infinity | Overflow::Nan => whole,
        Overflow::NanAtNegativeZero => unsigned_zero(l, whole),
        Overflow::Saturate => {
            let (is_nan, nan) = (l.is_nan(x), l.f32(format.decode(format.nan())));
            l.select(is_nan, nan, whole)
        }
    }
}

/// The same number, +0 for -0.
pub(super) fn unsigned_zero<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let zero = l.f32(0.0);
    l.add(x, zero)
}

fn round_to_upper_half<L: Lanes>(l: &mut L, x: L::F, bits: L::I) -> L::F {
    let (one, half) = (l.i32(1), l.i32(0x7fff));
    let upper = l.ushr(bits, 16);
    let odd = l.iand(upper, one);
    let sum = l.iadd(bits, half);
    let sum = l.iadd(sum, odd);
    let quiet = l.i32(0x0040_0000);
    let nan = l.ior(bits, quiet);
    let is_nan = l.is_nan(x);
    let chosen = l.iselect(is_nan, nan, sum);
    let mask = l.i32(0xffff_0000u32.cast_signed());
    let cut = l.iand(chosen, mask);
    l.from_bits(cut)
}

/// The bits of the nearest number of the format, as [`Format::encode`].
pub fn encode<L: Lanes>(l: &mut L, format: Format, x: L::F) -> L::I {
    let rounded = round(l, format, x);
    pack(l, format, rounded)
}
