//! cbrt, hypot.
//!
//! cbrt starts from a third of the exponent (W. Kahan, "Computing a real cube root", 1991) and takes two of Halley's steps,
//! each of which cubes the relative error: 2^-4.9, 2^-15, 2^-46. hypot needs no scaling: squares of f32 fit f64.

use super::body::{binary, unary};
use super::coefficients::CBRT_START;

unary! {
    Cbrt = cbrt;
}

binary! {
    Hypot = hypot;
}

#[inline(always)]
fn cbrt(x: f64) -> f64 {
    let size = x.abs();
    let start = ((size.to_bits() >> 32) as u32 / 3).wrapping_add(CBRT_START);
    let mut root = f64::from_bits(u64::from(start) << 32);
    for _ in 0..2 {
        let cube = root * root * root;
        root = root * ((size + size) + cube) / (size + (cube + cube));
    }
    let root = if (size > 0.0) & (size < f64::INFINITY) { root } else { size };
    root.copysign(x)
}

#[inline(always)]
fn hypot(x: f64, y: f64) -> f64 {
    let root = (x * x + y * y).sqrt();
    if (x.abs() == f64::INFINITY) | (y.abs() == f64::INFINITY) { f64::INFINITY } else { root }
}
