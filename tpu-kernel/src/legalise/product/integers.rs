//! Products of integers that the matrix units do not take as they are.
//!
//! Rules: an operand is a sum of digits, each at a power of 256; the products of digits that reach the low 32 bits are
//! added at their places, which is exact where i32 wraps. Digits are signed bytes where the chip multiplies those, else
//! numbers that bf16 has: then the sums are exact in f32 as long as they stay below 2^24, and longer ones are cut.

use super::product;
use crate::ir::{BinaryOp, DType, DotDims, Literal, OpKind, Precision, Shape, Value};
use crate::legalise::Illegal;
use crate::legalise::lowering::{Lowering, Typed};

/// Every integer up to this is an f32.
const EXACT: usize = 1 << 24;

/// The digits of an operand, lowest first, and the largest magnitude of one.
struct Digits {
    tiles: Vec<Value>,
    bound: usize,
}

pub(super) fn dot(lowering: &mut Lowering<'_>, a: Typed, b: Typed, dims: &DotDims) -> Result<Value, Illegal> {
    let byte = |x: Typed| matches!(x.ty.dtype(), DType::I8 | DType::I4 | DType::U4 | DType::I32);
    let digit = if lowering.chip.int8_products && byte(a) && byte(b) { DType::I8 } else { DType::Bf16 };
    let (left, right) = (digits(lowering, a, digit)?, digits(lowering, b, digit)?);
    let length = match digit {
        DType::I8 => usize::MAX,
        _ => whole(EXACT / (left.bound * right.bound)),
    };
    let places = (left.tiles.len() + right.tiles.len() - 1).min(4);
    let mut sum: Option<Value> = None;
    for place in (0..places).rev() {
        if let Some(higher) = sum {
            let radix = lowering.constant(Literal::from(256), Some(lowering.ty(higher).shape()));
            sum = Some(lowering.apply(OpKind::Binary(BinaryOp::Mul), &[higher, radix])?);
        }
        for (at, &x) in left.tiles.iter().enumerate() {
            let Some(&y) = place.checked_sub(at).and_then(|at| right.tiles.get(at)) else { continue };
            for part in parts(lowering, x, y, dims, length)? {
                sum = Some(match sum {
                    None => part,
                    Some(sum) => lowering.apply(OpKind::Binary(BinaryOp::Add), &[sum, part])?,
                });
            }
        }
    }
    Ok(sum.unwrap_or(a.value))
}

/// A length that fills matrix units, where it can.
fn whole(length: usize) -> usize {
    const UNIT: usize = 128;
    if length > UNIT { length - length % UNIT } else { length.max(1) }
}

/// The i32 products of two digits, cut along the contracted dimension.
fn parts(lowering: &mut Lowering<'_>, a: Value, b: Value, dims: &DotDims, length: usize) -> Result<Vec<Value>, Illegal> {
    let (lhs, rhs) = dims.contract;
    let k = lowering.ty(a).shape().dim(lhs);
    let mut parts = vec![];
    for start in (0..k).step_by(length.min(k).max(1)) {
        let end = start.saturating_add(length).min(k);
        let [a, b] = [cut(lowering, a, lhs, start, end)?, cut(lowering, b, rhs, start, end)?];
        let part = product(lowering, a, b, dims, Precision::Default)?;
        parts.push(lowering.cast(part, DType::I32)?);
    }
    Ok(parts)
}

/// From `start` to `end` along an axis.
fn cut(lowering: &mut Lowering<'_>, x: Value, axis: usize, start: usize, end: usize) -> Result<Value, Illegal> {
    let shape = lowering.ty(x).shape();
    if end - start == shape.dim(axis) {
        return Ok(x);
    }
    let mut starts = vec![0; shape.rank()];
    starts[axis] = start;
    let strides = vec![1; shape.rank()];
    lowering.apply(OpKind::Slice { starts, shape: shape.with_dim(axis, end - start), strides }, &[x])
}

/// x = d0 + 256·d1 + 65536·d2 + 16777216·d3, where i32 wraps: all but the last are signed bytes.
fn digits(lowering: &mut Lowering<'_>, x: Typed, digit: DType) -> Result<Digits, Illegal> {
    let bits = x.ty.dtype().bits();
    if bits <= 8 {
        let bound = 1 << if x.ty.dtype().is_signed() { bits - 1 } else { bits };
        return Ok(Digits { tiles: vec![lowering.cast(x.value, digit)?], bound });
    }
    let shape = x.ty.shape();
    let mut rest = lowering.cast(x.value, DType::I32)?;
    let mut tiles = vec![];
    for place in 1..=bits / 8 {
        let last = place == bits / 8;
        // Of 16 bits the last digit is what is left, up to 128 or 256; of 32 bits it wraps.
        let low = if last && bits == 16 { rest } else { signed_byte(lowering, rest, shape)? };
        tiles.push(lowering.cast(low, digit)?);
        if !last {
            let high = lowering.apply(OpKind::Binary(BinaryOp::Sub), &[rest, low])?;
            let eight = lowering.constant(Literal::from(8), Some(shape));
            rest = lowering.apply(OpKind::Binary(BinaryOp::Shr), &[high, eight])?;
        }
    }
    Ok(Digits { tiles, bound: if x.ty.dtype() == DType::U16 { 256 } else { 128 } })
}

/// The lowest byte of each i32, with its sign.
fn signed_byte(lowering: &mut Lowering<'_>, x: Value, shape: Shape) -> Result<Value, Illegal> {
    let up = lowering.constant(Literal::from(24), Some(shape));
    let high = lowering.apply(OpKind::Binary(BinaryOp::Shl), &[x, up])?;
    lowering.apply(OpKind::Binary(BinaryOp::Shr), &[high, up])
}
