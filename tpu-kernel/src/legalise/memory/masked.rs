//! Loads and stores under a mask, of which what is off may lie outside.
//!
//! Rules: a chip would reach elements that are off, too. Along a dimension where the access may leave the memory, all of the memory is
//! accessed, and what is loaded or stored moves there by a rotation; what is off is selected away. A store loads what is there
//! first, and puts that back where the mask is false.

use super::LIMIT;
use super::layers::{self, padded, rotated};
use super::views::{Part, index, typed};
use crate::ir::{DType, Literal, OpKind, Shape, Type, Value};
use crate::legalise::lowering::{Lowering, Typed};
use crate::legalise::{Illegal, Rule};

/// What is accessed.
pub(in crate::legalise) enum Memory<'a> {
    /// A memory.
    Whole(Typed),
    /// A view, with its type.
    Part(&'a Part, Type),
}

impl Memory<'_> {
    fn ty(&self) -> Type {
        match self {
            Memory::Whole(memory) => memory.ty,
            Memory::Part(_, ty) => *ty,
        }
    }

    fn root(&self) -> Value {
        match self {
            Memory::Whole(memory) => memory.value,
            Memory::Part(part, _) => part.root.value,
        }
    }

    fn load(&self, lowering: &mut Lowering<'_>, at: &Reach) -> Result<Typed, Illegal> {
        match self {
            Memory::Whole(memory) => typed(lowering, OpKind::Load(at.shape), &at.operands(*memory, None)),
            Memory::Part(part, seen) => layers::load(lowering, part, *seen, &at.corner, at.shape),
        }
    }

    fn store(&self, lowering: &mut Lowering<'_>, at: &Reach, tile: Typed) -> Result<(), Illegal> {
        match self {
            Memory::Whole(memory) => lowering.lower(&OpKind::Store, &at.operands(*memory, Some(tile))).map(|_| ()),
            Memory::Part(part, seen) => layers::store(lowering, part, *seen, &at.corner, tile),
        }
    }
}

/// What is accessed in place of what the mask covers.
struct Reach {
    corner: Vec<Value>,
    shape: Shape,
    /// The dimensions along which that is the whole memory, with the start in it.
    whole: Vec<(usize, Value)>,
}

impl Reach {
    fn of(lowering: &mut Lowering<'_>, memory: &Memory<'_>, starts: &[Value], shape: Shape) -> Result<Reach, Illegal> {
        let extents = memory.ty().shape();
        let zero = lowering.constant(Literal::from(0), None);
        let mut reach = Reach { corner: vec![], shape, whole: vec![] };
        for (axis, &start) in starts.iter().enumerate() {
            let known = lowering.literal_of(start).and_then(Literal::as_i32).map(i64::from);
            if known.is_some_and(|n| n >= 0 && n + shape.dim(axis) as i64 <= extents.dim(axis) as i64) {
                reach.corner.push(start);
                continue;
            }
            reach.corner.push(zero);
            reach.shape = reach.shape.with_dim(axis, extents.dim(axis));
            reach.whole.push((axis, start));
        }
        let bytes = reach.shape.elements().saturating_mul(memory.ty().dtype().bytes());
        if bytes > LIMIT {
            let what = format!("[{}], of which a mask may leave parts outside,", reach.shape);
            return Err(lowering.refuse(Rule::Whole { what, bytes, limit: LIMIT }));
        }
        Ok(reach)
    }

    fn operands(&self, memory: Typed, tile: Option<Typed>) -> Vec<Typed> {
        [memory].into_iter().chain(tile).chain(self.corner.iter().map(|&v| index(v))).collect()
    }

    /// A tile of what the mask covers, in its place in what is accessed; zeros elsewhere.
    fn placed(&self, lowering: &mut Lowering<'_>, mut tile: Typed) -> Result<Typed, Illegal> {
        for &(axis, start) in &self.whole {
            let (extent, size) = (self.shape.dim(axis), tile.ty.shape().dim(axis));
            // Room for what lies before and after the memory.
            tile = padded(lowering, tile, axis, extent + size)?;
            tile = rotated(lowering, tile, axis, start, false)?;
            tile = first(lowering, tile, axis, extent)?;
        }
        Ok(tile)
    }
}

/// The first elements along an axis.
fn first(lowering: &mut Lowering<'_>, tile: Typed, axis: usize, size: usize) -> Result<Typed, Illegal> {
    let shape = tile.ty.shape();
    let kind = OpKind::Slice { starts: vec![0; shape.rank()], shape: shape.with_dim(axis, size), strides: vec![1; shape.rank()] };
    typed(lowering, kind, &[tile])
}

/// The tile, and `other` where the mask is false.
pub(in crate::legalise) fn load(
    lowering: &mut Lowering<'_>,
    memory: &Memory<'_>,
    mask: Typed,
    other: Typed,
    starts: &[Value],
    shape: Shape,
) -> Result<Value, Illegal> {
    let reach = Reach::of(lowering, memory, starts, shape)?;
    let mut tile = memory.load(lowering, &reach)?;
    for &(axis, start) in &reach.whole {
        tile = padded(lowering, tile, axis, reach.shape.dim(axis) + shape.dim(axis))?;
        tile = rotated(lowering, tile, axis, start, true)?;
        tile = first(lowering, tile, axis, shape.dim(axis))?;
    }
    typed(lowering, OpKind::Select, &[mask, tile, other]).map(|tile| tile.value)
}

/// A store where the mask is true.
pub(in crate::legalise) fn store(
    lowering: &mut Lowering<'_>,
    memory: &Memory<'_>,
    tile: Typed,
    mask: Typed,
    starts: &[Value],
) -> Result<(), Illegal> {
    lowering.alone(memory.root())?;
    let reach = Reach::of(lowering, memory, starts, tile.ty.shape())?;
    let before = memory.load(lowering, &reach)?;
    let tile = reach.placed(lowering, tile)?;
    let mask = match reach.whole.is_empty() {
        true => mask,
        // As numbers, which chips can move.
        false => {
            let numbers = typed(lowering, OpKind::Cast(DType::I32), &[mask])?;
            let numbers = reach.placed(lowering, numbers)?;
            typed(lowering, OpKind::Cast(DType::Bool), &[numbers])?
        }
    };
    let stored = typed(lowering, OpKind::Select, &[mask, tile, before])?;
    memory.store(lowering, &reach, stored)
}
