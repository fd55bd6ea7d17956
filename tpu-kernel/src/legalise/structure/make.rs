//! What the lowerings of this folder are made of.

use super::super::Illegal;
use super::super::lowering::{Lowering, Typed};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Shape, Type, Value};

/// The shape of rank 2 that holds one of rank 1 as a row; any other as it is.
pub(in super::super) fn row(shape: Shape) -> Shape {
    match *shape.dims() {
        [n] => Shape::new(&[1, n]),
        _ => shape,
    }
}

pub(super) fn reshape(lowering: &mut Lowering<'_>, x: Value, to: Shape) -> Result<Value, Illegal> {
    if lowering.ty(x).shape() == to { Ok(x) } else { lowering.apply(OpKind::Reshape(to), &[x]) }
}

/// The `size` elements from `start` on along one dimension.
pub(super) fn slice(lowering: &mut Lowering<'_>, x: Value, axis: usize, start: usize, size: usize) -> Result<Value, Illegal> {
    let from = lowering.ty(x).shape();
    if (start, size) == (0, from.dim(axis)) {
        return Ok(x);
    }
    let mut starts = vec![0; from.rank()];
    starts[axis] = start;
    lowering.apply(OpKind::Slice { starts, shape: from.with_dim(axis, size), strides: vec![1; from.rank()] }, &[x])
}

pub(super) fn concat(lowering: &mut Lowering<'_>, axis: usize, tiles: &[Value]) -> Result<Value, Illegal> {
    match *tiles {
        [tile] => Ok(tile),
        _ => lowering.apply(OpKind::Concat { axis }, tiles),
    }
}

/// The tile lengthened along one dimension.
pub(super) fn pad(lowering: &mut Lowering<'_>, x: Value, axis: usize, to: usize, with: Literal) -> Result<Value, Illegal> {
    let from = lowering.ty(x).shape();
    if from.dim(axis) == to {
        return Ok(x);
    }
    let more = lowering.constant(with, Some(from.with_dim(axis, to - from.dim(axis))));
    concat(lowering, axis, &[x, more])
}

pub(super) fn iota(lowering: &mut Lowering<'_>, shape: Shape, axis: usize) -> Result<Value, Illegal> {
    lowering.apply(OpKind::Iota { shape, axis }, &[])
}

pub(super) fn rotate(lowering: &mut Lowering<'_>, x: Value, axis: usize, amount: usize) -> Result<Value, Illegal> {
    let amount = scalar(lowering, amount as i32);
    lowering.apply(OpKind::Rotate { axis, stride: None }, &[x, amount])
}

pub(super) fn binary(lowering: &mut Lowering<'_>, op: BinaryOp, a: Value, b: Value) -> Result<Value, Illegal> {
    lowering.apply(OpKind::Binary(op), &[a, b])
}

pub(super) fn compare(lowering: &mut Lowering<'_>, op: CompareOp, a: Value, b: Value) -> Result<Value, Illegal> {
    lowering.apply(OpKind::Compare(op), &[a, b])
}

pub(super) fn select(lowering: &mut Lowering<'_>, condition: Value, a: Value, b: Value) -> Result<Value, Illegal> {
    lowering.apply(OpKind::Select, &[condition, a, b])
}

/// An i32 scalar.
pub(super) fn scalar(lowering: &mut Lowering<'_>, n: i32) -> Value {
    lowering.constant(Literal::from(n), None)
}

/// An i32 constant of the shape of a tile.
pub(super) fn like(lowering: &mut Lowering<'_>, x: Value, n: i32) -> Value {
    let shape = lowering.ty(x).shape();
    lowering.constant(Literal::from(n), Some(shape))
}

/// The type in which a tile is computed where the chip computes on words only: it holds every number of the tile's type.
pub(super) fn wide(dtype: DType) -> DType {
    match dtype {
        DType::U32 => DType::U32,
        _ if dtype.is_float() => DType::F32,
        _ => DType::I32,
    }
}

/// A tile in words.
pub(super) fn widened(lowering: &mut Lowering<'_>, x: Value) -> Result<Value, Illegal> {
    let dtype = wide(lowering.ty(x).dtype());
    lowering.cast(x, dtype)
}

/// The tile as one of rank 2, with the dimension along which something is done.
pub(super) fn flattened(lowering: &mut Lowering<'_>, x: Typed, axis: usize) -> Result<(Typed, usize), Illegal> {
    let shape = x.ty.shape();
    if shape.rank() > 1 {
        return Ok((x, axis));
    }
    let value = reshape(lowering, x.value, row(shape))?;
    Ok((Typed { value, ty: Type::Tile(x.ty.dtype(), row(shape)) }, 1))
}
