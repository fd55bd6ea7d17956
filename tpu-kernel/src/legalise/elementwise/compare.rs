//! Comparison and selection.
//!
//! Rules: the chip compares floats by ordered predicates, so that `ne` is not `eq`. Masks are combined, never compared or
//! chosen.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, table};
use super::words::Words;
use crate::ir::{BinaryOp, CompareOp, DType, OpKind, UnaryOp, Value};

/// `op a, b`.
pub(in crate::legalise) fn compare(lowering: &mut Lowering<'_>, op: CompareOp, a: Typed, b: Typed) -> Result<Value, Illegal> {
    let dtype = a.ty.dtype();
    if dtype == DType::Bool {
        let differ = lowering.apply(OpKind::Binary(BinaryOp::Xor), &[a.value, b.value])?;
        return if op == CompareOp::Ne { Ok(differ) } else { lowering.apply(OpKind::Unary(UnaryOp::Not), &[differ]) };
    }
    let native = |op| a.ty == lowering.ty(a.value) && table::native(lowering.chip, &OpKind::Compare(op), &[a.ty, b.ty]);
    if dtype.is_float() && op == CompareOp::Ne {
        let [x, y] = if native(CompareOp::Eq) { [a.value, b.value] } else { [lowering.widen(a)?, lowering.widen(b)?] };
        let mut w = Words::of(lowering, x);
        let same = w.compare(CompareOp::Eq, x, y);
        return Ok(w.not(same));
    }
    let (x, y) = (lowering.widen(a)?, lowering.widen(b)?);
    lowering.apply(OpKind::Compare(op), &[x, y])
}

/// `select c, a, b`.
pub(in crate::legalise) fn select(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<Value, Illegal> {
    let [c, a, b] = [0, 1, 2].map(|at| operands[at].value);
    if lowering.ty(a).dtype() == DType::Bool {
        // b, changed where it differs and a is wanted.
        let mut w = Words::of(lowering, a);
        let differ = w.binary(BinaryOp::Xor, a, b);
        let taken = w.binary(BinaryOp::And, c, differ);
        return Ok(w.binary(BinaryOp::Xor, b, taken));
    }
    if let Some(op) = extremum(lowering, c, a, b) {
        return lowering.apply(OpKind::Binary(op), &[a, b]);
    }
    Ok(lowering.emit(OpKind::Select, &[c, a, b])[0])
}

/// The extremum of integers that a selection is.
fn extremum(lowering: &Lowering<'_>, c: Value, a: Value, b: Value) -> Option<BinaryOp> {
    let ty = lowering.ty(a);
    if !ty.is_tile() || !ty.dtype().is_integer() {
        return None;
    }
    let (op, x, y, turned) = match lowering.made(c)? {
        (OpKind::Compare(op), &[x, y]) => (*op, x, y, false),
        (OpKind::Unary(UnaryOp::Not), &[c]) => match lowering.made(c)? {
            (OpKind::Compare(op), &[x, y]) => (*op, x, y, true),
            _ => return None,
        },
        _ => return None,
    };
    // A comparison of widened numbers becomes one of the numbers.
    let same = |x: Value, a: Value| {
        x == a || matches!(lowering.made(x), Some((OpKind::Cast(to), &[inner])) if to.is_integer() && inner == a)
    };
    let greater = match op {
        CompareOp::Gt | CompareOp::Ge => true,
        CompareOp::Lt | CompareOp::Le => false,
        CompareOp::Eq | CompareOp::Ne => return None,
    };
    let signed = lowering.ty(x).dtype().is_signed() == ty.dtype().is_signed();
    let wider = lowering.ty(x).dtype().bits() >= ty.dtype().bits();
    match (same(x, a) && same(y, b), same(x, b) && same(y, a)) {
        _ if !signed || !wider => None,
        (true, _) => Some(if greater != turned { BinaryOp::Max } else { BinaryOp::Min }),
        (_, true) => Some(if greater != turned { BinaryOp::Min } else { BinaryOp::Max }),
        _ => None,
    }
}
