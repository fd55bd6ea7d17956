//! Loads and stores.
//!
//! Rules: bool lies in memory as i8, f16 as the bits in u16; all other types as themselves. Where libtpu cannot prove
//! that it may start at a dynamic place, the whole extent of that dimension is accessed and rotated: a load takes its
//! slice of it, a store selects between what is there and its tile. A start outside the block is an error of the kernel
//! that a chip does not report.

pub(crate) mod copies;
pub(super) mod flight;
mod layers;
pub(super) mod masked;
pub(crate) mod place;
pub(super) mod scalars;
pub(crate) mod unchanged;
pub(super) mod views;
pub(crate) mod windows;

use super::lowering::{Lowering, Typed};
use super::{Illegal, Rule, stored, table};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Shape, Type, Value};

/// How many bytes may be accessed in place of a part that starts anywhere.
pub(super) const LIMIT: usize = 2 << 20;

/// Whether a load or store of native types starts where libtpu can prove that it may.
pub(super) fn provable(lowering: &Lowering<'_>, kind: &OpKind, values: &[Value]) -> bool {
    let (part, starts) = match kind {
        OpKind::Load(shape) => (*shape, &values[1..]),
        OpKind::Store => (lowering.ty(values[1]).shape(), &values[2..]),
        _ => return true,
    };
    unproven(lowering, values[0], part, starts, kind == &OpKind::Store, &[]).is_none()
}

/// The last dimension, but those left out, along which a start cannot be proven; with what it must be a multiple of.
fn unproven(
    lowering: &Lowering<'_>,
    memory: Value,
    part: Shape,
    starts: &[Value],
    store: bool,
    but: &[usize],
) -> Option<(usize, usize)> {
    let (dtype, held) = (lowering.ty(memory).dtype(), lowering.held(memory));
    let multiples = place::multiples(dtype, &held, part);
    // A part of a row cannot be stored of some types.
    let rows = store && held.len() == 1 && table::memory::whole_only(lowering.chip, dtype);
    let proven = |&(axis, multiple): &(usize, usize)| {
        let fact = lowering.fact(starts[axis]);
        but.contains(&axis) || (fact.number.is_some() && !rows) || 1usize << fact.zeros.min(30) >= multiple
    };
    multiples.into_iter().enumerate().rev().find(|at| !proven(at))
}

/// An access that is made wider.
struct Wide {
    /// What is accessed.
    shape: Shape,
    /// Where it starts.
    corner: Vec<Value>,
    /// The dimensions along which it is the whole of the memory.
    axes: Vec<usize>,
}

/// The access that takes the whole extent of each dimension along which the start cannot be proven.
fn widened(lowering: &mut Lowering<'_>, memory: Value, part: Shape, starts: &[Value], store: bool) -> Result<Wide, Illegal> {
    let extents = lowering.ty(memory).shape();
    let (mut shape, mut axes) = (part, vec![]);
    while let Some((axis, multiple)) = unproven(lowering, memory, shape, starts, store, &axes) {
        axes.push(axis);
        shape = shape.with_dim(axis, extents.dim(axis));
        if shape.elements().saturating_mul(lowering.ty(memory).dtype().bytes()) > LIMIT {
            return Err(lowering.refuse(Rule::Start { axis, memory: extents.to_string(), multiple }));
        }
    }
    let zero = lowering.constant(Literal::from(0), None);
    let corner = (0..starts.len()).map(|axis| if axes.contains(&axis) { zero } else { starts[axis] }).collect();
    // Where it is the whole anyway, the start can only be 0.
    axes.retain(|&axis| part.dim(axis) < shape.dim(axis));
    Ok(Wide { shape, corner, axes })
}

pub(super) fn load(lowering: &mut Lowering<'_>, operands: &[Typed], shape: Shape) -> Result<Value, Illegal> {
    let values: Vec<Value> = operands.iter().map(|o| o.value).collect();
    match operands[0].ty.dtype() {
        DType::Bool => {
            let mut loaded = lowering.apply(OpKind::Load(shape), &values)?;
            if table::memory::ragged(lowering.chip, lowering.ty(loaded)) {
                loaded = lowering.cast(loaded, DType::I32)?;
            }
            let zero = lowering.constant(Literal::from_int(lowering.ty(loaded).dtype(), 0), Some(shape));
            lowering.apply(OpKind::Compare(CompareOp::Ne), &[loaded, zero])
        }
        DType::F16 => {
            let bits = lowering.apply(OpKind::Load(shape), &values)?;
            Ok(lowering.lower(&OpKind::Bitcast(DType::F16), &[Typed { value: bits, ty: lowering.ty(bits) }])?[0])
        }
        _ => load_anywhere(lowering, &values, shape),
    }
}

