//! Products with a float on one side or both.
//!
//! Rules: an f32 enters by the precision, everything else exactly. What fits bf16 is converted to it, f16 to f32. At
//! `high`, an f32 beside another type is cut into its bf16 and what that leaves, which is the matrix unit's own way for
//! two of f32.

use super::product;
use crate::ir::{BinaryOp, CompareOp, DType, DotDims, Literal, OpKind, Precision, UnaryOp, Value};
use crate::legalise::Illegal;
use crate::legalise::lowering::{Lowering, Typed};
use crate::legalise::table::products;

pub(super) fn dot(lowering: &mut Lowering<'_>, a: Typed, b: Typed, dims: &DotDims, precision: Precision) -> Result<Value, Illegal> {
    let f32s = [a, b].map(|x| x.ty.dtype() == DType::F32);
    match (f32s, precision) {
        ([true, false] | [false, true], Precision::High) => split(lowering, a, b, dims),
        ([true, false] | [false, true], Precision::Highest) => {
            let [a, b] = [lowering.cast(a.value, DType::F32)?, lowering.cast(b.value, DType::F32)?];
            product(lowering, a, b, dims, Precision::Highest)
        }
        _ => exact(lowering, a, b, dims),
    }
}

/// An f32 rounds to bf16, everything else enters as it is.
fn exact(lowering: &mut Lowering<'_>, a: Typed, b: Typed, dims: &DotDims) -> Result<Value, Illegal> {
    let [lhs, rhs] = [a, b].map(|x| x.ty.dtype());
    if [lhs, rhs].contains(&DType::F16) {
        let [a, b] = [entering(lowering, a)?, entering(lowering, b)?];
        return product(lowering, a, b, dims, Precision::Highest);
    }
    // An f32 stays: the matrix unit rounds it.
    let stays = |d: DType| d == DType::F32 || products::pair(lowering.chip, lhs, rhs, Precision::Default);
    let [to_lhs, to_rhs] = [lhs, rhs].map(|d| if stays(d) { d } else { DType::Bf16 });
    let [a, b] = [lowering.cast(a.value, to_lhs)?, lowering.cast(b.value, to_rhs)?];
    product(lowering, a, b, dims, Precision::Default)
}

/// An operand as an f32 that the first pass of the matrix unit takes exactly.
fn entering(lowering: &mut Lowering<'_>, x: Typed) -> Result<Value, Illegal> {
    match x.ty.dtype() {
        DType::F32 => {
            let rounded = lowering.cast(x.value, DType::Bf16)?;
            lowering.cast(rounded, DType::F32)
        }
        _ => lowering.cast(x.value, DType::F32),
    }
}

/// The product with the bf16 of the f32 operand, and what it leaves, as bf16, where that is finite.
fn split(lowering: &mut Lowering<'_>, a: Typed, b: Typed, dims: &DotDims) -> Result<Value, Illegal> {
    let halves = |lowering: &mut Lowering<'_>, x: Typed| {
        if x.ty.dtype() != DType::F32 {
            return Ok([x, x]);
        }
        let high = lowering.cast(x.value, DType::Bf16)?;
        let wide = lowering.cast(high, DType::F32)?;
        let rest = lowering.apply(OpKind::Binary(BinaryOp::Sub), &[x.value, wide])?;
        let low = lowering.cast(rest, DType::Bf16)?;
        Ok([high, low].map(|value| Typed { value, ty: x.ty.with_dtype(DType::Bf16) }))
    };
    let (a, b) = (halves(lowering, a)?, halves(lowering, b)?);
    let large = exact(lowering, a[0], b[0], dims)?;
    let small = exact(lowering, a[1], b[1], dims)?;
    let shape = lowering.ty(small).shape();
    let size = lowering.apply(OpKind::Unary(UnaryOp::Abs), &[small])?;
    let infinity = lowering.constant(Literal::from(f32::INFINITY), Some(shape));
    let finite = lowering.apply(OpKind::Compare(CompareOp::Lt), &[size, infinity])?;
    let sum = lowering.apply(OpKind::Binary(BinaryOp::Add), &[large, small])?;
    lowering.apply(OpKind::Select, &[finite, sum, large])
}
