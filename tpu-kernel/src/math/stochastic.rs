//! Rounding by random bits.

use super::Lanes;
use super::format::{beyond, is_upper_half, power_of_two, with_sign_of};
use crate::formats::Format;

/// One of the two numbers of the format between which x lies, by 32 uniform random bits.
///
/// Of the way from the neighbour on the side of zero to the other, x has gone a fraction f. The result is the other
/// neighbour where the bits, as an unsigned number, are below f · 2^32. A number of the format stays.
/// Above the largest number the neighbours are those that the format would have with more exponents, and a result beyond
/// the largest number is what [`round`](super::round) makes of that. NaN and infinity are what it makes of them.
pub fn stochastic_round<L: Lanes>(l: &mut L, format: Format, x: L::F, random: L::I) -> L::F {
    let bits = l.to_bits(x);
    if is_upper_half(format) {
        return upper_half(l, x, bits, random);
    }
    let (mask, exponent) = (l.i32(i32::MAX), l.i32(0x7f80_0000));
    let magnitude = l.iand(bits, mask);
    let exponent = l.iand(magnitude, exponent);
    let lowest = l.i32(power_of_two(1 - format.bias).to_bits().cast_signed());
    let exponent = l.imax(exponent, lowest);
    // The step between neighbours, and one over it: powers of two.
    let by = l.i32((format.mantissa << 23).cast_signed());
    let step = l.isub(exponent, by);
    let inverse = l.i32(254 << 23);
    let inverse = l.isub(inverse, step);
    let (magnitude, step, inverse) = (l.from_bits(magnitude), l.from_bits(step), l.from_bits(inverse));
    let steps = l.mul(magnitude, inverse);
    let whole = l.to_int(steps);
    let whole = l.from_int(whole);
    let fraction = l.sub(steps, whole);

    // f · 2^32 in two halves, each of which an i32 holds.
    let half = l.f32(65536.0);
    let high = l.mul(fraction, half);
    let upper = l.to_int(high);
    let exact = l.from_int(upper);
    let low = l.sub(high, exact);
    let low = l.mul(low, half);
    let lower = l.to_int(low);
    // Up to the next integer: a whole number is below both or neither.
    let exact = l.from_int(lower);
    let (cut, int_one, int_zero) = (l.lt(exact, low), l.i32(1), l.i32(0));
    let rest = l.iselect(cut, int_one, int_zero);
    let lower = l.iadd(lower, rest);
    let upper = l.shl(upper, 16);
    let limit = l.iadd(upper, lower);
    let up = l.ult(random, limit);
    let (one, zero) = (l.f32(1.0), l.f32(0.0));
    let more = l.select(up, one, zero);
    let whole = l.add(whole, more);
    let value = l.mul(whole, step);

    let (last, beyond) = (l.f32(format.decode(format.largest())), l.f32(beyond(format)));
    let over = l.lt(last, value);
    let value = l.select(over, beyond, value);
    // The step of infinity is none.
    let infinity = l.f32(f32::INFINITY);
    let is_infinite = l.eq(magnitude, infinity);
    let value = l.select(is_infinite, beyond, value);
    let is_nan = l.is_nan(x);
    let nan = l.f32(f32::NAN);
    let value = l.select(is_nan, nan, value);
    with_sign_of(l, format, value, x, bits)
}

fn upper_half<L: Lanes>(l: &mut L, x: L::F, bits: L::I, random: L::I) -> L::F {
    // The dropped half is the fraction; a carry into the exponent is right.
    let limit = l.shl(bits, 16);
    let up = l.ult(random, limit);
    let (one, zero) = (l.i32(1 << 16), l.i32(0));
    let more = l.iselect(up, one, zero);
    let mask = l.i32(0xffff_0000u32.cast_signed());
    let kept = l.iand(bits, mask);
    let next = l.iadd(kept, more);
    let quiet = l.i32(0x0040_0000);
    let nan = l.ior(kept, quiet);
    let is_nan = l.is_nan(x);
    let chosen = l.iselect(is_nan, nan, next);
    l.from_bits(chosen)
}
