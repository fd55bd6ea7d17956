//! Views of memory, and what reaches a memory through them.
//!
//! Rules: a view is a part of an operand or of a region's own memory: where it begins, how far its elements lie apart, which
//! dimensions it lacks; and how that part is seen (`layers`). A load or a store through it is one of the memory itself; only copies
//! need a view of their own, and get one that begins at the memory, whatever views it was made of. Constants are computed in 64
//! bits, and one that does not fit the chip's 32 is refused.

use super::layers::Layer;
use super::{layers, masked, scalars};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, Op, OpKind, Shape, Type, Value, infer};
use crate::legalise::lowering::{Lowering, Typed};
use crate::legalise::{Illegal, Rule};

/// What a view of the source shows.
#[derive(Clone, Debug)]
pub(in crate::legalise) struct Part {
    /// The memory.
    pub(super) root: Typed,
    pub(super) dims: Vec<Dim>,
    /// What is seen of it, from the part on.
    pub(super) layers: Vec<Layer>,
}

/// One dimension of the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dim {
    pub(super) start: Value,
    pub(super) size: usize,
    pub(super) stride: usize,
    /// Whether the view has the dimension.
    pub(super) kept: bool,
}

/// A view of the source: nothing is emitted for it.
pub(in crate::legalise) fn view(lowering: &mut Lowering<'_>, op: &Op) -> Result<(), Illegal> {
    let (of, view) = (op.operands[0], op.results[0]);
    let mut part = match lowering.parts.get(&of) {
        Some(part) => part.clone(),
        None => whole(lowering, lowering.typed(of)),
    };
    let from = lowering.source.ty(of);
    let to = lowering.source.ty(view).shape();
    match &op.kind {
        OpKind::View { shape, strides } => {
            let starts: Vec<Value> = op.operands[1..].iter().map(|&v| lowering.value(v)).collect();
            layers::cut(lowering, &mut part, from, &starts, *shape, strides)?;
        }
        OpKind::ViewSqueezed(axes) if part.layers.is_empty() => {
            let kept: Vec<usize> = (0..part.dims.len()).filter(|&d| part.dims[d].kept).collect();
            axes.iter().filter_map(|&axis| kept.get(axis)).for_each(|&d| part.dims[d].kept = false);
        }
        OpKind::ViewSqueezed(_) | OpKind::ViewReshaped(_) => part.layers.push(Layer::Reshaped { from: from.shape(), to }),
        OpKind::ViewTransposed(perm) => part.layers.push(Layer::Transposed(perm.clone())),
        OpKind::ViewBitcast(dtype) => {
            part.layers.push(Layer::Bitcast { from: (from.dtype(), from.shape()), to: (*dtype, to) });
        }
        other => unreachable!("`{}` is no view", other.mnemonic()),
    }
    lowering.parts.insert(view, part);
    Ok(())
}

/// All of a memory; of an array only its rank is known.
fn whole(lowering: &mut Lowering<'_>, root: Typed) -> Part {
    let start = lowering.constant(Literal::from(0), None);
    let size = |axis: usize| if axis < root.ty.shape().rank() { root.ty.shape().dim(axis) } else { 0 };
    let dims = (0..root.ty.rank()).map(|axis| Dim { start, size: size(axis), stride: 1, kept: true }).collect();
    Part { root, dims, layers: vec![] }
}

impl Part {
    /// The part of the part that begins there, with elements so far apart.
    pub(super) fn cut(
        &mut self,
        lowering: &mut Lowering<'_>,
        starts: &[Value],
        shape: Shape,
        strides: &[usize],
    ) -> Result<(), Illegal> {
        let corner = self.corner(lowering, starts)?;
        let mut kept = shape.dims().iter().zip(strides);
        for (dim, start) in self.dims.iter_mut().zip(corner) {
            dim.start = start;
            if dim.kept
                && let Some((&size, &stride)) = kept.next()
            {
                // Of one element it does not matter.
                let stride = if size == 1 { Some(1) } else { dim.stride.checked_mul(stride) };
                let Some(stride) = stride.filter(|&by| i32::try_from(by).is_ok()) else {
                    return Err(lowering.refuse(Rule::Wide("the distance between the elements of this view")));
                };
                (dim.size, dim.stride) = (size, stride);
            }
        }
        Ok(())
    }

