//! What moves, combines and multiplies elements of tiles.

use super::Row;
use super::meaning::{Meaning, Sign, computing, dims, dtypes, list, operation};
use tpu_kernel::ir::{DType, DotDims, Literal, OpKind, Precision, ReduceOp, RotateStride, ScanOp, Shape, Type, dot_accumulator};

pub(super) fn meanings(row: &Row) -> Vec<Meaning> {
    if row.group == "matmul" {
        return product(row).unwrap_or_default();
    }
    let Some(shape) = dims(row.shape).map(|dims| Shape::new(&dims)) else { return vec![] };
    let found = match row.group {
        "broadcast" => broadcast(row, shape),
        "iota" => iota(row, shape),
        "reduce" | "argreduce" => reduction(row, shape),
        "transpose" => transpose(row, shape),
        "reshape" => reshape(row, shape),
        "concat" => concat(row, shape),
        "slice" => slice(row, shape),
        "roll" => rotation(row, shape),
        "gather" => gather(row, shape),
        _ => other(row, shape),
    };
    found.unwrap_or_default()
}

fn each(ty: &str, sign: Sign, f: impl Fn(DType) -> Option<Meaning>) -> Option<Vec<Meaning>> {
    Some(dtypes(ty, sign).into_iter().filter_map(f).collect())
}

fn broadcast(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    if row.op != "vector.broadcast" {
        return None;
    }
    let from = row.extra.strip_prefix("mask ").unwrap_or(row.extra).strip_prefix("from ")?;
    let kind = OpKind::Broadcast(shape);
    match from {
        "scalar" => each(row.ty, Sign::Either, |d| operation("vector.broadcast", kind.clone(), &[Type::Scalar(d)])),
        // A constant is printed as a tile of it.
        "scalar constant" => None,
        _ => {
            let from = Shape::new(&dims(from)?);
            each(row.ty, Sign::Either, |d| operation("vector.broadcast", kind.clone(), &[Type::Tile(d, from)]))
        }
    }
}

fn iota(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    let axis: usize = row.extra.strip_prefix("dim ")?.parse().ok()?;
    (row.op == "tpu.iota" && row.ty == "i32")
        .then(|| operation("tpu.iota", OpKind::Iota { shape, axis }, &[]).into_iter().collect())
}

fn reduction(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    if row.op == "tpu.reduce_index" {
        let (kind, axis) = row.extra.split_once(" axis ")?;
        let op = if kind == "arg_max" { ReduceOp::ArgMax } else { ReduceOp::ArgMin };
        let axis = axis.parse().ok()?;
        return each(row.ty, Sign::Either, |d| operation("tpu.reduce_index", OpKind::Reduce { op, axis }, &[Type::Tile(d, shape)]));
    }
    let (kind, axes) = row.extra.split_once(" dims ")?;
    let &[axis] = list(axes)?.as_slice() else { return None };
    let (op, sign) = match kind {
        "add" if row.ty != "i1" => (ReduceOp::Sum, Sign::Either),
        "mul" => (ReduceOp::Prod, Sign::Either),
        "maximumf" => (ReduceOp::Max, Sign::Either),
        "minimumf" => (ReduceOp::Min, Sign::Either),
        "maxsi" => (ReduceOp::Max, Sign::Signed),
        "minsi" => (ReduceOp::Min, Sign::Signed),
        "maxui" => (ReduceOp::Max, Sign::Unsigned),
        "minui" => (ReduceOp::Min, Sign::Unsigned),
        "and" if row.ty == "i1" => (ReduceOp::All, Sign::Either),
        "or" if row.ty == "i1" => (ReduceOp::Any, Sign::Either),
        _ => return None,
    };
    let reduce = OpKind::Reduce { op, axis };
    match row.op {
        "vector.multi_reduction" => {
            each(row.ty, sign, |d| operation("vector.multi_reduction", reduce.clone(), &[Type::Tile(d, shape)]))
        }
        "reduce+broadcast" => each(row.ty, sign, |d| {
            let ty = Type::Tile(d, shape);
            Some(computing("vector.multi_reduction", &[ty], ty, |w, x| {
                let kept = w.reduce(op, x[0], axis);
                w.op(OpKind::Broadcast(shape), &[kept])
            }))
        }),
        _ => None,
    }
}

fn transpose(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    let perm = list(row.extra.strip_suffix(" mask").unwrap_or(row.extra))?;
    each(row.ty, Sign::Either, |d| operation(row.op, OpKind::Transpose(perm.clone()), &[Type::Tile(d, shape)]))
}

