//! Rotations.
//!
//! Rules: the Mosaic operation rotates all rows by one amount, or on some chips each row by a step more. Where it does not,
//! rows are rotated by the powers of two that make up what each of them needs.

use super::super::Illegal;
use super::super::lowering::{Lowering, Typed};
use super::make;
use crate::ir::{BinaryOp, CompareOp, OpKind, RotateStride, Value};

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
    let Some(stride) = stride else {
        let (flat, axis) = make::flattened(lowering, Typed { value: x, ty: lowering.ty(x) }, axis)?;
        let rotated = lowering.apply(OpKind::Rotate { axis, stride: None }, &[flat.value, amount])?;
        return make::reshape(lowering, rotated, shape);
    };
    let by = i64::from(stride.by).rem_euclid(n as i64) as i32;
    if by != 0 && stride.by != by {
        let stride = Some(RotateStride { by, ..stride });
        return lowering.apply(OpKind::Rotate { axis, stride }, &[x, amount]);
    }
    let rotated = lowering.apply(OpKind::Rotate { axis, stride: None }, &[x, amount])?;
    if by == 0 {
        return Ok(rotated);
    }
    rows(lowering, rotated, axis, stride.axis, by)
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
