//! The matrix products that a chip has.
//!
//! Rules: what is refused here is what the legaliser refuses for its element types, and nothing else: a product that the
//! matrix units do not take is lowered to those that they do. A product counts wherever it stands in the body, also where a
//! launch would not come to it: the chip's compiler sees all of it.

use super::LaunchError;
use crate::chips::Chip;
use crate::ir::{DType, Kernel, OpKind, Region};
use crate::legalise;

/// The first product of element types that the chip does not multiply.
pub(super) fn check(kernel: &Kernel, chip: &Chip) -> Result<(), LaunchError> {
    check_region(kernel, &kernel.body, chip)
}

fn check_region(kernel: &Kernel, region: &Region, chip: &Chip) -> Result<(), LaunchError> {
    for op in &region.ops {
        if let (OpKind::Dot { .. }, &[lhs, rhs]) = (&op.kind, op.operands.as_slice()) {
            let (lhs, rhs) = (kernel.ty(lhs).dtype(), kernel.ty(rhs).dtype());
            if let Some(missing) = [lhs, rhs].into_iter().find(|&dtype| !legalise::has(chip, dtype)) {
                let (chip, accepted) = (chip.name.to_string(), accepted(chip));
                return Err(LaunchError::DotTypes { chip, lhs, rhs, missing, accepted, loc: op.loc.clone() });
            }
        }
        op.regions.iter().try_for_each(|region| check_region(kernel, region, chip))?;
    }
    Ok(())
}

/// The products that a chip has, in words: those of the language, of the element types that it has.
fn accepted(chip: &Chip) -> String {
    let names = |of: &dyn Fn(DType) -> bool| {
        let names: Vec<&str> = DType::ALL.into_iter().filter(|&d| of(d) && legalise::has(chip, d)).map(DType::name).collect();
        names.join(", ")
    };
    let narrow = |bits: u32| move |d: DType| d.is_integer() && d.bits() <= bits;
    format!(
        "{} with each other and with {}; {} with each other; and i32 with i32",
        names(&DType::is_float),
        names(&narrow(8)),
        names(&narrow(16))
    )
}
