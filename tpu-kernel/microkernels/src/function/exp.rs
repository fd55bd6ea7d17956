//! exp2, expm1, sinh, cosh, logistic: from 2^n · e^r (`parts`).
//!
//! sinh x = (t + t / (t + 1)) / 2 with t = e^|x| − 1 (as fdlibm, Sun Microsystems, 1993), which keeps the relative error
//! near 0. Beyond the range of f32 the f64 value is out of it, too, and rounds to infinity or 0.

use super::body::unary;
use super::parts;

unary! {
    Exp2 = parts::exp2;
    Expm1 = expm1;
    Sinh = sinh;
    Cosh = cosh;
    Logistic = logistic;
}

#[inline(always)]
fn expm1(x: f64) -> f64 {
    // -0 stays -0.
    if x == 0.0 { x } else { parts::expm1(x) }
}

#[inline(always)]
fn sinh(x: f64) -> f64 {
    let t = parts::expm1(x.abs());
    (0.5 * (t + t / (t + 1.0))).copysign(x)
}

#[inline(always)]
fn cosh(x: f64) -> f64 {
    let t = parts::exp(x.abs());
    0.5 * (t + 1.0 / t)
}

#[inline(always)]
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + parts::exp(-x))
}
