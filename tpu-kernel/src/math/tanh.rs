//! Hyperbolic tangent.
//!
//! Method, on |x| with the sign put back at the end (as in Cephes, S. L. Moshier, "Methods and Programs for
//! Mathematical Functions", 1989): below 0.625 an odd polynomial, minimax in relative error (Remez
//! exchange in double precision, error 2^-27); from there on 1 − 2 / (e^(2|x|) + 1), which reaches 1 by itself.

use super::{Lanes, exp};

const SMALL: f32 = 0.625;
/// (tanh x / x − 1) / x² over x², highest power first.
const TAIL: [f32; 5] = [-0.005_704_227, 0.020_638_434, -0.053_739_525, 0.133_314_4, -0.333_332_8];
const SIGN: i32 = i32::MIN;

/// tanh x, within 2 ulp: NaN of NaN, ±1 of ±∞; signed zeros and denormals are their own result.
pub fn tanh<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let (bits, mask) = (l.to_bits(x), l.i32(SIGN));
    let sign = l.iand(bits, mask);
    let mask = l.i32(!SIGN);
    let bits = l.iand(bits, mask);
    let x = l.from_bits(bits);

    let square = l.mul(x, x);
    let mut tail = l.f32(TAIL[0]);
    for &coefficient in &TAIL[1..] {
        let c = l.f32(coefficient);
        tail = l.fma(tail, square, c);
    }
    let cube = l.mul(square, x);
    let polynomial = l.fma(cube, tail, x);

    let (one, two) = (l.f32(1.0), l.f32(2.0));
    let double = l.add(x, x);
    let power = exp(l, double);
    let sum = l.add(power, one);
    let quotient = l.div(two, sum);
    let saturating = l.sub(one, quotient);

    let small = l.f32(SMALL);
    let is_small = l.lt(x, small);
    let magnitude = l.select(is_small, polynomial, saturating);
    let bits = l.to_bits(magnitude);
    let bits = l.ior(bits, sign);
    l.from_bits(bits)
}
