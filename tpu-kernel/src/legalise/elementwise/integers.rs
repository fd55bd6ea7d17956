//! Arithmetic of integers and bools.
//!
//! Rules: a chip adds and multiplies words, and some of it 16 bits; division by zero, and of the smallest number by -1, are
//! excluded before it divides. An extremum of unsigned words flips the sign bit; of narrow integers it goes by the sign of a
//! difference, which libtpu does not take for an extremum.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, Rule, word};
use super::words::Words;
use super::{shifts, through_tile};
use crate::ir::{BinaryOp, CompareOp, DType, OpKind, UnaryOp, Value};
use crate::math::Lanes;

pub(super) fn unary(lowering: &mut Lowering<'_>, op: UnaryOp, x: Typed) -> Result<Value, Illegal> {
    let dtype = x.ty.dtype();
    let wide = lowering.widen(x)?;
    let result = match op {
        UnaryOp::Abs if dtype.is_unsigned() => return Ok(x.value),
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs => lowering.apply(OpKind::Unary(op), &[wide])?,
        UnaryOp::Sign => {
            let mut w = Words::of(lowering, wide);
            let [zero, one] = [0, 1].map(|n| w.like(wide, n));
            if dtype.is_unsigned() {
                let is_zero = w.compare(CompareOp::Eq, wide, zero);
                w.choose(is_zero, zero, one)
            } else {
                let minus = w.like(wide, -1);
                let most = w.binary(BinaryOp::Min, wide, one);
                w.binary(BinaryOp::Max, most, minus)
            }
        }
        UnaryOp::Popcount | UnaryOp::Clz => {
            let bits = bits(lowering, wide, dtype);
            let count = match lowering.ty(wide).is_scalar() && op == UnaryOp::Popcount {
                true => through_tile(lowering, OpKind::Unary(op), &[bits])?,
                false => lowering.apply(OpKind::Unary(op), &[bits])?,
            };
            let unused = 32 - dtype.bits();
            if op == UnaryOp::Clz && unused > 0 {
                let mut w = Words::of(lowering, count);
                let unused = w.like(count, i64::from(unused));
                w.isub(count, unused)
            } else {
                count
            }
        }
        _ => return Err(lowering.refuse(Rule::NoLowering(dtype))),
    };
    lowering.settle(result, dtype)
}

/// The bits of a narrow integer in its word, extended by zeros.
pub(super) fn bits(lowering: &mut Lowering<'_>, x: Value, dtype: DType) -> Value {
    if dtype.bits() == 32 || dtype.is_unsigned() {
        return x;
    }
    let mut w = Words::of(lowering, x);
    let mask = w.like(x, i64::from(dtype.mask()));
    w.iand(x, mask)
}

pub(super) fn binary(lowering: &mut Lowering<'_>, op: BinaryOp, a: Typed, b: Typed) -> Result<Value, Illegal> {
    let dtype = a.ty.dtype();
    if matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical) {
        return shifts::shift(lowering, op, a, b);
    }
    let (x, y) = (lowering.widen(a)?, lowering.widen(b)?);
    let result = match op {
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => divide(lowering, op, x, y, dtype),
        BinaryOp::Max | BinaryOp::Min if dtype == DType::U32 && lowering.ty(x).is_tile() => {
            let mut w = Words::of(lowering, x);
            let flip = w.i32(i32::MIN);
            let [x, y] = [x, y].map(|v| {
                let bits = w.bits_as(v, DType::I32);
                w.ixor(bits, flip)
            });
            let result = w.binary(op, x, y);
            let result = w.ixor(result, flip);
            w.bits_as(result, DType::U32)
        }
        BinaryOp::Max | BinaryOp::Min if dtype.bits() < 32 && lowering.ty(x).is_tile() => {
            let [x, y] = [lowering.cast(x, DType::I32)?, lowering.cast(y, DType::I32)?];
            let mut w = Words::of(lowering, x);
            let (difference, zero) = (w.isub(x, y), w.i32(0));
            let order = if op == BinaryOp::Max { CompareOp::Gt } else { CompareOp::Lt };
            let first = w.compare(order, difference, zero);
            let result = w.choose(first, x, y);
            lowering.cast(result, word(dtype))?
        }
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Max | BinaryOp::Min => {
            lowering.apply(OpKind::Binary(op), &[x, y])?
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => lowering.apply(OpKind::Binary(op), &[x, y])?,
        _ => return Err(lowering.refuse(Rule::NoLowering(dtype))),
    };
    lowering.settle(result, dtype)
}

/// Division of words that hold numbers of that type.
fn divide(lowering: &mut Lowering<'_>, op: BinaryOp, x: Value, y: Value, dtype: DType) -> Value {
    let signed = dtype.is_signed();
    let known = lowering.literal_of(y).and_then(|literal| literal.as_int());
    let by_zero = known.is_none_or(|n| n == 0);
    // Only in a word has the smallest number no negative.
    let by_minus_one = dtype == DType::I32 && known.is_none_or(|n| n == -1);
    let mut w = Words::of(lowering, x);
    let [zero, one] = [0, 1].map(|n| w.like(x, n));

    let is_zero = by_zero.then(|| w.compare(CompareOp::Eq, y, zero));
    let is_minus_one = by_minus_one.then(|| {
        let minus_one = w.like(x, -1);
        w.compare(CompareOp::Eq, y, minus_one)
    });
    let mut divisor = y;
    for excluded in [is_zero, is_minus_one].into_iter().flatten() {
        divisor = w.choose(excluded, one, divisor);
    }
    let quotient = |w: &mut Words<'_, '_>| {
        let quotient = w.binary(BinaryOp::Div, x, divisor);
        match is_minus_one {
            Some(is_minus_one) => {
                let negated = w.isub(zero, x);
                w.choose(is_minus_one, negated, quotient)
            }
            None => quotient,
        }
    };
    // Whether the sign of a remainder is not that of the divisor.
    let differs = |w: &mut Words<'_, '_>, rest: Value| {
        let signs = w.ixor(rest, y);
        let (signs, some) = (w.compare(CompareOp::Lt, signs, zero), w.compare(CompareOp::Ne, rest, zero));
        w.binary(BinaryOp::And, signs, some)
    };
    let (result, of_zero) = match op {
        BinaryOp::Div => (quotient(&mut w), None),
        BinaryOp::Rem => (w.binary(BinaryOp::Rem, x, divisor), Some(x)),
        BinaryOp::FloorDiv if signed => {
            let quotient = quotient(&mut w);
            let whole = w.binary(BinaryOp::Mul, quotient, y);
            let rest = w.isub(x, whole);
            let differs = differs(&mut w, rest);
            let less = w.isub(quotient, one);
            (w.choose(differs, less, quotient), None)
        }
        BinaryOp::FloorMod if signed => {
            let rest = w.binary(BinaryOp::Rem, x, divisor);
            let differs = differs(&mut w, rest);
            let more = w.iadd(rest, y);
            (w.choose(differs, more, rest), Some(x))
        }
        BinaryOp::FloorDiv => (quotient(&mut w), None),
        _ => (w.binary(BinaryOp::Rem, x, divisor), Some(x)),
    };
    match is_zero {
        Some(is_zero) => {
            let of_zero = of_zero.unwrap_or_else(|| w.like(x, -1));
            w.choose(is_zero, of_zero, result)
        }
        None => result,
    }
}
