//! Matrix products.

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule};
use crate::ir::{DotDims, Precision, Type, Value};

pub(super) fn dot(lowering: &mut Lowering<'_>, operands: &[Typed], _: &DotDims, _: Precision, _: Type) -> Result<Value, Illegal> {
    let [lhs, rhs] = [0, 1].map(|at| operands[at].ty.dtype());
    Err(lowering.refuse(Rule::Product { lhs, rhs, products: lowering.chip.products() }))
}
