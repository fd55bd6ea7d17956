//! Sorts, as a network of comparisons.
//!
//! Rules: Batcher's bitonic network over a power of two of places, one stage a trip of a loop: an element meets the one whose
//! place differs in one bit. Elements are compared by their order key and then by where they were, so that the sort is stable
//! and no two are equal; what was added to reach the power of two comes last. Keys and payloads of any type follow.

use super::super::Illegal;
use super::super::lowering::{Lowering, Typed};
use super::{make, order};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Shape, Type, UnaryOp, Value};

pub(super) fn sort(lowering: &mut Lowering<'_>, operands: &[Typed], axis: usize, descending: bool) -> Result<Vec<Value>, Illegal> {
    let shape = operands[0].ty.shape();
    let n = shape.dim(axis);
    if n == 1 {
        return Ok(operands.iter().map(|o| o.value).collect());
    }
    let rows = make::row(shape);
    let axis = if shape.rank() == 1 { 1 } else { axis };
    let size = n.next_power_of_two();
    let mut keys = order::keys(lowering, operands[0].value)?;
    if descending {
        keys = lowering.apply(OpKind::Unary(UnaryOp::Not), &[keys])?;
    }
    let keys = make::reshape(lowering, keys, rows)?;
    let keys = make::pad(lowering, keys, axis, size, Literal::from(i32::MAX))?;
    let padded = lowering.ty(keys).shape();
    let places = make::iota(lowering, padded, axis)?;
    let mut tiles = vec![keys, places];
    for operand in operands {
        let value = if operand.ty.dtype() == DType::Bool { lowering.cast(operand.value, DType::I32)? } else { operand.value };
        let value = make::reshape(lowering, value, rows)?;
        let nothing = Literal::from_bits(lowering.ty(value).dtype(), 0);
        tiles.push(make::pad(lowering, value, axis, size, nothing)?);
    }
    let sorted = network(lowering, &tiles, places, axis, size)?;
    let mut results = vec![];
    for (operand, &tile) in operands.iter().zip(&sorted) {
        let kept = make::slice(lowering, tile, axis, 0, n)?;
        let kept = make::reshape(lowering, kept, shape)?;
        results.push(if operand.ty.dtype() == DType::Bool { lowering.cast(kept, DType::Bool)? } else { kept });
    }
    Ok(results)
}

/// All stages; what follows the keys and places, sorted by them.
fn network(lowering: &mut Lowering<'_>, tiles: &[Value], places: Value, axis: usize, size: usize) -> Result<Vec<Value>, Illegal> {
    let levels = size.ilog2() as i32;
    let bounds = [0, levels * (levels + 1) / 2, 1].map(|n| make::scalar(lowering, n));
    // The size of the runs that are merged, and the distance at which elements meet.
    let mut carried = vec![make::scalar(lowering, 2), make::scalar(lowering, 1)];
    carried.extend(tiles);
    let types: Vec<Type> = carried.iter().map(|&v| lowering.ty(v)).collect();
    let shape = lowering.ty(places).shape();
    let results = lowering.counted(bounds, &carried, &types, |lowering, _, carried| {
        let (run, distance) = (carried[0], carried[1]);
        let (low, rising) = (clear(lowering, places, distance, shape)?, clear(lowering, places, run, shape)?);
        let extent = make::scalar(lowering, size as i32);
        let back = make::binary(lowering, BinaryOp::Sub, extent, distance)?;
        let mut partners = vec![];
        for &tile in &carried[2..] {
            let after = lowering.apply(OpKind::Rotate { axis, stride: None }, &[tile, back])?;
            let before = lowering.apply(OpKind::Rotate { axis, stride: None }, &[tile, distance])?;
            partners.push(make::select(lowering, low, after, before)?);
        }
        let smaller = make::compare(lowering, CompareOp::Lt, carried[2], partners[0])?;
        let equal = make::compare(lowering, CompareOp::Eq, carried[2], partners[0])?;
        let earlier = make::compare(lowering, CompareOp::Lt, carried[3], partners[1])?;
        let earlier = make::binary(lowering, BinaryOp::And, equal, earlier)?;
        let first = make::binary(lowering, BinaryOp::Or, smaller, earlier)?;
        // The first of two stays low in a rising run, high in a falling one.
        let wanted = make::binary(lowering, BinaryOp::Xor, low, rising)?;
        let moves = make::compare(lowering, CompareOp::Eq, first, wanted)?;
        let two = make::scalar(lowering, 2);
        let half = make::binary(lowering, BinaryOp::Div, distance, two)?;
        let double = make::binary(lowering, BinaryOp::Mul, run, two)?;
        let one = make::scalar(lowering, 1);
        let more = make::compare(lowering, CompareOp::Gt, distance, one)?;
        let mut next = vec![make::select(lowering, more, run, double)?, make::select(lowering, more, half, run)?];
        for (&tile, &partner) in carried[2..].iter().zip(&partners) {
            next.push(make::select(lowering, moves, partner, tile)?);
        }
        Ok(next)
    })?;
    Ok(results[4..].to_vec())
}

/// Where a bit of the places is clear.
fn clear(lowering: &mut Lowering<'_>, places: Value, bit: Value, shape: Shape) -> Result<Value, Illegal> {
    let bits = lowering.apply(OpKind::Broadcast(shape), &[bit])?;
    let bits = make::binary(lowering, BinaryOp::And, places, bits)?;
    let zero = make::like(lowering, bits, 0);
    make::compare(lowering, CompareOp::Eq, bits, zero)
}
