//! What moves elements: iota, broadcast, reshape, transpose, slice, concat, extract; and random bits, which have a shape.
//!
//! Rules: libtpu casts shapes only along whole rows of lanes. What it does not cast is cut along the rows into pieces as long
//! as both last dimensions allow, which are stacked and joined again.

use super::super::lowering::{Lowering, Typed};
use super::super::table::last;
use super::super::{Illegal, Rule, represented, word};
use super::make;
use crate::ir::{DType, Literal, OpKind, Shape, Type, Value};

/// Pieces that a reshape may be cut into.
const MAX_PIECES: usize = 512;

/// libtpu counts in tiles of two dimensions.
pub(super) fn iota(lowering: &mut Lowering<'_>, shape: Shape) -> Result<Value, Illegal> {
    let counted = make::iota(lowering, make::row(shape), 1)?;
    make::reshape(lowering, counted, shape)
}

/// The generator fills tiles of two dimensions.
pub(super) fn random_bits(lowering: &mut Lowering<'_>, shape: Shape) -> Result<Value, Illegal> {
    let bits = lowering.apply(OpKind::PrngBits(make::row(shape)), &[])?;
    make::reshape(lowering, bits, shape)
}

/// What moves masks moves i32 zeros and ones.
pub(super) fn masks(lowering: &mut Lowering<'_>, kind: &OpKind, operands: &[Typed]) -> Result<Value, Illegal> {
    let mut values = vec![];
    for o in operands {
        values.push(if o.ty.dtype() == DType::Bool { lowering.cast(o.value, DType::I32)? } else { o.value });
    }
    let moved = lowering.apply(kind.clone(), &values)?;
    lowering.cast(moved, DType::Bool)
}

pub(super) fn broadcast(lowering: &mut Lowering<'_>, x: Typed, to: Shape) -> Result<Value, Illegal> {
    if x.ty.is_tile() && x.ty.shape() == to {
        return Ok(x.value);
    }
    // A scalar is a word that holds a number of the narrow type: so does the tile of words.
    let word = match lowering.ty(x.value) {
        Type::Scalar(DType::Bool) | Type::Tile(DType::Bool, _) => lowering.cast(x.value, DType::I32)?,
        Type::Tile(dtype, from) if from.elements() == 1 && !lowering.chip.sublane_gather => {
            let wide = lowering.cast(x.value, word(dtype))?;
            lowering.apply(OpKind::Extract(vec![0; from.rank()]), &[wide])?
        }
        _ => x.value,
    };
    let repeated = lowering.apply(OpKind::Broadcast(to), &[word])?;
    lowering.cast(repeated, represented(Type::Tile(x.ty.dtype(), to)).dtype())
}

pub(super) fn reshape(lowering: &mut Lowering<'_>, x: Value, to: Shape) -> Result<Value, Illegal> {
    let (dtype, from) = (lowering.ty(x).dtype(), lowering.ty(x).shape());
    if from == to {
        return Ok(x);
    }
    if dtype.bits() < 32 {
        let words = make::widened(lowering, x)?;
        let changed = make::reshape(lowering, words, to)?;
        return lowering.cast(changed, dtype);
    }
    let n = from.elements();
    let (a, b) = (last(from), last(to));
    if a == 1 && b > 1 {
        // A column is a row on its side.
        let column = make::reshape(lowering, x, Shape::new(&[n, 1]))?;
        let line = lowering.apply(OpKind::Transpose(vec![1, 0]), &[column])?;
        return make::reshape(lowering, line, to);
    }
    if b == 1 && n / a < a {
        // And back: fewer rows are joined than there are columns to cut.
        let line = make::reshape(lowering, x, Shape::new(&[1, n]))?;
        let column = lowering.apply(OpKind::Transpose(vec![1, 0]), &[line])?;
        return make::reshape(lowering, column, to);
    }
    let common = gcd(a, b);
    let (cuts, joins) = (a / common, b / common);
    if cuts + joins > MAX_PIECES {
        return Err(lowering.refuse(Rule::Reshape { from, to, pieces: cuts + joins, limit: MAX_PIECES }));
    }
    let rows = make::reshape(lowering, x, Shape::new(&[n / a, a]))?;
    let stacked = cut(lowering, rows, common, cuts)?;
    let joined = join(lowering, stacked, common, joins)?;
    make::reshape(lowering, joined, to)
}

