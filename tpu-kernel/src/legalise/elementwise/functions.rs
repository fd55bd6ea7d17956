//! Functions that no chip has, of f32, from those that it has.
//!
//! Rules: special values are exact: NaN, infinities, zeros with their sign. `tests/tests/legalise_functions.rs` says how far
//! each is from the exact value, given functions of the chip that are as those of the interpreter.

use super::super::lowering::Lowering;
use super::super::{Illegal, Rule};
use super::through_tile;
use super::words::Words;
use crate::ir::{BinaryOp, CompareOp, DType, OpKind, UnaryOp, Value};
use crate::math::Lanes;
use std::f32::consts::LN_2;

/// The function of an f32, tile or scalar.
pub(super) fn unary(lowering: &mut Lowering<'_>, op: UnaryOp, x: Value) -> Result<Value, Illegal> {
    if matches!(op, UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan) {
        return inverse(lowering, op, x);
    }
    let w = &mut Words::of(lowering, x);
    Ok(match op {
        UnaryOp::Expm1 => expm1(w, x),
        UnaryOp::Cbrt => cbrt(w, x),
        UnaryOp::Sinh => sinh(w, x),
        UnaryOp::Cosh => cosh(w, x),
        UnaryOp::Asinh => asinh(w, x),
        UnaryOp::Acosh => acosh(w, x),
        UnaryOp::Atanh => atanh(w, x),
        UnaryOp::Erfc => erfc(w, x),
        UnaryOp::ErfInv => erf_inv(w, x),
        _ => return Err(lowering.refuse(Rule::NoLowering(DType::F32))),
    })
}

fn sum(w: &mut Words<'_, '_>, x: Value, n: f32) -> Value {
    let n = w.f32(n);
    w.add(x, n)
}

fn times(w: &mut Words<'_, '_>, x: Value, n: f32) -> Value {
    let n = w.f32(n);
    w.mul(x, n)
}

/// n - x
fn from(w: &mut Words<'_, '_>, n: f32, x: Value) -> Value {
    let n = w.f32(n);
    w.sub(n, x)
}

fn below(w: &mut Words<'_, '_>, x: Value, n: f32) -> Value {
    let n = w.f32(n);
    w.lt(x, n)
}

/// A polynomial, highest power first.
fn polynomial(w: &mut Words<'_, '_>, x: Value, coefficients: &[f32]) -> Value {
    let mut value = w.f32(coefficients[0]);
    for &coefficient in &coefficients[1..] {
        let product = w.mul(value, x);
        value = sum(w, product, coefficient);
    }
    value
}

/// The magnitude with the sign of x.
fn signed(w: &mut Words<'_, '_>, magnitude: Value, x: Value) -> Value {
    let (bits, mask, magnitude) = (w.to_bits(x), w.i32(i32::MIN), w.to_bits(magnitude));
    let sign = w.iand(bits, mask);
    let whole = w.ior(magnitude, sign);
    w.from_bits(whole)
}

/// 1 / (1 + e^-x)
pub(super) fn logistic(w: &mut Words<'_, '_>, x: Value) -> Value {
    let negated = w.unary(UnaryOp::Neg, x);
    let power = w.unary(UnaryOp::Exp, negated);
    let sum = sum(w, power, 1.0);
    let one = w.f32(1.0);
    w.div(one, sum)
}

/// e^x - 1: near zero tanh(x / 2) (e^x + 1), which loses nothing.
fn expm1(w: &mut Words<'_, '_>, x: Value) -> Value {
    let (power, half) = (w.unary(UnaryOp::Exp, x), times(w, x, 0.5));
    let tanh = w.unary(UnaryOp::Tanh, half);
    let more = sum(w, power, 1.0);
    let near = w.mul(tanh, more);
    let far = sum(w, power, -1.0);
    let magnitude = w.unary(UnaryOp::Abs, x);
    let is_near = below(w, magnitude, 0.5);
    let result = w.choose(is_near, near, far);
    // Half of the smallest number is zero.
    let is_tiny = below(w, magnitude, 1e-8);
    w.choose(is_tiny, x, result)
}

/// e^(|x|/2) and |x|: the power overflows where that of x is twice the result.
fn half_power(w: &mut Words<'_, '_>, x: Value) -> (Value, Value) {
    let magnitude = w.unary(UnaryOp::Abs, x);
    let half = times(w, magnitude, 0.5);
    (w.unary(UnaryOp::Exp, half), magnitude)
}

fn sinh(w: &mut Words<'_, '_>, x: Value) -> Value {
    let (root, magnitude) = half_power(w, x);
    let less = expm1(w, magnitude);
    let more = sum(w, less, 1.0);
    let part = w.div(less, more);
    let near = w.add(less, part);
    let near = times(w, near, 0.5);
    let half = times(w, root, 0.5);
    let far = w.mul(half, root);
    let is_near = below(w, magnitude, 20.0);
    let result = w.choose(is_near, near, far);
    let is_tiny = below(w, magnitude, 1e-8);
    let result = w.choose(is_tiny, magnitude, result);
    signed(w, result, x)
}

