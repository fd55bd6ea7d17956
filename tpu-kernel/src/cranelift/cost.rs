//! What an elementwise operation takes, in simple instructions, of which four lanes are one.

use crate::ir::{BinaryOp, DType, UnaryOp};

/// More than reading a result from memory, whatever else is computed.
pub(super) const DEAR: u32 = 1000;
/// Rounding f32 to a narrower format.
const ROUND: u32 = 12;
/// Wrapping 32 bits to a narrower integer.
const WRAP: u32 = 2;

/// What it takes to bring a result computed in 32 bits into its type.
fn settle(dtype: DType) -> u32 {
    match dtype {
        DType::F32 | DType::I32 | DType::U32 | DType::Bool => 0,
        _ if dtype.is_float() => ROUND,
        _ => WRAP,
    }
}

/// Taking the bits of a float apart, or putting them together.
pub(super) fn format_cost(dtype: DType) -> u32 {
    match dtype {
        DType::Bf16 => 1,
        _ if dtype.is_float() && dtype != DType::F32 => 8,
        _ => 0,
    }
}

/// The cost of a unary operation.
pub(super) fn unary_cost(op: UnaryOp, dtype: DType) -> u32 {
    match op {
        UnaryOp::Not => 1,
        UnaryOp::Neg | UnaryOp::Abs if dtype.is_float() => 1,
        UnaryOp::Neg | UnaryOp::Abs => 1 + settle(dtype),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Trunc | UnaryOp::IsNan => 1,
        UnaryOp::IsFinite => 2,
        UnaryOp::Sign | UnaryOp::Round => 6,
        _ => DEAR,
    }
}

/// The cost of a binary operation.
pub(super) fn binary_cost(op: BinaryOp, dtype: DType) -> u32 {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => 1 + settle(dtype),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => 1,
        BinaryOp::Min | BinaryOp::Max if dtype.is_float() => 4,
        BinaryOp::Min | BinaryOp::Max => 1,
        BinaryOp::Copysign => 4,
        _ => DEAR,
    }
}

/// The cost of a conversion.
pub(super) fn cast_cost(from: DType, to: DType) -> u32 {
    match (from.is_float(), to.is_float()) {
        _ if from == to || to == DType::Bool || from == DType::Bool => 1,
        (true, true) => settle(to),
        (true, false) => 10 + settle(to),
        (false, true) => 1 + settle(to),
        (false, false) => settle(to),
    }
}
