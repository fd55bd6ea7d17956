//! Values that are exact or special: C99, Annex F, written down.

use crate::function::Function;
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
const MAX: f32 = f32::MAX;
const TINY: f32 = f32::from_bits(1);

fn check(function: Function, a: f32, b: f32, want: f32) {
    let got = f32::from_bits(function.scalar(a.to_bits(), b.to_bits()));
    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(same, "{}({a:e}, {b:e}) is {got:e}, not {want:e}", function.name());
}

#[test]
fn nan_is_one_value() {
    for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x7fc0_1234] {
        for &function in &Function::ALL[..Function::DivSigned as usize] {
            assert_eq!(function.scalar(bits, bits), 0x7fc0_0000, "{}", function.name());
        }
    }
    for (function, a) in [(Function::Log, -1.0_f32), (Function::Sin, INF), (Function::Acos, 2.0), (Function::Acosh, 0.0)] {
        assert_eq!(function.scalar(a.to_bits(), 0), 0x7fc0_0000, "{}", function.name());
    }
}

#[test]
fn of_one_operand() {
    use Function as F;
    let cases = [
        (
            F::Exp2,
            &[(0.0, 1.0), (-0.0, 1.0), (10.0, 1024.0), (-149.0, TINY), (-150.0, 0.0), (128.0, INF), (INF, INF), (-INF, 0.0)][..],
        ),
        (F::Expm1, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (TINY, TINY), (-MAX, -1.0), (MAX, INF)]),
        (F::Log, &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-TINY, NAN), (-INF, NAN)]),
        (F::Log2, &[(1.0, 0.0), (8.0, 3.0), (TINY, -149.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN)]),
        (F::Log1p, &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-1.5, NAN), (-INF, NAN), (TINY, TINY), (-TINY, -TINY)]),
        (F::Cbrt, &[(0.0, 0.0), (-0.0, -0.0), (-27.0, -3.0), (1e30, 1e10), (INF, INF), (-INF, -INF)]),
        (F::Sin, &[(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (INF, NAN), (-INF, NAN)]),
        (F::Cos, &[(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (INF, NAN), (-INF, NAN)]),
        (F::Tan, &[(0.0, 0.0), (-0.0, -0.0), (-TINY, -TINY), (INF, NAN), (-INF, NAN)]),
        (F::Asin, &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2), (TINY, TINY), (1.5, NAN), (INF, NAN)]),
        (F::Acos, &[(1.0, 0.0), (-1.0, PI), (0.0, FRAC_PI_2), (-0.0, FRAC_PI_2), (-1.5, NAN), (INF, NAN)]),
        (F::Atan, &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_4), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (TINY, TINY)]),
        (F::Sinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (MAX, INF), (-MAX, -INF), (TINY, TINY)]),
        (F::Cosh, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-MAX, INF)]),
        (F::Asinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-TINY, -TINY)]),
        (F::Acosh, &[(1.0, 0.0), (INF, INF), (0.5, NAN), (-INF, NAN), (-1.0, NAN)]),
        (F::Atanh, &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN), (TINY, TINY)]),
        (F::Erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (MAX, 1.0), (-9.0, -1.0), (TINY, TINY)]),
        (F::Erfc, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (MAX, 0.0), (-9.0, 2.0), (10.5, 0.0)]),
        (F::ErfInv, &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN), (TINY, TINY)]),
        (F::Logistic, &[(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (MAX, 1.0), (-MAX, 0.0), (-104.0, 0.0)]),
    ];
    for (function, values) in cases {
        for &(x, want) in values {
            check(function, x, 0.0, want);
        }
    }
}

/// Half an ulp from the values of f64, past any reduction that is not exact.
#[test]
fn huge_angles() {
    for x in [1e6, 1_048_576.0, 1_048_577.0, 1e10, 6.178_1e24, 1e30, MAX, -MAX, 1.594_255_4e14] {
        let wide = f64::from(x);
        check(Function::Sin, x, 0.0, libm::sin(wide) as f32);
        check(Function::Cos, x, 0.0, libm::cos(wide) as f32);
        check(Function::Tan, x, 0.0, libm::tan(wide) as f32);
    }
    check(Function::Sin, MAX, 0.0, -0.521_876_5);
    check(Function::Cos, MAX, 0.0, 0.853_021);
}