fn load_anywhere(lowering: &mut Lowering<'_>, values: &[Value], part: Shape) -> Result<Value, Illegal> {
    let (memory, starts) = (values[0], &values[1..]);
    let wide = widened(lowering, memory, part, starts, false)?;
    let mut tile = lowering.apply(OpKind::Load(wide.shape), &[&[memory], wide.corner.as_slice()].concat())?;
    for axis in wide.axes {
        let n = lowering.constant(Literal::from(wide.shape.dim(axis) as i32), None);
        let back = lowering.apply(OpKind::Binary(BinaryOp::Sub), &[n, starts[axis]])?;
        tile = lowering.apply(OpKind::Rotate { axis, stride: None }, &[tile, back])?;
    }
    if wide.shape == part {
        return Ok(tile);
    }
    let rank = part.rank();
    lowering.apply(OpKind::Slice { starts: vec![0; rank], shape: part, strides: vec![1; rank] }, &[tile])
}

pub(super) fn store(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<(), Illegal> {
    let mut values: Vec<Value> = operands.iter().map(|o| o.value).collect();
    match operands[0].ty.dtype() {
        dtype @ DType::Bool => values[1] = lowering.cast(values[1], stored(dtype))?,
        dtype @ DType::F16 => values[1] = lowering.lower(&OpKind::Bitcast(stored(dtype)), &operands[1..2])?[0],
        _ => return store_anywhere(lowering, &values),
    }
    lowering.apply_all(OpKind::Store, &values).map(|_| ())
}

fn store_anywhere(lowering: &mut Lowering<'_>, values: &[Value]) -> Result<(), Illegal> {
    let (memory, mut tile, starts) = (values[0], values[1], &values[2..]);
    let Type::Tile(dtype, part) = lowering.ty(tile) else {
        return Err(lowering.refuse(Rule::Unverified("it must store a tile".into())));
    };
    let Wide { shape, corner, axes } = widened(lowering, memory, part, starts, true)?;
    if shape != part {
        lowering.alone(memory)?;
        let before = lowering.apply(OpKind::Load(shape), &[&[memory], corner.as_slice()].concat())?;
        let mut hit = None;
        for axis in axes {
            let (length, extent) = (part.dim(axis), shape.dim(axis));
            let now = lowering.ty(tile).shape();
            let rest = lowering.constant(Literal::from_int(dtype, 0), Some(now.with_dim(axis, extent - length)));
            tile = lowering.apply(OpKind::Concat { axis }, &[tile, rest])?;
            tile = lowering.apply(OpKind::Rotate { axis, stride: None }, &[tile, starts[axis]])?;
            let here = between(lowering, shape, axis, starts[axis], length)?;
            hit = Some(match hit {
                Some(hit) => lowering.apply(OpKind::Binary(BinaryOp::And), &[hit, here])?,
                None => here,
            });
        }
        if let Some(hit) = hit {
            tile = lowering.apply(OpKind::Select, &[hit, tile, before])?;
        }
    }
    lowering.apply_all(OpKind::Store, &[&[memory, tile], corner.as_slice()].concat()).map(|_| ())
}

/// The mask of what lies from `start` on along an axis, `length` long.
pub(super) fn between(
    lowering: &mut Lowering<'_>,
    shape: Shape,
    axis: usize,
    start: Value,
    length: usize,
) -> Result<Value, Illegal> {
    let length = lowering.constant(Literal::from(length as i32), None);
    let end = lowering.apply(OpKind::Binary(BinaryOp::Add), &[start, length])?;
    let index = lowering.apply(OpKind::Iota { shape, axis }, &[])?;
    let [start, end] = [lowering.broadcast(start, shape)?, lowering.broadcast(end, shape)?];
    let after = lowering.apply(OpKind::Compare(CompareOp::Ge), &[index, start])?;
    let before = lowering.apply(OpKind::Compare(CompareOp::Lt), &[index, end])?;
    lowering.apply(OpKind::Binary(BinaryOp::And), &[after, before])
}
