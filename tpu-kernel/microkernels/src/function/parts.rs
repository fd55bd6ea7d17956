//! The f64 pieces that functions share: polynomials, e^x and log x taken apart.
//!
//! Methods: e^x = 2^n · e^r with |r| ≤ ln 2 / 2, ln 2 in two parts (W. J. Cody and W. Waite, "Software Manual for the
//! Elementary Functions", 1980); log x = n·log 2 + log m with m from √½ to √2, and log m = 2·atanh((m − 1) / (m + 1))
//! by its odd series (P. T. P. Tang, "Table-driven implementation of the logarithm function in IEEE floating-point
//! arithmetic", 1990, without the table). Integers are taken from the low bits of a sum with 1.5 · 2^52.

use super::coefficients::{EXPM1, LN_2, LOG};

/// A sum with it is rounded to an integer, which its low bits hold.
pub(super) const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
const ONE: u64 = 1023 << 52;

/// c₀ + c₁ x + …, even and odd powers apart, so that two chains run side by side.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let square = x * x;
    let (mut even, mut odd) = (0.0, 0.0);
    for i in (0..N).rev() {
        if i % 2 == 0 {
            even = even * square + coefficients[i];
        } else {
            odd = odd * square + coefficients[i];
        }
    }
    even + x * odd
}

/// 2^n as an f64, for the n in the low bits of a sum with [`TO_INTEGER`]; n from -1022 to 1023.
#[inline(always)]
fn two_to(sum: f64) -> f64 {
    f64::from_bits(sum.to_bits().wrapping_add(1023) << 52)
}

/// x within ±limit; NaN stays.
#[inline(always)]
fn clamped(x: f64, limit: f64) -> f64 {
    let x = if x > limit { limit } else { x };
    if x < -limit { -limit } else { x }
}

/// (2^n, e^r − 1) with e^x = 2^n · e^r; x is taken for ±700 where it is beyond. NaN gives NaN.
#[inline(always)]
pub(super) fn exp_parts(x: f64) -> (f64, f64) {
    let x = clamped(x, 700.0);
    let sum = x * std::f64::consts::LOG2_E + TO_INTEGER;
    let n = sum - TO_INTEGER;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    (two_to(sum), r * polynomial(r, &EXPM1))
}

/// e^x, at e^±700 where x is beyond.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let (power, rest) = exp_parts(x);
    power + power * rest
}

/// e^x − 1, with a small relative error near 0, too; at x = ±700 where x is beyond.
#[inline(always)]
pub(super) fn expm1(x: f64) -> f64 {
    let (power, rest) = exp_parts(x);
    power * rest + (power - 1.0)
}

/// 2^x, at 2^±1000 where x is beyond.
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let x = clamped(x, 1000.0);
    let sum = x + TO_INTEGER;
    let r = (x - (sum - TO_INTEGER)) * std::f64::consts::LN_2;
    let power = two_to(sum);
    power + power * (r * polynomial(r, &EXPM1))
}

/// (n, m − 1) with x = 2^n · m, m from √½ to √2, of a positive normal x.
#[inline(always)]
fn log_parts(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let biased = x.to_bits().wrapping_sub(SQRT_HALF).wrapping_add(ONE) >> 52;
    let m = f64::from_bits(x.to_bits().wrapping_add(ONE).wrapping_sub(biased << 52));
    let n = f64::from_bits(TWO_52.to_bits() | biased) - (TWO_52 + 1023.0);
    (n, m - 1.0)
}

/// log(1 + f), for 1 + f from √½ to √2.
#[inline(always)]
fn log_near_1(f: f64) -> f64 {
    let s = f / (2.0 + f);
    s * polynomial(s * s, &LOG)
}

/// log x of a positive normal x.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    let (n, f) = log_parts(x);
    n * std::f64::consts::LN_2 + log_near_1(f)
}

/// log₂ x of a positive normal x, exact for powers of two.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    let (n, f) = log_parts(x);
    n + log_near_1(f) * std::f64::consts::LOG2_E
}

/// log(1 + x) of x > -1, with a small relative error near 0, too.
#[inline(always)]
pub(super) fn log1p(x: f64) -> f64 {
    let (n, f) = log_parts(1.0 + x);
    // Near 1 the sum has lost what x has below its last bit.
    let f = if n == 0.0 { x } else { f };
    n * std::f64::consts::LN_2 + log_near_1(f)
}