#[test]
fn pow() {
    let cases = [
        (0.0, -3.0, INF),
        (-0.0, -3.0, -INF),
        (0.0, -2.0, INF),
        (-0.0, -2.0, INF),
        (-0.0, -2.5, INF),
        (0.0, -INF, INF),
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, 2.5, 0.0),
        (-0.0, INF, 0.0),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (NAN, 0.0, 1.0),
        (NAN, -0.0, 1.0),
        (INF, 0.0, 1.0),
        (0.0, 0.0, 1.0),
        (-8.0, 1.0 / 3.0, NAN),
        (-2.0, 0.5, NAN),
        (0.5, -INF, INF),
        (-0.5, -INF, INF),
        (2.0, -INF, 0.0),
        (0.5, INF, 0.0),
        (2.0, INF, INF),
        (-2.0, INF, INF),
        (-INF, -3.0, -0.0),
        (-INF, -2.0, 0.0),
        (-INF, -2.5, 0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.0, INF),
        (-INF, 2.5, INF),
        (INF, -1.0, 0.0),
        (INF, 1.0, INF),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-2.0, 3.0, -8.0),
        (3.0, 4.0, 81.0),
        (2.0, -149.0, TINY),
        (2.0, 128.0, INF),
        (-2.0, 129.0, -INF),
        (-1.0, 16_777_215.0, -1.0),
        (-1.0, 16_777_216.0, 1.0),
        (-1.0, MAX, 1.0),
        (TINY, 1.0, TINY),
        (MAX, 1.0, MAX),
        (-TINY, 1.0, -TINY),
        (10.0, 10.0, 1e10),
    ];
    for (a, b, want) in cases {
        check(Function::Pow, a, b, want);
    }
}

#[test]
fn atan2() {
    const THREE: f32 = 3.0 * FRAC_PI_4;
    let cases = [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (1.0, 0.0, FRAC_PI_2),
        (1.0, -0.0, FRAC_PI_2),
        (-1.0, 0.0, -FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (1.0, -INF, PI),
        (-1.0, -INF, -PI),
        (1.0, INF, 0.0),
        (-1.0, INF, -0.0),
        (INF, 1.0, FRAC_PI_2),
        (-INF, 1.0, -FRAC_PI_2),
        (INF, -INF, THREE),
        (-INF, -INF, -THREE),
        (INF, INF, FRAC_PI_4),
        (-INF, INF, -FRAC_PI_4),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (NAN, INF, NAN),
        (1.0, 1.0, FRAC_PI_4),
        (-1.0, -1.0, -THREE),
        (TINY, MAX, 0.0),
        (-TINY, MAX, -0.0),
        (TINY, -MAX, PI),
        (MAX, TINY, FRAC_PI_2),
        (TINY, TINY, FRAC_PI_4),
    ];
    for (a, b, want) in cases {
        check(Function::Atan2, a, b, want);
    }
}

#[test]
fn hypot() {
    let cases = [
        (3.0, 4.0, 5.0),
        (-3.0, 4.0, 5.0),
        (0.0, -0.0, 0.0),
        (INF, NAN, INF),
        (NAN, -INF, INF),
        (NAN, 1.0, NAN),
        (MAX, MAX, INF),
        (MAX, 0.0, MAX),
        (TINY, 0.0, TINY),
        (3.0 * TINY, 4.0 * TINY, 5.0 * TINY),
        (1e38, 1e38, 1.414_213_5e38),
    ];
    for (a, b, want) in cases {
        check(Function::Hypot, a, b, want);
    }
}

#[test]
fn remainders() {
    let both = [
        (5.0, 3.0, 2.0, 2.0),
        (-5.0, 3.0, -2.0, 1.0),
        (5.0, -3.0, 2.0, -1.0),
        (-5.0, -3.0, -2.0, -2.0),
        (6.0, 3.0, 0.0, 0.0),
        (-6.0, 3.0, -0.0, -0.0),
        (0.0, -3.0, 0.0, 0.0),
        (-0.0, 3.0, -0.0, -0.0),
        (1.0, 0.0, NAN, NAN),
        (INF, 3.0, NAN, NAN),
        (5.0, INF, 5.0, 5.0),
        (-5.0, INF, -5.0, INF),
        (5.0, -INF, 5.0, -INF),
        (0.0, INF, 0.0, 0.0),
        (NAN, 1.0, NAN, NAN),
        (1.0, NAN, NAN, NAN),
        (0.0, 0.0, NAN, NAN),
        (INF, INF, NAN, NAN),
        (INF, 0.0, NAN, NAN),
        (MAX, TINY, 0.0, 0.0),
        (-MAX, TINY, -0.0, -0.0),
        (MAX, 19.0, 17.0, 17.0),
        (MAX, 1000.0, 440.0, 440.0),
        (-1e-30, 1.0, -1e-30, 1.0),
        (3.0 * TINY, 2.0 * TINY, TINY, TINY),
    ];
    for (a, b, rem, floor_mod) in both {
        check(Function::Rem, a, b, rem);
        check(Function::FloorMod, a, b, floor_mod);
    }
}
