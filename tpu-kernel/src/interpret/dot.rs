//! The product: sums over the contracted dimension in increasing order, one element of the result after the other.

use super::tile::{Tile, ravel, unravel};
use crate::ir::{DType, DotDims, Literal, MAX_RANK, Precision, Shape};
use half::bf16;

/// The product of two tiles, whose result has that element type and shape.
pub(super) fn dot(a: &Tile, b: &Tile, dims: &DotDims, precision: Precision, dtype: DType, shape: Shape) -> Tile {
    let (lhs_free, rhs_free) = (dims.lhs_free(a.shape.rank()), dims.rhs_free(b.shape.rank()));
    let k = a.shape.dim(dims.contract.0);
    let split = precision == Precision::High && [a.dtype, b.dtype].contains(&DType::F32);
    Tile::new(dtype, shape, |at| {
        let index = unravel(at, shape.dims());
        let (mut left, mut right) = ([0; MAX_RANK], [0; MAX_RANK]);
        let mut result = index.into_iter();
        let mut next = || result.next().unwrap_or(0);
        for &(l, r) in &dims.batch {
            left[l] = next();
            right[r] = left[l];
        }
        if let Some(d) = lhs_free {
            left[d] = next();
        }
        if let Some(d) = rhs_free {
            right[d] = next();
        }
        let pairs = (0..k).map(|i| {
            let (mut left, mut right) = (left, right);
            left[dims.contract.0] = i;
            right[dims.contract.1] = i;
            (a.at(ravel(&left, a.shape.dims())), b.at(ravel(&right, b.shape.dims())))
        });
        match dtype {
            DType::I32 => integers(pairs).into(),
            _ => floats(pairs, precision, split).into(),
        }
    })
}

/// i32, wrapping.
fn integers(pairs: impl Iterator<Item = (Literal, Literal)>) -> i32 {
    let int = |x: Literal| x.as_int().expect("verified: integers") as i32;
    pairs.fold(0i32, |sum, (x, y)| sum.wrapping_add(int(x).wrapping_mul(int(y))))
}

/// f32, by the precision of f32 operands; with `split`, what they leave in the first pass is added.
fn floats(pairs: impl Iterator<Item = (Literal, Literal)> + Clone, precision: Precision, split: bool) -> f32 {
    let large = sum(pairs.clone().map(|(x, y)| (entering(x, precision), entering(y, precision))));
    if !split {
        return large;
    }
    let small = sum(pairs.flat_map(|(x, y)| [(high(x), low(y)), (low(x), high(y))]));
    // An infinite operand has no low half: inf - inf and 0 · inf are NaN. The large pass alone then decides.
    if small.is_finite() { large + small } else { large }
}

/// One pass: fused multiply-adds in f32, in the order of the pairs.
fn sum(pairs: impl Iterator<Item = (f32, f32)>) -> f32 {
    pairs.fold(0.0, |sum, (x, y)| x.mul_add(y, sum))
}

/// An operand in the first pass.
fn entering(x: Literal, precision: Precision) -> f32 {
    match precision {
        Precision::Highest => exact(x),
        Precision::Default | Precision::High => high(x),
    }
}

/// The value: every float, and every integer of at most 8 bits, is an f32.
fn exact(x: Literal) -> f32 {
    x.as_f32().or_else(|| x.as_int().map(|v| v as f32)).expect("verified: numbers")
}

/// The nearest bf16 of an f32; any other element is exact.
fn high(x: Literal) -> f32 {
    if x.dtype() == DType::F32 { bf16::from_f32(exact(x)).to_f32() } else { exact(x) }
}

/// What `high` leaves, as bf16: nothing of what is exact.
fn low(x: Literal) -> f32 {
    if x.dtype() == DType::F32 { bf16::from_f32(exact(x) - high(x)).to_f32() } else { 0.0 }
}
