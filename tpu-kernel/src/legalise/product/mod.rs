//! Matrix products.
//!
//! Rules: first the dimensions are brought to where a chip has them, then the element types. A product is exact as the
//! interpreter has it: f16 goes through f32 at the highest precision; floats and integers that fit bf16 go through
//! bf16; integers that the matrix units do not take are cut into digits.

mod dimensions;
mod floats;
mod integers;

use super::lowering::{Lowering, Typed};
use super::table::{memory, products};
use super::{Illegal, Rule};
use crate::ir::{DType, DotDims, OpKind, Precision, Type, Value};

/// A product of tiles of the user's types.
pub(super) fn dot(
    lowering: &mut Lowering<'_>,
    operands: &[Typed],
    dims: &DotDims,
    precision: Precision,
    result: Type,
) -> Result<Value, Illegal> {
    let &[a, b] = operands else { return Err(lowering.refuse(Rule::Unverified("it must have two operands".into()))) };
    let floats = [a, b].iter().any(|x| x.ty.dtype().is_float());
    let [a, b] = [laid_out(lowering, a, floats)?, laid_out(lowering, b, floats)?];
    if !products::form(dims, a.ty.shape().rank(), b.ty.shape().rank()) {
        return dimensions::dot(lowering, a, b, dims, precision, result.shape());
    }
    match (a.ty.dtype().is_float(), b.ty.dtype().is_float()) {
        (false, false) => integers::dot(lowering, a, b, dims),
        _ => floats::dot(lowering, a, b, dims, precision),
    }
}

/// A vector that the chip can only widen, widened to a type that has its numbers and the same products.
fn laid_out(lowering: &mut Lowering<'_>, x: Typed, floats: bool) -> Result<Typed, Illegal> {
    if !memory::ragged(lowering.chip, x.ty) {
        return Ok(x);
    }
    let dtype = if floats { DType::Bf16 } else { DType::I16 };
    Ok(Typed { value: lowering.cast(x.value, dtype)?, ty: x.ty.with_dtype(dtype) })
}

/// A product of new values, legalised in turn.
fn product(lowering: &mut Lowering<'_>, a: Value, b: Value, dims: &DotDims, precision: Precision) -> Result<Value, Illegal> {
    lowering.apply(OpKind::Dot { dims: dims.clone(), precision }, &[a, b])
}
