//! erf, erfc, erf_inv.
//!
//! Up to 1, erf x is an odd polynomial. From 1 on, erfc x = e^(−x²) · g(x) with g a polynomial in 1 / (x + 3/2) (the form of
//! W. J. Cody, "Rational Chebyshev approximations for the error function", 1969, here without a denominator); x² of an f32
//! is exact in f64. From 10.5 on it is below half of the smallest denormal.
//! erf_inv x = x · p(w) with w = −log(1 − x²), near 1 a polynomial in √w (M. Giles, "Approximating the erfinv function", 2010).

use super::body::unary;
use super::coefficients::{ERF, ERF_INV_FAR, ERF_INV_NEAR, ERF_INV_OFFSET, ERF_INV_SCALE, ERFCX, ERFCX_MIDDLE, ERFCX_SCALE};
use super::parts::{self, polynomial};

unary! {
    Erf = erf;
    Erfc = erfc;
    ErfInv = erf_inv;
}

/// erf x for |x| ≤ 1.
#[inline(always)]
fn near(x: f64) -> f64 {
    x * polynomial(x * x, &ERF)
}

/// erfc of 1 ≤ x, for x > 10.5 that of 10.5.
#[inline(always)]
fn tail(x: f64) -> f64 {
    let x = if x > 10.5 { 10.5 } else { x };
    let t = (1.0 / (x + 1.5) - ERFCX_MIDDLE) * ERFCX_SCALE;
    parts::exp(-(x * x)) * polynomial(t, &ERFCX)
}

#[inline(always)]
fn erf(x: f64) -> f64 {
    let size = x.abs();
    let far = (1.0 - tail(size)).copysign(x);
    if size <= 1.0 { near(x) } else { far }
}

#[inline(always)]
fn erfc(x: f64) -> f64 {
    let size = x.abs();
    let tail = tail(size);
    let far = if x < 0.0 { 2.0 - tail } else { tail };
    if size <= 1.0 { 1.0 - near(x) } else { far }
}

#[inline(always)]
fn erf_inv(x: f64) -> f64 {
    let size = x.abs();
    let w = -parts::log((1.0 - size) * (1.0 + size));
    let near = polynomial(w / 3.0 - 1.0, &ERF_INV_NEAR);
    let far = polynomial(w.sqrt() * ERF_INV_SCALE - ERF_INV_OFFSET, &ERF_INV_FAR);
    let y = x * if w <= 6.0 { near } else { far };
    let y = if size < 1.0 { y } else { f64::INFINITY.copysign(x) };
    if size <= 1.0 { y } else { f64::NAN }
}
