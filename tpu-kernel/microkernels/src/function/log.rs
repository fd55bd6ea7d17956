//! log, log2, log1p, and asinh, acosh, atanh, which are logarithms (`parts`).
//!
//! asinh x = log1p(x + x² / (1 + √(1 + x²))), acosh x = log1p(t + √(t (x + 1))) with t = x − 1, atanh x =
//! log1p(2x / (1 − x)) / 2, on |x| (as fdlibm, Sun Microsystems, 1993): no form cancels, and squares of f32 fit f64.

use super::body::unary;
use super::parts;

unary! {
    Log = log;
    Log2 = log2;
    Log1p = log1p;
    Asinh = asinh;
    Acosh = acosh;
    Atanh = atanh;
}

/// The logarithm `y` of `x`, or its special value: -∞ of 0, NaN below, ∞ of ∞.
#[inline(always)]
fn or_special(x: f64, y: f64) -> f64 {
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    // False of NaN.
    if x >= 0.0 { y } else { f64::NAN }
}

#[inline(always)]
fn log(x: f64) -> f64 {
    or_special(x, parts::log(x))
}

#[inline(always)]
fn log2(x: f64) -> f64 {
    or_special(x, parts::log2(x))
}

#[inline(always)]
fn log1p(x: f64) -> f64 {
    // -0 stays -0.
    let y = if x == 0.0 { x } else { parts::log1p(x) };
    or_special(1.0 + x, y)
}

#[inline(always)]
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let y = parts::log1p(a + square / (1.0 + (1.0 + square).sqrt()));
    let y = if a < f64::INFINITY { y } else { a };
    y.copysign(x)
}

#[inline(always)]
fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    let y = parts::log1p(t + (t * (x + 1.0)).sqrt());
    let y = if x == f64::INFINITY { x } else { y };
    if x >= 1.0 { y } else { f64::NAN }
}

#[inline(always)]
fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let y = 0.5 * parts::log1p(2.0 * a / (1.0 - a));
    let y = if a == 1.0 { f64::INFINITY } else { y };
    let y = if a <= 1.0 { y } else { f64::NAN };
    y.copysign(x)
}
