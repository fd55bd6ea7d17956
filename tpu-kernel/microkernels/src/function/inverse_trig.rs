//! asin, acos, atan, atan2: the angle of a point of the first quadrant, put into the others by symmetry.
//!
//! The angle is that of the smaller coordinate over the larger, t; above tan(π/8) it is π/4 plus that of (t − 1) / (t + 1)
//! (as Cephes, S. L. Moshier, "Methods and Programs for Mathematical Functions", 1989), both with one division; then an odd
//! polynomial. asin x is the angle of (√(1 − x²), x), acos x that of (x, √(1 − x²)), with (1 − x)(1 + x) for 1 − x².

use super::body::{binary, unary};
use super::coefficients::ATAN;
use super::parts::polynomial;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

unary! {
    Asin = asin;
    Acos = acos;
    Atan = atan;
}

binary! {
    Atan2 = atan2;
}

/// The angle of (x, y), both at least 0 and not NaN, from 0 to π/2.
#[inline(always)]
fn first_quadrant(y: f64, x: f64) -> f64 {
    let steep = y > x;
    let (low, high) = if steep { (x, y) } else { (y, x) };
    // Of (0, 0) the angle is 0, of (∞, ∞) π/4.
    let high = if high == 0.0 { 1.0 } else { high };
    let (low, high) = if low == f64::INFINITY { (1.0, 1.0) } else { (low, high) };
    const TAN_PI_8: f64 = std::f64::consts::SQRT_2 - 1.0;
    let turned = low > TAN_PI_8 * high;
    let (numerator, denominator) = if turned { (low - high, low + high) } else { (low, high) };
    let t = numerator / denominator;
    let angle = t * polynomial(t * t, &ATAN);
    let angle = if turned { FRAC_PI_4 + angle } else { angle };
    if steep { FRAC_PI_2 - angle } else { angle }
}

#[inline(always)]
fn atan2(y: f64, x: f64) -> f64 {
    let angle = first_quadrant(y.abs(), x.abs());
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    let angle = if x.is_nan() | y.is_nan() { f64::NAN } else { angle };
    angle.copysign(y)
}

#[inline(always)]
fn atan(x: f64) -> f64 {
    let angle = first_quadrant(x.abs(), 1.0);
    let angle = if x.is_nan() { x } else { angle };
    angle.copysign(x)
}

/// √(1 − x²), NaN where that does not exist.
#[inline(always)]
fn other_side(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}

#[inline(always)]
fn asin(x: f64) -> f64 {
    let angle = first_quadrant(x.abs(), other_side(x)).copysign(x);
    if x.abs() <= 1.0 { angle } else { f64::NAN }
}

#[inline(always)]
fn acos(x: f64) -> f64 {
    let angle = first_quadrant(other_side(x), x.abs());
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    if x.abs() <= 1.0 { angle } else { f64::NAN }
}
