//! The matrix products that a chip has.
//!
//! Rules: a product counts wherever it stands in the body, also where a launch would not come to it: the
//! chip's compiler sees all of it. Only element types matter; what the compiler lowers is allowed.

use super::LaunchError;
use crate::chips::Chip;
use crate::ir::{Kernel, OpKind, Region};

/// The first product of element types that the chip does not multiply.
pub(super) fn check(kernel: &Kernel, chip: &Chip) -> Result<(), LaunchError> {
    check_region(kernel, &kernel.body, chip)
}

fn check_region(kernel: &Kernel, region: &Region, chip: &Chip) -> Result<(), LaunchError> {
    for op in &region.ops {
        if let (OpKind::Dot { .. }, &[lhs, rhs]) = (&op.kind, op.operands.as_slice()) {
            let (lhs, rhs) = (kernel.ty(lhs).dtype(), kernel.ty(rhs).dtype());
            if !chip.multiplies(lhs, rhs) {
                let (chip, accepted) = (chip.name.to_string(), chip.products());
                return Err(LaunchError::DotTypes { chip, lhs, rhs, accepted, loc: op.loc.clone() });
            }
        }
        op.regions.iter().try_for_each(|region| check_region(kernel, region, chip))?;
    }
    Ok(())
}
