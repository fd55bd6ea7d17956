//! The legality table: which operation the printer may spell as it is, on which chip.
//!
//! Rules: derived from libtpu 0.0.50.1's verdicts; where a form is legal on some shapes only, the operand types tell.
//! Types are those of a legalised kernel: no f16 but in memory as u16, no scalar narrower than a word.

pub(super) mod memory;
pub(super) mod products;

use super::Rule;
use crate::chips::Chip;
use crate::ir::{BinaryOp, DType, OpKind, ReduceOp, Type, UnaryOp};

/// Whether the chip has the operation on operands of these types.
pub fn native(chip: &Chip, kind: &OpKind, operands: &[Type]) -> bool {
    let spoken = |dtype: DType| matches!(dtype, DType::F32 | DType::Bf16 | DType::I32 | DType::Bool);
    let types = operands.iter().all(|ty| spoken(ty.dtype()));
    match kind {
        // Printed where it is used, and a constant of any type can be a tile.
        OpKind::Const(_) | OpKind::Iota { .. } => true,
        OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) => true,
        OpKind::Broadcast(_) | OpKind::Reshape(_) | OpKind::Transpose(_) | OpKind::Select | OpKind::Compare(_) => types,
        OpKind::Cast(to) => types && spoken(*to),
        // In memory each type that is stored as itself.
        OpKind::Load(_) | OpKind::Store => memory::native(operands[0]),
        OpKind::Unary(op) => types && unary(*op),
        OpKind::Binary(op) => types && binary(*op),
        OpKind::Reduce { op, .. } => types && matches!(op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min),
        OpKind::Dot { dims, precision } => products::native(chip, dims, *precision, operands[0], operands[1]),
        OpKind::Bitcast(_) | OpKind::StochasticRound(_) | OpKind::Slice { .. } | OpKind::Concat { .. } => false,
        OpKind::Rotate { .. } | OpKind::Gather { .. } | OpKind::Scan { .. } | OpKind::Sort { .. } | OpKind::Extract(_) => false,
        OpKind::PrngSeed | OpKind::PrngBits(_) | OpKind::Print(_) | OpKind::Check(_) => false,
        OpKind::If | OpKind::For | OpKind::While => true,
    }
}

fn unary(op: UnaryOp) -> bool {
    use UnaryOp::{Abs, Exp, Neg, Not, Rsqrt, Sqrt, Tanh};
    matches!(op, Neg | Abs | Not | Exp | Sqrt | Rsqrt | Tanh)
}

fn binary(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Sub, Xor};
    matches!(op, Add | Sub | Mul | Div | Rem | Min | Max | And | Or | Xor)
}

/// Why the chip has not the element type at all, not even in memory.
pub(super) fn missing(chip: &Chip, dtype: DType) -> Option<Rule> {
    let there = match dtype {
        DType::I2 => false,
        DType::F4E2M1Fn | DType::F8E4M3B11Fnuz => chip.product_floats.contains(&dtype),
        _ => true,
    };
    (!there).then_some(Rule::ElementType(dtype))
}
