//! Which elements of a window lie inside its array: index map, block and array size as kernel code.

use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, Tile};
use crate::ir::{BinaryOp, BlockDim, CompareOp, DType, Loc, OpKind, Region, SizeExpr, UnaryOp, Value};
use std::collections::HashMap;

/// The mask of a window. Dimensions that every launch fills exactly need no test.
pub(super) fn mask<S: Shape>(window: Raw, loc: Loc) -> Tile<bool, S> {
    let Some(of) = session::window(window) else { return Tile::wrap(session::dead()) };
    let emit = |kind, operands: &[Raw]| session::emit(kind, operands, loc.clone());
    let shape = S::shape();
    let starts = inline(&of.map, &loc);
    let mut mask: Option<Raw> = None;
    let kept = of.block.iter().enumerate().filter(|(_, b)| b.kept().is_some());
    for (axis, (d, &block)) in kept.enumerate() {
        let before = match block {
            // The launch has checked that it lies inside.
            BlockDim::Element { low: 0, high: 0, .. } => continue,
            BlockDim::Element { low, .. } => low > 0,
            BlockDim::Blocked(n) if of.array[d] == SizeExpr::Const(n as i64) => continue,
            BlockDim::Blocked(_) | BlockDim::Squeezed => false,
        };
        let start = match block {
            BlockDim::Element { .. } => starts[d],
            BlockDim::Blocked(_) | BlockDim::Squeezed => {
                let size = emit(OpKind::Const((block.size() as i32).into()), &[]);
                emit(OpKind::Binary(BinaryOp::Mul), &[starts[d], size])
            }
        };
        let size = size(&of.array[d], &loc);
        let left = emit(OpKind::Binary(BinaryOp::Sub), &[size, start]);
        let left = emit(OpKind::Broadcast(shape), &[left]);
        let index = emit(OpKind::Iota { shape, axis }, &[]);
        let mut inside = emit(OpKind::Compare(CompareOp::Lt), &[index, left]);
        if before {
            let first = emit(OpKind::Unary(UnaryOp::Neg), &[start]);
            let first = emit(OpKind::Broadcast(shape), &[first]);
            let reached = emit(OpKind::Compare(CompareOp::Ge), &[index, first]);
            inside = emit(OpKind::Binary(BinaryOp::And), &[inside, reached]);
        }
        mask = Some(mask.map_or(inside, |m| emit(OpKind::Binary(BinaryOp::And), &[m, inside])));
    }
    Tile::wrap(mask.unwrap_or_else(|| {
        let yes = emit(OpKind::Const(true.into()), &[]);
        emit(OpKind::Broadcast(shape), &[yes])
    }))
}

/// The block indices of this grid step: the index map's operations again, in the body.
fn inline(map: &Region, loc: &Loc) -> Vec<Raw> {
    let mut raws: HashMap<Value, Raw> = HashMap::new();
    let arrays = session::prefetched();
    let (indices, prefetched) = map.args.split_at(map.args.len().saturating_sub(arrays.len()));
    for (axis, &arg) in indices.iter().enumerate() {
        raws.insert(arg, session::emit(OpKind::ProgramId(axis), &[], loc.clone()));
    }
    raws.extend(prefetched.iter().copied().zip(arrays));
    if map.ops.iter().any(|op| op.kind == OpKind::LoadScalar) {
        session::with(|s| s.bounds.push(loc.clone()));
    }
    for op in &map.ops {
        let operands: Vec<Raw> = op.operands.iter().map(|v| raws[v]).collect();
        let result = session::emit(op.kind.clone(), &operands, op.loc.clone());
        raws.insert(op.results[0], result);
    }
    map.yields.iter().map(|v| raws[v]).collect()
}

/// A size expression as a scalar of the kernel. The launch has checked that it fits an i32.
fn size(expr: &SizeExpr, loc: &Loc) -> Raw {
    let emit = |kind, operands: &[Raw]| session::emit(kind, operands, loc.clone());
    let binary = |op, a: Raw, b: Raw| emit(OpKind::Binary(op), &[a, b]);
    match expr {
        SizeExpr::Const(n) => emit(OpKind::Const(i32::try_from(*n).unwrap_or(i32::MAX).into()), &[]),
        SizeExpr::Size(id) => emit(OpKind::Size(*id), &[]),
        SizeExpr::Add(a, b) => binary(BinaryOp::Add, size(a, loc), size(b, loc)),
        SizeExpr::Sub(a, b) => binary(BinaryOp::Sub, size(a, loc), size(b, loc)),
        SizeExpr::Mul(a, b) => binary(BinaryOp::Mul, size(a, loc), size(b, loc)),
        SizeExpr::CeilDiv(a, b) => {
            let (a, b) = (size(a, loc), size(b, loc));
            let rest = binary(BinaryOp::Rem, a, b);
            let zero = emit(OpKind::Const(0.into()), &[]);
            let more = emit(OpKind::Compare(CompareOp::Gt), &[rest, zero]);
            let more = emit(OpKind::Cast(DType::I32), &[more]);
            binary(BinaryOp::Add, binary(BinaryOp::Div, a, b), more)
        }
    }
}
