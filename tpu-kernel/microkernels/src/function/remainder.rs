//! rem (C's fmod) and floor_mod of f32, exact.
//!
//! While |x / y| < 2^29 the quotient, rounded to an integer q, and q·y are exact in f64, and so is x − q·y, which is in
//! [−y, y) and made positive by adding y. Beyond, x's significand is shifted to the left, 32 bits at a time, modulo y's.

use super::STRIP;
use super::body::{Body, Lanes, canonical, widened};
use super::parts::TO_INTEGER;

const FAR: f64 = 536_870_912.0;

/// Whether |x| ≥ 2^29 · |y|, both finite, y not 0.
#[inline(always)]
fn is_far(x: f64, y: f64) -> bool {
    (x.abs() >= FAR * y.abs()) & (x.abs() < f64::INFINITY) & (y != 0.0)
}

/// For arguments that are not far; garbage otherwise.
#[inline(always)]
fn near(x: f64, y: f64) -> f64 {
    let (size, divisor) = (x.abs(), y.abs());
    let q = (size / divisor + TO_INTEGER) - TO_INTEGER;
    let r = size - q * divisor;
    let r = if r < 0.0 { r + divisor } else { r };
    let r = if divisor == f64::INFINITY { size } else { r };
    let r = if (size < f64::INFINITY) & (divisor > 0.0) { r } else { f64::NAN };
    r.copysign(x)
}

/// The significand as an integer, and the exponent of its lowest bit, from 1 for denormals.
fn decomposed(bits: u32) -> (u64, u32) {
    let (exponent, fraction) = (bits >> 23 & 0xff, u64::from(bits & 0x7f_ffff));
    if exponent == 0 { (fraction, 1) } else { (fraction | 0x80_0000, exponent) }
}

/// For far arguments.
#[cold]
#[inline(never)]
fn far(x: u32, y: u32) -> f64 {
    let ((mut r, mut above), (divisor, exponent)) = (decomposed(x), decomposed(y));
    r %= divisor;
    while above > exponent {
        let step = (above - exponent).min(32);
        r = (r << step) % divisor;
        above -= step;
    }
    // 2^(exponent - 150), exact in f64.
    let unit = f64::from_bits(u64::from(exponent + 873) << 52);
    (r as f64 * unit).copysign(widened(x))
}

/// The remainder itself, or with the sign of y.
trait Rounding {
    fn of(r: f64, y: f64) -> u32;
}

#[inline(always)]
fn lane<R: Rounding>(a: u32, b: u32) -> u32 {
    let (x, y) = (widened(a), widened(b));
    R::of(if is_far(x, y) { far(a, b) } else { near(x, y) }, y)
}

#[inline(always)]
fn lanes<R: Rounding>(a: &Lanes, b: &Lanes, out: &mut Lanes) {
    let mut r = [0.0; STRIP];
    let mut any_far = false;
    for i in 0..STRIP {
        let (x, y) = (widened(a[i]), widened(b[i]));
        r[i] = near(x, y);
        any_far |= is_far(x, y);
    }
    if any_far {
        for i in 0..STRIP {
            if is_far(widened(a[i]), widened(b[i])) {
                r[i] = far(a[i], b[i]);
            }
        }
    }
    for i in 0..STRIP {
        out[i] = R::of(r[i], widened(b[i]));
    }
}

pub(super) struct Rem;

impl Rounding for Rem {
    #[inline(always)]
    fn of(r: f64, _: f64) -> u32 {
        canonical(r as f32)
    }
}

pub(super) struct FloorMod;

impl Rounding for FloorMod {
    #[inline(always)]
    fn of(r: f64, y: f64) -> u32 {
        // Both are f32: the sum rounds once.
        let (r, y) = (r as f32, y as f32);
        canonical(if (r != 0.0) & ((r < 0.0) != (y < 0.0)) { r + y } else { r })
    }
}

macro_rules! bodies {
    ($($name:ident)*) => {$(
        impl Body for $name {
            #[inline(always)]
            fn lane(a: u32, b: u32) -> u32 {
                lane::<$name>(a, b)
            }

            #[inline(always)]
            fn lanes(a: &Lanes, b: &Lanes, out: &mut Lanes) {
                lanes::<$name>(a, b, out);
            }
        }
    )*};
}

bodies! { Rem FloorMod }
