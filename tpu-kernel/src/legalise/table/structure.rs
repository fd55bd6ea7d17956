//! Rows of shapes, reductions, rotations, gathers, random bits and messages.

use super::memory::ragged;
use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::{DType, OpKind, ReduceOp, RotateStride, Shape, Type};

/// Whether the chip has one of these operations on operands of these types.
pub(super) fn native(chip: &Chip, kind: &OpKind, operands: &[Type]) -> bool {
    let word = |dtype: DType| matches!(dtype, DType::F32 | DType::I32 | DType::U32);
    let moving = operands.iter().all(|ty| !matches!(ty.dtype(), DType::Bool | DType::F16) && !ragged(chip, *ty));
    match kind {
        OpKind::Iota { shape, .. } | OpKind::PrngBits(shape) => shape.rank() > 1,
        OpKind::Broadcast(to) => match operands[0] {
            // Of a narrow type only constants are scalars.
            Type::Scalar(_) => !ragged(chip, Type::Tile(operands[0].dtype(), *to)),
            // A single element that is computed may lie in all lanes or in one: v4 cannot go from the one to the other.
            ty if ty.shape().elements() == 1 && !chip.sublane_gather => false,
            ty => moving && ty.shape() != *to && !ragged(chip, Type::Tile(ty.dtype(), *to)),
        },
        OpKind::Reshape(to) => {
            moving
                && operands[0].shape() != *to
                && !ragged(chip, Type::Tile(operands[0].dtype(), *to))
                && castable(chip, operands[0].dtype(), operands[0].shape(), *to)
        }
        OpKind::Transpose(perm) => moving && !perm.is_sorted(),
        OpKind::Slice { shape, strides, .. } => {
            moving && strides.iter().all(|&by| by == 1) && !ragged(chip, Type::Tile(operands[0].dtype(), *shape))
        }
        OpKind::Concat { .. } => moving && operands.len() > 1,
        OpKind::Rotate { axis, stride } => {
            let (dtype, shape) = (operands[0].dtype(), operands[0].shape());
            let turns = moving && shape.rank() > 1 && shape.dim(*axis) > 1;
            turns && stride.is_none_or(|stride| word(dtype) && staggered(chip, shape, *axis, stride))
        }
        OpKind::Gather { axis } => {
            let [from, at] = [operands[0].shape(), operands[1].shape()];
            word(operands[0].dtype()) && from == at && gathers(chip, from, *axis)
        }
        OpKind::Scan { .. } | OpKind::Sort { .. } => false,
        OpKind::Extract(_) => word(operands[0].dtype()),
        OpKind::Reduce { op, axis } => {
            let (dtype, shape) = (operands[0].dtype(), operands[0].shape());
            let reduces = match op {
                ReduceOp::Sum => word(dtype),
                ReduceOp::Max | ReduceOp::Min => matches!(dtype, DType::F32 | DType::Bf16 | DType::I32),
                _ => false,
            };
            reduces && shape.rank() > 1 && shape.dim(*axis) > 1
        }
        OpKind::Print(_) => operands.iter().all(|ty| ty.is_scalar() && word(ty.dtype())),
        OpKind::PrngSeed | OpKind::Check(_) => true,
        _ => false,
    }
}

/// The last dimension of a shape.
pub(in super::super) fn last(shape: Shape) -> usize {
    shape.dims().last().copied().unwrap_or(1)
}

/// Whether libtpu casts one shape to the other.
fn castable(chip: &Chip, dtype: DType, from: Shape, to: Shape) -> bool {
    let bare = |shape: Shape| shape.dims().iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
    let (wide, narrow) = (last(from).max(last(to)), last(from).min(last(to)));
    if wide == narrow {
        return true;
    }
    // Elements that share a word are split in whole rows of lanes only; a column is gathered from sublanes.
    if dtype.bits() < 32 || (!chip.sublane_gather && last(from) == 1) {
        return false;
    }
    if bare(from) == bare(to) {
        return true;
    }
    // Of more dimensions than rows and lanes, the rows are whole registers; parts of a register fill exactly one row of lanes.
    let parts = if last(from) < last(to) { from } else { to };
    let whole = bare(parts).len() <= 2 || parts.dim(parts.rank() - 2).is_multiple_of(SUBLANES);
    let rows = wide.is_multiple_of(LANES) && wide.is_multiple_of(narrow);
    rows && whole && (narrow.is_multiple_of(LANES) || (wide == LANES && LANES.is_multiple_of(narrow)))
}

/// Whether the chip gathers words in that shape.
pub(in super::super) fn gathers(chip: &Chip, shape: Shape, axis: usize) -> bool {
    match (shape.dims(), axis) {
        (&[_, n], 1) => n > 1 && n <= LANES,
        (&[n, _], 0) => n > 1 && n <= SUBLANES && chip.sublane_gather,
        _ => false,
    }
}

/// Whether the chip rotates each row by a step more than the one above. Of longer steps it takes some: only single ones are asked
/// of it.
fn staggered(chip: &Chip, shape: Shape, axis: usize, stride: RotateStride) -> bool {
    let [rows, n] = *shape.dims() else { return false };
    let whole = rows.is_multiple_of(SUBLANES) && n.is_multiple_of(LANES);
    chip.sublane_gather && (axis, stride.axis) == (1, 0) && whole && stride.by == 1
}
