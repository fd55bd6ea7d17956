//! Shapes, reductions, scans, sorts, gathers, random bits and messages.

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule};
use crate::ir::{DType, OpKind, Type, Value};

pub(super) fn lower(lowering: &mut Lowering<'_>, _: &OpKind, operands: &[Typed], _: &[Type]) -> Result<Vec<Value>, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(operands.first().map_or(DType::I32, |o| o.ty.dtype()))))
}
