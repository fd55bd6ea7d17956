//! The result types of an operation from its attributes and the types of its operands.
//!
//! This is the one place that states the typing rules; the builder asks it while staging, the
//! verifier asks it again after each pass. Control flow is typed by its regions, not here.

mod memory;

use super::{DType, DotDims, OpKind, Rule, Shape, Type};

/// No value may be larger than this: the largest VMEM of any chip.
pub const MAX_VALUE_BYTES: u128 = 256 << 20;

/// The result types of an operation, or the rule that its operands break.
///
/// For `if`, `for`, `while` and `scoped` this checks nothing: their results come from their regions.
pub fn infer(kind: &OpKind, operands: &[Type]) -> Result<Vec<Type>, Rule> {
    let result = match kind {
        OpKind::Const(literal) => {
            count(operands, 0)?;
            Type::Scalar(literal.dtype())
        }
        OpKind::Iota { shape, axis } => {
            count(operands, 0)?;
            check_axis(*axis, shape.rank())?;
            tile(DType::I32, *shape)?
        }
        OpKind::Unary(op) => {
            count(operands, 1)?;
            let ty = element(value(operands, 0)?, |d| op.takes(d))?;
            ty.with_dtype(op.result(ty.dtype()))
        }
        OpKind::Binary(op) => {
            count(operands, 2)?;
            element(same(operands, 0, 1)?, |d| op.takes(d))?
        }
        OpKind::Compare(op) => {
            count(operands, 2)?;
            element(same(operands, 0, 1)?, |d| op.takes(d))?.with_dtype(DType::Bool)
        }
        OpKind::Select => {
            count(operands, 3)?;
            let ty = same(operands, 1, 2)?;
            if operands[0] != ty.with_dtype(DType::Bool) {
                let want = ty.with_dtype(DType::Bool).to_string();
                return Err(Rule::OperandType { index: 0, want, got: operands[0] });
            }
            ty
        }
        OpKind::Cast(to) => {
            count(operands, 1)?;
            value(operands, 0)?.with_dtype(*to)
        }
        OpKind::Bitcast(to) => {
            count(operands, 1)?;
            bitcast(value(operands, 0)?, *to)?
        }
        OpKind::StochasticRound(to) => {
            count(operands, 2)?;
            let ty = element(value(operands, 0)?, |d| d == DType::F32)?;
            if operands[1] != ty.with_dtype(DType::U32) {
                let want = ty.with_dtype(DType::U32).to_string();
                return Err(Rule::OperandType { index: 1, want, got: operands[1] });
            }
            element(ty.with_dtype(*to), |d| d.is_float() && d != DType::F32)?
        }
        OpKind::Broadcast(to) => {
            count(operands, 1)?;
            let from = value(operands, 0)?;
            let fits = from.is_scalar()
                || (from.shape().rank() == to.rank() && from.shape().dims().iter().zip(to.dims()).all(|(&a, &b)| a == b || a == 1));
            if !fits {
                return Err(Rule::Broadcast { from, to: *to });
            }
            tile(from.dtype(), *to)?
        }
        OpKind::Reshape(to) => {
            count(operands, 1)?;
            let (dtype, from) = is_tile(operands, 0)?;
            let result = tile(dtype, *to)?;
            if from.elements() != to.elements() {
                return Err(Rule::Reshape { from, to: *to });
            }
            result
        }
        OpKind::Transpose(perm) => {
            count(operands, 1)?;
            let (dtype, from) = is_tile(operands, 0)?;
            Type::Tile(dtype, permuted(from, perm)?)
        }
        OpKind::Slice { starts, shape, strides } => {
            count(operands, 1)?;
            let (dtype, from) = is_tile(operands, 0)?;
            slice(from, starts, *shape, strides)?;
            tile(dtype, *shape)?
        }
        OpKind::Concat { axis } => concat(operands, *axis)?,
        OpKind::Rotate { axis, stride } => {
            count(operands, 2)?;
            let (_, from) = is_tile(operands, 0)?;
            starts(operands, 1)?;
            check_axis(*axis, from.rank())?;
            if let Some(stride) = stride {
                check_axis(stride.axis, from.rank())?;
                if stride.axis == *axis {
                    return Err(Rule::SameAxis { axis: *axis });
                }
            }
            operands[0]
        }
        OpKind::Gather { axis } => {
            count(operands, 2)?;
            let (dtype, from) = is_tile(operands, 0)?;
            check_axis(*axis, from.rank())?;
            match operands[1] {
                Type::Tile(DType::I32, at) if at.rank() == from.rank() && from.with_dim(*axis, at.dim(*axis)) == at => {
                    tile(dtype, at)?
                }
                got => {
                    let want = format!("an i32 tile with the dimensions of {} but along axis {axis}", operands[0]);
                    return Err(Rule::OperandType { index: 1, want, got });
                }
            }
        }
        OpKind::Scan { axis, .. } => {
            count(operands, 1)?;
            let (_, from) = is_tile(operands, 0)?;
            check_axis(*axis, from.rank())?;
            element(operands[0], DType::is_number)?
        }
        OpKind::Sort { axis, .. } => {
            let (dtype, keys) = is_tile(operands.get(..1).ok_or(Rule::OperandCount { want: 1, got: 0 })?, 0)?;
            check_axis(*axis, keys.rank())?;
            element(Type::Tile(dtype, keys), DType::is_number)?;
            for (index, &got) in operands.iter().enumerate().skip(1) {
                let (_, shape) = is_tile(operands, index)?;
                if shape != keys {
                    return Err(Rule::OperandType { index, want: format!("a tile of the shape {keys} of the keys"), got });
                }
            }
            return Ok(operands.to_vec());
        }
        OpKind::Extract(index) => {
            count(operands, 1)?;
            let (dtype, from) = is_tile(operands, 0)?;
            if index.len() != from.rank() {
                return Err(Rule::PerDimension { what: "indices", rank: from.rank(), got: index.len() });
            }
            if let Some(axis) = (0..from.rank()).find(|&d| index[d] >= from.dim(d)) {
                return Err(Rule::Slice { axis, last: index[axis], extent: from.dim(axis) });
            }
            Type::Scalar(dtype)
        }
        OpKind::Reduce { op, axis } => {
            count(operands, 1)?;
            let (dtype, from) = is_tile(operands, 0)?;
            check_axis(*axis, from.rank())?;
            let ty = element(Type::Tile(dtype, from.with_dim(*axis, 1)), |d| op.takes(d))?;
            ty.with_dtype(op.result(dtype))
        }
        OpKind::Dot { dims, .. } => {
            count(operands, 2)?;
            dot(operands, dims)?
        }
        OpKind::Load(shape) => memory::load(operands, *shape)?,
        OpKind::Store => return memory::store(operands),
        OpKind::LoadScalar => memory::load_scalar(operands)?,
        OpKind::StoreScalar => return memory::store_scalar(operands),
        OpKind::View { shape, strides } => memory::view(operands, *shape, strides)?,
        OpKind::ViewSqueezed(axes) => memory::squeezed(operands, axes)?,
        OpKind::ViewReshaped(shape) => memory::reshaped(operands, *shape)?,
        OpKind::ViewTransposed(perm) => memory::transposed(operands, perm)?,
        OpKind::ViewBitcast(dtype) => memory::bitcast(operands, *dtype)?,
        OpKind::LoadMasked(shape) => memory::load_masked(operands, *shape)?,
        OpKind::StoreMasked => return memory::store_masked(operands),
        OpKind::SemaphoreAt => memory::semaphore_at(operands)?,
        OpKind::DmaStart { priority, add } => return memory::dma_start(operands, *priority, *add),
        OpKind::DmaWait => return memory::dma_wait(operands),
        OpKind::RemoteStart { priority } => return memory::remote_start(operands, *priority),
        OpKind::SemaphoreSignal => return memory::semaphore_signal(operands),
        OpKind::CoreSignal => return memory::core_signal(operands),
        OpKind::SemaphoreWait => return memory::count_semaphore(operands),
        OpKind::SemaphoreRead => memory::semaphore_read(operands)?,
        OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) | OpKind::DeviceId => {
            count(operands, 0)?;
            Type::Scalar(DType::I32)
        }
        OpKind::PrngSeed => {
            if !(1..=2).contains(&operands.len()) {
                return Err(Rule::OperandCount { want: 1, got: operands.len() });
            }
            for (index, &got) in operands.iter().enumerate() {
                if got != Type::Scalar(DType::U32) {
                    return Err(Rule::OperandType { index, want: "a u32 scalar".into(), got });
                }
            }
            return Ok(vec![]);
        }
        OpKind::PrngBits(shape) => {
            count(operands, 0)?;
            tile(DType::U32, *shape)?
        }
        OpKind::Print(text) => {
            count(operands, text.matches("{}").count())?;
            (0..operands.len()).try_for_each(|index| value(operands, index).map(|_| ()))?;
            return Ok(vec![]);
        }
        OpKind::Check(_) | OpKind::Defined(_) => {
            count(operands, 1)?;
            if operands[0] != Type::Scalar(DType::Bool) {
                return Err(Rule::OperandType { index: 0, want: "a bool scalar".into(), got: operands[0] });
            }
            return Ok(vec![]);
        }
        OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => return Ok(vec![]),
    };
    Ok(vec![result])
}