fn cosh(w: &mut Words<'_, '_>, x: Value) -> Value {
    let (root, magnitude) = half_power(w, x);
    let power = w.unary(UnaryOp::Exp, magnitude);
    let half = w.f32(0.5);
    let (upper, lower) = (w.mul(power, half), w.div(half, power));
    let near = w.add(upper, lower);
    let half = times(w, root, 0.5);
    let far = w.mul(half, root);
    let is_near = below(w, magnitude, 20.0);
    w.choose(is_near, near, far)
}

fn asinh(w: &mut Words<'_, '_>, x: Value) -> Value {
    let magnitude = w.unary(UnaryOp::Abs, x);
    let square = w.mul(magnitude, magnitude);
    let more = sum(w, square, 1.0);
    let root = w.sqrt(more);
    let root = sum(w, root, 1.0);
    let part = w.div(square, root);
    let less = w.add(magnitude, part);
    let near = w.unary(UnaryOp::Log1p, less);
    let far = w.unary(UnaryOp::Log, magnitude);
    let far = sum(w, far, LN_2);
    let is_near = below(w, magnitude, 1e9);
    let result = w.choose(is_near, near, far);
    let is_tiny = below(w, magnitude, 1e-8);
    let result = w.choose(is_tiny, magnitude, result);
    signed(w, result, x)
}

fn acosh(w: &mut Words<'_, '_>, x: Value) -> Value {
    let less = sum(w, x, -1.0);
    let double = w.add(less, less);
    let square = w.mul(less, less);
    let square = w.add(double, square);
    let root = w.sqrt(square);
    let sum_of = w.add(less, root);
    let near = w.unary(UnaryOp::Log1p, sum_of);
    let far = w.unary(UnaryOp::Log, x);
    let far = sum(w, far, LN_2);
    let is_far = {
        let limit = w.f32(1e9);
        w.lt(limit, x)
    };
    let result = w.choose(is_far, far, near);
    let (outside, nan) = (below(w, x, 1.0), w.f32(f32::NAN));
    w.choose(outside, nan, result)
}

fn atanh(w: &mut Words<'_, '_>, x: Value) -> Value {
    let magnitude = w.unary(UnaryOp::Abs, x);
    let (double, less) = (w.add(magnitude, magnitude), from(w, 1.0, magnitude));
    let part = w.div(double, less);
    let logarithm = w.unary(UnaryOp::Log1p, part);
    let result = times(w, logarithm, 0.5);
    let is_tiny = below(w, magnitude, 1e-8);
    let result = w.choose(is_tiny, magnitude, result);
    signed(w, result, x)
}

/// e^(log |x| / 3), and a step of Newton's method.
fn cbrt(w: &mut Words<'_, '_>, x: Value) -> Value {
    let magnitude = w.unary(UnaryOp::Abs, x);
    let logarithm = w.unary(UnaryOp::Log, magnitude);
    let third = times(w, logarithm, 1.0 / 3.0);
    let root = w.unary(UnaryOp::Exp, third);
    let square = w.mul(root, root);
    let other = w.div(magnitude, square);
    let difference = w.sub(root, other);
    let third = times(w, difference, 1.0 / 3.0);
    let better = w.sub(root, third);
    let result = signed(w, better, x);
    // Zeros, infinities and NaN are their own roots.
    let (zero, infinity) = (w.f32(0.0), w.f32(f32::INFINITY));
    let (some, finite) = (w.lt(zero, magnitude), w.lt(magnitude, infinity));
    let ordinary = w.binary(BinaryOp::And, some, finite);
    w.choose(ordinary, result, x)
}

/// By the angle of a point on the circle.
fn inverse(lowering: &mut Lowering<'_>, op: UnaryOp, x: Value) -> Result<Value, Illegal> {
    let mut w = Words::of(lowering, x);
    let (y, x) = if op == UnaryOp::Atan {
        (x, w.f32(1.0))
    } else {
        let (less, more) = (from(&mut w, 1.0, x), sum(&mut w, x, 1.0));
        let square = w.mul(less, more);
        let other = w.sqrt(square);
        if op == UnaryOp::Asin { (x, other) } else { (other, x) }
    };
    let kind = OpKind::Binary(BinaryOp::Atan2);
    if lowering.ty(x).is_scalar() { through_tile(lowering, kind, &[y, x]) } else { lowering.apply(kind, &[y, x]) }
}

