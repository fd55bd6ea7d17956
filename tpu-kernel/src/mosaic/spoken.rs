//! Which operations and element types have a spelling in Mosaic text.
//!
//! Rules: an operation that is not listed is refused before anything is printed for it, so that the printers of
//! elementwise operations need no refusals of their own.

use super::{Unsupported, refuse};
use crate::ir::{BinaryOp, DType, Kernel, Op, OpKind, ReduceOp, Type, UnaryOp};

/// Whether the text can say this operation.
pub(super) fn check(kernel: &Kernel, op: &Op) -> Result<(), Unsupported> {
    let known = match &op.kind {
        OpKind::Unary(op) => unary(*op),
        OpKind::Binary(op) => binary(*op),
        OpKind::Reduce { op, .. } => matches!(op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min),
        OpKind::Dot { dims, .. } => {
            let [a, b] = [0, 1].map(|at| kernel.ty(op.operands[at]));
            a.dtype() == b.dtype() && dims.transposed(a.shape(), b.shape()).is_some()
        }
        OpKind::Bitcast(_) | OpKind::StochasticRound(_) | OpKind::Slice { .. } | OpKind::Concat { .. } => false,
        OpKind::Rotate { .. } | OpKind::Gather { .. } | OpKind::Scan { .. } | OpKind::Sort { .. } | OpKind::Extract(_) => false,
        OpKind::PrngSeed | OpKind::PrngBits(_) | OpKind::Print(_) | OpKind::Check(_) => false,
        OpKind::Const(_) | OpKind::Iota { .. } | OpKind::Compare(_) | OpKind::Select | OpKind::Cast(_) => true,
        OpKind::Broadcast(_) | OpKind::Reshape(_) | OpKind::Transpose(_) | OpKind::Load(_) | OpKind::Store => true,
        OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) | OpKind::If | OpKind::For | OpKind::While => true,
    };
    if !known {
        return Err(refuse(op, "it has no spelling in Mosaic text yet"));
    }
    op.operands.iter().chain(&op.results).try_for_each(|&value| {
        element(kernel.ty(value)).map_err(|dtype| refuse(op, format!("{dtype} has no spelling in Mosaic text yet")))
    })
}

/// The element type where it has no spelling.
pub(super) fn element(ty: Type) -> Result<(), DType> {
    match ty.dtype() {
        DType::F32 | DType::Bf16 | DType::I32 | DType::Bool => Ok(()),
        other => Err(other),
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
