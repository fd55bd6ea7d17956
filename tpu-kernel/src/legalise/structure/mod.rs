//! Shapes, reductions, scans, sorts, gathers, random bits and messages.
//!
//! Rules: what only moves elements is exact on every type. Masks are moved as i32 zeros and ones, and what a chip does on
//! words only is done on words. A tile of rank 1 that has no form of its own is one row of rank 2.

mod gather;
mod make;
mod messages;
mod order;
mod reduce;
mod rotate;
mod scan;
mod shapes;
mod sort;

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule};
use crate::ir::{DType, OpKind, Type, Value};

pub(super) use make::row;

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    kind: &OpKind,
    operands: &[Typed],
    results: &[Type],
) -> Result<Vec<Value>, Illegal> {
    let one = |value: Value| vec![value];
    // A tile of a type that the chip has not is represented by one that it has: it moves as that.
    if moves(kind) && operands.iter().any(|o| o.ty.is_tile() && o.ty != lowering.ty(o.value)) {
        let values: Vec<Value> = operands.iter().map(|o| o.value).collect();
        return lowering.apply_all(kind.clone(), &values);
    }
    match kind {
        OpKind::Iota { shape, .. } => shapes::iota(lowering, *shape).map(one),
        OpKind::Broadcast(shape) => shapes::broadcast(lowering, operands[0], *shape).map(one),
        _ if moves(kind) && operands[0].ty.dtype() == DType::Bool => shapes::masks(lowering, kind, operands).map(one),
        OpKind::Reshape(shape) => shapes::reshape(lowering, operands[0].value, *shape).map(one),
        OpKind::Transpose(_) => Ok(one(operands[0].value)),
        OpKind::Slice { starts, shape, strides } => shapes::slice(lowering, operands[0].value, starts, *shape, strides).map(one),
        OpKind::Concat { .. } => shapes::concat(lowering, operands).map(one),
        OpKind::Rotate { axis, stride } => rotate::rotate(lowering, operands[0].value, operands[1].value, *axis, *stride).map(one),
        OpKind::Gather { axis } => gather::gather(lowering, operands[0].value, operands[1].value, *axis).map(one),
        OpKind::Scan { op, axis, reverse } => scan::scan(lowering, *op, operands[0], *axis, *reverse).map(one),
        OpKind::Sort { axis, descending } => sort::sort(lowering, operands, *axis, *descending),
        OpKind::Extract(index) => shapes::extract(lowering, operands[0].value, index).map(one),
        OpKind::Reduce { op, axis } => reduce::reduce(lowering, *op, operands[0], *axis).map(one),
        OpKind::PrngBits(shape) => shapes::random_bits(lowering, *shape).map(one),
        OpKind::Print(text) => messages::print(lowering, text, operands).map(|()| vec![]),
        OpKind::Defined(what) => messages::defined(lowering, what, operands[0]).map(|()| vec![]),
        _ => Err(lowering.refuse(Rule::NoLowering(results.first().map_or(DType::I32, |ty| ty.dtype())))),
    }
}

/// Whether the operation moves elements and changes none.
fn moves(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Broadcast(_)
            | OpKind::Reshape(_)
            | OpKind::Transpose(_)
            | OpKind::Slice { .. }
            | OpKind::Concat { .. }
            | OpKind::Rotate { .. }
            | OpKind::Gather { .. }
            | OpKind::Extract(_)
    )
}
