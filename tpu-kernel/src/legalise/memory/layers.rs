//! Parts of memory that are seen transposed, under another shape, or as other elements.
//!
//! Rules: memory itself is accessed as it lies; what is seen of it is made of the tile that is loaded or stored. A part of what is
//! seen is a part of the memory as long as only dimensions change places; beyond a reshape, or elements of another width, all that
//! lies below is loaded, and a store puts its part into that and stores it back.

use super::views::{self, Part, every, index, number, spread, typed};
use super::{LIMIT, between};
use crate::ir::{BinaryOp, DType, Literal, OpKind, Shape, Type, Value};
use crate::legalise::lowering::{Lowering, Typed};
use crate::legalise::{Illegal, Rule};

/// One way in which what lies below is seen.
#[derive(Clone, Debug)]
pub(in crate::legalise) enum Layer {
    /// Dimension d is dimension perm[d] of what is below.
    Transposed(Vec<usize>),
    /// Row-major, under another shape.
    Reshaped { from: Shape, to: Shape },
    /// The bits as other elements.
    Bitcast { from: (DType, Shape), to: (DType, Shape) },
    /// The elements so far apart from there on.
    Cut { starts: Vec<Value>, from: Shape, to: Shape, strides: Vec<usize> },
}

/// Makes a part of what is seen the part: as far down as it is one.
pub(super) fn cut(
    lowering: &mut Lowering<'_>,
    part: &mut Part,
    seen: Type,
    starts: &[Value],
    shape: Shape,
    strides: &[usize],
) -> Result<(), Illegal> {
    let whole = |v: &Value| lowering.literal_of(*v).and_then(Literal::as_i32) == Some(0);
    if seen.is_ref() && shape == seen.shape() && starts.iter().all(whole) {
        return Ok(());
    }
    let (mut starts, mut sizes, mut strides) = (starts.to_vec(), shape.dims().to_vec(), strides.to_vec());
    let mut whole = seen.shape();
    let mut at = part.layers.len();
    while let Some(below) = at.checked_sub(1) {
        let to = Shape::new(&sizes);
        match &mut part.layers[below] {
            Layer::Transposed(perm) => {
                let perm = perm.clone();
                let (mut s, mut n, mut by, mut all) = (starts.clone(), sizes.clone(), strides.clone(), sizes.clone());
                for (d, &axis) in perm.iter().enumerate() {
                    (s[axis], n[axis], by[axis], all[axis]) = (starts[d], sizes[d], strides[d], whole.dim(d));
                }
                (starts, sizes, strides, whole) = (s, n, by, Shape::new(&all));
            }
            Layer::Bitcast { from, to: (dtype, seen) } if from.0.bits() == dtype.bits() => (from.1, *seen) = (to, to),
            Layer::Reshaped { .. } | Layer::Bitcast { .. } | Layer::Cut { .. } => break,
        }
        at = below;
    }
    let to = Shape::new(&sizes);
    if at == 0 {
        part.cut(lowering, &starts, to, &strides)
    } else {
        part.layers.insert(at, Layer::Cut { starts, from: whole, to, strides });
        Ok(())
    }
}

/// That what is loaded only for a part of it is not too much.
fn bounded(lowering: &Lowering<'_>, part: &Part) -> Result<(), Illegal> {
    let bytes = part.shape().elements().saturating_mul(part.root.ty.dtype().bytes());
    let cut = part.layers.iter().any(|layer| matches!(layer, Layer::Cut { .. }));
    if cut && bytes > LIMIT {
        let what = format!("[{}], of which this is a part that does not lie in one piece,", part.shape());
        return Err(lowering.refuse(Rule::Whole { what, bytes, limit: LIMIT }));
    }
    Ok(())
}

/// A load of that shape from there on.
pub(super) fn load(lowering: &mut Lowering<'_>, part: &Part, seen: Type, starts: &[Value], shape: Shape) -> Result<Typed, Illegal> {
    let mut part = part.clone();
    cut(lowering, &mut part, seen, starts, shape, &vec![1; shape.rank()])?;
    bounded(lowering, &part)?;
    let below = views::load(lowering, &part)?;
    part.layers.iter().try_fold(below, |tile, layer| shown(lowering, tile, layer))
}

