//! Simplifies one pure operation, from what defines its operands.
//!
//! Rules: a rewrite gives the same bits for every operand (NaN payloads aside, which are not
//! promised); it makes one operation out of one operation, or names a value that is there already.

use crate::ir::{BinaryOp, CompareOp, DType, DotDims, Literal, OpKind, ReduceOp, Shape, Type, UnaryOp, Value, eval};

/// What an operation becomes.
pub(super) enum Rewrite {
    /// Itself.
    Keep,
    /// This value.
    Value(Value),
    /// This operation.
    Op(OpKind, Vec<Value>),
}

/// The definitions of values by pure operations, as far as they are known, and all types.
pub(super) struct Defs<'a> {
    types: &'a [Type],
    ops: Vec<Option<(OpKind, Vec<Value>)>>,
}

impl<'a> Defs<'a> {
    pub(super) fn new(types: &'a [Type]) -> Defs<'a> {
        Defs { types, ops: vec![None; types.len()] }
    }

    pub(super) fn define(&mut self, value: Value, kind: OpKind, operands: Vec<Value>) {
        self.ops[value.0 as usize] = Some((kind, operands));
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.types[value.0 as usize]
    }

    fn def(&self, value: Value) -> Option<(&OpKind, &[Value])> {
        self.ops[value.0 as usize].as_ref().map(|(kind, operands)| (kind, operands.as_slice()))
    }

    /// The constant that a scalar is.
    pub(super) fn literal(&self, value: Value) -> Option<Literal> {
        match self.def(value) {
            Some((OpKind::Const(literal), _)) => Some(*literal),
            _ => None,
        }
    }

    /// The constant that a scalar, or every element of a tile, is.
    fn splat(&self, value: Value) -> Option<Literal> {
        match self.def(value) {
            Some((OpKind::Broadcast(_), &[from])) => self.splat(from),
            _ => self.literal(value),
        }
    }
}

/// What `kind operands` becomes.
pub(super) fn simplify(kind: &OpKind, operands: &[Value], defs: &Defs<'_>) -> Rewrite {
    constant(kind, operands, defs)
        .map(|literal| Rewrite::Op(OpKind::Const(literal), vec![]))
        .or_else(|| identity(kind, operands, defs))
        .unwrap_or(Rewrite::Keep)
}

fn constant(kind: &OpKind, operands: &[Value], defs: &Defs<'_>) -> Option<Literal> {
    match (kind, operands) {
        (OpKind::Unary(op), &[x]) => eval::unary(*op, defs.literal(x)?),
        (OpKind::Binary(op), &[a, b]) => match (*op, defs.literal(a), defs.literal(b)) {
            (op, Some(a), Some(b)) => eval::binary(op, a, b),
            (BinaryOp::Sub | BinaryOp::Xor, _, _) if a == b => match defs.ty(a) {
                Type::Scalar(dtype) if !dtype.is_float() => Some(Literal::from_int(dtype, 0)),
                _ => None,
            },
            _ => None,
        },
        (OpKind::Compare(op), &[a, b]) => {
            if let (Some(a), Some(b)) = (defs.literal(a), defs.literal(b)) {
                return eval::compare(*op, a, b).map(Literal::from);
            }
            let total = matches!(defs.ty(a), Type::Scalar(dtype) if !dtype.is_float());
            (a == b && total).then(|| matches!(op, CompareOp::Eq | CompareOp::Le | CompareOp::Ge).into())
        }
        (OpKind::Cast(to), &[x]) => Some(eval::cast(*to, defs.literal(x)?)),
        (OpKind::Bitcast(to), &[x]) => Some(Literal::from_bits(*to, defs.literal(x)?.bits())),
        (OpKind::Extract(_), &[x]) => defs.splat(x),
        _ => None,
    }
}

fn identity(kind: &OpKind, operands: &[Value], defs: &Defs<'_>) -> Option<Rewrite> {
    match (kind, operands) {
        (OpKind::Unary(op), &[x]) => match (op, defs.def(x)?) {
            (UnaryOp::Neg, (OpKind::Unary(UnaryOp::Neg), &[inner])) | (UnaryOp::Not, (OpKind::Unary(UnaryOp::Not), &[inner])) => {
                Some(Rewrite::Value(inner))
            }
            (UnaryOp::Abs, (OpKind::Unary(UnaryOp::Abs), _)) => Some(Rewrite::Value(x)),
            // An unsigned number is its own absolute value, and its negation is another number.
            (UnaryOp::Abs, (OpKind::Unary(UnaryOp::Neg), inner)) if !defs.ty(x).dtype().is_unsigned() => {
                Some(Rewrite::Op(kind.clone(), inner.to_vec()))
            }
            _ => None,
        },
        (OpKind::Binary(op), &[a, b]) => binary(*op, a, b, defs).map(Rewrite::Value),
        (OpKind::Select, &[c, a, b]) => select(c, a, b, defs),
        (OpKind::Cast(to), &[x]) => match (defs.ty(x).dtype(), defs.def(x)) {
            (from, _) if from == *to => Some(Rewrite::Value(x)),
            // Widening is exact, so that the way back gives the same element.
            (DType::F32, Some((OpKind::Cast(_), &[inner]))) if to.is_float() && defs.ty(inner).dtype() == *to => {
                Some(Rewrite::Value(inner))
            }
            _ => None,
        },
        (OpKind::Broadcast(to), &[x]) => match defs.def(x) {
            _ if is_shape(x, *to, defs) => Some(Rewrite::Value(x)),
            Some((OpKind::Broadcast(_), inner)) => Some(Rewrite::Op(kind.clone(), inner.to_vec())),
            _ => None,
        },
        (OpKind::Reshape(to), &[x]) => match defs.def(x) {
            _ if is_shape(x, *to, defs) => Some(Rewrite::Value(x)),
            Some((OpKind::Reshape(_), inner)) => Some(Rewrite::Op(kind.clone(), inner.to_vec())),
            Some((OpKind::Broadcast(_), &[scalar])) if defs.ty(scalar).is_scalar() => {
                Some(Rewrite::Op(OpKind::Broadcast(*to), vec![scalar]))
            }
            _ => None,
        },
        (OpKind::Transpose(perm), &[x]) => match defs.def(x) {
            _ if perm.iter().copied().eq(0..perm.len()) => Some(Rewrite::Value(x)),
            Some((OpKind::Transpose(first), inner)) => {
                let perm = perm.iter().map(|&d| first[d]).collect();
                Some(Rewrite::Op(OpKind::Transpose(perm), inner.to_vec()))
            }
            Some((OpKind::Broadcast(shape), &[scalar])) if defs.ty(scalar).is_scalar() => {
                let dims: Vec<usize> = perm.iter().map(|&d| shape.dim(d)).collect();
                Some(Rewrite::Op(OpKind::Broadcast(Shape::try_new(&dims)?), vec![scalar]))
            }
            _ => None,
        },
        (OpKind::Bitcast(to), &[x]) => (defs.ty(x).dtype() == *to).then_some(Rewrite::Value(x)),
        (OpKind::Slice { shape, .. }, &[x]) => is_shape(x, *shape, defs).then_some(Rewrite::Value(x)),
        (OpKind::Concat { .. }, &[x]) => Some(Rewrite::Value(x)),
        (OpKind::Rotate { axis, stride: None }, &[x, amount]) => {
            let turns = i64::from(defs.literal(amount)?.as_i32()?).rem_euclid(defs.ty(x).shape().dim(*axis) as i64);
            (turns == 0).then_some(Rewrite::Value(x))
        }
        (OpKind::Scan { axis, .. }, &[x]) => (defs.ty(x).shape().dim(*axis) == 1).then_some(Rewrite::Value(x)),
        (OpKind::Reduce { op, axis }, &[x]) => {
            let kept = defs.ty(x).shape().dim(*axis) == 1 && !matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin);
            kept.then_some(Rewrite::Value(x))
        }
        (OpKind::Dot { dims, precision }, &[a, b]) => {
            let (left, right) = (transposed(a, defs), transposed(b, defs));
            (left.is_some() || right.is_some()).then(|| {
                // A permutation moves the dimensions that a product names, as long as what it leaves keeps its order.
                let [mut contract, mut batch] = [vec![dims.contract], dims.batch.clone()];
                for (l, r) in contract.iter_mut().chain(&mut batch) {
                    if let Some((_, perm)) = &left {
                        *l = perm[*l];
                    }
                    if let Some((_, perm)) = &right {
                        *r = perm[*r];
                    }
                }
                let kind = OpKind::Dot { dims: DotDims { contract: contract[0], batch }, precision: *precision };
                Rewrite::Op(kind, vec![left.map_or(a, |(v, _)| v), right.map_or(b, |(v, _)| v)])
            })
        }
        _ => None,
    }
}

