//! Typing rules of memory, views, copies and semaphores.

use super::{count, is_tile, permuted, starts, tile};
use crate::ir::{DType, Rule, SemaphoreKind, Shape, Space, Type};

/// The first operand, where it is memory of the space: element type and rank.
fn memory_in(operands: &[Type], want: Space) -> Result<(DType, usize), Rule> {
    match operands.first() {
        Some(&(Type::Ref(space, dtype, _) | Type::Array(space, dtype, _))) if space == want => Ok((dtype, operands[0].rank())),
        Some(&(Type::Ref(space, ..) | Type::Array(space, ..))) => Err(Rule::Space { want, got: space }),
        Some(&got) => Err(Rule::OperandType { index: 0, want: "memory".into(), got }),
        None => Err(Rule::OperandCount { want: 1, got: 0 }),
    }
}

pub(super) fn load(operands: &[Type], shape: Shape) -> Result<Type, Rule> {
    let (dtype, rank) = memory_in(operands, Space::Vmem)?;
    count(operands, 1 + rank)?;
    starts(operands, 1)?;
    ranks(rank, shape)?;
    tile(dtype, shape)
}

pub(super) fn store(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    let (dtype, rank) = memory_in(operands, Space::Vmem)?;
    count(operands, 2 + rank)?;
    starts(operands, 2)?;
    let (stored, shape) = is_tile(operands, 1)?;
    ranks(rank, shape)?;
    if stored != dtype {
        let want = format!("a tile of {dtype}");
        return Err(Rule::OperandType { index: 1, want, got: operands[1] });
    }
    Ok(vec![])
}

/// Scalar memory, and an index for each dimension from that operand on.
fn scalar_memory(operands: &[Type], first: usize) -> Result<DType, Rule> {
    let (dtype, rank) = memory_in(operands, Space::Smem)?;
    count(operands, first + rank)?;
    starts(operands, first)?;
    Ok(dtype)
}

pub(super) fn load_scalar(operands: &[Type]) -> Result<Type, Rule> {
    scalar_memory(operands, 1).map(Type::Scalar)
}

pub(super) fn store_scalar(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    let dtype = scalar_memory(operands, 2)?;
    if operands[1] != Type::Scalar(dtype) {
        return Err(Rule::OperandType { index: 1, want: format!("a scalar of {dtype}"), got: operands[1] });
    }
    Ok(vec![])
}

fn ranks(want: usize, accessed: Shape) -> Result<(), Rule> {
    match accessed.rank() {
        got if want == got => Ok(()),
        got => Err(Rule::OperandCount { want, got }),
    }
}

pub(super) fn view(operands: &[Type], shape: Shape, strides: &[usize]) -> Result<Type, Rule> {
    let (space, dtype) = match operands.first() {
        Some(&(Type::Ref(space, dtype, _) | Type::Array(space, dtype, _))) => (space, dtype),
        Some(&got) => return Err(Rule::OperandType { index: 0, want: "memory".into(), got }),
        None => return Err(Rule::OperandCount { want: 1, got: 0 }),
    };
    let rank = operands[0].rank();
    count(operands, 1 + rank)?;
    starts(operands, 1)?;
    for (what, got) in [("sizes", shape.rank()), ("strides", strides.len())] {
        if got != rank {
            return Err(Rule::PerDimension { what, rank, got });
        }
    }
    if let Some(axis) = strides.iter().position(|&s| s == 0) {
        return Err(Rule::Stride { axis });
    }
    tile(dtype, shape)?;
    Ok(Type::Ref(space, dtype, shape))
}

/// The one operand, memory of a static shape.
fn of_static_shape(operands: &[Type]) -> Result<(Space, DType, Shape), Rule> {
    count(operands, 1)?;
    match operands[0] {
        Type::Ref(space, dtype, shape) => Ok((space, dtype, shape)),
        got => Err(Rule::OperandType { index: 0, want: "memory of a static shape".into(), got }),
    }
}

pub(super) fn reshaped(operands: &[Type], to: Shape) -> Result<Type, Rule> {
    let (space, dtype, from) = of_static_shape(operands)?;
    tile(dtype, to)?;
    match from.elements() == to.elements() {
        true => Ok(Type::Ref(space, dtype, to)),
        false => Err(Rule::Reshape { from, to }),
    }
}

pub(super) fn transposed(operands: &[Type], perm: &[usize]) -> Result<Type, Rule> {
    let (space, dtype, shape) = of_static_shape(operands)?;
    Ok(Type::Ref(space, dtype, permuted(shape, perm)?))
}

pub(super) fn bitcast(operands: &[Type], to: DType) -> Result<Type, Rule> {
    let (space, dtype, shape) = of_static_shape(operands)?;
    if space == Space::Smem && dtype.bits() != to.bits() {
        return Err(Rule::ScalarBits { from: dtype, to });
    }
    let shown = super::bitcast(Type::Tile(dtype, shape), to)?;
    Ok(Type::Ref(space, to, shown.shape()))
}

/// Elements and mask of an access of that shape to memory of that element type.
fn masked(operands: &[Type], mask: usize, value: usize, dtype: DType, shape: Shape) -> Result<(), Rule> {
    for (index, dtype) in [(mask, DType::Bool), (value, dtype)] {
        let want = Type::Tile(dtype, shape);
        if operands[index] != want {
            return Err(Rule::OperandType { index, want: want.to_string(), got: operands[index] });
        }
    }
    Ok(())
}

pub(super) fn load_masked(operands: &[Type], shape: Shape) -> Result<Type, Rule> {
    let (dtype, rank) = memory_in(operands, Space::Vmem)?;
    count(operands, 3 + rank)?;
    starts(operands, 3)?;
    ranks(rank, shape)?;
    masked(operands, 1, 2, dtype, shape)?;
    tile(dtype, shape)
}

