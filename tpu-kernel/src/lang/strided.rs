//! Loads and stores of elements that lie apart in a window or scratch.
//!
//! Rules: what lies between the first and the last element must be inside the block, so an error names the last;
//! a load reads no other elements, a store leaves all others as they are. Both are made of whole loads and stores: a load takes
//! its slice of what it covers, a store puts its elements among those that are there.

use super::session::{self, Raw};
use crate::ir::{BinaryOp, CompareOp, Loc, OpKind, Rule, Shape};

/// The elements `corner + i · strides` for i below `shape`; a stride of 0 repeats one element.
pub(super) fn load(memory: Raw, corner: Vec<Raw>, strides: &[usize], shape: Shape, loc: &Loc) -> Raw {
    let emit = |kind, operands: &[Raw]| session::emit(kind, operands, loc.clone());
    let mut once = shape;
    for (axis, _) in strides.iter().enumerate().filter(|&(_, &stride)| stride == 0) {
        once = once.with_dim(axis, shape.dim(axis).min(1));
    }
    let covered = covered(once, strides);
    let mut tile = emit(OpKind::Load(covered), &[vec![memory], corner].concat());
    if covered != once {
        let strides = strides.iter().map(|&stride| stride.max(1)).collect();
        tile = emit(OpKind::Slice { starts: vec![0; once.rank()], shape: once, strides }, &[tile]);
    }
    if once == shape { tile } else { emit(OpKind::Broadcast(shape), &[tile]) }
}

/// Writes the elements of a tile of that shape to `corner + i · strides`.
pub(super) fn store(memory: Raw, corner: Vec<Raw>, strides: &[usize], tile: Raw, shape: Shape, loc: &Loc) {
    let emit = |kind, operands: &[Raw]| session::emit(kind, operands, loc.clone());
    if let Some(axis) = strides.iter().position(|&stride| stride == 0) {
        session::broken(Rule::Stride { axis }, "store_strided", loc);
        return;
    }
    let covered = covered(shape, strides);
    let mut value = tile;
    if covered != shape {
        let before = emit(OpKind::Load(covered), &[vec![memory], corner.clone()].concat());
        if session::type_of(before).is_none() {
            // What is wrong with the place is said once.
            return;
        }
        let apart = strides.iter().enumerate().filter(|&(axis, &stride)| stride > 1 && shape.dim(axis) > 1);
        let mut hit: Option<Raw> = None;
        let mut now = shape;
        for (axis, &stride) in apart {
            let zero = emit(OpKind::Const(0.into()), &[]);
            let zeros = emit(OpKind::Broadcast(covered), &[zero]);
            let by = emit(OpKind::Const((stride as i32).into()), &[]);
            let by = emit(OpKind::Broadcast(covered), &[by]);
            let index = emit(OpKind::Iota { shape: covered, axis }, &[]);
            let rest = emit(OpKind::Binary(BinaryOp::Rem), &[index, by]);
            let here = emit(OpKind::Compare(CompareOp::Eq), &[rest, zeros]);
            hit = Some(hit.map_or(here, |hit| emit(OpKind::Binary(BinaryOp::And), &[hit, here])));
            (value, now) = (spread(value, now, axis, covered.dim(axis), stride, loc), now.with_dim(axis, covered.dim(axis)));
        }
        if let Some(hit) = hit {
            value = emit(OpKind::Select, &[hit, value, before]);
        }
    }
    emit(OpKind::Store, &[vec![memory, value], corner].concat());
}

/// From the first to the last element, along each axis. What is too long for a shape is too long for any memory.
fn covered(shape: Shape, strides: &[usize]) -> Shape {
    let mut covered = shape;
    for (axis, (&n, &stride)) in shape.dims().iter().zip(strides).enumerate() {
        let length = n.saturating_sub(1).saturating_mul(stride).saturating_add(n.min(1));
        covered = covered.with_dim(axis, length.min(i32::MAX as usize));
    }
    covered
}

/// Each element `stride` times in a row along an axis, of which `length` elements stay.
fn spread(tile: Raw, shape: Shape, axis: usize, length: usize, stride: usize, loc: &Loc) -> Raw {
    let emit = |kind, operands: &[Raw]| session::emit(kind, operands, loc.clone());
    let (before, after) = shape.dims().split_at(axis + 1);
    let product = |dims: &[usize]| dims.iter().fold(1usize, |n, &d| n.saturating_mul(d));
    let of = |times| Shape::try_new(&[product(before), times, product(after)]);
    let many = Shape::try_new(&[product(before).saturating_mul(stride), product(after)]);
    let (Some(one), Some(times), Some(many)) = (of(1), of(stride), many) else {
        return session::broken(Rule::Reshape { from: shape, to: shape.with_dim(axis, length) }, "store_strided", loc);
    };
    let tile = emit(OpKind::Reshape(one), &[tile]);
    let tile = emit(OpKind::Broadcast(times), &[tile]);
    let whole = shape.with_dim(axis, many.dim(0) / product(&before[..axis]).max(1));
    let tile = emit(OpKind::Reshape(whole), &[tile]);
    let kept = shape.with_dim(axis, length);
    if kept == whole {
        return tile;
    }
    let rank = shape.rank();
    emit(OpKind::Slice { starts: vec![0; rank], shape: kept, strides: vec![1; rank] }, &[tile])
}
