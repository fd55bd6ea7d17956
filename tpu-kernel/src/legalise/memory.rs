//! Loads and stores.

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule, stored};
use crate::ir::{CompareOp, DType, Literal, OpKind, Shape, Value};

pub(super) fn load(lowering: &mut Lowering<'_>, operands: &[Typed], shape: Shape) -> Result<Value, Illegal> {
    let values: Vec<Value> = operands.iter().map(|o| o.value).collect();
    let loaded = lowering.apply(OpKind::Load(shape), &values)?;
    match operands[0].ty.dtype() {
        DType::Bool => {
            let zero = lowering.constant(Literal::from_int(DType::I8, 0), Some(shape));
            lowering.apply(OpKind::Compare(CompareOp::Ne), &[loaded, zero])
        }
        dtype => Err(lowering.refuse(Rule::NoLowering(dtype))),
    }
}

pub(super) fn store(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<(), Illegal> {
    let mut values: Vec<Value> = operands.iter().map(|o| o.value).collect();
    match operands[0].ty.dtype() {
        dtype @ DType::Bool => values[1] = lowering.cast(values[1], stored(dtype))?,
        dtype => return Err(lowering.refuse(Rule::NoLowering(dtype))),
    }
    lowering.apply_all(OpKind::Store, &values).map(|_| ())
}
