//! Views of memory, and what reaches a memory through them.
//!
//! Rules: a view is a part of an operand or of a region's own memory: where it begins, how far its elements lie apart, which
//! dimensions it lacks. A load or a store through it is one of the memory itself; only copies need a view of their own, and
//! get one that begins at the memory, whatever views it was made of.

use super::scalars;
use crate::ir::{BinaryOp, CompareOp, DType, Literal, Op, OpKind, Shape, Type, Value, infer};
use crate::legalise::Illegal;
use crate::legalise::lowering::{Lowering, Typed};

/// What a view of the source shows.
#[derive(Clone, Debug)]
pub(in crate::legalise) struct Part {
    /// The memory.
    root: Typed,
    dims: Vec<Dim>,
}

/// One dimension of the memory.
#[derive(Clone, Copy, Debug)]
struct Dim {
    start: Value,
    size: usize,
    stride: usize,
    /// Whether the view has the dimension.
    kept: bool,
}

/// A view of the source: nothing is emitted for it.
pub(in crate::legalise) fn view(lowering: &mut Lowering<'_>, op: &Op) -> Result<(), Illegal> {
    let (of, view) = (op.operands[0], op.results[0]);
    let part = match &op.kind {
        OpKind::View { shape, strides } => {
            let starts: Vec<Value> = op.operands[1..].iter().map(|&v| lowering.value(v)).collect();
            let mut part = match lowering.parts.get(&of) {
                Some(part) => part.clone(),
                None => whole(lowering, lowering.typed(of)),
            };
            let corner = part.corner(lowering, &starts)?;
            let mut kept = shape.dims().iter().zip(strides);
            for (dim, start) in part.dims.iter_mut().zip(corner) {
                dim.start = start;
                if dim.kept
                    && let Some((&size, &stride)) = kept.next()
                {
                    // Of one element it does not matter.
                    let stride = if size == 1 { 1 } else { dim.stride.saturating_mul(stride) };
                    (dim.size, dim.stride) = (size, stride);
                }
            }
            part
        }
        OpKind::ViewSqueezed(axes) => {
            let mut part = match lowering.parts.get(&of) {
                Some(part) => part.clone(),
                None => whole(lowering, lowering.typed(of)),
            };
            let kept: Vec<usize> = (0..part.dims.len()).filter(|&d| part.dims[d].kept).collect();
            axes.iter().filter_map(|&axis| kept.get(axis)).for_each(|&d| part.dims[d].kept = false);
            part
        }
        other => unreachable!("`{}` is no view", other.mnemonic()),
    };
    lowering.parts.insert(view, part);
    Ok(())
}

/// All of a memory; of an array only its rank is known.
fn whole(lowering: &mut Lowering<'_>, root: Typed) -> Part {
    let start = lowering.constant(Literal::from(0), None);
    let size = |axis: usize| if axis < root.ty.shape().rank() { root.ty.shape().dim(axis) } else { 0 };
    let dims = (0..root.ty.rank()).map(|axis| Dim { start, size: size(axis), stride: 1, kept: true }).collect();
    Part { root, dims }
}

impl Part {
    /// Where an access begins in the memory that begins there in the view.
    fn corner(&self, lowering: &mut Lowering<'_>, starts: &[Value]) -> Result<Vec<Value>, Illegal> {
        let mut starts = starts.iter();
        let mut corner = vec![];
        for dim in &self.dims {
            let start = if dim.kept { starts.next().copied() } else { None };
            corner.push(match start {
                None => dim.start,
                Some(start) => {
                    let by = lowering.constant(Literal::from(i32::try_from(dim.stride).unwrap_or(i32::MAX)), None);
                    let along = match dim.stride {
                        1 => start,
                        _ => number(lowering, BinaryOp::Mul, start, by)?,
                    };
                    number(lowering, BinaryOp::Add, dim.start, along)?
                }
            });
        }
        Ok(corner)
    }

    /// A shape of the view with the dimensions that it lacks as 1.
    fn unsqueezed(&self, shape: Shape) -> Shape {
        let mut kept = shape.dims().iter();
        let dims: Vec<usize> = self.dims.iter().map(|d| if d.kept { kept.next().copied().unwrap_or(1) } else { 1 }).collect();
        Shape::new(&dims)
    }

    /// From the first to the last element along each dimension.
    fn covered(&self, apart: Shape) -> Shape {
        let mut covered = apart;
        for (axis, dim) in self.dims.iter().enumerate() {
            covered = covered.with_dim(axis, (apart.dim(axis) - 1) * dim.stride + 1);
        }
        covered
    }
}

