//! Gathers.
//!
//! Rules: a chip gathers words within one register: up to 128 lanes, or 8 rows where it can. Longer rows are gathered in
//! parts, of which each element takes the one that its index is in. What is left goes row by row: each is compared with all
//! indices. An index outside is an error on the simulator only.

use super::super::Illegal;
use super::super::lowering::{Lowering, Typed};
use super::super::table::{gathers, last};
use super::make;
use crate::chips::LANES;
use crate::ir::{BinaryOp, CompareOp, Literal, OpKind, Shape, Type, Value};

/// Rows that are compared one after the other in the text; more of them go in a loop.
const UNROLLED: usize = 16;

pub(super) fn gather(lowering: &mut Lowering<'_>, x: Value, indices: Value, axis: usize) -> Result<Value, Illegal> {
    let (dtype, shape, wanted) = (lowering.ty(x).dtype(), lowering.ty(x).shape(), lowering.ty(indices).shape());
    if dtype.bits() < 32 {
        let words = make::widened(lowering, x)?;
        let gathered = lowering.apply(OpKind::Gather { axis }, &[words, indices])?;
        return lowering.cast(gathered, dtype);
    }
    if shape.rank() == 1 {
        let (flat, axis) = make::flattened(lowering, Typed { value: x, ty: lowering.ty(x) }, axis)?;
        let indices = make::reshape(lowering, indices, make::row(wanted))?;
        let gathered = lowering.apply(OpKind::Gather { axis }, &[flat.value, indices])?;
        return make::reshape(lowering, gathered, wanted);
    }
    let (n, m) = (shape.dim(axis), wanted.dim(axis));
    if n == 1 {
        return lowering.broadcast(x, wanted);
    }
    let from_end = make::like(lowering, indices, n as i32);
    let zero = make::like(lowering, indices, 0);
    let negative = make::compare(lowering, CompareOp::Lt, indices, zero)?;
    let counted = make::binary(lowering, BinaryOp::Add, indices, from_end)?;
    let indices = make::select(lowering, negative, counted, indices)?;
    let lanes = axis + 1 == shape.rank();
    if lanes {
        return in_rows(lowering, x, indices);
    }
    let size = n.max(m);
    if gathers(lowering.chip, Shape::new(&[size, last(shape)]), 0) && shape.rank() == 2 {
        let [x, indices] = [x, indices].map(|v| (v, Literal::from_bits(lowering.ty(v).dtype(), 0)));
        let x = make::pad(lowering, x.0, axis, size, x.1)?;
        let indices = make::pad(lowering, indices.0, axis, size, indices.1)?;
        let indices = clamped(lowering, indices, size)?;
        let gathered = lowering.emit(OpKind::Gather { axis }, &[x, indices])[0];
        return make::slice(lowering, gathered, axis, 0, m);
    }
    one_by_one(lowering, x, indices, axis)
}

/// Along lanes, in parts of one register.
fn in_rows(lowering: &mut Lowering<'_>, x: Value, indices: Value) -> Result<Value, Illegal> {
    let (dtype, shape, wanted) = (lowering.ty(x).dtype(), lowering.ty(x).shape(), lowering.ty(indices).shape());
    let (n, m, rows) = (last(shape), last(wanted), shape.elements() / last(shape));
    // As long as the longer one where that fits in a register.
    let size = n.max(m).min(LANES);
    let (sources, targets) = (n.div_ceil(size), m.div_ceil(size));
    let x = make::reshape(lowering, x, Shape::new(&[rows, n]))?;
    let x = make::pad(lowering, x, 1, sources * size, Literal::from_bits(dtype, 0))?;
    let indices = make::reshape(lowering, indices, Shape::new(&[rows, m]))?;
    let indices = make::pad(lowering, indices, 1, targets * size, Literal::from(0))?;
    let mut parts = vec![];
    for target in 0..targets {
        let at = make::slice(lowering, indices, 1, target * size, size)?;
        let by = make::like(lowering, at, size as i32);
        let part = if sources > 1 { Some(make::binary(lowering, BinaryOp::Div, at, by)?) } else { None };
        let inside = if sources > 1 { make::binary(lowering, BinaryOp::Rem, at, by)? } else { at };
        let inside = clamped(lowering, inside, size)?;
        let mut result = None;
        for source in 0..sources {
            let from = make::slice(lowering, x, 1, source * size, size)?;
            let gathered = lowering.emit(OpKind::Gather { axis: 1 }, &[from, inside])[0];
            result = Some(match (result, part) {
                (Some(others), Some(part)) => {
                    let this = make::like(lowering, part, source as i32);
                    let here = make::compare(lowering, CompareOp::Eq, part, this)?;
                    make::select(lowering, here, gathered, others)?
                }
                _ => gathered,
            });
        }
        parts.extend(result);
    }
    let whole = make::concat(lowering, 1, &parts)?;
    let whole = make::slice(lowering, whole, 1, 0, m)?;
    make::reshape(lowering, whole, wanted)
}

/// Whatever lies outside must not reach past the register.
fn clamped(lowering: &mut Lowering<'_>, indices: Value, size: usize) -> Result<Value, Illegal> {
    let [zero, last] = [0, size as i32 - 1].map(|n| make::like(lowering, indices, n));
    let indices = make::binary(lowering, BinaryOp::Min, indices, last)?;
    make::binary(lowering, BinaryOp::Max, indices, zero)
}

/// Each row along the axis goes where an index names it.
fn one_by_one(lowering: &mut Lowering<'_>, x: Value, indices: Value, axis: usize) -> Result<Value, Illegal> {
    let (dtype, shape, wanted) = (lowering.ty(x).dtype(), lowering.ty(x).shape(), lowering.ty(indices).shape());
    let n = shape.dim(axis);
    let start = lowering.constant(Literal::from_bits(dtype, 0), Some(wanted));
    if n <= UNROLLED {
        let mut result = start;
        for at in 0..n {
            let row = make::slice(lowering, x, axis, at, 1)?;
            let row = lowering.broadcast(row, wanted)?;
            let this = make::like(lowering, indices, at as i32);
            let here = make::compare(lowering, CompareOp::Eq, indices, this)?;
            result = make::select(lowering, here, row, result)?;
        }
        return Ok(result);
    }
    let bounds = [0, n as i32, 1].map(|n| make::scalar(lowering, n));
    let ty = Type::Tile(dtype, wanted);
    let results = lowering.counted(bounds, &[start], &[ty], |lowering, index, carried| {
        // The row comes to the first place.
        let extent = make::scalar(lowering, n as i32);
        let amount = make::binary(lowering, BinaryOp::Sub, extent, index)?;
        let turned = lowering.apply(OpKind::Rotate { axis, stride: None }, &[x, amount])?;
        let row = make::slice(lowering, turned, axis, 0, 1)?;
        let row = lowering.broadcast(row, wanted)?;
        let this = lowering.apply(OpKind::Broadcast(wanted), &[index])?;
        let here = make::compare(lowering, CompareOp::Eq, indices, this)?;
        Ok(vec![make::select(lowering, here, row, carried[0])?])
    })?;
    Ok(results[0])
}