/// The tile type of that shape, within the limits of rank and size.
pub fn tile(dtype: DType, shape: Shape) -> Result<Type, Rule> {
    if shape.rank() == 0 || shape.dims().contains(&0) {
        return Err(Rule::TileShape { shape });
    }
    let bytes = shape.dims().iter().map(|&d| d as u128).product::<u128>() * dtype.bytes() as u128;
    if bytes > MAX_VALUE_BYTES {
        return Err(Rule::TooLarge { dtype, shape, bytes, limit: MAX_VALUE_BYTES });
    }
    Ok(Type::Tile(dtype, shape))
}

fn count(operands: &[Type], want: usize) -> Result<(), Rule> {
    match operands.len() {
        got if got == want => Ok(()),
        got => Err(Rule::OperandCount { want, got }),
    }
}

/// A scalar or a tile.
fn value(operands: &[Type], index: usize) -> Result<Type, Rule> {
    match operands[index] {
        ty if ty.is_value() => Ok(ty),
        got => Err(Rule::OperandType { index, want: "a tile or a scalar".into(), got }),
    }
}

fn is_tile(operands: &[Type], index: usize) -> Result<(DType, Shape), Rule> {
    match operands[index] {
        Type::Tile(dtype, shape) => Ok((dtype, shape)),
        got => Err(Rule::OperandType { index, want: "a tile".into(), got }),
    }
}

