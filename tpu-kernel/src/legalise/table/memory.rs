//! What libtpu loads, stores and holds in one dimension.
//!
//! Rules: every type that is stored as itself, at any static start; a dynamic start must be provably a multiple, which
//! is a matter of values and is decided where the access is lowered. Vectors of one dimension of a type narrower than
//! they can be laid out are read and widened, but nothing else: on every chip 4 bits, on v4 also 8, unless they are whole
//! registers.

use crate::chips::{Chip, LANES};
use crate::ir::{DType, OpKind, Type};
use crate::legalise::{Rule, stored};

/// Elements of a vector of one dimension that fill a row of packed registers.
fn whole(dtype: DType) -> usize {
    LANES * 32 / dtype.bits() as usize
}

/// Whether a part of such a row of that type cannot be stored.
pub(in crate::legalise) fn whole_only(chip: &Chip, dtype: DType) -> bool {
    dtype.is_number() && (dtype.bits() == 4 || (dtype.bits() == 8 && !chip.byte_vectors))
}

/// Whether the chip loads from or stores to memory of that type.
pub(in crate::legalise) fn native(memory: Type) -> bool {
    memory.dtype() == stored(memory.dtype())
}

/// Whether the chip cannot lay out a tile of that type.
pub(in crate::legalise) fn ragged(chip: &Chip, ty: Type) -> bool {
    let Type::Tile(dtype, shape) = ty else { return false };
    whole_only(chip, dtype) && shape.rank() == 1 && !shape.dim(0).is_multiple_of(whole(dtype))
}

/// Why the chip has not an operation on such a vector: only loads give it, only products and conversions to wider types take it.
pub(in crate::legalise) fn vector(chip: &Chip, kind: &OpKind, operands: &[Type], results: &[Type]) -> Option<Rule> {
    let widens = |to: &Type| to.dtype().bits() >= 16 || !to.dtype().is_number();
    let allowed = match kind {
        // A product widens them.
        OpKind::Load(_) | OpKind::Dot { .. } => true,
        OpKind::Cast(_) => results.iter().all(widens),
        _ => false,
    };
    let ty = operands.iter().chain(results).find(|&&ty| ragged(chip, ty)).filter(|_| !allowed)?;
    Some(Rule::Vector { dtype: ty.dtype(), length: ty.shape().dim(0), whole: whole(ty.dtype()) })
}