/// A store from there on.
pub(super) fn store(
    lowering: &mut Lowering<'_>,
    part: &Part,
    seen: Type,
    starts: &[Value],
    mut tile: Typed,
) -> Result<(), Illegal> {
    let mut part = part.clone();
    let shape = tile.ty.shape();
    cut(lowering, &mut part, seen, starts, shape, &vec![1; shape.rank()])?;
    bounded(lowering, &part)?;
    let first_cut = part.layers.iter().position(|layer| matches!(layer, Layer::Cut { .. }));
    let mut below = vec![];
    if first_cut.is_some() {
        lowering.alone(part.root.value)?;
        below.push(views::load(lowering, &part)?);
        for layer in &part.layers {
            let next = shown(lowering, below[below.len() - 1], layer)?;
            below.push(next);
        }
    }
    for (at, layer) in part.layers.iter().enumerate().rev() {
        tile = match layer {
            Layer::Transposed(perm) => {
                let mut back = vec![0; perm.len()];
                perm.iter().enumerate().for_each(|(to, &from)| back[from] = to);
                typed(lowering, OpKind::Transpose(back), &[tile])?
            }
            Layer::Reshaped { from, .. } => typed(lowering, OpKind::Reshape(*from), &[tile])?,
            Layer::Bitcast { from, .. } => as_elements(lowering, tile, from.0)?,
            Layer::Cut { starts, strides, .. } => inserted(lowering, below[at], tile, Some(starts), strides)?,
        };
    }
    views::store(lowering, &part, tile)
}

/// A tile as a layer shows it.
fn shown(lowering: &mut Lowering<'_>, tile: Typed, layer: &Layer) -> Result<Typed, Illegal> {
    match layer {
        Layer::Transposed(perm) => typed(lowering, OpKind::Transpose(perm.clone()), &[tile]),
        Layer::Reshaped { to, .. } => typed(lowering, OpKind::Reshape(*to), &[tile]),
        Layer::Bitcast { to, .. } => as_elements(lowering, tile, to.0),
        Layer::Cut { starts, from, to, strides } => taken(lowering, tile, starts, *from, *to, strides),
    }
}

/// The bits of a tile or scalar as other elements.
pub(super) fn as_elements(lowering: &mut Lowering<'_>, value: Typed, dtype: DType) -> Result<Typed, Illegal> {
    if value.ty.dtype() == dtype { Ok(value) } else { typed(lowering, OpKind::Bitcast(dtype), &[value]) }
}

/// A part of a tile that may begin anywhere.
fn taken(
    lowering: &mut Lowering<'_>,
    mut tile: Typed,
    starts: &[Value],
    from: Shape,
    to: Shape,
    strides: &[usize],
) -> Result<Typed, Illegal> {
    let mut known = vec![];
    for (axis, &start) in starts.iter().enumerate() {
        known.push(match lowering.literal_of(start).and_then(Literal::as_i32) {
            Some(n) => usize::try_from(n).unwrap_or(0),
            None if from.dim(axis) == 1 => 0,
            None => {
                tile = rotated(lowering, tile, axis, start, true)?;
                0
            }
        });
    }
    typed(lowering, OpKind::Slice { starts: known, shape: to, strides: strides.to_vec() }, &[tile])
}

/// A tile along an axis so many elements further on, or back.
pub(super) fn rotated(lowering: &mut Lowering<'_>, tile: Typed, axis: usize, by: Value, back: bool) -> Result<Typed, Illegal> {
    let by = match back {
        true => {
            let zero = lowering.constant(Literal::from(0), None);
            lowering.apply(OpKind::Binary(BinaryOp::Sub), &[zero, by])?
        }
        false => by,
    };
    typed(lowering, OpKind::Rotate { axis, stride: None }, &[tile, index(by)])
}

/// A tile filled up with zeros to so many elements along an axis.
pub(super) fn padded(lowering: &mut Lowering<'_>, tile: Typed, axis: usize, length: usize) -> Result<Typed, Illegal> {
    let (dtype, shape) = (tile.ty.dtype(), tile.ty.shape());
    let Some(more) = length.checked_sub(shape.dim(axis)).filter(|&n| n > 0) else { return Ok(tile) };
    let zero = typed(lowering, OpKind::Const(Literal::from_int(dtype, 0)), &[])?;
    let rest = typed(lowering, OpKind::Broadcast(shape.with_dim(axis, more)), &[zero])?;
    typed(lowering, OpKind::Concat { axis }, &[tile, rest])
}

