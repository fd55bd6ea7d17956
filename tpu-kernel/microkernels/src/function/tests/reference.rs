//! Values of the float functions in f64 by the `libm` crate, a port of musl's library that shares no code with ours; and the
//! error of an f32 against them.

use std::f64::consts::PI;

/// The value of a function of one operand; `None` for a name that is not one.
pub fn unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "exp" => libm::exp,
        "exp2" => libm::exp2,
        "expm1" => libm::expm1,
        "log" => libm::log,
        "log2" => libm::log2,
        "log1p" => libm::log1p,
        "sqrt" => libm::sqrt,
        "rsqrt" => |x| 1.0 / libm::sqrt(x),
        "recip" => |x| 1.0 / x,
        "cbrt" => libm::cbrt,
        "sin" => libm::sin,
        "cos" => libm::cos,
        "tan" => libm::tan,
        "asin" => libm::asin,
        "acos" => libm::acos,
        "atan" => libm::atan,
        "sinh" => libm::sinh,
        "cosh" => libm::cosh,
        "tanh" => libm::tanh,
        "asinh" => libm::asinh,
        // The library does not look at the sign of large arguments.
        "acosh" => |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) },
        "atanh" => libm::atanh,
        "erf" => libm::erf,
        "erfc" => libm::erfc,
        "erf_inv" => erf_inv,
        "logistic" => |x| 1.0 / (1.0 + libm::exp(-x)),
        "round" => libm::round,
        _ => return None,
    })
}

/// The value of a function of two operands; `None` for a name that is not one.
pub fn binary(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "pow" => libm::pow,
        "atan2" => libm::atan2,
        "hypot" => libm::hypot,
        "rem" => libm::fmod,
        "floor_mod" => floor_mod,
        "next_after" => |x, y| f64::from(libm::nextafterf(x as f32, y as f32)),
        _ => return None,
    })
}

fn floor_mod(x: f64, y: f64) -> f64 {
    let r = libm::fmod(x, y);
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

/// Solves erf y = x, near 1 erfc y = 1 − x, by Halley's method.
fn erf_inv(x: f64) -> f64 {
    let size = x.abs();
    if x == 0.0 || size.is_nan() || size >= 1.0 {
        return if size == 1.0 {
            f64::INFINITY.copysign(x)
        } else if x == 0.0 {
            x
        } else {
            f64::NAN
        };
    }
    let mut y = if size < 0.1 {
        size * PI.sqrt() / 2.0
    } else {
        // S. Winitzki, "A handy approximation for the error function and its inverse", 2008.
        let log = libm::log((1.0 - size) * (1.0 + size));
        let middle = 2.0 / (PI * 0.147) + log / 2.0;
        ((middle * middle - log / 0.147).sqrt() - middle).sqrt()
    };
    for _ in 0..4 {
        let above = if size < 0.5 { libm::erf(y) - size } else { (1.0 - size) - libm::erfc(y) };
        let step = above / (2.0 / PI.sqrt() * libm::exp(-y * y));
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// |got − want| in units of the last place that f32 has at `want`. It is infinite where one alone is NaN, or a zero has the wrong
/// sign; an infinite `got` counts as 2^128.
pub fn error(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = want as f32;
    if got == rounded && got.is_infinite() {
        return 0.0;
    }
    if got == 0.0 && got.is_sign_negative() != want.is_sign_negative() {
        return f64::INFINITY;
    }
    let two_128 = f64::from(f32::MAX) + 2f64.powi(104);
    let got = if got.is_infinite() { two_128.copysign(f64::from(got)) } else { f64::from(got) };
    let exponent = ((want.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    (got - want).abs() * 2f64.powi(23 - exponent)
}
