//! Reductions over one dimension.
//!
//! The order of a sum is part of its meaning, and does not depend on the machine: over the last axis
//! element i goes to partial sum i mod 16, in increasing i, and the partial sums are folded in halves
//! (8, 4, 2, 1); over any other axis the elements are added in increasing order.

use super::tile::Tile;
use crate::ir::{BinaryOp, DType, Literal, ReduceOp, eval};
use half::bf16;

const PARTIALS: usize = 16;

/// Reduces `axis`, which stays with size 1.
pub(super) fn reduce(op: ReduceOp, from: &Tile, axis: usize) -> Tile {
    let dims = from.shape.dims();
    let length = dims[axis];
    let inner: usize = dims[axis + 1..].iter().product();
    let last = axis + 1 == dims.len();
    Tile::new(from.dtype, from.shape.with_dim(axis, 1), |at| {
        let first = at / inner * length * inner + at % inner;
        let row: Vec<Literal> = (0..length).map(|i| from.at(first + i * inner)).collect();
        match op {
            ReduceOp::Sum => sum(&row, last),
            ReduceOp::Max => in_order(BinaryOp::Max, &row),
            ReduceOp::Min => in_order(BinaryOp::Min, &row),
            _ => crate::pending("reduce"),
        }
    })
}

/// bf16 is summed in f32 and rounded once.
fn sum(row: &[Literal], last: bool) -> Literal {
    let narrow = row[0].dtype() == DType::Bf16;
    let wide: Vec<Literal> = if narrow { row.iter().map(|&x| eval::cast(DType::F32, x)).collect() } else { row.to_vec() };
    let total = if last { in_partials(&wide) } else { in_order(BinaryOp::Add, &wide) };
    match total.as_f32() {
        Some(total) if narrow => Literal::from(bf16::from_f32(total)),
        _ => total,
    }
}

fn in_order(op: BinaryOp, row: &[Literal]) -> Literal {
    let combine = |a, b| eval::binary(op, a, b).expect("verified: numbers");
    row.iter().copied().reduce(combine).expect("no dimension is 0")
}

fn in_partials(row: &[Literal]) -> Literal {
    let add = |a, b| eval::binary(BinaryOp::Add, a, b).expect("verified: numbers");
    let mut partials: Vec<Literal> = vec![];
    for (i, &x) in row.iter().enumerate() {
        match partials.get_mut(i % PARTIALS) {
            Some(partial) => *partial = add(*partial, x),
            None => partials.push(x),
        }
    }
    for half in [8, 4, 2, 1] {
        for j in half..partials.len().min(2 * half) {
            partials[j - half] = add(partials[j - half], partials[j]);
        }
        partials.truncate(half);
    }
    partials[0]
}
