//! Loads and stores of elements that lie apart in a window or scratch.
//!
//! Rules: what lies between the first and the last element must be inside the block, so an error names the last;
//! a load reads no other elements, a store leaves all others as they are. A load takes its slice of what it covers, a store goes to
//! a view of the elements.

use super::session::{self, Raw};
use crate::ir::{Loc, OpKind, Rule, Shape};

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
    let apart = strides.iter().zip(shape.dims()).any(|(&stride, &n)| stride > 1 && n > 1);
    if !apart {
        emit(OpKind::Store, &[vec![memory, tile], corner].concat());
        return;
    }
    let part = emit(OpKind::View { shape, strides: strides.to_vec() }, &[vec![memory], corner].concat());
    if session::type_of(part).is_none() {
        // What is wrong with the place is said once.
        return;
    }
    let zeros = strides.iter().map(|_| emit(OpKind::Const(0.into()), &[])).collect();
    emit(OpKind::Store, &[vec![part, tile], zeros].concat());
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
