//! Conversions that Mosaic has.
//!
//! Rules: what is exact or rounds once in the way of the language. Between 8-bit floats, and from words to floats narrower
//! than f32, the way is through f32.

use crate::chips::Chip;
use crate::ir::{DType, Type};
use crate::legalise::word;

/// Whether the chip has the conversion to another element type.
pub(super) fn cast(chip: &Chip, from: Type, to: DType) -> bool {
    let there = |dtype: DType| super::missing(chip, dtype).is_none();
    let (source, tile) = (from.dtype(), from.is_tile());
    let narrow = matches!(to, DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::F4E2M1Fn);
    there(source)
        && there(to)
        && match source {
            // Narrow scalars are there only on their way to and from scalar memory.
            DType::F32 if !tile => to == DType::I32 || to == DType::Bf16 || narrow,
            DType::I32 if !tile => matches!(to, DType::F32 | DType::U32 | DType::I16 | DType::I8 | DType::I4),
            DType::U32 if !tile => matches!(to, DType::F32 | DType::I32 | DType::U16 | DType::U8 | DType::U4),
            DType::Bool => matches!(to, DType::I32 | DType::U32),
            _ if !tile => to == word(source),
            DType::F32 => matches!(to, DType::Bf16 | DType::I32) || narrow,
            DType::Bf16 => to == DType::F32 || narrow,
            DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::F4E2M1Fn => matches!(to, DType::F32 | DType::Bf16),
            DType::I32 | DType::U32 => to.is_integer() || to == DType::F32,
            DType::I16 | DType::U16 => to.is_integer() || to == DType::F32,
            DType::I8 | DType::I4 | DType::U8 | DType::U4 => to.is_integer() || matches!(to, DType::F32 | DType::Bf16),
            DType::F16 | DType::I2 => false,
        }
}

/// Whether the chip reads the bits of a value as another element type: as it is, or by folding rows into words.
pub(super) fn bitcast(chip: &Chip, from: Type, to: DType) -> bool {
    let there = |dtype: DType| super::missing(chip, dtype).is_none() && !matches!(dtype, DType::F16 | DType::Bool);
    let same_width = from.dtype().bits() == to.bits();
    there(from.dtype()) && there(to) && (same_width || from.is_tile())
}
