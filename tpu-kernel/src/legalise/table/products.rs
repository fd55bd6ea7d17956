//! Which matrix products libtpu takes as they are.
//!
//! Rules: each operand has the batch dimensions, which lead in one order, the contracted one and one more. Unsigned
//! operands have no product: memory and registers are signless, and the matrix units read them as signed. A precision
//! is for two operands of f32. Products of two formats of fewer than 16 bits were tried where they are the same, or one
//! of them is an OCP format of 8 bits.

use crate::chips::Chip;
use crate::ir::{DType, DotDims, Precision, Type};

/// Whether the chip has the product of operands of these types.
pub(in crate::legalise) fn native(chip: &Chip, dims: &DotDims, precision: Precision, lhs: Type, rhs: Type) -> bool {
    form(dims, lhs.shape().rank(), rhs.shape().rank()) && pair(chip, lhs.dtype(), rhs.dtype(), precision)
}

/// Whether the dimensions lie as the printer says them: leading batch dimensions, then two.
pub(in crate::legalise) fn form(dims: &DotDims, lhs_rank: usize, rhs_rank: usize) -> bool {
    let batch = dims.batch.len();
    let leading = dims.batch.iter().enumerate().all(|(at, &pair)| pair == (at, at));
    leading && lhs_rank == batch + 2 && rhs_rank == batch + 2
}

/// Whether matrix units take the two element types in that precision.
pub(in crate::legalise) fn pair(chip: &Chip, lhs: DType, rhs: DType, precision: Precision) -> bool {
    use DType::{Bf16, F8E4M3Fn, F8E5M2, F32, I4, I8};
    let ocp = |d: DType| matches!(d, F8E4M3Fn | F8E5M2);
    let there = |d: DType| !d.is_float() || chip.product_floats.contains(&d);
    let pair = match (lhs, rhs) {
        (F32, F32) => return true,
        (I8, I8) | (I4, I4) => chip.int8_products,
        (F32 | Bf16, other) | (other, F32 | Bf16) => matches!(other, F32 | Bf16 | I8 | I4) || ocp(other),
        (a, b) if ocp(a) || ocp(b) => [a, b].into_iter().all(|d| ocp(d) || matches!(d, I8 | I4)),
        (a, b) => a == b && a.is_float() && a != DType::F16,
    };
    pair && there(lhs) && there(rhs) && precision == Precision::Default
}
