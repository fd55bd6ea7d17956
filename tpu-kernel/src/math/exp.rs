//! e to the power x.
//!
//! Method: x = n·ln 2 + r with |r| ≤ ln 2 / 2, the reduction in two parts of ln 2 (Cody and Waite,
//! "Software Manual for the Elementary Functions", 1980) with fused multiply-adds; e^r by a
//! polynomial, minimax in relative error (Remez exchange in double precision, error 2^-28); then a
//! product with 2^n in two halves, so that results below the smallest normal number are rounded once.

use super::Lanes;

/// Below this the result is 0 (e^x < 2^-150), and the argument is clamped to keep n in range.
const LOWEST: f32 = -104.0;
/// Above this the result is infinite (e^x > 2^128).
const HIGHEST: f32 = 89.0;
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in 9 bits, so that x − n·high is exact, and the rest.
const LN2_HIGH: f32 = 355.0 / 512.0;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// 1.5 · 2^23: a sum with it is rounded to an integer, which its low bits hold.
const TO_INTEGER: f32 = 12_582_912.0;
/// (e^r − 1 − r) / r², highest power first.
const TAIL: [f32; 5] = [0.001_381_454, 0.008_368_745, 0.041_668_39, 0.166_665_21, 0.499_999_94];

/// e^x, within 1 ulp: NaN of NaN, infinite above the range, 0 below it, denormals between.
pub fn exp<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let (lowest, highest) = (l.f32(LOWEST), l.f32(HIGHEST));
    // These comparisons leave a NaN as it is.
    let below = l.lt(x, lowest);
    let x = l.select(below, lowest, x);
    let above = l.lt(highest, x);
    let x = l.select(above, highest, x);

    let (log2_e, to_integer) = (l.f32(LOG2_E), l.f32(TO_INTEGER));
    let shifted = l.fma(x, log2_e, to_integer);
    let n = l.sub(shifted, to_integer);
    let (high, low) = (l.f32(-LN2_HIGH), l.f32(-LN2_LOW));
    let r = l.fma(n, high, x);
    let r = l.fma(n, low, r);

    let mut tail = l.f32(TAIL[0]);
    for &coefficient in &TAIL[1..] {
        let c = l.f32(coefficient);
        tail = l.fma(tail, r, c);
    }
    // 1 + r with the error of that sum (Dekker's fast two-sum: 1 is the larger), so that only the last sum rounds.
    let one = l.f32(1.0);
    let linear = l.add(one, r);
    let kept = l.sub(linear, one);
    let lost = l.sub(r, kept);
    let square = l.mul(r, r);
    let curved = l.fma(square, tail, lost);
    let power = l.add(linear, curved);

    let (n, zero) = (l.to_bits(shifted), l.i32(TO_INTEGER.to_bits().cast_signed()));
    let n = l.isub(n, zero);
    let half = l.ashr(n, 1);
    let rest = l.isub(n, half);
    let (half, rest) = (two_to(l, half), two_to(l, rest));
    let power = l.mul(power, half);
    l.mul(power, rest)
}

/// 2^n for -126 ≤ n ≤ 127.
fn two_to<L: Lanes>(l: &mut L, n: L::I) -> L::F {
    let bias = l.i32(127);
    let biased = l.iadd(n, bias);
    let bits = l.shl(biased, 23);
    l.from_bits(bits)
}
