//! The program of a kernel whose sizes are bounded: one for all of them, with the sizes as scalars of the call.

use crate::chips::Chip;
use crate::ir::Kernel;
use crate::launch::{Binding, largest};
use crate::legalise::{Illegal, Rule};
use crate::transform::by_scalars;
use std::borrow::Cow;

/// The kernel that is printed for a binding, and the binding of it: those of the largest arrays, where sizes are bounded.
pub(super) fn program<'k>(
    kernel: &'k Kernel,
    binding: &'k Binding,
    chip: &Chip,
) -> Result<(Cow<'k, Kernel>, Cow<'k, Binding>), Illegal> {
    if kernel.bounds.is_empty() {
        return Ok((Cow::Borrowed(kernel), Cow::Borrowed(binding)));
    }
    let refuse = |at: &str, loc: &crate::ir::Loc, reason| Illegal {
        chip: chip.name,
        at: at.to_string(),
        rule: Rule::Binding(reason),
        loc: loc.clone(),
    };
    let bounded = by_scalars(kernel).map_err(|read| {
        let param = &kernel.params[read.operand];
        refuse(&param.name, &param.loc, "its index map reads a size that has bounds, and index maps read no scalars there")
    })?;
    let mut largest = largest(kernel, binding)
        .map_err(|_| refuse(&kernel.name, &kernel.loc, "its arrays are too large where sizes are as large as their bounds"))?;
    largest.arrays.resize(bounded.params.len(), vec![]);
    Ok((bounded, Cow::Owned(largest)))
}