fn same(operands: &[Type], left: usize, right: usize) -> Result<Type, Rule> {
    let (a, b) = (value(operands, left)?, value(operands, right)?);
    if a == b { Ok(a) } else { Err(Rule::Mismatch { left: a, right: b }) }
}

fn element(ty: Type, takes: impl Fn(DType) -> bool) -> Result<Type, Rule> {
    let dtype = ty.dtype();
    if takes(dtype) { Ok(ty) } else { Err(Rule::Element { dtype }) }
}

fn check_axis(axis: usize, rank: usize) -> Result<(), Rule> {
    if axis < rank { Ok(()) } else { Err(Rule::Axis { axis, rank }) }
}

fn permuted(from: Shape, perm: &[usize]) -> Result<Shape, Rule> {
    let mut seen = [false; super::MAX_RANK];
    let valid = perm.len() == from.rank() && perm.iter().all(|&d| d < from.rank() && !std::mem::replace(&mut seen[d], true));
    if !valid {
        return Err(Rule::Permutation { perm: perm.to_vec(), rank: from.rank() });
    }
    Ok(Shape::new(&perm.iter().map(|&d| from.dim(d)).collect::<Vec<_>>()))
}

fn starts(operands: &[Type], from: usize) -> Result<(), Rule> {
    for (index, &got) in operands.iter().enumerate().skip(from) {
        if got != Type::Scalar(DType::I32) {
            return Err(Rule::OperandType { index, want: "an i32 scalar".into(), got });
        }
    }
    Ok(())
}

fn slice(from: Shape, starts: &[usize], shape: Shape, strides: &[usize]) -> Result<(), Rule> {
    for (what, got) in [("starts", starts.len()), ("sizes", shape.rank()), ("strides", strides.len())] {
        if got != from.rank() {
            return Err(Rule::PerDimension { what, rank: from.rank(), got });
        }
    }
    for axis in 0..from.rank() {
        if strides[axis] == 0 {
            return Err(Rule::Stride { axis });
        }
        let steps = shape.dim(axis).saturating_sub(1);
        let last = steps.saturating_mul(strides[axis]).saturating_add(starts[axis]);
        if last >= from.dim(axis) {
            return Err(Rule::Slice { axis, last, extent: from.dim(axis) });
        }
    }
    Ok(())
}