/// Rows cut into pieces, one below the other.
fn cut(lowering: &mut Lowering<'_>, rows: Value, size: usize, count: usize) -> Result<Value, Illegal> {
    if count == 1 {
        return Ok(rows);
    }
    let n = lowering.ty(rows).shape().dim(0);
    let mut pieces = vec![];
    for at in 0..count {
        let piece = make::slice(lowering, rows, 1, at * size, size)?;
        pieces.push(make::reshape(lowering, piece, Shape::new(&[n, 1, size]))?);
    }
    let stacked = make::concat(lowering, 1, &pieces)?;
    make::reshape(lowering, stacked, Shape::new(&[n * count, size]))
}

/// So many rows each joined to one.
fn join(lowering: &mut Lowering<'_>, rows: Value, size: usize, count: usize) -> Result<Value, Illegal> {
    if count == 1 {
        return Ok(rows);
    }
    let n = lowering.ty(rows).shape().dim(0) / count;
    let stacked = make::reshape(lowering, rows, Shape::new(&[n, count, size]))?;
    let mut pieces = vec![];
    for at in 0..count {
        let piece = make::slice(lowering, stacked, 1, at, 1)?;
        pieces.push(make::reshape(lowering, piece, Shape::new(&[n, size]))?);
    }
    make::concat(lowering, 1, &pieces)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One dimension at a time: every so-manyth element is the first of a group.
pub(super) fn slice(
    lowering: &mut Lowering<'_>,
    x: Value,
    starts: &[usize],
    shape: Shape,
    strides: &[usize],
) -> Result<Value, Illegal> {
    let from = lowering.ty(x).shape();
    // From the first to the last element that is wanted.
    let spans: Vec<usize> = (0..from.rank()).map(|d| (shape.dim(d) - 1) * strides[d] + 1).collect();
    let mut part = x;
    if spans != from.dims() {
        let kind = OpKind::Slice { starts: starts.to_vec(), shape: Shape::new(&spans), strides: vec![1; from.rank()] };
        part = lowering.apply(kind, &[x])?;
    }
    for (axis, (&count, &by)) in shape.dims().iter().zip(strides).enumerate() {
        if count > 1 && by > 1 {
            part = strided(lowering, part, axis, count, by)?;
        }
    }
    Ok(part)
}

/// Every `by`th element along one dimension, the first and the last included.
fn strided(lowering: &mut Lowering<'_>, x: Value, axis: usize, count: usize, by: usize) -> Result<Value, Illegal> {
    let shape = lowering.ty(x).shape();
    let result = shape.with_dim(axis, count);
    if axis + 1 == shape.rank() {
        // Groups are made along rows.
        let flat = Shape::new(&[shape.elements() / last(shape), last(shape)]);
        let rows = make::reshape(lowering, x, flat)?;
        let columns = lowering.apply(OpKind::Transpose(vec![1, 0]), &[rows])?;
        let picked = strided(lowering, columns, 0, count, by)?;
        let rows = lowering.apply(OpKind::Transpose(vec![1, 0]), &[picked])?;
        return make::reshape(lowering, rows, result);
    }
    let zero = Literal::from_bits(lowering.ty(x).dtype(), 0);
    let padded = make::pad(lowering, x, axis, count * by, zero)?;
    let before: usize = shape.dims()[..axis].iter().product();
    let inner: usize = shape.dims()[axis + 1..shape.rank() - 1].iter().product();
    let groups = make::reshape(lowering, padded, Shape::new(&[before * count, by * inner, last(shape)]))?;
    let firsts = make::slice(lowering, groups, 1, 0, inner)?;
    make::reshape(lowering, firsts, result)
}

pub(super) fn concat(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<Value, Illegal> {
    if let [tile] = operands {
        return Ok(tile.value);
    }
    Err(lowering.refuse(Rule::NoLowering(operands[0].ty.dtype())))
}

/// Scalars leave a tile as words.
pub(super) fn extract(lowering: &mut Lowering<'_>, x: Value, index: &[usize]) -> Result<Value, Illegal> {
    let words = make::widened(lowering, x)?;
    lowering.apply(OpKind::Extract(index.to_vec()), &[words])
}
