//! Reductions over one dimension, and running ones.
//!
//! The order of a sum or product is part of its meaning, and does not depend on the machine: over the last axis
//! element i goes to partial result i mod 16, in increasing i, and the partial results are folded in halves
//! (8, 4, 2, 1); over any other axis, and in a running one, the elements are combined in increasing order.

use super::tile::Tile;
use crate::ir::{BinaryOp, CompareOp, DType, Literal, ReduceOp, ScanOp, eval};

const PARTIALS: usize = 16;

/// Reduces `axis`, which stays with size 1.
pub(super) fn reduce(op: ReduceOp, from: &Tile, axis: usize) -> Tile {
    let dims = from.shape.dims();
    let length = dims[axis];
    let inner: usize = dims[axis + 1..].iter().product();
    let last = axis + 1 == dims.len();
    Tile::new(op.result(from.dtype), from.shape.with_dim(axis, 1), |at| {
        let first = at / inner * length * inner + at % inner;
        let row: Vec<Literal> = (0..length).map(|i| from.at(first + i * inner)).collect();
        match op {
            ReduceOp::Sum => accumulated(BinaryOp::Add, &row, last),
            ReduceOp::Prod => accumulated(BinaryOp::Mul, &row, last),
            ReduceOp::Max => in_order(BinaryOp::Max, &row),
            ReduceOp::Min => in_order(BinaryOp::Min, &row),
            ReduceOp::Any => in_order(BinaryOp::Or, &row),
            ReduceOp::All => in_order(BinaryOp::And, &row),
            ReduceOp::ArgMax => first_extreme(CompareOp::Gt, &row),
            ReduceOp::ArgMin => first_extreme(CompareOp::Lt, &row),
        }
    })
}

/// Each element with all before it along `axis`, or after it.
pub(super) fn scan(op: ScanOp, from: &Tile, axis: usize, reverse: bool) -> Tile {
    let length = from.shape.dim(axis);
    let inner: usize = from.shape.dims()[axis + 1..].iter().product();
    let combining = match op {
        ScanOp::Sum => BinaryOp::Add,
        ScanOp::Prod => BinaryOp::Mul,
        ScanOp::Max => BinaryOp::Max,
        ScanOp::Min => BinaryOp::Min,
    };
    let mut bits = vec![0; from.bits.len()];
    for lane in 0..from.bits.len() / length {
        let first = lane / inner * length * inner + lane % inner;
        let mut so_far = None;
        for i in 0..length {
            let at = first + if reverse { length - 1 - i } else { i } * inner;
            let x = widened(from.at(at));
            let next = so_far.map_or(x, |so_far| combine(combining, so_far, x));
            bits[at] = eval::cast(from.dtype, next).bits();
            so_far = Some(next);
        }
    }
    Tile { dtype: from.dtype, shape: from.shape, bits }
}

fn combine(op: BinaryOp, a: Literal, b: Literal) -> Literal {
    eval::binary(op, a, b).expect("verified: element types fit")
}

/// A float as f32, in which narrower ones accumulate; any other element as it is.
fn widened(x: Literal) -> Literal {
    if x.dtype().is_float() { eval::cast(DType::F32, x) } else { x }
}

/// Floats narrower than f32 are rounded once, at the end.
fn accumulated(op: BinaryOp, row: &[Literal], last: bool) -> Literal {
    let wide: Vec<Literal> = row.iter().copied().map(widened).collect();
    let total = if last { in_partials(op, &wide) } else { in_order(op, &wide) };
    eval::cast(row[0].dtype(), total)
}

fn in_order(op: BinaryOp, row: &[Literal]) -> Literal {
    row.iter().copied().reduce(|a, b| combine(op, a, b)).expect("no dimension is 0")
}

fn in_partials(op: BinaryOp, row: &[Literal]) -> Literal {
    let mut partials: Vec<Literal> = vec![];
    for (i, &x) in row.iter().enumerate() {
        match partials.get_mut(i % PARTIALS) {
            Some(partial) => *partial = combine(op, *partial, x),
            None => partials.push(x),
        }
    }
    for half in [8, 4, 2, 1] {
        for j in half..partials.len().min(2 * half) {
            partials[j - half] = combine(op, partials[j - half], partials[j]);
        }
        partials.truncate(half);
    }
    partials[0]
}

/// The index of the first element that no other is beyond; of the first NaN where there is one.
fn first_extreme(beyond: CompareOp, row: &[Literal]) -> Literal {
    let nan = |x: Literal| x.as_f32().is_some_and(f32::is_nan);
    let mut best = 0;
    for (i, &x) in row.iter().enumerate() {
        let further = nan(x) || eval::compare(beyond, x, row[best]).expect("verified: numbers");
        if !nan(row[best]) && further {
            best = i;
        }
    }
    Literal::from(best as i32)
}
