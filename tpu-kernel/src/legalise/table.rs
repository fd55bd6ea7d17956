//! The legality table: which operation the printer may spell as it is, on which chip.
//!
//! Rules: derived from libtpu 0.0.50.1's verdicts; where a form is legal on some shapes only, the operand types tell.
//! Types are those of a legalised kernel: no f16 but in memory as u16, no scalar narrower than a word.

mod structure;

pub(super) use structure::{gathers, last, vector};

use super::{Rule, stored};
use crate::chips::Chip;
use crate::ir::{BinaryOp, DType, OpKind, Type, UnaryOp};

/// Whether the chip has the operation on operands of these types.
pub fn native(chip: &Chip, kind: &OpKind, operands: &[Type]) -> bool {
    let spoken = |dtype: DType| matches!(dtype, DType::F32 | DType::Bf16 | DType::I32 | DType::Bool);
    let types = operands.iter().all(|ty| spoken(ty.dtype()));
    match kind {
        // Printed where it is used, and a constant of any type can be a tile.
        OpKind::Const(_) => true,
        OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) => true,
        OpKind::Select | OpKind::Compare(_) => types,
        OpKind::Cast(to) => types && spoken(*to),
        // In memory each type that is stored as itself.
        OpKind::Load(_) | OpKind::Store => operands[0].dtype() == stored(operands[0].dtype()),
        OpKind::Unary(op) => types && unary(*op),
        OpKind::Binary(op) => types && binary(*op),
        OpKind::Dot { dims, .. } => {
            let [a, b] = [operands[0], operands[1]];
            types && a.dtype() == b.dtype() && dims.transposed(a.shape(), b.shape()).is_some()
        }
        OpKind::Bitcast(_) | OpKind::StochasticRound(_) => false,
        OpKind::Iota { .. }
        | OpKind::Broadcast(_)
        | OpKind::Reshape(_)
        | OpKind::Transpose(_)
        | OpKind::Slice { .. }
        | OpKind::Concat { .. }
        | OpKind::Rotate { .. }
        | OpKind::Gather { .. }
        | OpKind::Scan { .. }
        | OpKind::Sort { .. }
        | OpKind::Extract(_)
        | OpKind::Reduce { .. }
        | OpKind::PrngSeed
        | OpKind::PrngBits(_)
        | OpKind::Print(_)
        | OpKind::Check(_) => structure::native(chip, kind, operands),
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
