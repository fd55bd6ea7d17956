//! The matrix product: sums over k in increasing order, one element of the result after the other.

use super::tile::Tile;
use crate::ir::{DType, Precision, Shape};
use half::bf16;

/// Two rank-2 tiles; `transposed` says whether dimension 0 of the left, 1 of the right is contracted.
pub(super) fn dot(a: &Tile, b: &Tile, transposed: (bool, bool), precision: Precision, dtype: DType, shape: Shape) -> Tile {
    let (m, n) = (shape.dim(0), shape.dim(1));
    let k = if transposed.0 { a.shape.dim(0) } else { a.shape.dim(1) };
    let left = |i: usize, kk: usize| a.at(if transposed.0 { kk * m + i } else { i * k + kk });
    let right = |kk: usize, j: usize| b.at(if transposed.1 { j * k + kk } else { kk * n + j });
    Tile::new(dtype, shape, |at| {
        let (i, j) = (at / n, at % n);
        if dtype == DType::I32 {
            let int = |x: crate::ir::Literal| x.as_i32().expect("verified: i32 operands");
            return (0..k).fold(0i32, |sum, kk| sum.wrapping_add(int(left(i, kk)).wrapping_mul(int(right(kk, j))))).into();
        }
        let float = |x: crate::ir::Literal| x.as_f32().expect("verified: float operands");
        let pairs = (0..k).map(|kk| (float(left(i, kk)), float(right(kk, j))));
        match precision {
            _ if a.dtype == DType::Bf16 => sum(pairs),
            Precision::Highest => sum(pairs),
            Precision::Default => sum(pairs.map(|(x, y)| (high(x), high(y)))),
            Precision::High => {
                let small = sum(pairs.clone().flat_map(|(x, y)| [(high(x), low(y)), (low(x), high(y))]));
                let large = sum(pairs.map(|(x, y)| (high(x), high(y))));
                // An infinite operand has no low half: inf - inf and 0 · inf are NaN. The large pass alone then decides.
                if small.is_finite() { large + small } else { large }
            }
        }
        .into()
    })
}

/// One pass: fused multiply-adds in f32, in the order of the pairs.
fn sum(pairs: impl Iterator<Item = (f32, f32)>) -> f32 {
    pairs.fold(0.0, |sum, (x, y)| x.mul_add(y, sum))
}

/// The nearest bf16.
fn high(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}

/// What `high` leaves, as bf16.
fn low(x: f32) -> f32 {
    bf16::from_f32(x - high(x)).to_f32()
}
