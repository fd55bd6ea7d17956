//! From a kernel to the same kernel in operations that a chip has.
//!
//! Rules: IR → IR, for one chip and any array sizes. In the result every operation is *native*: [`native`] holds of it,
//! the Mosaic printer spells it as it is, and libtpu takes it. What is not native is lowered to operations that are
//! legalised in turn, and what has no form on the chip is refused with its rule. The interpreter runs the result, so
//! that the numbers of a lowering can be checked, not only that it compiles.
//!
//! Values change their representation: a float scalar narrower than f32 is an f32 that holds one of its numbers, an
//! integer scalar a word, an f16 tile an f32 tile. Arrays of bool are stored as i8 zeros and ones, of f16 as u16 bits.

mod control;
mod count;
pub(crate) mod divisible;
mod elementwise;
pub(crate) mod illegal;
mod lowering;
pub(crate) mod memory;
mod product;
mod repeats;
mod structure;
mod table;

pub use illegal::{Illegal, Rule};
pub use table::native;

use crate::chips::Chip;
use crate::ir::{DType, Kernel, Literal, Region, Type};
use crate::passes::verify;

/// The kernel in operations that the chip has.
///
/// # Errors
/// An operation or an operand has no form on the chip, or the kernel does not verify.
pub fn legalise(kernel: &Kernel, chip: &Chip) -> Result<Kernel, Illegal> {
    if let Err(faults) = verify(kernel) {
        let fault = faults.into_iter().next();
        let (at, reason, loc) = match fault {
            Some(fault) => (fault.at, fault.rule.to_string(), fault.loc),
            None => (kernel.name.clone(), "the verifier refuses it".to_string(), kernel.loc.clone()),
        };
        return Err(Illegal { chip: chip.name, at, rule: Rule::Unverified(reason), loc });
    }
    lowering::lower(kernel, chip)
}

/// Whether every operation of a kernel is native on the chip, as of one that is legalised.
///
/// # Errors
/// The first that is not.
pub fn check(kernel: &Kernel, chip: &Chip) -> Result<(), Illegal> {
    let windows = kernel.params.iter().filter_map(|param| param.window());
    windows.map(|window| &window.map).chain([&kernel.body]).try_for_each(|region| check_region(kernel, region, chip))
}

fn check_region(kernel: &Kernel, region: &Region, chip: &Chip) -> Result<(), Illegal> {
    for op in &region.ops {
        let types: Vec<Type> = op.operands.iter().map(|&v| kernel.ty(v)).collect();
        if !native(chip, &op.kind, &types) {
            let dtype = types.first().map_or(DType::I32, |ty| ty.dtype());
            let at = op.kind.mnemonic().to_string();
            return Err(Illegal { chip: chip.name, at, rule: Rule::NoLowering(dtype), loc: op.loc.clone() });
        }
        op.regions.iter().try_for_each(|region| check_region(kernel, region, chip))?;
    }
    Ok(())
}

/// Whether the chip has the element type at all: what has none is refused (M001), and every product of two that it has is
/// native or lowered.
pub fn has(chip: &Chip, dtype: DType) -> bool {
    table::missing(chip, dtype).is_none()
}

/// The element type of an array in the memory of the chip. The bytes of its elements are the same.
pub const fn stored(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::I8,
        DType::F16 => DType::U16,
        other => other,
    }
}

/// The type under which a value of a kernel is computed on a chip, its number being the same.
pub const fn represented(ty: Type) -> Type {
    match ty {
        Type::Scalar(dtype) => Type::Scalar(word(dtype)),
        Type::Tile(DType::F16, shape) => Type::Tile(DType::F32, shape),
        Type::Ref(space, dtype, shape) => Type::Ref(space, stored(dtype), shape),
        Type::Array(space, dtype, rank) => Type::Array(space, stored(dtype), rank),
        Type::Tile(..) | Type::Semaphore(..) => ty,
    }
}

/// The type of 32 bits that holds the numbers of a type; of bool, itself.
pub const fn word(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::Bool,
        _ if dtype.is_float() => DType::F32,
        _ if dtype.is_unsigned() => DType::U32,
        _ => DType::I32,
    }
}

/// The literal of another type that is the same number: of a narrow type and the word that holds it.
fn number_as(literal: Literal, dtype: DType) -> Literal {
    match (literal.as_f32(), literal.as_int()) {
        _ if literal.dtype() == dtype => literal,
        (Some(number), _) => Literal::from_f32(dtype, number),
        (_, Some(number)) => Literal::from_int(dtype, number),
        _ => literal,
    }
}