pub(super) fn store_masked(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    let (dtype, rank) = memory_in(operands, Space::Vmem)?;
    count(operands, 3 + rank)?;
    starts(operands, 3)?;
    let (_, shape) = is_tile(operands, 1)?;
    ranks(rank, shape)?;
    masked(operands, 2, 1, dtype, shape)?;
    Ok(vec![])
}

pub(super) fn squeezed(operands: &[Type], axes: &[usize]) -> Result<Type, Rule> {
    let (space, dtype, shape) = of_static_shape(operands)?;
    for (at, &axis) in axes.iter().enumerate() {
        super::check_axis(axis, shape.rank())?;
        if axes[..at].contains(&axis) {
            return Err(Rule::SameAxis { axis });
        }
        if shape.dim(axis) != 1 {
            return Err(Rule::Squeeze { axis, extent: shape.dim(axis) });
        }
    }
    let kept: Vec<usize> = (0..shape.rank()).filter(|axis| !axes.contains(axis)).map(|axis| shape.dim(axis)).collect();
    let shape = Shape::new(&kept);
    tile(dtype, shape)?;
    Ok(Type::Ref(space, dtype, shape))
}

pub(super) fn semaphore_at(operands: &[Type]) -> Result<Type, Rule> {
    match operands.first() {
        Some(&Type::Semaphore(kind, shape)) => {
            count(operands, 1 + shape.rank())?;
            starts(operands, 1)?;
            Ok(Type::Semaphore(kind, Shape::new(&[])))
        }
        Some(&got) => Err(Rule::OperandType { index: 0, want: "semaphores".into(), got }),
        None => Err(Rule::OperandCount { want: 1, got: 0 }),
    }
}

/// One semaphore of that kind.
fn semaphore(operands: &[Type], index: usize, want: SemaphoreKind) -> Result<(), Rule> {
    match operands[index] {
        Type::Semaphore(kind, shape) if shape.rank() == 0 && kind == want => Ok(()),
        Type::Semaphore(got, shape) if shape.rank() == 0 => Err(Rule::SemaphoreKind { want, got }),
        got => Err(Rule::OperandType { index, want: "one semaphore".into(), got }),
    }
}

/// Source, target, semaphore, and perhaps a number of rows; the element type.
fn copy(operands: &[Type]) -> Result<DType, Rule> {
    if !(3..=4).contains(&operands.len()) {
        return Err(Rule::OperandCount { want: 3, got: operands.len() });
    }
    starts(operands, 3)?;
    let (source, target) = (operands[0], operands[1]);
    for (index, ty) in [source, target].into_iter().enumerate() {
        if ty.space().is_none() {
            return Err(Rule::OperandType { index, want: "memory".into(), got: ty });
        }
    }
    semaphore(operands, 2, SemaphoreKind::Dma)?;
    let alike = match (source, target) {
        (Type::Ref(_, a, from), Type::Ref(_, b, to)) => a == b && from == to,
        (Type::Array(_, a, from), Type::Array(_, b, to)) => a == b && from == to,
        _ => false,
    };
    if !alike {
        return Err(Rule::CopyShapes { from: source, to: target });
    }
    if let (Some(Space::Smem), Some(Space::Smem)) = (source.space(), target.space()) {
        return Err(Rule::ScalarCopy);
    }
    Ok(source.dtype())
}

pub(super) fn dma_wait(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    copy(operands).map(|_| vec![])
}

pub(super) fn dma_start(operands: &[Type], priority: u8, add: bool) -> Result<Vec<Type>, Rule> {
    let dtype = copy(operands)?;
    if add && !dtype.is_number() {
        return Err(Rule::Element { dtype });
    }
    if priority > 1 {
        return Err(Rule::Priority { got: priority });
    }
    Ok(vec![])
}

/// Source, target, semaphores there and here, device, and perhaps rows.
pub(super) fn remote_start(operands: &[Type], priority: u8) -> Result<Vec<Type>, Rule> {
    if !(5..=6).contains(&operands.len()) {
        return Err(Rule::OperandCount { want: 5, got: operands.len() });
    }
    let [source, target, receive, _, _, rows @ ..] = operands else { return Err(Rule::OperandCount { want: 5, got: 0 }) };
    semaphore(operands, 3, SemaphoreKind::Dma)?;
    starts(operands, 4)?;
    let moved: Vec<Type> = [*source, *target, *receive].into_iter().chain(rows.iter().copied()).collect();
    dma_start(&moved, priority, false)
}

/// A semaphore of signals, a number, and perhaps a device.
pub(super) fn semaphore_signal(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    match operands {
        [_, _, _] => {
            starts(operands, 2)?;
            count_semaphore(&operands[..2])
        }
        _ => count_semaphore(operands),
    }
}

/// A semaphore of signals, a number, and a core.
pub(super) fn core_signal(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    count(operands, 3)?;
    semaphore_signal(operands)
}

/// A semaphore of signals and a number.
pub(super) fn count_semaphore(operands: &[Type]) -> Result<Vec<Type>, Rule> {
    count(operands, 2)?;
    match operands[0] {
        Type::Semaphore(kind, shape) if kind.is_signalled() && shape.rank() == 0 => {}
        _ => semaphore(operands, 0, SemaphoreKind::Regular)?,
    }
    starts(operands, 1)?;
    Ok(vec![])
}

pub(super) fn semaphore_read(operands: &[Type]) -> Result<Type, Rule> {
    count(operands, 1)?;
    match operands[0] {
        Type::Semaphore(_, shape) if shape.rank() == 0 => Ok(Type::Scalar(DType::I32)),
        got => Err(Rule::OperandType { index: 0, want: "one semaphore".into(), got }),
    }
}
