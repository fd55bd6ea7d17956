//! Rounding to an integer, for processors without an instruction for it.
//!
//! Every f32 from 2^23 on is an integer, so they stay, as NaN and infinity do; zeros keep the sign of the argument.

use super::Lanes;

/// 2^23
const INTEGERS: f32 = 8_388_608.0;

/// x where it is an integer for its size or NaN, else the magnitude of `rounded` with the sign of x.
fn unless_large<L: Lanes>(l: &mut L, x: L::F, rounded: impl FnOnce(&mut L, L::F) -> L::F) -> L::F {
    let (bits, mask, integers) = (l.to_bits(x), l.i32(i32::MAX), l.f32(INTEGERS));
    let magnitude = l.iand(bits, mask);
    let sign = l.ixor(bits, magnitude);
    let magnitude = l.from_bits(magnitude);
    let small = l.lt(magnitude, integers);
    let rounded = rounded(l, magnitude);
    let rounded = l.to_bits(rounded);
    let rounded = l.ior(rounded, sign);
    let rounded = l.from_bits(rounded);
    l.select(small, rounded, x)
}

/// Toward zero.
pub fn trunc<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    unless_large(l, x, |l, magnitude| {
        let whole = l.to_int(magnitude);
        l.from_int(whole)
    })
}

/// To the nearest, ties to even.
pub fn round_even<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    unless_large(l, x, |l, magnitude| {
        let integers = l.f32(INTEGERS);
        let sum = l.add(magnitude, integers);
        l.sub(sum, integers)
    })
}

/// Down.
pub fn floor<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let (whole, minus_one) = (trunc(l, x), l.f32(-1.0));
    let above = l.lt(x, whole);
    let below = l.add(whole, minus_one);
    l.select(above, below, whole)
}

/// Up.
pub fn ceil<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let (whole, one) = (trunc(l, x), l.f32(1.0));
    let below = l.lt(whole, x);
    let above = l.add(whole, one);
    l.select(below, above, whole)
}