/// A sum or a product, constants computed.
fn number(lowering: &mut Lowering<'_>, op: BinaryOp, a: Value, b: Value) -> Result<Value, Illegal> {
    let known = [a, b].map(|v| lowering.literal_of(v));
    match (op, known) {
        (_, [Some(x), Some(y)]) => match crate::ir::eval::binary(op, x, y) {
            Some(n) => Ok(lowering.constant(n, None)),
            None => lowering.apply(OpKind::Binary(op), &[a, b]),
        },
        (BinaryOp::Add, [Some(x), None]) if x.as_i32() == Some(0) => Ok(b),
        (BinaryOp::Add, [None, Some(y)]) if y.as_i32() == Some(0) => Ok(a),
        _ => lowering.apply(OpKind::Binary(op), &[a, b]),
    }
}

/// An operation of the user's types with one result.
fn typed(lowering: &mut Lowering<'_>, kind: OpKind, operands: &[Typed]) -> Result<Typed, Illegal> {
    let types: Vec<Type> = operands.iter().map(|o| o.ty).collect();
    let ty = match infer(&kind, &types) {
        Ok(results) => results[0],
        Err(rule) => unreachable!("`{}` in a lowering breaks a rule: {rule}", kind.mnemonic()),
    };
    Ok(Typed { value: lowering.lower(&kind, operands)?[0], ty })
}

fn index(value: Value) -> Typed {
    Typed { value, ty: Type::Scalar(DType::I32) }
}

/// Operands of an access to the memory.
fn operands(root: Typed, value: Option<Typed>, corner: &[Value]) -> Vec<Typed> {
    [root].into_iter().chain(value).chain(corner.iter().map(|&v| index(v))).collect()
}

/// A load or a store through a view.
pub(in crate::legalise) fn access(lowering: &mut Lowering<'_>, op: &Op, part: &Part) -> Result<Vec<Value>, Illegal> {
    let values: Vec<Typed> = op.operands[1..].iter().map(|&v| lowering.typed(v)).collect();
    let (stored, starts) = match op.kind {
        OpKind::Store | OpKind::StoreScalar => (values.first().copied(), &values[1..]),
        _ => (None, values.as_slice()),
    };
    let starts: Vec<Value> = starts.iter().map(|o| o.value).collect();
    let corner = part.corner(lowering, &starts)?;
    match (&op.kind, stored) {
        (OpKind::Load(shape), _) => load(lowering, part, &corner, *shape).map(|v| vec![v]),
        (OpKind::Store, Some(tile)) => store(lowering, part, &corner, tile).map(|()| vec![]),
        (OpKind::LoadScalar, _) => scalars::load(lowering, &operands(part.root, None, &corner)).map(|v| vec![v]),
        (OpKind::StoreScalar, Some(scalar)) => {
            scalars::store(lowering, &operands(part.root, Some(scalar), &corner)).map(|()| vec![])
        }
        (other, _) => unreachable!("`{}` is no access", other.mnemonic()),
    }
}

fn load(lowering: &mut Lowering<'_>, part: &Part, corner: &[Value], shape: Shape) -> Result<Value, Illegal> {
    let apart = part.unsqueezed(shape);
    let covered = part.covered(apart);
    let mut tile = typed(lowering, OpKind::Load(covered), &operands(part.root, None, corner))?;
    if covered != apart {
        let strides: Vec<usize> = part.dims.iter().map(|d| d.stride).collect();
        tile = typed(lowering, OpKind::Slice { starts: vec![0; apart.rank()], shape: apart, strides }, &[tile])?;
    }
    if apart != shape {
        tile = typed(lowering, OpKind::Reshape(shape), &[tile])?;
    }
    Ok(tile.value)
}

