//! Reductions over one dimension.
//!
//! Rules: the vector unit reduces words, by sums and extrema; everything else is widened, or made of these. Narrow floats
//! accumulate in f32 and are rounded once. A product folds halves, so that one of floats has another order than the
//! simulator's.

use super::super::Illegal;
use super::super::lowering::{Lowering, Typed};
use super::super::represented;
use super::{make, order};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, ReduceOp, Value};

pub(super) fn reduce(lowering: &mut Lowering<'_>, op: ReduceOp, x: Typed, axis: usize) -> Result<Value, Illegal> {
    let (dtype, kept) = (x.ty.dtype(), x.ty.shape().with_dim(axis, 1));
    if matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
        return index_of_extreme(lowering, op, x, axis);
    }
    if x.ty.shape().dim(axis) == 1 {
        return Ok(x.value);
    }
    if x.ty.shape().rank() == 1 {
        let (flat, axis) = make::flattened(lowering, x, axis)?;
        let reduced = lowering.lower(&OpKind::Reduce { op, axis }, &[flat])?;
        return make::reshape(lowering, reduced[0], kept);
    }
    let over = |op| OpKind::Reduce { op, axis };
    match op {
        ReduceOp::Any | ReduceOp::All => {
            let words = lowering.cast(x.value, DType::I32)?;
            let op = if op == ReduceOp::Any { ReduceOp::Max } else { ReduceOp::Min };
            let reduced = lowering.apply(over(op), &[words])?;
            lowering.cast(reduced, DType::Bool)
        }
        ReduceOp::Prod => {
            let words = make::widened(lowering, x.value)?;
            let product = product(lowering, words, axis)?;
            lowering.settle(product, dtype)
        }
        ReduceOp::Max | ReduceOp::Min if dtype == DType::U32 => {
            let words = order::flipped(lowering, x.value)?;
            let reduced = lowering.apply(over(op), &[words])?;
            order::flipped_back(lowering, reduced)
        }
        ReduceOp::Max | ReduceOp::Min => {
            // The extreme is one of the numbers: nothing is rounded.
            let words = make::widened(lowering, x.value)?;
            let reduced = lowering.apply(over(op), &[words])?;
            lowering.cast(reduced, represented(x.ty).dtype())
        }
        _ => {
            let words = make::widened(lowering, x.value)?;
            let reduced = lowering.apply(over(op), &[words])?;
            lowering.settle(reduced, dtype)
        }
    }
}

/// Halves multiplied with each other until one element is left.
fn product(lowering: &mut Lowering<'_>, x: Value, axis: usize) -> Result<Value, Illegal> {
    let one = Literal::from_int(lowering.ty(x).dtype(), 1);
    let mut rest = x;
    loop {
        let n = lowering.ty(rest).shape().dim(axis);
        if n == 1 {
            return Ok(rest);
        }
        let half = n.div_ceil(2);
        let low = make::slice(lowering, rest, axis, 0, half)?;
        let high = make::slice(lowering, rest, axis, half, n - half)?;
        let high = make::pad(lowering, high, axis, half, one)?;
        rest = make::binary(lowering, BinaryOp::Mul, low, high)?;
    }
}

/// The least index at which the order key is the extreme one.
fn index_of_extreme(lowering: &mut Lowering<'_>, op: ReduceOp, x: Typed, axis: usize) -> Result<Value, Illegal> {
    let kept = x.ty.shape().with_dim(axis, 1);
    if x.ty.shape().dim(axis) == 1 {
        return Ok(lowering.constant(Literal::from(0), Some(kept)));
    }
    let (flat, axis) = make::flattened(lowering, x, axis)?;
    let shape = flat.ty.shape();
    let mut keys = order::keys(lowering, flat.value)?;
    let extreme = if op == ReduceOp::ArgMax { ReduceOp::Max } else { ReduceOp::Min };
    if op == ReduceOp::ArgMin && x.ty.dtype().is_float() {
        // NaN wins here, too: no number has the smallest key.
        let [nan, least] = [order::NAN, i32::MIN].map(|n| make::like(lowering, keys, n));
        let is_nan = make::compare(lowering, CompareOp::Eq, keys, nan)?;
        keys = make::select(lowering, is_nan, least, keys)?;
    }
    let best = lowering.apply(OpKind::Reduce { op: extreme, axis }, &[keys])?;
    let best = lowering.broadcast(best, shape)?;
    let there = make::compare(lowering, CompareOp::Eq, keys, best)?;
    let places = make::iota(lowering, shape, axis)?;
    let beyond = make::like(lowering, places, i32::MAX);
    let places = make::select(lowering, there, places, beyond)?;
    let first = lowering.apply(OpKind::Reduce { op: ReduceOp::Min, axis }, &[places])?;
    make::reshape(lowering, first, kept)
}
