//! Arithmetic, functions, comparison, selection and conversion, element by element.

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule};
use crate::ir::{BinaryOp, CompareOp, DType, UnaryOp, Value};

pub(super) fn unary(lowering: &mut Lowering<'_>, _: UnaryOp, x: Typed) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(x.ty.dtype())))
}

pub(super) fn binary(lowering: &mut Lowering<'_>, _: BinaryOp, a: Typed, _: Typed) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(a.ty.dtype())))
}

pub(super) fn compare(lowering: &mut Lowering<'_>, _: CompareOp, a: Typed, _: Typed) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(a.ty.dtype())))
}

pub(super) fn select(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(operands[1].ty.dtype())))
}

pub(super) fn cast(lowering: &mut Lowering<'_>, x: Typed, _: DType) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(x.ty.dtype())))
}

pub(super) fn bitcast(lowering: &mut Lowering<'_>, x: Typed, _: DType) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(x.ty.dtype())))
}

pub(super) fn stochastic_round(lowering: &mut Lowering<'_>, _: &[Typed], to: DType) -> Result<Value, Illegal> {
    Err(lowering.refuse(Rule::NoLowering(to)))
}