/// Neutral and absorbing elements. Of floats only those that keep every bit: `x * 1`, `x / 1`, `x - 0.0`, `x + -0.0`.
fn binary(op: BinaryOp, a: Value, b: Value, defs: &Defs<'_>) -> Option<Value> {
    let dtype = defs.ty(a).dtype();
    let number = |v: f64| Some(Literal::from_f64(dtype, v));
    let ones = Some(Literal::from_int(dtype, -1));
    let zeros = Some(Literal::from_int(dtype, 0));
    let (neutral, commutes) = match op {
        BinaryOp::Add => (number(if dtype.is_float() { -0.0 } else { 0.0 }), true),
        BinaryOp::Sub => (number(0.0), false),
        BinaryOp::Mul => (number(1.0), true),
        BinaryOp::Div => (number(1.0), false),
        BinaryOp::And => (ones, true),
        BinaryOp::Or | BinaryOp::Xor => (zeros, true),
        BinaryOp::FloorDiv => (number(1.0), false),
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical => (zeros, false),
        BinaryOp::Rem | BinaryOp::FloorMod | BinaryOp::Min | BinaryOp::Max => (None, true),
        BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign | BinaryOp::NextAfter => (None, false),
    };
    let absorbing = match op {
        BinaryOp::And => zeros,
        BinaryOp::Or => ones,
        BinaryOp::Mul if dtype.is_integer() => zeros,
        _ => None,
    };
    let (left, right) = (defs.splat(a), defs.splat(b));
    let is = |found: Option<Literal>, wanted: Option<Literal>| found.is_some() && found == wanted;
    if is(right, neutral) || is(left, absorbing) {
        Some(a)
    } else if (commutes && is(left, neutral)) || is(right, absorbing) {
        Some(b)
    } else {
        let idempotent = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Min | BinaryOp::Max);
        (idempotent && a == b).then_some(a)
    }
}

