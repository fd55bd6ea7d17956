//! How tiles lie in registers: how many they take, and what is known to repeat.
//!
//! Rules: a register holds 8 sublanes of 128 lanes of 32 bits, or twice as many rows of 16 bits, and so on; masks count as 32
//! bits. A dimension along which all elements are equal takes one register, however long.

use crate::chips::{LANES, SUBLANES};
use crate::ir::{DType, MAX_RANK, Shape, Type};

/// What is known of how a value lies in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Dimensions along which all elements are equal.
    pub(super) constant: [bool; MAX_RANK],
    /// Whether a column is already in all lanes of its registers.
    pub(super) spread: bool,
}

impl Layout {
    /// The layout of an elementwise result.
    pub(super) fn of(operands: &[Layout]) -> Layout {
        let mut layout = Layout { constant: [true; MAX_RANK], spread: true };
        for operand in operands {
            layout.constant.iter_mut().zip(operand.constant).for_each(|(all, one)| *all &= one);
            layout.spread &= operand.spread;
        }
        layout
    }
}

/// Bits of an element in a register.
pub(super) fn bits(dtype: DType) -> usize {
    if dtype == DType::Bool { 32 } else { dtype.bits() as usize }
}

/// The registers of a tile of elements of that many bits, each counted once where `layout` says that they repeat.
pub(super) fn registers(shape: Shape, bits: usize, layout: &Layout) -> f64 {
    let rank = shape.rank();
    let mut count = 1.0;
    for (axis, &size) in shape.dims().iter().enumerate() {
        if layout.constant[axis] {
            continue;
        }
        count *= match rank - axis {
            1 => size.div_ceil(LANES),
            2 => size.div_ceil(SUBLANES * 32 / bits),
            _ => size,
        } as f64;
    }
    count
}

/// The registers of a value, none repeated; of a scalar, none.
pub(super) fn all_registers(ty: Type) -> f64 {
    match ty {
        Type::Scalar(_) => 0.0,
        Type::Array(..) | Type::Semaphore(..) => 0.0,
        Type::Tile(dtype, shape) | Type::Ref(_, dtype, shape) => registers(shape, bits(dtype), &Layout::default()),
    }
}
