//! What the legaliser says of a kernel.

use super::Meaning;
use std::collections::HashSet;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{Kernel, OpKind, Region, Type, Value};
use tpu_kernel::launch::{Binding, bind};
use tpu_kernel::legalise::legalise;
use tpu_kernel::mosaic;

/// What becomes of a kernel on a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Each of its operations stays what it is.
    Native,
    /// It becomes other operations.
    Lowered,
    /// It has no form, by the rule of this code.
    Refused(&'static str),
    /// It is native, and the text spells it in other operations.
    SpelledOtherwise,
}

/// What the legaliser says. With `doubt`, also whether what is native is printed as the recorded operation.
pub fn ask(meaning: &Meaning, chip: &Chip, doubt: bool) -> Answer {
    let binding = match bind(&meaning.kernel, chip, &meaning.inputs, &meaning.config) {
        Ok(binding) => binding,
        Err(error) => return Answer::Refused(error.code()),
    };
    let Some(parts) = &meaning.spelled else {
        let printed = mosaic::print(&meaning.kernel, &binding, chip);
        return printed.map_or_else(|illegal| Answer::Refused(illegal.code()), |_| Answer::Native);
    };
    match legalise(&meaning.kernel, chip) {
        Err(illegal) => Answer::Refused(illegal.code()),
        Ok(legal) if !keeps(&meaning.kernel, &legal) => Answer::Lowered,
        Ok(_) if doubt => printed(meaning, &binding, chip, parts),
        Ok(_) => Answer::Native,
    }
}

fn printed(meaning: &Meaning, binding: &Binding, chip: &Chip, parts: &[String]) -> Answer {
    match mosaic::print(&meaning.kernel, binding, chip) {
        Err(illegal) => Answer::Refused(illegal.code()),
        Ok(text) if text.lines().any(|line| parts.iter().all(|part| line.contains(part))) => Answer::Native,
        Ok(_) => Answer::SpelledOtherwise,
    }
}

/// An operation, but for the place of its operands: the types of these, those of its results, and of an access which starts
/// are known. A constant is a scalar of any type until it is used.
type Operation = (OpKind, Vec<Type>, Vec<Type>, Vec<bool>);

fn operations(kernel: &Kernel, region: &Region, known: &mut HashSet<Value>, all: &mut Vec<Operation>) {
    for op in &region.ops {
        let types = |values: &[Value]| values.iter().map(|&v| kernel.ty(v)).collect::<Vec<Type>>();
        let operands = if matches!(op.kind, OpKind::Broadcast(_)) { vec![] } else { types(&op.operands) };
        let starts = match op.kind {
            OpKind::Load(_) | OpKind::Store => op.operands.iter().map(|start| known.contains(start)).collect(),
            _ => vec![],
        };
        match op.kind {
            OpKind::Const(_) => known.extend(&op.results),
            _ => all.push((op.kind.clone(), operands, types(&op.results), starts)),
        }
        op.regions.iter().for_each(|inner| operations(kernel, inner, known, all));
    }
}

/// Whether every operation of a kernel is one of the other.
fn keeps(kernel: &Kernel, legal: &Kernel) -> bool {
    let (mut wanted, mut there) = (vec![], vec![]);
    operations(kernel, &kernel.body, &mut HashSet::new(), &mut wanted);
    operations(legal, &legal.body, &mut HashSet::new(), &mut there);
    wanted.iter().all(|op| there.contains(op))
}
