//! Messages of a running kernel.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, Rule};
use crate::ir::{DType, OpKind, UnaryOp, Value};

/// The log takes words: of a bool, 0 or 1.
pub(super) fn print(lowering: &mut Lowering<'_>, text: &str, operands: &[Typed]) -> Result<(), Illegal> {
    let mut words: Vec<Value> = vec![];
    for operand in operands {
        if operand.ty.is_tile() {
            return Err(lowering.refuse(Rule::PrintedTile(operand.ty)));
        }
        words.push(match lowering.ty(operand.value).dtype() {
            DType::Bool => lowering.cast(operand.value, DType::I32)?,
            _ => operand.value,
        });
    }
    lowering.apply_all(OpKind::Print(text.to_string()), &words).map(|_| ())
}

/// A check of the contrary, in words.
pub(super) fn defined(lowering: &mut Lowering<'_>, what: &str, poison: Typed) -> Result<(), Illegal> {
    let holds = lowering.apply(OpKind::Unary(UnaryOp::Not), &[poison.value])?;
    let message = format!("uninitialised memory or padding reaches {what}");
    lowering.apply_all(OpKind::Check(message), &[holds]).map(|_| ())
}
