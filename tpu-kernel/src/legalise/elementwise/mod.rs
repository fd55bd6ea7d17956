//! Arithmetic, functions, comparison, selection and conversion, element by element.
//!
//! Rules: what the chip lacks in a narrow type is computed in words and settled; what it leaves undefined is excluded first.
//! libtpu simplifies before it asks what the chip has: a comparison and a selection of the same two integers, or an extremum
//! between a widening and a cut, become an extremum of a type that has none. So these are written otherwise here.

mod casts;
mod compare;
mod floats;
mod functions;
mod integers;
mod shifts;
mod words;

pub(super) use casts::{cast, cut};
pub(super) use compare::{compare, select};

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule, represented};
use crate::formats::Format;
use crate::ir::{BinaryOp, DType, Literal, OpKind, Shape, UnaryOp, Value};
use crate::math::{self, Lanes};
use words::Words;

pub(super) fn unary(lowering: &mut Lowering<'_>, op: UnaryOp, x: Typed) -> Result<Value, Illegal> {
    if x.ty.dtype().is_float() { floats::unary(lowering, op, x) } else { integers::unary(lowering, op, x) }
}

pub(super) fn binary(lowering: &mut Lowering<'_>, op: BinaryOp, a: Typed, b: Typed) -> Result<Value, Illegal> {
    if a.ty.dtype().is_float() { floats::binary(lowering, op, a, b) } else { integers::binary(lowering, op, a, b) }
}

pub(super) fn bitcast(lowering: &mut Lowering<'_>, x: Typed, to: DType) -> Result<Value, Illegal> {
    let from = x.ty.dtype();
    // As an integer of the same width that the chip has, in memory or in a word.
    let (value, from) = match Format::of(from) {
        _ if from == to => return Ok(x.value),
        Some(format) if x.ty != lowering.ty(x.value) => {
            let bits = lowering.packed(x.value, format);
            let unsigned = unsigned(from.bits());
            let bits = lowering.cast(bits, DType::U32)?;
            (lowering.cast(bits, represented(x.ty.with_dtype(unsigned)).dtype())?, unsigned)
        }
        _ => (x.value, from),
    };
    let ty = lowering.ty(value);
    if ty.is_scalar() {
        // The word of an integer holds its bits, extended by its sign.
        return match Format::of(to) {
            Some(format) => Ok(lowering.unpacked(value, format)),
            None if to.is_float() => lowering.apply(OpKind::Bitcast(to), &[value]),
            None => {
                let word = lowering.cast(value, super::word(to))?;
                lowering.settle(word, to)
            }
        };
    }
    if to == DType::F16 {
        let bits = if from == DType::U16 { value } else { lowering.apply(OpKind::Bitcast(DType::U16), &[value])? };
        let bits = lowering.cast(bits, DType::U32)?;
        let bits = lowering.apply(OpKind::Bitcast(DType::I32), &[bits])?;
        return Ok(lowering.unpacked(bits, Format::of(to).unwrap_or_else(|| unreachable!("f16 has a format"))));
    }
    if from == to { Ok(value) } else { lowering.apply(OpKind::Bitcast(to), &[value]) }
}

/// The unsigned integer of that width.
const fn unsigned(bits: u32) -> DType {
    match bits {
        4 => DType::U4,
        8 => DType::U8,
        16 => DType::U16,
        _ => DType::U32,
    }
}

pub(super) fn stochastic_round(lowering: &mut Lowering<'_>, operands: &[Typed], to: DType) -> Result<Value, Illegal> {
    let (x, random) = (operands[0].value, operands[1].value);
    let Some(format) = Format::of(to) else { return Err(lowering.refuse(Rule::NoLowering(to))) };
    let mut w = Words::of(lowering, x);
    let random = w.bits_as(random, DType::I32);
    let number = math::stochastic_round(&mut w, format, x, random);
    Ok(of_format(lowering, number, to))
}

/// An f32 that is a number of the narrower format as what represents it.
fn of_format(lowering: &mut Lowering<'_>, x: Value, dtype: DType) -> Value {
    let ty = lowering.ty(x);
    let held = represented(ty.with_dtype(dtype)).dtype();
    if held == ty.dtype() { x } else { lowering.emit(OpKind::Cast(held), &[x])[0] }
}

/// Two values of that element type of which these are the widened, where they are, or are constants.
fn both_cast(lowering: &mut Lowering<'_>, operands: [Value; 2], to: DType) -> Option<[Value; 2]> {
    let narrow = |lowering: &Lowering<'_>, x: Value| match lowering.made(x) {
        Some((OpKind::Cast(_), &[inner])) if lowering.ty(inner).dtype() == to => Some(inner),
        _ => None,
    };
    let shape = lowering.ty(operands[0]).shape();
    match operands.map(|x| (narrow(lowering, x), lowering.literal_of(x))) {
        [(Some(a), _), (Some(b), _)] => Some([a, b]),
        [(Some(a), _), (_, Some(b))] => Some([a, in_range(lowering, b, to, shape)?]),
        [(_, Some(a)), (Some(b), _)] => Some([in_range(lowering, a, to, shape)?, b]),
        _ => None,
    }
}

/// A constant of the narrower type, where that has the number.
fn in_range(lowering: &mut Lowering<'_>, literal: Literal, to: DType, shape: Shape) -> Option<Value> {
    let narrow = match (literal.as_int(), literal.as_f32()) {
        (Some(n), _) => Literal::from_int(to, n),
        (_, Some(n)) => Literal::from_f32(to, n),
        _ => return None,
    };
    (super::number_as(narrow, literal.dtype()) == literal).then(|| lowering.constant(narrow, Some(shape)))
}

/// x by a selection that changes nothing.
fn choose_not_nan(w: &mut Words<'_, '_>, x: Value) -> Value {
    let (number, nan) = (w.eq(x, x), w.f32(f32::NAN));
    w.choose(number, x, nan)
}

/// The operation on a tile of one element, for scalars that the scalar unit cannot compute.
fn through_tile(lowering: &mut Lowering<'_>, kind: OpKind, operands: &[Value]) -> Result<Value, Illegal> {
    let one = Shape::new(&[1, 1]);
    let mut tiles = vec![];
    for &operand in operands {
        tiles.push(lowering.broadcast(operand, one)?);
    }
    let result = lowering.apply(kind, &tiles)?;
    lowering.apply(OpKind::Extract(vec![0, 0]), &[result])
}
