//! Arithmetic of floats, and what is a matter of their bits.
//!
//! Rules: signs of narrow floats are taken from their bits in their own width; all else is computed in f32 and rounded.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, represented};
use super::words::Words;
use super::{choose_not_nan, functions, of_format, through_tile, unsigned};
use crate::formats::{Format, Overflow};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, UnaryOp, Value};
use crate::math::{self, Lanes};

pub(super) fn unary(lowering: &mut Lowering<'_>, op: UnaryOp, x: Typed) -> Result<Value, Illegal> {
    let dtype = x.ty.dtype();
    if matches!(op, UnaryOp::Neg | UnaryOp::Abs) && dtype != DType::F32 {
        return sign(lowering, op, x);
    }
    let wide = lowering.widen(x)?;
    let scalar = lowering.ty(wide).is_scalar();
    let result = match op {
        UnaryOp::IsNan | UnaryOp::IsFinite => {
            let mut w = Words::of(lowering, wide);
            let (magnitude, infinity) = (w.magnitude(wide), w.i32(0x7f80_0000));
            let order = if op == UnaryOp::IsNan { CompareOp::Gt } else { CompareOp::Lt };
            return Ok(w.compare(order, magnitude, infinity));
        }
        UnaryOp::Sign => {
            let mut w = Words::of(lowering, wide);
            let [zero, one, minus_one] = [0.0, 1.0, -1.0].map(|n| w.f32(n));
            let (positive, negative) = (w.lt(zero, wide), w.lt(wide, zero));
            let result = w.choose(negative, minus_one, wide);
            w.choose(positive, one, result)
        }
        UnaryOp::Recip => {
            let mut w = Words::of(lowering, wide);
            let one = w.f32(1.0);
            w.div(one, wide)
        }
        UnaryOp::Trunc if scalar => math::trunc(&mut Words::of(lowering, wide), wide),
        UnaryOp::Logistic if scalar => functions::logistic(&mut Words::of(lowering, wide), wide),
        UnaryOp::RecipApprox if scalar => through_tile(lowering, OpKind::Unary(op), &[wide])?,
        _ if super::super::table::native(lowering.chip, &OpKind::Unary(op), &[lowering.ty(wide)]) => {
            lowering.apply(OpKind::Unary(op), &[wide])?
        }
        _ => functions::unary(lowering, op, wide)?,
    };
    lowering.settle(result, dtype)
}

pub(super) fn binary(lowering: &mut Lowering<'_>, op: BinaryOp, a: Typed, b: Typed) -> Result<Value, Illegal> {
    let dtype = a.ty.dtype();
    if op == BinaryOp::Copysign {
        return copysign(lowering, a, b);
    }
    let (x, y) = (lowering.widen(a)?, lowering.widen(b)?);
    let scalar = lowering.ty(x).is_scalar();
    let result = match op {
        BinaryOp::NextAfter => {
            let next = math::next_after(&mut Words::of(lowering, x), Format::of(dtype), x, y);
            return Ok(of_format(lowering, next, dtype));
        }
        BinaryOp::FloorMod => {
            let mut w = Words::of(lowering, x);
            let rest = w.binary(BinaryOp::Rem, x, y);
            let zero = w.f32(0.0);
            let (below, divisor_below) = (w.lt(rest, zero), w.lt(y, zero));
            let differ = w.binary(BinaryOp::Xor, below, divisor_below);
            let is_zero = w.eq(rest, zero);
            let some = w.not(is_zero);
            let turned = w.binary(BinaryOp::And, differ, some);
            let sum = w.add(rest, y);
            w.choose(turned, sum, rest)
        }
        BinaryOp::Hypot => functions::hypot(&mut Words::of(lowering, x), x, y),
        BinaryOp::Pow | BinaryOp::Atan2 if scalar => through_tile(lowering, OpKind::Binary(op), &[x, y])?,
        // The chip's compiler would take the extremum into the narrow type, which has none.
        BinaryOp::Max | BinaryOp::Min if dtype.bits() == 8 || dtype == DType::F4E2M1Fn => {
            let mut w = Words::of(lowering, x);
            let result = w.binary(op, x, y);
            choose_not_nan(&mut w, result)
        }
        _ => lowering.apply(OpKind::Binary(op), &[x, y])?,
    };
    lowering.settle(result, dtype)
}

