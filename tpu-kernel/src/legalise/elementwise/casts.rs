//! Conversion between element types.
//!
//! Rules: a float outside an integer type saturates and NaN gives 0 before the chip converts it; beyond the largest number of
//! a format without infinity lies NaN, or that number, which is chosen before the chip rounds.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, represented, word};
use super::words::Words;
use super::{both_cast, choose_not_nan};
use crate::formats::{Format, Overflow};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Type, UnaryOp, Value};
use crate::math::Lanes;

/// Whether a number that rounds beyond the largest of the format is none that a chip must know.
pub(in crate::legalise) fn cut(dtype: DType) -> bool {
    Format::of(dtype).is_some_and(|format| format.overflow != Overflow::Infinity)
}

/// `cast x`.
pub(in crate::legalise) fn cast(lowering: &mut Lowering<'_>, x: Typed, to: DType) -> Result<Value, Illegal> {
    let from = x.ty.dtype();
    if from == to {
        return Ok(x.value);
    }
    if let Some(literal) = lowering.literal_of(x.value) {
        let user = super::super::number_as(literal, from);
        let ty = lowering.ty(x.value);
        return Ok(lowering.constant(crate::ir::eval::cast(to, user), ty.is_tile().then(|| ty.shape())));
    }
    match (from, to) {
        (DType::Bool, _) => from_bool(lowering, x.value, to),
        (_, DType::Bool) => {
            let wide = lowering.widen(x)?;
            let mut w = Words::of(lowering, wide);
            let bits = if from.is_float() { w.magnitude(wide) } else { wide };
            let zero = w.like(bits, 0);
            Ok(w.compare(CompareOp::Ne, bits, zero))
        }
        _ if from.is_float() && to.is_float() => float_to_float(lowering, x, to),
        _ if from.is_float() => float_to_integer(lowering, x, to),
        _ if to.is_float() => {
            let wide = if x.ty == lowering.ty(x.value) && direct(lowering, x.ty) {
                lowering.apply(OpKind::Cast(DType::F32), &[x.value])?
            } else {
                let wide = lowering.widen(x)?;
                lowering.cast(wide, DType::F32)?
            };
            lowering.settle(wide, to)
        }
        _ => integer_to_integer(lowering, x, to),
    }
}

/// Whether the integer becomes an f32 by one operation.
fn direct(lowering: &Lowering<'_>, ty: Type) -> bool {
    super::super::table::native(lowering.chip, &OpKind::Cast(DType::F32), &[ty])
}

fn from_bool(lowering: &mut Lowering<'_>, x: Value, to: DType) -> Result<Value, Illegal> {
    let ty = represented(lowering.ty(x).with_dtype(to));
    let shape = ty.is_tile().then(|| ty.shape());
    if matches!(ty.dtype(), DType::I32 | DType::U32) {
        return Ok(lowering.emit(OpKind::Cast(ty.dtype()), &[x])[0]);
    }
    let [one, zero] = [1, 0].map(|n| lowering.constant(Literal::from_int(ty.dtype(), n), shape));
    lowering.apply(OpKind::Select, &[x, one, zero])
}

fn float_to_float(lowering: &mut Lowering<'_>, x: Typed, to: DType) -> Result<Value, Illegal> {
    let source = lowering.ty(x.value);
    let held = represented(source.with_dtype(to)).dtype();
    if held != to {
        let wide = lowering.widen(x)?;
        return lowering.settle(wide, to);
    }
    if !super::super::table::native(lowering.chip, &OpKind::Cast(to), &[source]) {
        let wide = lowering.cast(x.value, DType::F32)?;
        return lowering.cast(wide, to);
    }
    let inside = match Format::of(to) {
        Some(format) if cut(to) => {
            let wide = lowering.cast(x.value, DType::F32)?;
            within(&mut Words::of(lowering, wide), format, wide)
        }
        _ if to.bits() == 8 && extremum(lowering, x.value, to).is_some() => {
            choose_not_nan(&mut Words::of(lowering, x.value), x.value)
        }
        _ => x.value,
    };
    Ok(lowering.emit(OpKind::Cast(to), &[inside])[0])
}