fn reshape(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    if row.op.starts_with("tpu.memref") {
        return None;
    }
    let to = Shape::new(&dims(row.extra.strip_prefix("to ")?)?);
    each(row.ty, Sign::Either, |d| operation(row.op, OpKind::Reshape(to), &[Type::Tile(d, shape)]))
}

fn concat(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    let (operands, axis) = match row.op {
        "tpu.concatenate" => {
            let (operands, axis) = row.extra.split_once(" dim ")?;
            let (a, b) = operands.split_once(" + ")?;
            (vec![Shape::new(&dims(a)?), Shape::new(&dims(b)?)], axis)
        }
        "tile" => {
            let (count, axis) = row.extra.strip_prefix("concatenate itself ")?.split_once("x dim ")?;
            (vec![shape; count.parse().ok()?], axis)
        }
        _ => return None,
    };
    let axis = axis.parse().ok()?;
    each(row.ty, Sign::Either, |d| {
        let operands: Vec<Type> = operands.iter().map(|&shape| Type::Tile(d, shape)).collect();
        operation("tpu.concatenate", OpKind::Concat { axis }, &operands)
    })
}

fn slice(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    if row.op != "vector.extract_strided_slice" {
        return None;
    }
    let kind = if let Some(strides) = row.extra.strip_prefix("strides ") {
        let strides = list(strides)?;
        let sizes: Vec<usize> = shape.dims().iter().zip(&strides).map(|(&n, &by)| n / by).collect();
        OpKind::Slice { starts: vec![0; strides.len()], shape: Shape::new(&sizes), strides }
    } else {
        let (starts, sizes) = row.extra.strip_prefix("offset ")?.split_once(" size ")?;
        let starts = list(starts)?;
        OpKind::Slice { strides: vec![1; starts.len()], starts, shape: Shape::new(&list(sizes)?) }
    };
    each(row.ty, Sign::Either, |d| operation("vector.extract_strided_slice", kind.clone(), &[Type::Tile(d, shape)]))
}

fn rotation(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    if row.op != "tpu.dynamic_rotate" {
        return None;
    }
    let (kind, constant) = if let Some(axis) = row.extra.strip_prefix("const amount dim ") {
        (OpKind::Rotate { axis: axis.parse().ok()?, stride: None }, true)
    } else if let Some(axis) = row.extra.strip_prefix("dynamic amount dim ") {
        (OpKind::Rotate { axis: axis.parse().ok()?, stride: None }, false)
    } else {
        let (axis, over) = row.extra.strip_prefix("strided dim ")?.split_once(" stride 1 over ")?;
        let stride = RotateStride { by: 1, axis: over.parse().ok()? };
        (OpKind::Rotate { axis: axis.parse().ok()?, stride: Some(stride) }, true)
    };
    each(row.ty, Sign::Either, |d| {
        let ty = Type::Tile(d, shape);
        if !constant {
            return operation("tpu.dynamic_rotate", kind.clone(), &[ty, Type::Scalar(DType::I32)]);
        }
        Some(computing("tpu.dynamic_rotate", &[ty], ty, |w, x| {
            let three = w.constant(3);
            w.op(kind.clone(), &[x[0], three])
        }))
    })
}

fn gather(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    if row.op != "tpu.dynamic_gather" {
        return None;
    }
    let (from, axis) = match row.extra {
        "source 64x128, result 8x128 dim 0" => (Shape::new(&[64, 128]), 0),
        // An index of the language is an i32.
        other => (shape, other.strip_prefix("dim ")?.strip_suffix(" index i32")?.parse().ok()?),
    };
    each(row.ty, Sign::Either, |d| {
        operation("tpu.dynamic_gather", OpKind::Gather { axis }, &[Type::Tile(d, from), Type::Tile(DType::I32, shape)])
    })
}

