//! What it takes to compute a tile inside a loop, in simple instructions for a vector.

use crate::ir::{BinaryOp, DType, Kernel, Op, OpKind, UnaryOp};

/// More than reading a result from memory, whatever else is computed.
const DEAR: u32 = 1000;
/// Rounding f32 to a narrower format.
const ROUND: u32 = 12;
/// Wrapping 32 bits to a narrower integer.
const WRAP: u32 = 2;

/// The cost of each tile inside a loop, by value.
pub(super) fn costs<'k>(kernel: &Kernel, ops: impl Iterator<Item = &'k Op>) -> Vec<u32> {
    let mut costs = vec![0u32; kernel.types.len()];
    for (v, ty) in kernel.types.iter().enumerate() {
        costs[v] = u32::from(ty.is_tile());
    }
    for op in ops {
        let Some(&result) = op.results.first() else { continue };
        if !kernel.ty(result).is_tile() {
            continue;
        }
        let dtype = kernel.ty(*op.operands.first().unwrap_or(&result)).dtype();
        let own = match &op.kind {
            OpKind::Unary(unary) => unary_cost(*unary, dtype),
            OpKind::Binary(binary) => binary_cost(*binary, dtype),
            OpKind::Compare(_) | OpKind::Select => 1,
            OpKind::Cast(to) => cast_cost(dtype, *to),
            OpKind::Bitcast(to) => 1 + format_cost(dtype) + format_cost(*to),
            OpKind::StochasticRound(_) => DEAR,
            OpKind::Broadcast(_) | OpKind::Transpose(_) | OpKind::Reshape(_) => 0,
            OpKind::Iota { .. } | OpKind::Load(_) | OpKind::Reduce { .. } | OpKind::Dot { .. } => continue,
            OpKind::Slice { .. } | OpKind::Concat { .. } => continue,
            OpKind::Rotate { .. } | OpKind::Gather { .. } | OpKind::Scan { .. } | OpKind::Sort { .. } => continue,
            OpKind::Extract(_)
            | OpKind::PrngSeed
            | OpKind::PrngBits(_)
            | OpKind::Print(_)
            | OpKind::Check(_)
            | OpKind::Defined(_) => continue,
            OpKind::If | OpKind::For | OpKind::While => continue,
            OpKind::LoadMasked(_) | OpKind::StoreMasked | OpKind::LoadScalar | OpKind::StoreScalar | OpKind::SemaphoreAt => {
                continue;
            }
            OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_) => {
                continue;
            }
            OpKind::RemoteStart { .. }
            | OpKind::DmaStart { .. }
            | OpKind::DmaWait
            | OpKind::SemaphoreSignal
            | OpKind::CoreSignal
            | OpKind::SemaphoreWait
            | OpKind::SemaphoreRead => {
                continue;
            }
            OpKind::Scoped => continue,

            OpKind::Const(_)
            | OpKind::Store
            | OpKind::ProgramId(_)
            | OpKind::NumPrograms(_)
            | OpKind::Size(_)
            | OpKind::DeviceId => continue,
        };
        let cost = op.operands.iter().fold(own, |sum, v| sum.saturating_add(costs[v.0 as usize]));
        costs[result.0 as usize] = cost.min(DEAR);
    }
    costs
}

/// What it takes to bring a result computed in 32 bits into its type.
fn settle(dtype: DType) -> u32 {
    match dtype {
        DType::F32 | DType::I32 | DType::U32 | DType::Bool => 0,
        _ if dtype.is_float() => ROUND,
        _ => WRAP,
    }
}

/// Taking the bits of a float apart, or putting them together.
fn format_cost(dtype: DType) -> u32 {
    match dtype {
        DType::Bf16 => 1,
        _ if dtype.is_float() && dtype != DType::F32 => 8,
        _ => 0,
    }
}

/// The cost of a unary operation.
fn unary_cost(op: UnaryOp, dtype: DType) -> u32 {
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
fn binary_cost(op: BinaryOp, dtype: DType) -> u32 {
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
fn cast_cost(from: DType, to: DType) -> u32 {
    match (from.is_float(), to.is_float()) {
        _ if from == to || to == DType::Bool || from == DType::Bool => 1,
        (true, true) => settle(to),
        (true, false) => 10 + settle(to),
        (false, true) => 1 + settle(to),
        (false, false) => settle(to),
    }
}
