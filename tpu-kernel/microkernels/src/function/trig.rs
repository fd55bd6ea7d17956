//! sin, cos, tan: x = n · π/2 + r with |r| ≤ π/4, then a polynomial of r² for each of sin and cos.
//!
//! Up to 2^20 the reduction subtracts n times π/2 in three parts, of which the products with n are exact (Cody and Waite,
//! 1980). From there on it multiplies x's 24 bits, as an integer, by the 128 bits of 2/π that matter at x's exponent,
//! modulo 4 (M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric functions", 1983): the bits above give
//! multiples of 4 turns of a quadrant, those below less than 2^-102.

use super::STRIP;
use super::body::{Body, Lanes, rounded, widened};
use super::coefficients::{COS, HALF_PI, SIN, TWO_OVER_PI};
use super::parts::{TO_INTEGER, polynomial};

/// Where the long reduction begins.
const FAR: f64 = 1_048_576.0;

/// The low two bits of n, and r.
#[derive(Clone, Copy)]
struct Angle {
    quadrant: u64,
    r: f64,
}

/// For |x| < 2^20; garbage otherwise.
#[inline(always)]
fn reduced_near(x: f64) -> Angle {
    let sum = x * std::f64::consts::FRAC_2_PI + TO_INTEGER;
    let n = sum - TO_INTEGER;
    let r = ((x - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
    Angle { quadrant: sum.to_bits() & 3, r }
}

/// For |x| ≥ 2^20, also NaN and infinity, whose r is NaN.
#[cold]
#[inline(never)]
fn reduced_far(bits: u32) -> Angle {
    let exponent = bits >> 23 & 0xff;
    if exponent == 0xff {
        return Angle { quadrant: 0, r: f64::NAN };
    }
    let significand = u128::from(bits & 0x7f_ffff | 0x80_0000);
    // x = significand · 2^(start - 3): the bit of 2/π at `start` makes with the significand's lowest bit a 2.
    let start = (exponent - 147) as usize;
    let word = |i: usize| u128::from(TWO_OVER_PI[start / 64 + i]);
    let (high, low) = (word(0) << 64 | word(1), word(2) << 64);
    let shift = start as u32 % 64;
    let window = high << shift | low.checked_shr(128 - shift).unwrap_or(0);
    let turns = significand.wrapping_mul(window);
    let quadrant = turns.wrapping_add(1 << 125) >> 126;
    let rest = turns.wrapping_sub(quadrant << 126).cast_signed();
    const TWO_TO_MINUS_126: f64 = f64::from_bits((1023 - 126) << 52);
    let r = rest as f64 * TWO_TO_MINUS_126 * std::f64::consts::FRAC_PI_2;
    let quadrant = quadrant as u64;
    if bits >> 31 == 0 { Angle { quadrant, r } } else { Angle { quadrant: quadrant.wrapping_neg() & 3, r: -r } }
}

#[inline(always)]
fn is_far(x: f64) -> bool {
    (x.abs() >= FAR) | x.is_nan()
}

trait Trig {
    fn of(angle: Angle) -> f64;
}

#[inline(always)]
fn lane<T: Trig>(a: u32) -> u32 {
    let x = widened(a);
    rounded(T::of(if is_far(x) { reduced_far(a) } else { reduced_near(x) }))
}

#[inline(always)]
fn lanes<T: Trig>(a: &Lanes, out: &mut Lanes) {
    let (mut quadrants, mut rests) = ([0; STRIP], [0.0; STRIP]);
    let mut far = false;
    for i in 0..STRIP {
        let x = widened(a[i]);
        Angle { quadrant: quadrants[i], r: rests[i] } = reduced_near(x);
        far |= is_far(x);
    }
    if far {
        for i in 0..STRIP {
            if is_far(widened(a[i])) {
                Angle { quadrant: quadrants[i], r: rests[i] } = reduced_far(a[i]);
            }
        }
    }
    for i in 0..STRIP {
        out[i] = rounded(T::of(Angle { quadrant: quadrants[i], r: rests[i] }));
    }
}

#[inline(always)]
fn sin_cos(r: f64) -> (f64, f64) {
    let square = r * r;
    (r * polynomial(square, &SIN), polynomial(square, &COS))
}

/// The value with its sign where bit 1 of the quadrant is 0, else with the other.
#[inline(always)]
fn signed(value: f64, quadrant: u64) -> f64 {
    f64::from_bits(value.to_bits() ^ (quadrant & 2) << 62)
}

macro_rules! trig {
    ($($name:ident, $angle:ident => $value:expr;)*) => {$(
        pub(super) struct $name;

        impl Trig for $name {
            #[inline(always)]
            fn of($angle: Angle) -> f64 {
                $value
            }
        }

        impl Body for $name {
            #[inline(always)]
            fn lane(a: u32, _: u32) -> u32 {
                lane::<$name>(a)
            }

            #[inline(always)]
            fn lanes(a: &Lanes, _: &Lanes, out: &mut Lanes) {
                lanes::<$name>(a, out);
            }
        }
    )*};
}

trig! {
    Sin, angle => {
        let (sin, cos) = sin_cos(angle.r);
        signed(if angle.quadrant & 1 == 0 { sin } else { cos }, angle.quadrant)
    };
    Cos, angle => {
        let (sin, cos) = sin_cos(angle.r);
        signed(if angle.quadrant & 1 == 0 { cos } else { sin }, angle.quadrant.wrapping_add(1))
    };
    Tan, angle => {
        let (sin, cos) = sin_cos(angle.r);
        let odd = angle.quadrant & 1 == 1;
        if odd { -cos / sin } else { sin / cos }
    };
}
