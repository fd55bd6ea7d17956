//! The legality table: which operation the printer may spell as it is, on which chip.
//!
//! Rules: derived from libtpu 0.0.50.1's verdicts; where a form is legal on some shapes only, the operand types tell.
//! Types are those of a legalised kernel: no f16 but in memory as u16, no scalar narrower than a word.

mod casts;
mod elementwise;
pub(super) mod memory;
pub(super) mod products;
mod structure;

pub(super) use structure::{gathers, last};

use super::Rule;
use crate::chips::Chip;
use crate::ir::{BinaryOp, DType, OpKind, Type};

/// Whether the chip has the operation on operands of these types.
pub fn native(chip: &Chip, kind: &OpKind, operands: &[Type]) -> bool {
    match kind {
        // Printed where it is used, and a constant of any type can be a tile.
        OpKind::Const(_) => true,
        OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) | OpKind::DeviceId => true,
        OpKind::Unary(op) => elementwise::unary(chip, *op, operands[0]),
        OpKind::Binary(op) => elementwise::binary(chip, *op, operands[0]),
        OpKind::Compare(op) => elementwise::compare(*op, operands[0]),
        OpKind::Select => elementwise::select(operands[1]),
        OpKind::Cast(to) => casts::cast(chip, operands[0], *to),
        OpKind::Bitcast(to) => casts::bitcast(chip, operands[0], *to),
        OpKind::StochasticRound(_) => false,
        // In memory each type that is stored as itself.
        OpKind::Load(_) | OpKind::Store => memory::native(operands[0]),
        OpKind::Dot { dims, precision } => products::native(chip, dims, *precision, operands[0], operands[1]),
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
        | OpKind::Check(_)
        | OpKind::Defined(_) => structure::native(chip, kind, operands),
        // Seen on the tile that is loaded or stored.
        OpKind::ViewReshaped(_) | OpKind::ViewTransposed(_) | OpKind::ViewBitcast(_) => false,
        OpKind::LoadMasked(_) | OpKind::StoreMasked => false,
        OpKind::LoadScalar | OpKind::StoreScalar | OpKind::ViewSqueezed(_) | OpKind::DmaWait | OpKind::RemoteStart { .. } => {
            memory::native(operands[0])
        }
        OpKind::View { strides, .. } => strides.iter().all(|&s| s == 1) && memory::native(operands[0]),
        OpKind::DmaStart { add, .. } => !add && memory::native(operands[0]),
        OpKind::SemaphoreAt | OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => true,
        OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => true,
    }
}

/// Whether an operation that the chip has leaves some operands undefined there which the language defines: a lowering emits
/// it after it has excluded them.
pub(super) fn partial(kind: &OpKind, operands: &[Type]) -> bool {
    let Some(dtype) = operands.first().map(|ty| ty.dtype()) else { return false };
    match kind {
        OpKind::Binary(BinaryOp::Div | BinaryOp::Rem) => dtype.is_integer(),
        OpKind::Binary(BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical) => true,
        // To a format without infinity it is what lies beyond the largest number.
        OpKind::Cast(to) if dtype.is_float() => to.is_integer() || super::elementwise::cut(*to),
        // A word cut to fewer bits can make an operation that the chip lacks.
        OpKind::Cast(to) => dtype.bits() == 32 && to.is_integer() && to.bits() < 32,
        // What it chooses between can make it an operation that the chip lacks.
        OpKind::Select => true,
        // Amounts and indices that are negative, or beyond the extent.
        OpKind::Rotate { .. } | OpKind::Gather { .. } => true,
        _ => false,
    }
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