/// The bits of a float with its sign bit, as an integer that the chip computes with; and the way back.
struct Bits {
    value: Value,
    sign: Literal,
    rest: Literal,
}

fn bits(lowering: &mut Lowering<'_>, x: Typed) -> Result<Bits, Illegal> {
    let held = lowering.ty(x.value);
    // What is held as f32 has the sign of f32.
    let dtype = unsigned(if held == x.ty { x.ty.dtype().bits() } else { 32 });
    let value = lowering.apply(OpKind::Bitcast(dtype), &[x.value])?;
    let sign = 1u32 << (dtype.bits() - 1);
    Ok(Bits { value, sign: Literal::from_bits(dtype, sign), rest: Literal::from_bits(dtype, !sign) })
}

/// `neg` and `abs` by the sign bit.
fn sign(lowering: &mut Lowering<'_>, op: UnaryOp, x: Typed) -> Result<Value, Illegal> {
    let (held, user) = (lowering.ty(x.value).dtype(), x.ty.dtype());
    let Bits { value, sign, rest } = bits(lowering, x)?;
    let shape = x.ty.is_tile().then(|| x.ty.shape());
    let changed = match op {
        UnaryOp::Neg => {
            let sign = lowering.constant(sign, shape);
            lowering.apply(OpKind::Binary(BinaryOp::Xor), &[value, sign])?
        }
        _ => {
            let rest = lowering.constant(rest, shape);
            lowering.apply(OpKind::Binary(BinaryOp::And), &[value, rest])?
        }
    };
    let changed = unless_special(lowering, user, x, value, changed)?;
    lowering.apply(OpKind::Bitcast(held), &[changed])
}

/// The bits as changed, but of a format whose zero and NaN have no sign these stay.
fn unless_special(lowering: &mut Lowering<'_>, dtype: DType, x: Typed, value: Value, changed: Value) -> Result<Value, Illegal> {
    if Format::of(dtype).is_none_or(|format| format.overflow != Overflow::NanAtNegativeZero) {
        return Ok(changed);
    }
    let ty = lowering.ty(value);
    let shape = ty.is_tile().then(|| ty.shape());
    let ordinary = if ty.dtype().bits() == 8 {
        let rest = lowering.constant(Literal::from_bits(ty.dtype(), dtype.mask() >> 1), shape);
        let magnitude = lowering.apply(OpKind::Binary(BinaryOp::And), &[value, rest])?;
        let zero = lowering.constant(Literal::from_bits(ty.dtype(), 0), shape);
        lowering.apply(OpKind::Compare(CompareOp::Ne), &[magnitude, zero])?
    } else {
        // NaN differs from zero, too, and its sign is not seen again.
        let zero = lowering.constant(Literal::from(0f32), shape);
        lowering.apply(OpKind::Compare(CompareOp::Ne), &[x.value, zero])?
    };
    lowering.apply(OpKind::Select, &[ordinary, changed, value])
}

fn copysign(lowering: &mut Lowering<'_>, a: Typed, b: Typed) -> Result<Value, Illegal> {
    let (held, user) = (lowering.ty(a.value).dtype(), a.ty.dtype());
    let Bits { value, sign, rest } = bits(lowering, a)?;
    let other = bits(lowering, b)?.value;
    let ty = represented(lowering.ty(value));
    let shape = ty.is_tile().then(|| ty.shape());
    let (sign, rest) = (lowering.constant(sign, shape), lowering.constant(rest, shape));
    let magnitude = lowering.apply(OpKind::Binary(BinaryOp::And), &[value, rest])?;
    let sign = lowering.apply(OpKind::Binary(BinaryOp::And), &[other, sign])?;
    let whole = lowering.apply(OpKind::Binary(BinaryOp::Or), &[magnitude, sign])?;
    let whole = unless_special(lowering, user, a, value, whole)?;
    lowering.apply(OpKind::Bitcast(held), &[whole])
}
