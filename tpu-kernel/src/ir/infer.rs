//! The result types of an operation from its attributes and the types of its operands.
//!
//! This is the one place that states the typing rules; the builder asks it while staging, the
//! verifier asks it again after each pass. Control flow is typed by its regions, not here.

use super::{DType, OpKind, Rule, Shape, Type};

/// No value may be larger than this: the largest VMEM of any chip.
pub const MAX_VALUE_BYTES: u128 = 256 << 20;

/// The result types of an operation, or the rule that its operands break.
///
/// For `if`, `for` and `while` this checks nothing: their results come from their regions.
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
            element(value(operands, 0)?, |d| op.takes(d))?
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
            let mut seen = [false; super::MAX_RANK];
            let valid =
                perm.len() == from.rank() && perm.iter().all(|&d| d < from.rank() && !std::mem::replace(&mut seen[d], true));
            if !valid {
                return Err(Rule::Permutation { perm: perm.clone(), rank: from.rank() });
            }
            let dims: Vec<usize> = perm.iter().map(|&d| from.dim(d)).collect();
            Type::Tile(dtype, Shape::new(&dims))
        }
        OpKind::Reduce { axis, .. } => {
            count(operands, 1)?;
            let (dtype, from) = is_tile(operands, 0)?;
            check_axis(*axis, from.rank())?;
            element(Type::Tile(dtype, from.with_dim(*axis, 1)), DType::is_number)?
        }
        OpKind::Dot { lhs_transposed, rhs_transposed, .. } => {
            count(operands, 2)?;
            dot(operands, *lhs_transposed, *rhs_transposed)?
        }
        OpKind::Load(shape) => {
            let (dtype, memory) = memory(operands)?;
            count(operands, 1 + memory.rank())?;
            starts(operands, 1)?;
            ranks(memory, *shape)?;
            tile(dtype, *shape)?
        }
        OpKind::Store => {
            let (dtype, memory) = memory(operands)?;
            count(operands, 2 + memory.rank())?;
            starts(operands, 2)?;
            let (stored, shape) = is_tile(operands, 1)?;
            ranks(memory, shape)?;
            if stored != dtype {
                let want = format!("a tile of {dtype}");
                return Err(Rule::OperandType { index: 1, want, got: operands[1] });
            }
            return Ok(vec![]);
        }
        OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) => {
            count(operands, 0)?;
            Type::Scalar(DType::I32)
        }
        OpKind::If | OpKind::For | OpKind::While => return Ok(vec![]),
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
        got @ Type::Ref(..) => Err(Rule::OperandType { index, want: "a tile or a scalar".into(), got }),
        ty => Ok(ty),
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

fn memory(operands: &[Type]) -> Result<(DType, Shape), Rule> {
    match operands.first() {
        Some(&Type::Ref(_, dtype, shape)) => Ok((dtype, shape)),
        Some(&got) => Err(Rule::OperandType { index: 0, want: "memory".into(), got }),
        None => Err(Rule::OperandCount { want: 1, got: 0 }),
    }
}

fn starts(operands: &[Type], from: usize) -> Result<(), Rule> {
    for (index, &got) in operands.iter().enumerate().skip(from) {
        if got != Type::Scalar(DType::I32) {
            return Err(Rule::OperandType { index, want: "an i32 scalar".into(), got });
        }
    }
    Ok(())
}

fn ranks(memory: Shape, accessed: Shape) -> Result<(), Rule> {
    match (memory.rank(), accessed.rank()) {
        (want, got) if want == got => Ok(()),
        (want, got) => Err(Rule::OperandCount { want, got }),
    }
}

fn dot(operands: &[Type], lhs_transposed: bool, rhs_transposed: bool) -> Result<Type, Rule> {
    let (left, right) = (operands[0], operands[1]);
    let (a, b) = (is_tile(operands, 0)?, is_tile(operands, 1)?);
    for (index, (_, shape)) in [a, b].into_iter().enumerate() {
        if shape.rank() != 2 {
            return Err(Rule::OperandType { index, want: "a tile of rank 2".into(), got: operands[index] });
        }
    }
    if a.0 != b.0 {
        return Err(Rule::Mismatch { left, right });
    }
    let acc = match a.0 {
        DType::F32 | DType::Bf16 => DType::F32,
        DType::I32 => DType::I32,
        dtype @ DType::Bool => return Err(Rule::Element { dtype }),
    };
    let (m, left_k) = if lhs_transposed { (a.1.dim(1), a.1.dim(0)) } else { (a.1.dim(0), a.1.dim(1)) };
    let (n, right_k) = if rhs_transposed { (b.1.dim(0), b.1.dim(1)) } else { (b.1.dim(1), b.1.dim(0)) };
    if left_k != right_k {
        return Err(Rule::Contraction { left, right, left_k, right_k });
    }
    tile(acc, Shape::new(&[m, n]))
}