/// sqrt(a² + b²), by the ratio of the smaller to the larger.
pub(super) fn hypot(w: &mut Words<'_, '_>, a: Value, b: Value) -> Value {
    let [a, b] = [a, b].map(|x| w.unary(UnaryOp::Abs, x));
    let (large, small) = (w.binary(BinaryOp::Max, a, b), w.binary(BinaryOp::Min, a, b));
    let ratio = w.div(small, large);
    let square = w.mul(ratio, ratio);
    let square = sum(w, square, 1.0);
    let root = w.sqrt(square);
    let result = w.mul(large, root);
    let (zero, infinity) = (w.f32(0.0), w.f32(f32::INFINITY));
    let is_zero = w.eq(large, zero);
    let result = w.choose(is_zero, zero, result);
    let [a, b] = [a, b].map(|x| w.eq(x, infinity));
    let is_infinite = w.binary(BinaryOp::Or, a, b);
    w.choose(is_infinite, infinity, result)
}

/// e^(x²) erfc x over x² (below 2) and 1 / x² (from there on), over 1 / x: the polynomials of Cephes (S. L. Moshier).
const NEAR: [f32; 9] = [
    2.326_82e-2,
    -1.387_038_7e-1,
    3.687_424_7e-1,
    -5.824_733e-1,
    6.210_004_6e-1,
    -4.944_515_3e-1,
    3.404_88e-1,
    -2.741_127e-1,
    5.638_259_4e-1,
];
const FAR: [f32; 8] =
    [-1.047_766_4e1, 1.297_72e1, -7.495_519, 2.921_019, -1.015_265_2, 4.218_463_4e-1, -2.820_767_5e-1, 5.641_895e-1];

fn erfc(w: &mut Words<'_, '_>, x: Value) -> Value {
    let magnitude = w.unary(UnaryOp::Abs, x);
    // -x² in a part that is exact and the rest.
    let (bits, mask) = (w.to_bits(magnitude), w.i32(0xffff_f000u32.cast_signed()));
    let cut = w.iand(bits, mask);
    let cut = w.from_bits(cut);
    let (square, difference, both) = (w.mul(cut, cut), w.sub(cut, magnitude), w.add(cut, magnitude));
    let (square, rest) = (w.unary(UnaryOp::Neg, square), w.mul(difference, both));
    let (power, rest) = (w.unary(UnaryOp::Exp, square), w.unary(UnaryOp::Exp, rest));
    let one = w.f32(1.0);
    let inverse = w.div(one, magnitude);
    let square = w.mul(inverse, inverse);
    let (near, far) = (polynomial(w, square, &NEAR), polynomial(w, square, &FAR));
    let is_near = below(w, magnitude, 2.0);
    let tail = w.choose(is_near, near, far);
    let tail = w.mul(tail, inverse);
    let tail = w.mul(tail, rest);
    let tail = w.mul(tail, power);
    // Where a part is infinite the product with zero is not: there is nothing left.
    let (zero, gone) = (w.f32(0.0), w.f32(10.1));
    let is_gone = w.lt(gone, magnitude);
    let tail = w.choose(is_gone, zero, tail);
    let other = from(w, 2.0, tail);
    let negative = w.lt(x, zero);
    let outer = w.choose(negative, other, tail);
    let erf = w.unary(UnaryOp::Erf, x);
    let inner = from(w, 1.0, erf);
    let is_outer = w.compare(CompareOp::Ge, magnitude, one);
    w.choose(is_outer, outer, inner)
}

/// erf⁻¹ x over x, over w - 2.5 (below 5) and √w - 3, for w = -log(1 - x²): M. Giles, "Approximating the erfinv function", 2010.
const CENTRAL: [f32; 9] = [
    2.810_226_4e-8,
    3.432_739_4e-7,
    -3.523_387_7e-6,
    -4.391_506_5e-6,
    2.185_808_7e-4,
    -1.253_725e-3,
    -4.177_681_6e-3,
    2.466_407_3e-1,
    1.501_409_4,
];
const TAIL: [f32; 9] = [
    -2.002_142_6e-4,
    1.009_505_6e-4,
    1.349_343_2e-3,
    -3.673_428_4e-3,
    5.739_507_7e-3,
    -7.622_461_3e-3,
    9.438_870_5e-3,
    1.001_674,
    2.832_976_8,
];

fn erf_inv(w: &mut Words<'_, '_>, x: Value) -> Value {
    let (less, more) = (from(w, 1.0, x), sum(w, x, 1.0));
    let product = w.mul(less, more);
    let logarithm = w.unary(UnaryOp::Log, product);
    let size = w.unary(UnaryOp::Neg, logarithm);
    let root = w.sqrt(size);
    let (central, tail) = (sum(w, size, -2.5), sum(w, root, -3.0));
    let (central, tail) = (polynomial(w, central, &CENTRAL), polynomial(w, tail, &TAIL));
    let is_central = below(w, size, 5.0);
    let factor = w.choose(is_central, central, tail);
    let result = w.mul(factor, x);
    let (one, infinity) = (w.f32(1.0), w.f32(f32::INFINITY));
    let magnitude = w.unary(UnaryOp::Abs, x);
    let is_one = w.eq(magnitude, one);
    let infinite = signed(w, infinity, x);
    w.choose(is_one, infinite, result)
}