fn concat(operands: &[Type], axis: usize) -> Result<Type, Rule> {
    let (dtype, first) = is_tile(operands.get(..1).ok_or(Rule::OperandCount { want: 1, got: 0 })?, 0)?;
    check_axis(axis, first.rank())?;
    let mut size = 0usize;
    for (index, &got) in operands.iter().enumerate() {
        let (other, shape) = is_tile(operands, index)?;
        let fits = other == dtype && shape.rank() == first.rank() && shape.with_dim(axis, 1) == first.with_dim(axis, 1);
        if !fits {
            return Err(Rule::OperandType { index, want: format!("a tile like {} but along axis {axis}", operands[0]), got });
        }
        size = size.saturating_add(shape.dim(axis));
    }
    let mut dims = first.dims().to_vec();
    dims[axis] = size;
    let bytes = size as u128 * dtype.bytes() as u128;
    tile(dtype, Shape::try_new(&dims).ok_or(Rule::TooLarge { dtype, shape: first, bytes, limit: MAX_VALUE_BYTES })?)
}

fn bitcast(from: Type, to: DType) -> Result<Type, Rule> {
    let ty = element(element(from, DType::is_number)?.with_dtype(to), DType::is_number)?;
    let (old, new) = (from.dtype().bits(), to.bits());
    if old == new {
        return Ok(ty);
    }
    let Type::Tile(_, shape) = from else { return Err(Rule::Bitcast { from, to }) };
    let Some(axis) = shape.rank().checked_sub(2) else { return Err(Rule::Bitcast { from, to }) };
    let bits = shape.dim(axis) * old as usize;
    if !bits.is_multiple_of(new as usize) || i32::try_from(bits / new as usize).is_err() {
        return Err(Rule::Bitcast { from, to });
    }
    tile(to, shape.with_dim(axis, bits / new as usize))
}

/// What a product of elements accumulates in: i32 of integers, else f32; `None` where there is no such product.
pub fn dot_accumulator(lhs: DType, rhs: DType) -> Option<DType> {
    let narrow = |d: DType, bits: u32| d.is_integer() && d.bits() <= bits;
    match (lhs, rhs) {
        (DType::I32, DType::I32) => Some(DType::I32),
        _ if narrow(lhs, 16) && narrow(rhs, 16) => Some(DType::I32),
        _ if lhs.is_float() && (rhs.is_float() || narrow(rhs, 8)) => Some(DType::F32),
        _ if narrow(lhs, 8) && rhs.is_float() => Some(DType::F32),
        _ => None,
    }
}

fn dot(operands: &[Type], dims: &DotDims) -> Result<Type, Rule> {
    let (left, right) = (operands[0], operands[1]);
    let (a, b) = (is_tile(operands, 0)?, is_tile(operands, 1)?);
    let acc = dot_accumulator(a.0, b.0).ok_or(Rule::DotElements { lhs: a.0, rhs: b.0 })?;
    let mut pairs = vec![dims.contract];
    pairs.extend(&dims.batch);
    for (index, shape) in [a.1, b.1].into_iter().enumerate() {
        let side: Vec<usize> = pairs.iter().map(|&(l, r)| if index == 0 { l } else { r }).collect();
        side.iter().try_for_each(|&axis| check_axis(axis, shape.rank()))?;
        if let Some(&axis) = side.iter().find(|&&axis| side.iter().filter(|&&d| d == axis).count() > 1) {
            return Err(Rule::SameAxis { axis });
        }
        if dims.batch.len() > 2 || shape.rank() > side.len() + 1 {
            let want = "a tile of the batch dimensions (at most two), the contracted one and at most one more";
            return Err(Rule::OperandType { index, want: want.into(), got: operands[index] });
        }
    }
    for &(l, r) in &pairs {
        let (left_k, right_k) = (a.1.dim(l), b.1.dim(r));
        if left_k != right_k {
            return Err(Rule::Contraction { left, right, left_k, right_k });
        }
    }
    let batch = dims.batch.iter().map(|&(l, _)| a.1.dim(l));
    let free = [dims.lhs_free(a.1.rank()).map(|d| a.1.dim(d)), dims.rhs_free(b.1.rank()).map(|d| b.1.dim(d))];
    let sizes: Vec<usize> = batch.chain(free.into_iter().flatten()).collect();
    tile(acc, Shape::try_new(&sizes).unwrap_or(Shape::new(&[])))
}