    /// Where an access begins in the memory that begins there in the view.
    pub(super) fn corner(&self, lowering: &mut Lowering<'_>, starts: &[Value]) -> Result<Vec<Value>, Illegal> {
        let mut starts = starts.iter();
        let mut corner = vec![];
        for dim in &self.dims {
            let start = if dim.kept { starts.next().copied() } else { None };
            corner.push(match start {
                None => dim.start,
                Some(start) => {
                    let Ok(by) = i32::try_from(dim.stride) else {
                        return Err(lowering.refuse(Rule::Wide("the distance between the elements of this view")));
                    };
                    let by = lowering.constant(Literal::from(by), None);
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

    /// Its first element.
    fn begin(&self) -> Vec<Value> {
        self.dims.iter().map(|d| d.start).collect()
    }

    /// Its shape, without the dimensions that it lacks.
    pub(super) fn shape(&self) -> Shape {
        Shape::new(&self.dims.iter().filter(|d| d.kept).map(|d| d.size).collect::<Vec<_>>())
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

/// A sum or a product, constants computed: they are places in memory.
pub(super) fn number(lowering: &mut Lowering<'_>, op: BinaryOp, a: Value, b: Value) -> Result<Value, Illegal> {
    let known = [a, b].map(|v| lowering.literal_of(v).and_then(Literal::as_i32));
    match (op, known) {
        (BinaryOp::Add | BinaryOp::Mul, [Some(x), Some(y)]) => {
            let (x, y) = (i64::from(x), i64::from(y));
            match i32::try_from(if op == BinaryOp::Add { x + y } else { x * y }) {
                Ok(n) => Ok(lowering.constant(Literal::from(n), None)),
                Err(_) => Err(lowering.refuse(Rule::Wide("a place in the memory of this view"))),
            }
        }
        (BinaryOp::Add, [Some(0), None]) | (BinaryOp::Mul, [Some(1), None]) => Ok(b),
        (BinaryOp::Add, [None, Some(0)]) | (BinaryOp::Mul, [None, Some(1)]) => Ok(a),
        _ => lowering.apply(OpKind::Binary(op), &[a, b]),
    }
}

/// An operation of the user's types with one result.
pub(super) fn typed(lowering: &mut Lowering<'_>, kind: OpKind, operands: &[Typed]) -> Result<Typed, Illegal> {
    let types: Vec<Type> = operands.iter().map(|o| o.ty).collect();
    let ty = match infer(&kind, &types) {
        Ok(results) => results[0],
        Err(rule) => unreachable!("`{}` in a lowering breaks a rule: {rule}", kind.mnemonic()),
    };
    Ok(Typed { value: lowering.lower(&kind, operands)?[0], ty })
}

pub(super) fn index(value: Value) -> Typed {
    Typed { value, ty: Type::Scalar(DType::I32) }
}

/// Operands of an access to the memory.
fn operands(root: Typed, value: Option<Typed>, corner: &[Value]) -> Vec<Typed> {
    [root].into_iter().chain(value).chain(corner.iter().map(|&v| index(v))).collect()
}

/// A load or a store through a view.
pub(in crate::legalise) fn access(lowering: &mut Lowering<'_>, op: &Op, part: &Part) -> Result<Vec<Value>, Illegal> {
    let values: Vec<Typed> = op.operands[1..].iter().map(|&v| lowering.typed(v)).collect();
    let seen = lowering.source.ty(op.operands[0]);
    let starts = |from: usize| values[from..].iter().map(|o| o.value).collect::<Vec<_>>();
    match &op.kind {
        OpKind::Load(shape) => layers::load(lowering, part, seen, &starts(0), *shape).map(|tile| vec![tile.value]),
        OpKind::Store => layers::store(lowering, part, seen, &starts(1), values[0]).map(|()| vec![]),
        OpKind::LoadMasked(shape) => {
            let memory = masked::Memory::Part(part, seen);
            masked::load(lowering, &memory, values[0], values[1], &starts(2), *shape).map(|v| vec![v])
        }
        OpKind::StoreMasked => {
            masked::store(lowering, &masked::Memory::Part(part, seen), values[0], values[1], &starts(2)).map(|()| vec![])
        }
        OpKind::LoadScalar => {
            let corner = layers::element(lowering, part, &starts(0))?;
            let value = scalars::load(lowering, &operands(part.root, None, &corner))?;
            let loaded = Typed { value, ty: Type::Scalar(part.root.ty.dtype()) };
            Ok(vec![layers::as_elements(lowering, loaded, seen.dtype())?.value])
        }
        OpKind::StoreScalar => {
            let corner = layers::element(lowering, part, &starts(1))?;
            let scalar = layers::as_elements(lowering, values[0], part.root.ty.dtype())?;
            scalars::store(lowering, &operands(part.root, Some(scalar), &corner)).map(|()| vec![])
        }
        other => unreachable!("`{}` is no access", other.mnemonic()),
    }
}

/// Loads the part of the memory.
pub(super) fn load(lowering: &mut Lowering<'_>, part: &Part) -> Result<Typed, Illegal> {
    let (corner, shape) = (part.begin(), part.shape());
    let apart = part.unsqueezed(shape);
    let covered = part.covered(apart);
    let mut tile = typed(lowering, OpKind::Load(covered), &operands(part.root, None, &corner))?;
    if covered != apart {
        let strides: Vec<usize> = part.dims.iter().map(|d| d.stride).collect();
        tile = typed(lowering, OpKind::Slice { starts: vec![0; apart.rank()], shape: apart, strides }, &[tile])?;
    }
    if apart != shape {
        tile = typed(lowering, OpKind::Reshape(shape), &[tile])?;
    }
    Ok(tile)
}

/// Stores to the part of the memory.
pub(super) fn store(lowering: &mut Lowering<'_>, part: &Part, mut tile: Typed) -> Result<(), Illegal> {
    let corner = part.begin();
    let apart = part.unsqueezed(tile.ty.shape());
    let covered = part.covered(apart);
    if apart != tile.ty.shape() {
        tile = typed(lowering, OpKind::Reshape(apart), &[tile])?;
    }
    if covered != apart {
        lowering.alone(part.root.value)?;
        let before = typed(lowering, OpKind::Load(covered), &operands(part.root, None, &corner))?;
        let strides: Vec<usize> = part.dims.iter().map(|d| d.stride).collect();
        tile = layers::inserted(lowering, before, tile, None, &strides)?;
    }
    lowering.lower(&OpKind::Store, &operands(part.root, Some(tile), &corner)).map(|_| ())
}

/// The mask of every so manyth element along an axis.
pub(super) fn every(lowering: &mut Lowering<'_>, shape: Shape, axis: usize, stride: usize) -> Result<Value, Illegal> {
    let index = lowering.apply(OpKind::Iota { shape, axis }, &[])?;
    let by = lowering.constant(Literal::from(stride as i32), Some(shape));
    let zero = lowering.constant(Literal::from(0), Some(shape));
    let rest = lowering.apply(OpKind::Binary(BinaryOp::Rem), &[index, by])?;
    lowering.apply(OpKind::Compare(CompareOp::Eq), &[rest, zero])
}

/// Each element `stride` times in a row along an axis, of which `length` elements stay.
pub(super) fn spread(
    lowering: &mut Lowering<'_>,
    tile: Typed,
    axis: usize,
    length: usize,
    stride: usize,
) -> Result<Typed, Illegal> {
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
pub(super) fn emitted(lowering: &mut Lowering<'_>, value: Value) -> Result<End, Illegal> {
    let Some(part) = lowering.parts.get(&value).cloned() else {
        let root = lowering.typed(value);
        return Ok(End { value: root.value, root: root.value, dims: None });
    };
    if !part.layers.is_empty() {
        let seen = "what is seen transposed, under another shape or as other elements; copy the memory itself, and load it so";
        return Err(lowering.refuse(Rule::CopyView(seen)));
    }
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
    Ok(End { value: view, root: part.root.value, dims: Some(dims) })
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