/// Products with the accumulator of the language; f32 operands with the precision that is asked for, in one pass otherwise.
fn product(row: &Row) -> Option<Vec<Meaning>> {
    let (lhs, rest) = row.ty.split_once('*')?;
    let (rhs, acc) = rest.split_once("->")?;
    // Unsigned integers have another product.
    let one = |name: &str| dtypes(name, Sign::Signed).first().copied();
    let (lhs, rhs, acc) = (one(lhs)?, one(rhs)?, one(acc)?);
    let (left, right) = row.shape.split_once(" * ")?;
    let (left, right) = (Shape::new(&dims(left)?), Shape::new(&dims(right)?));
    let batched = |l: usize, r: usize| DotDims { contract: (l, r), batch: vec![(0, 0)] };
    let (dims, precision) = match row.extra {
        "NN" | "NN 128^3" => (DotDims::matrices(false, false), Precision::Default),
        "NT" | "NT 128^3" => (DotDims::matrices(false, true), Precision::Default),
        "TN" | "TN 128^3" => (DotDims::matrices(true, false), Precision::Default),
        "TT" => (DotDims::matrices(true, true), Precision::Default),
        "precision bf16" => (DotDims::matrices(false, false), Precision::Default),
        "precision bf16x3" => (DotDims::matrices(false, false), Precision::High),
        "precision fp32" => (DotDims::matrices(false, false), Precision::Highest),
        "batch NN" => (batched(2, 1), Precision::Default),
        "batch NT" => (batched(2, 2), Precision::Default),
        "batch TN" => (batched(1, 1), Precision::Default),
        "batch in the middle of lhs" => (DotDims { contract: (2, 1), batch: vec![(1, 0)] }, Precision::Default),
        "two batch dims" => (DotDims { contract: (3, 2), batch: vec![(0, 0), (1, 1)] }, Precision::Default),
        "matrix * vector" => (DotDims { contract: (1, 0), batch: vec![] }, Precision::Default),
        "vector * matrix" => (DotDims { contract: (0, 0), batch: vec![] }, Precision::Default),
        _ => return None,
    };
    // How f32 enters the multiplier is a question of f32 operands.
    let asked = matches!(precision, Precision::Default) || (lhs, rhs) == (DType::F32, DType::F32);
    if row.op != "tpu.matmul" || dot_accumulator(lhs, rhs) != Some(acc) || !asked {
        return None;
    }
    let operands = [Type::Tile(lhs, left), Type::Tile(rhs, right)];
    Some(operation("tpu.matmul", OpKind::Dot { dims, precision }, &operands).into_iter().collect())
}

fn other(row: &Row, shape: Shape) -> Option<Vec<Meaning>> {
    let bits = |seeds: usize| {
        let out = Type::Tile(DType::U32, shape);
        computing("tpu.prng_random_bits", &vec![Type::Scalar(DType::U32); seeds], out, |w, x| {
            w.effect(OpKind::PrngSeed, x);
            w.op(OpKind::PrngBits(shape), &[])
        })
    };
    let scan = |op, axis: &str| {
        let kind = OpKind::Scan { op, axis: axis.parse().ok()?, reverse: false };
        each(row.ty, Sign::Signed, |d| operation("tpu.scan", kind.clone(), &[Type::Tile(d, shape)]))
    };
    match (row.op, row.extra) {
        ("tpu.prng_random_bits", _) if row.ty == "i32" => Some(vec![bits(1)]),
        ("tpu.prng_set_seed_32", "1 seeds") => Some(vec![bits(1)]),
        ("tpu.prng_set_seed_32", "2 seeds") => Some(vec![bits(2)]),
        ("tpu.stochastic_convert" | "tpu.stochastic_convert_elementwise", _) => {
            let to = dtypes(row.ty.strip_prefix("f32->")?, Sign::Either);
            let operands = [Type::Tile(DType::F32, shape), Type::Tile(DType::U32, shape)];
            Some(to.into_iter().filter_map(|to| operation(row.op, OpKind::StochasticRound(to), &operands)).collect())
        }
        ("tpu.sort", extra) => {
            let kind = OpKind::Sort { axis: shape.rank() - 1, descending: extra.contains("descending") };
            each(row.ty, Sign::Signed, |d| operation("tpu.sort", kind.clone(), &[Type::Tile(d, shape)]))
        }
        ("tpu.scan", extra) => match extra.split_once(" dim ")? {
            ("sum", axis) => scan(ScanOp::Sum, axis),
            ("maxf" | "maxsi", axis) => scan(ScanOp::Max, axis),
            _ => None,
        },
        ("tpu.log", "scalar" | "vector") => {
            let message = OpKind::Print("v {}".into());
            let tile = Type::Tile(DType::F32, shape);
            each(row.ty, Sign::Signed, |d| {
                let shown = if row.extra == "vector" { Type::Tile(d, shape) } else { Type::Scalar(d) };
                Some(computing("tpu.log", &[shown, tile], tile, |w, x| {
                    w.effect(message.clone(), &x[..1]);
                    x[1]
                }))
            })
        }
        ("arith.constant mask", _) => {
            let tile = Type::Tile(DType::F32, shape);
            Some(vec![computing("arith.constant dense<true>", &[tile, tile], tile, |w, x| {
                let yes = w.filled(Literal::from(true), shape.dims());
                w.op(OpKind::Select, &[yes, x[0], x[1]])
            })])
        }
        _ => None,
    }
}