/// An f32 with what the format has for what lies beyond its largest number, and for NaN.
fn within(w: &mut Words<'_, '_>, format: Format, x: Value) -> Value {
    let largest = format.decode(format.largest());
    let step = largest - format.decode(format.largest() - 1);
    // The last f32 that is not rounded up from the largest number: a tie goes to the even one.
    let middle = largest + step / 2.0;
    let last = f32::from_bits(middle.to_bits() - (format.largest() & 1));
    if format.overflow == Overflow::Saturate {
        let (low, high, zero) = (w.f32(-largest), w.f32(largest), w.f32(0.0));
        let number = w.eq(x, x);
        let number = w.choose(number, x, zero);
        let number = w.binary(BinaryOp::Max, number, low);
        return w.binary(BinaryOp::Min, number, high);
    }
    let (last, nan) = (w.f32(last), w.f32(f32::NAN));
    let magnitude = w.unary(UnaryOp::Abs, x);
    let over = w.lt(last, magnitude);
    w.choose(over, nan, x)
}

/// 2^31
const END: f32 = 2_147_483_648.0;

fn float_to_integer(lowering: &mut Lowering<'_>, x: Typed, to: DType) -> Result<Value, Illegal> {
    let wide = lowering.widen(x)?;
    let mut w = Words::of(lowering, wide);
    let zero = w.f32(0.0);
    let word = match to {
        DType::I32 => {
            let (end, magnitude) = (w.f32(END), w.unary(UnaryOp::Abs, wide));
            let inside = w.lt(magnitude, end);
            let inside = w.choose(inside, wide, zero);
            let whole = w.to_int(inside);
            let (high, low) = (w.i32(i32::MAX), w.i32(i32::MIN));
            let above = w.compare(CompareOp::Ge, wide, end);
            let whole = w.choose(above, high, whole);
            let end = w.f32(-END);
            let below = w.compare(CompareOp::Le, wide, end);
            w.choose(below, low, whole)
        }
        DType::U32 => {
            // The upper half of the range, less 2^31, with the highest bit.
            let end = w.f32(END);
            let upper = w.compare(CompareOp::Ge, wide, end);
            let less = w.sub(wide, end);
            let part = w.choose(upper, less, wide);
            let (above_zero, inside) = (w.lt(zero, part), w.lt(part, end));
            let inside = w.binary(BinaryOp::And, above_zero, inside);
            let inside = w.choose(inside, part, zero);
            let whole = w.to_int(inside);
            let (high, none) = (w.i32(i32::MIN), w.i32(0));
            let high = w.choose(upper, high, none);
            let whole = w.ior(whole, high);
            let (end, ones) = (w.f32(2.0 * END), w.i32(-1));
            let above = w.compare(CompareOp::Ge, wide, end);
            let whole = w.choose(above, ones, whole);
            w.bits_as(whole, DType::U32)
        }
        _ => {
            let (low, high) = to.range();
            let number = w.eq(wide, wide);
            let number = w.choose(number, wide, zero);
            let (low, high) = (w.f32(low as f32), w.f32(high as f32));
            let number = w.binary(BinaryOp::Max, number, low);
            let number = w.binary(BinaryOp::Min, number, high);
            w.to_int(number)
        }
    };
    // It is in range: the narrow type has its low bits.
    let ty = represented(lowering.ty(word).with_dtype(to));
    Ok(if ty.dtype() == lowering.ty(word).dtype() { word } else { lowering.emit(OpKind::Cast(ty.dtype()), &[word])[0] })
}

fn integer_to_integer(lowering: &mut Lowering<'_>, x: Typed, to: DType) -> Result<Value, Illegal> {
    let ty = lowering.ty(x.value);
    if ty.is_tile() && represented(ty.with_dtype(to)).dtype() == to {
        if let Some((op, narrow)) = extremum(lowering, x.value, to) {
            return lowering.apply(OpKind::Binary(op), &narrow);
        }
        return Ok(lowering.emit(OpKind::Cast(to), &[x.value])[0]);
    }
    let wide = lowering.cast(x.value, word(to))?;
    lowering.settle(wide, to)
}

/// An extremum of two widened values of the type, which libtpu takes for an extremum of that type, and which it lacks.
fn extremum(lowering: &mut Lowering<'_>, x: Value, to: DType) -> Option<(BinaryOp, [Value; 2])> {
    let (op, operands) = match lowering.made(x)? {
        (OpKind::Binary(op @ (BinaryOp::Max | BinaryOp::Min)), &[a, b]) => (*op, [a, b]),
        _ => return None,
    };
    Some((op, both_cast(lowering, operands, to)?))
}
