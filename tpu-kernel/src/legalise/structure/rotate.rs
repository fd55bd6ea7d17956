//! Rotations.
//!
//! Rules: the Mosaic operation rotates all rows by one amount from 0 to n - 1, or on some chips each row by a step more. Where
//! it does not, rows are rotated by the powers of two that make up what each of them needs.

use super::super::lowering::{Lowering, Typed};
use super::super::table::native;
use super::super::{Illegal, Rule};
use super::make;
use crate::ir::{BinaryOp, CompareOp, Literal, OpKind, RotateStride, Value};

pub(super) fn rotate(
    lowering: &mut Lowering<'_>,
    x: Value,
    amount: Value,
    axis: usize,
    stride: Option<RotateStride>,
) -> Result<Value, Illegal> {
    let shape = lowering.ty(x).shape();
    let n = shape.dim(axis);
    if n == 1 {
        return Ok(x);
    }
    if shape.rank() == 1 {
        let (flat, axis) = make::flattened(lowering, Typed { value: x, ty: lowering.ty(x) }, axis)?;
        let rotated = lowering.apply(OpKind::Rotate { axis, stride: None }, &[flat.value, amount])?;
        return make::reshape(lowering, rotated, shape);
    }
    let by = stride.map_or(0, |stride| i64::from(stride.by).rem_euclid(n as i64) as i32);
    let stride = stride.filter(|_| by != 0).map(|stride| RotateStride { by, ..stride });
    let kind = OpKind::Rotate { axis, stride };
    if native(lowering.chip, &kind, &[lowering.ty(x), lowering.ty(amount)]) {
        let amount = inside(lowering, amount, n as i32)?;
        return Ok(lowering.emit(kind, &[x, amount])[0]);
    }
    let Some(stride) = stride else { return Err(lowering.refuse(Rule::NoLowering(lowering.ty(x).dtype()))) };
    let rotated = lowering.apply(OpKind::Rotate { axis, stride: None }, &[x, amount])?;
    rows(lowering, rotated, axis, stride.axis, by)
}

/// An amount from 0 to n - 1.
fn inside(lowering: &mut Lowering<'_>, amount: Value, n: i32) -> Result<Value, Illegal> {
    if let Some(by) = lowering.literal_of(amount).and_then(Literal::as_i32) {
        return Ok(make::scalar(lowering, by.rem_euclid(n)));
    }
    let [extent, zero] = [n, 0].map(|n| make::scalar(lowering, n));
    let rest = make::binary(lowering, BinaryOp::Rem, amount, extent)?;
    let negative = make::compare(lowering, CompareOp::Lt, rest, zero)?;
    let counted = make::binary(lowering, BinaryOp::Add, rest, extent)?;
    make::select(lowering, negative, counted, rest)
}

/// Row r rotated by r · `by` more.
fn rows(lowering: &mut Lowering<'_>, x: Value, axis: usize, row: usize, by: i32) -> Result<Value, Illegal> {
    let n = lowering.ty(x).shape().dim(axis);
    let index = make::iota(lowering, lowering.ty(x).shape(), row)?;
    let [by, extent, zero] = [by, n as i32, 0].map(|n| make::like(lowering, index, n));
    let total = make::binary(lowering, BinaryOp::Mul, index, by)?;
    let amounts = make::binary(lowering, BinaryOp::Rem, total, extent)?;
    let mut result = x;
    let mut step = 1;
    while step < n {
        let bit = make::like(lowering, amounts, step as i32);
        let bits = make::binary(lowering, BinaryOp::And, amounts, bit)?;
        let needed = make::compare(lowering, CompareOp::Ne, bits, zero)?;
        let further = make::rotate(lowering, result, axis, step)?;
        result = make::select(lowering, needed, further, result)?;
        step *= 2;
    }
    Ok(result)
}