fn store(lowering: &mut Lowering<'_>, part: &Part, corner: &[Value], mut tile: Typed) -> Result<(), Illegal> {
    let apart = part.unsqueezed(tile.ty.shape());
    let covered = part.covered(apart);
    if apart != tile.ty.shape() {
        tile = typed(lowering, OpKind::Reshape(apart), &[tile])?;
    }
    if covered != apart {
        lowering.alone(part.root.value)?;
        let before = typed(lowering, OpKind::Load(covered), &operands(part.root, None, corner))?;
        let mut hit: Option<Value> = None;
        for (axis, dim) in part.dims.iter().enumerate().filter(|&(axis, _)| covered.dim(axis) != apart.dim(axis)) {
            let here = every(lowering, covered, axis, dim.stride)?;
            hit = Some(match hit {
                Some(hit) => lowering.apply(OpKind::Binary(BinaryOp::And), &[hit, here])?,
                None => here,
            });
            tile = spread(lowering, tile, axis, covered.dim(axis), dim.stride)?;
        }
        if let Some(hit) = hit {
            let hit = Typed { value: hit, ty: Type::Tile(DType::Bool, covered) };
            tile = typed(lowering, OpKind::Select, &[hit, tile, before])?;
        }
    }
    lowering.lower(&OpKind::Store, &operands(part.root, Some(tile), corner)).map(|_| ())
}

/// The mask of every so manyth element along an axis.
fn every(lowering: &mut Lowering<'_>, shape: Shape, axis: usize, stride: usize) -> Result<Value, Illegal> {
    let index = lowering.apply(OpKind::Iota { shape, axis }, &[])?;
    let by = lowering.constant(Literal::from(stride as i32), Some(shape));
    let zero = lowering.constant(Literal::from(0), Some(shape));
    let rest = lowering.apply(OpKind::Binary(BinaryOp::Rem), &[index, by])?;
    lowering.apply(OpKind::Compare(CompareOp::Eq), &[rest, zero])
}

/// Each element `stride` times in a row along an axis, of which `length` elements stay.
fn spread(lowering: &mut Lowering<'_>, tile: Typed, axis: usize, length: usize, stride: usize) -> Result<Typed, Illegal> {
    let shape = tile.ty.shape();
    let (before, after) = shape.dims().split_at(axis + 1);
    let (before, after): (usize, usize) = (before.iter().product(), after.iter().product());
    let tile = typed(lowering, OpKind::Reshape(Shape::new(&[before, 1, after])), &[tile])?;
    let tile = typed(lowering, OpKind::Broadcast(Shape::new(&[before, stride, after])), &[tile])?;
    let tile = typed(lowering, OpKind::Reshape(shape.with_dim(axis, shape.dim(axis) * stride)), &[tile])?;
    let rank = shape.rank();
    let kept = OpKind::Slice { starts: vec![0; rank], shape: shape.with_dim(axis, length), strides: vec![1; rank] };
    typed(lowering, kept, &[tile])
}

/// A memory of a copy, as one view of its root; with what the copy must know of it.
pub(super) fn emitted(lowering: &mut Lowering<'_>, value: Value) -> End {
    let Some(part) = lowering.parts.get(&value).cloned() else {
        let root = lowering.typed(value);
        return End { value: root.value, root: root.value, dims: None };
    };
    let extents = part.root.ty.shape();
    let is_ref = part.root.ty.is_ref();
    let zero = lowering.constant(Literal::from(0), None);
    // Where it is the whole, it can only begin at 0.
    let fits = |axis: usize, dim: &Dim| is_ref && dim.size == extents.dim(axis);
    let starts = part.dims.iter().enumerate().map(|(axis, dim)| if fits(axis, dim) { zero } else { dim.start });
    let starts: Vec<Value> = starts.collect();
    let sizes: Vec<usize> = part.dims.iter().map(|d| d.size).collect();
    let strides: Vec<usize> = part.dims.iter().map(|d| d.stride).collect();
    let mut view = part.root.value;
    if !is_ref || sizes != extents.dims() {
        let kind = OpKind::View { shape: Shape::new(&sizes), strides: strides.clone() };
        view = lowering.emit(kind, &[&[view], starts.as_slice()].concat())[0];
    }
    let axes: Vec<usize> = (0..part.dims.len()).filter(|&d| !part.dims[d].kept).collect();
    if !axes.is_empty() {
        view = lowering.emit(OpKind::ViewSqueezed(axes), &[view])[0];
    }
    let dims = starts.iter().zip(&part.dims).map(|(&start, d)| (start, d.size, d.stride, d.kept)).collect();
    End { value: view, root: part.root.value, dims: Some(dims) }
}

/// One end of a copy.
pub(super) struct End {
    /// The view, or the memory itself.
    pub(super) value: Value,
    /// The memory.
    pub(super) root: Value,
    /// Along each of its dimensions: start, size, stride, and whether the view has it. None for all of it.
    pub(super) dims: Option<Vec<(Value, usize, usize, bool)>>,
}
