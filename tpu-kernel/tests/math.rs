//! The transcendental functions against f64.
//!
//! The bounds are what a sweep over all 2^32 arguments measured, rounded up: exp 0.794, tanh 1.343,
//! rsqrt 1.490 ulp. Here every 2039th argument (a prime, so that all exponents and mantissas occur)
//! and every bf16 value is tried.

use half::bf16;
use tpu_kernel::math::{Scalar, exp, rsqrt, tanh};

/// The distance between two f32 in the binade of `value` (of the denormals, 2^-149).
fn ulp(value: f64) -> f64 {
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    2f64.powi(exponent - 23)
}

/// How far `got` is from `want`, in ulp; infinite where one is NaN or the wrong infinity.
fn error(got: f32, want: f64) -> f64 {
    let overflows = want.is_infinite() || (want as f32).is_infinite();
    match (got.is_nan(), want.is_nan()) {
        (true, true) => 0.0,
        (false, false) if overflows && got == want as f32 => 0.0,
        (false, false) if overflows => f64::INFINITY,
        (false, false) => (f64::from(got) - want).abs() / ulp(want),
        _ => f64::INFINITY,
    }
}

type Function = fn(f32) -> f32;

/// A function with its name, its f64 reference, and the bound in ulp.
type Case = (&'static str, Function, fn(f64) -> f64, f64);

fn functions() -> [Case; 3] {
    [
        ("exp", |x| exp(&mut Scalar, x), f64::exp, 0.80),
        ("tanh", |x| tanh(&mut Scalar, x), f64::tanh, 1.35),
        ("rsqrt", |x| rsqrt(&mut Scalar, x), |x| 1.0 / x.sqrt(), 1.5),
    ]
}

fn check(arguments: impl Iterator<Item = f32> + Clone) {
    for (name, ours, reference, bound) in functions() {
        let (worst, at) = arguments
            .clone()
            .map(|x| (error(ours(x), reference(f64::from(x))), x))
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        assert!(worst <= bound, "{name}({at:e}) is off by {worst} ulp, the bound is {bound}");
        assert!(worst > 0.4, "{name} was never off by more than {worst} ulp: the sweep is too thin to mean something");
    }
}

#[test]
fn sweep_of_f32() {
    check((0..=u32::MAX).step_by(2039).map(f32::from_bits));
}

#[test]
fn every_bf16() {
    check((0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32()));
}

#[test]
fn around_every_limit() {
    // The ends of the ranges, the clamps and the threshold of tanh, with their neighbours.
    let places = [88.722_84f32, 89.0, -87.336_55, -103.278_93, -103.972_08, -104.0, 0.625, 9.010_914, 0.346_573_6, 1e-38, 1.0];
    let near = |x: f32| (0..4001u32).map(move |i| f32::from_bits(x.to_bits() - 2000 + i));
    check(places.into_iter().flat_map(near).flat_map(|x| [x, -x]));
}

#[test]
fn exact_values() {
    let bits = |f: Function, x: f32| f(x).to_bits();
    let (e, t, r): (Function, Function, Function) = (|x| exp(&mut Scalar, x), |x| tanh(&mut Scalar, x), |x| rsqrt(&mut Scalar, x));
    let inf = f32::INFINITY.to_bits();
    for (f, x, want) in [
        (e, 0.0, 1f32.to_bits()),
        (e, -0.0, 1f32.to_bits()),
        (e, f32::INFINITY, inf),
        (e, f32::MAX, inf),
        (e, f32::NEG_INFINITY, 0),
        (e, f32::MIN, 0),
        (e, -103.972, 1),
        (e, -103.972_1, 0),
        (t, 0.0, 0),
        (t, -0.0, (-0f32).to_bits()),
        (t, f32::INFINITY, 1f32.to_bits()),
        (t, f32::NEG_INFINITY, (-1f32).to_bits()),
        (t, f32::MAX, 1f32.to_bits()),
        (t, f32::from_bits(1), 1),
        (t, -f32::from_bits(0x7f_ffff), 0x807f_ffff),
        (r, 0.0, inf),
        (r, -0.0, f32::NEG_INFINITY.to_bits()),
        (r, f32::INFINITY, 0),
        (r, 4.0, 0.5f32.to_bits()),
    ] {
        assert_eq!(bits(f, x), want, "at {x:e}");
    }
    assert!(r(-1.0).is_nan() && e(f32::NAN).is_nan() && t(-f32::NAN).is_nan());
}

#[test]
fn tanh_saturates_and_never_passes_one() {
    let mut last = 0.0;
    for bits in (7f32.to_bits()..10f32.to_bits()).step_by(7) {
        let y = tanh(&mut Scalar, f32::from_bits(bits));
        assert!(y >= last && y <= 1.0, "at {:e}", f32::from_bits(bits));
        last = y;
    }
    assert_eq!(last, 1.0);
}