/// A tile with another one in it, whose elements lie so far apart from there on; without starts, from its first element on.
pub(super) fn inserted(
    lowering: &mut Lowering<'_>,
    before: Typed,
    mut tile: Typed,
    starts: Option<&[Value]>,
    strides: &[usize],
) -> Result<Typed, Illegal> {
    let whole = before.ty.shape();
    let mut hit: Option<Value> = None;
    for axis in 0..whole.rank() {
        let (size, extent, stride) = (tile.ty.shape().dim(axis), whole.dim(axis), strides[axis]);
        if size == extent {
            continue;
        }
        let reach = (size - 1) * stride + 1;
        let mut here = vec![];
        if stride > 1 && size > 1 {
            tile = spread(lowering, tile, axis, reach, stride)?;
            here.push((every(lowering, whole, axis, stride)?, true));
        }
        tile = padded(lowering, tile, axis, extent)?;
        let start = match starts {
            Some(starts) => starts[axis],
            None => lowering.constant(Literal::from(0), None),
        };
        let still = lowering.literal_of(start).and_then(Literal::as_i32) == Some(0);
        if !still {
            tile = rotated(lowering, tile, axis, start, false)?;
        }
        if reach < extent {
            here.push((between(lowering, whole, axis, start, reach)?, false));
        }
        for (mut mask, moves) in here {
            if moves && !still {
                mask = rotated_mask(lowering, mask, axis, start)?;
            }
            hit = Some(match hit {
                Some(hit) => lowering.apply(OpKind::Binary(BinaryOp::And), &[hit, mask])?,
                None => mask,
            });
        }
    }
    let Some(hit) = hit else { return Ok(tile) };
    let hit = Typed { value: hit, ty: Type::Tile(DType::Bool, whole) };
    typed(lowering, OpKind::Select, &[hit, tile, before])
}

/// A mask so many elements further on: as numbers, which chips can move.
fn rotated_mask(lowering: &mut Lowering<'_>, mask: Value, axis: usize, by: Value) -> Result<Value, Illegal> {
    let numbers = lowering.cast(mask, DType::I32)?;
    let tile = Typed { value: numbers, ty: lowering.ty(numbers) };
    let moved = rotated(lowering, tile, axis, by, false)?;
    lowering.cast(moved.value, DType::Bool)
}

/// Where in the memory an element of what is seen lies.
pub(super) fn element(lowering: &mut Lowering<'_>, part: &Part, place: &[Value]) -> Result<Vec<Value>, Illegal> {
    let mut place = place.to_vec();
    for layer in part.layers.iter().rev() {
        place = match layer {
            Layer::Transposed(perm) => {
                let mut below = place.clone();
                perm.iter().enumerate().for_each(|(d, &axis)| below[axis] = place[d]);
                below
            }
            // Scalar memory keeps the width.
            Layer::Bitcast { .. } => place,
            Layer::Cut { starts, strides, .. } => {
                let mut below = vec![];
                for ((&at, &start), &stride) in place.iter().zip(starts).zip(strides) {
                    let Ok(by) = i32::try_from(stride) else {
                        return Err(lowering.refuse(Rule::Wide("the distance between the elements of this view")));
                    };
                    let by = lowering.constant(Literal::from(by), None);
                    let along = number(lowering, BinaryOp::Mul, at, by)?;
                    below.push(number(lowering, BinaryOp::Add, start, along)?);
                }
                below
            }
            Layer::Reshaped { from, to } => {
                let mut position = lowering.constant(Literal::from(0), None);
                for (axis, &at) in place.iter().enumerate() {
                    let extent = lowering.constant(Literal::from(to.dim(axis) as i32), None);
                    let before = number(lowering, BinaryOp::Mul, position, extent)?;
                    position = number(lowering, BinaryOp::Add, before, at)?;
                }
                let mut below = vec![];
                for axis in (0..from.rank()).rev() {
                    let extent = lowering.constant(Literal::from(from.dim(axis) as i32), None);
                    match axis {
                        0 => below.push(position),
                        _ => {
                            below.push(lowering.apply(OpKind::Binary(BinaryOp::Rem), &[position, extent])?);
                            position = lowering.apply(OpKind::Binary(BinaryOp::Div), &[position, extent])?;
                        }
                    }
                }
                below.reverse();
                below
            }
        };
    }
    part.corner(lowering, &place)
}
