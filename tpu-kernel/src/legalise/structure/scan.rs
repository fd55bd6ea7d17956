//! Running reductions.
//!
//! Rules: in steps of 1, 2, 4, … each element takes in what lies that far before it. Integers and extrema are exact; a sum or
//! product of floats has another order than the simulator's, and so rounds otherwise.

use super::super::Illegal;
use super::super::lowering::{Lowering, Typed};
use super::make;
use crate::ir::{BinaryOp, CompareOp, ScanOp, Value};

pub(super) fn scan(lowering: &mut Lowering<'_>, op: ScanOp, x: Typed, axis: usize, reverse: bool) -> Result<Value, Illegal> {
    let combining = match op {
        ScanOp::Sum => BinaryOp::Add,
        ScanOp::Prod => BinaryOp::Mul,
        ScanOp::Max => BinaryOp::Max,
        ScanOp::Min => BinaryOp::Min,
    };
    let (flat, axis) = make::flattened(lowering, x, axis)?;
    let shape = flat.ty.shape();
    let n = shape.dim(axis);
    let mut result = make::widened(lowering, flat.value)?;
    let place = make::iota(lowering, shape, axis)?;
    let mut step = 1;
    while step < n {
        let (amount, first, inside) = if reverse { (n - step, n - step, CompareOp::Lt) } else { (step, step, CompareOp::Ge) };
        let before = make::rotate(lowering, result, axis, amount)?;
        let combined = make::binary(lowering, combining, before, result)?;
        let first = make::like(lowering, place, first as i32);
        let has_one = make::compare(lowering, inside, place, first)?;
        result = make::select(lowering, has_one, combined, result)?;
        step *= 2;
    }
    let narrow = lowering.settle(result, x.ty.dtype())?;
    make::reshape(lowering, narrow, x.ty.shape())
}