fn select(c: Value, a: Value, b: Value, defs: &Defs<'_>) -> Option<Rewrite> {
    if a == b {
        return Some(Rewrite::Value(a));
    }
    if let Some(c) = defs.splat(c).and_then(Literal::as_bool) {
        return Some(Rewrite::Value(if c { a } else { b }));
    }
    // Of truth values: `c && a` and `c || b`.
    let truth = |v: Value| defs.splat(v).and_then(Literal::as_bool);
    match (truth(a), truth(b)) {
        (Some(true), Some(false)) => Some(Rewrite::Value(c)),
        (Some(false), Some(true)) => Some(Rewrite::Op(OpKind::Unary(UnaryOp::Not), vec![c])),
        (Some(true), None) => Some(Rewrite::Op(OpKind::Binary(BinaryOp::Or), vec![c, b])),
        (None, Some(false)) => Some(Rewrite::Op(OpKind::Binary(BinaryOp::And), vec![c, a])),
        _ => None,
    }
}

fn is_shape(value: Value, shape: Shape, defs: &Defs<'_>) -> bool {
    matches!(defs.ty(value), Type::Tile(_, own) if own == shape)
}

/// What a value is the transpose of, and its permutation.
fn transposed(value: Value, defs: &Defs<'_>) -> Option<(Value, Vec<usize>)> {
    match defs.def(value)? {
        (OpKind::Transpose(perm), &[x]) => Some((x, perm.clone())),
        _ => None,
    }
}
