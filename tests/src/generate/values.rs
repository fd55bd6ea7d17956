//! Values of a wanted type, from those that are in scope.

use super::{Generator, line};
use tpu_kernel::ir::{BinaryOp, DType, Literal, OpKind, Shape, Type, UnaryOp, Value};

/// Elements of a tile at most.
const TILE: usize = 1200;

impl Generator {
    /// Adds an operation; its result is in scope from then on.
    pub(super) fn emit(&mut self, kind: OpKind, operands: &[Value]) -> Value {
        self.line += 1;
        let text = format!("{kind:?}");
        let value = self.b.value(kind, operands, line(self.line)).unwrap_or_else(|e| panic!("{text}: {e}"));
        self.scope.push(value);
        self.used.extend(operands);
        value
    }

    pub(super) fn constant(&mut self, literal: impl Into<Literal>) -> Value {
        self.emit(OpKind::Const(literal.into()), &[])
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.emit(OpKind::Binary(op), &[a, b])
    }

    /// A value in scope that fits: often one that nothing uses yet, the later ones more often.
    pub(super) fn find(&mut self, fits: impl Fn(Type) -> bool) -> Option<Value> {
        let mut fitting: Vec<Value> = self.scope.iter().copied().filter(|&v| fits(self.b.ty(v))).collect();
        let unused: Vec<Value> = fitting.iter().copied().filter(|v| !self.used.contains(v)).collect();
        if !unused.is_empty() && self.rng.chance(50) {
            fitting = unused;
        }
        let recent = &fitting[fitting.len().saturating_sub(6)..];
        match fitting.is_empty() {
            true => None,
            false => Some(if self.rng.chance(60) { self.rng.pick(recent) } else { self.rng.pick(&fitting) }),
        }
    }

    /// Any tile.
    pub(super) fn any_tile(&mut self, fits: impl Fn(DType, Shape) -> bool) -> Option<Value> {
        self.find(|ty| matches!(ty, Type::Tile(dtype, shape) if fits(dtype, shape)))
    }

    /// A scalar of that type: one in scope, or made.
    pub(super) fn scalar_of(&mut self, dtype: DType) -> Value {
        if self.rng.chance(70)
            && let Some(found) = self.find(|ty| ty == Type::Scalar(dtype))
        {
            return found;
        }
        if self.rng.chance(30)
            && let Some(other) = self.find(Type::is_scalar)
        {
            return self.emit(OpKind::Cast(dtype), &[other]);
        }
        let literal = self.rng.literal(dtype, 12);
        self.constant(literal)
    }

    /// A tile of that type: one in scope, or another one cast, reshaped or made from a scalar.
    pub(super) fn tile_of(&mut self, dtype: DType, shape: Shape) -> Value {
        if self.rng.chance(75)
            && let Some(found) = self.find(|ty| ty == Type::Tile(dtype, shape))
        {
            return found;
        }
        if self.rng.chance(75)
            && let Some(other) = self.any_tile(|_, s| s.elements() == shape.elements())
        {
            let reshaped = if self.b.ty(other).shape() == shape { other } else { self.emit(OpKind::Reshape(shape), &[other]) };
            return self.cast(dtype, reshaped);
        }
        if self.rng.chance(40) {
            let axis = self.rng.below(shape.rank());
            let counted = self.emit(OpKind::Iota { shape, axis }, &[]);
            return self.cast(dtype, counted);
        }
        if self.rng.chance(60)
            && let Some(other) = self.any_tile(|_, s| fits_broadcast(s, shape))
        {
            let wide = self.emit(OpKind::Broadcast(shape), &[other]);
            return self.cast(dtype, wide);
        }
        let scalar = self.scalar_of(dtype);
        self.emit(OpKind::Broadcast(shape), &[scalar])
    }

    /// A scalar or tile of that type.
    pub(super) fn value_of(&mut self, ty: Type) -> Value {
        match ty {
            Type::Tile(dtype, shape) => self.tile_of(dtype, shape),
            Type::Scalar(dtype) | Type::Ref(_, dtype, _) | Type::Array(_, dtype, _) => self.scalar_of(dtype),
            Type::Semaphore(..) => self.scalar_of(ty.dtype()),
        }
    }

    /// The value as that element type, itself where it has it.
    pub(super) fn cast(&mut self, dtype: DType, x: Value) -> Value {
        if self.b.ty(x).dtype() == dtype { x } else { self.emit(OpKind::Cast(dtype), &[x]) }
    }

    /// `literal` in the shape of that value.
    pub(super) fn constant_like(&mut self, literal: Literal, like: Value) -> Value {
        let scalar = self.constant(literal);
        match self.b.ty(like) {
            Type::Tile(_, shape) => self.emit(OpKind::Broadcast(shape), &[scalar]),
            Type::Scalar(_) | Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => scalar,
        }
    }

    /// A float with 1 in the place of NaN, whose sign and payload are not promised; anything else itself.
    pub(super) fn without_nan(&mut self, x: Value) -> Value {
        let dtype = self.b.ty(x).dtype();
        if !dtype.is_float() {
            return x;
        }
        let wild = self.emit(OpKind::Unary(UnaryOp::IsNan), &[x]);
        let one = self.constant_like(Literal::from_f64(dtype, 1.0), x);
        self.emit(OpKind::Select, &[wild, one, x])
    }

    /// Integers from -6 to 6 in the place of the elements: sums of their products are exact.
    pub(super) fn small(&mut self, dtype: DType, x: Value) -> Value {
        let int = self.cast(DType::I32, x);
        let seven = self.constant_like(7.into(), int);
        let rest = self.binary(BinaryOp::Rem, int, seven);
        self.cast(dtype, rest)
    }

    /// An i32 scalar of 0 to `last`.
    pub(super) fn within(&mut self, last: usize) -> Value {
        if last == 0 || self.rng.chance(25) {
            let n = self.rng.below(last + 1) as i32;
            return self.constant(n);
        }
        let any = self.scalar_of(DType::I32);
        let count = self.constant(last as i32 + 1);
        let rest = self.binary(BinaryOp::Rem, any, count);
        let zero = self.constant(0);
        self.binary(BinaryOp::Max, rest, zero)
    }

    /// Whether a tile of that shape is small enough.
    pub(super) fn may_be(shape: &[usize]) -> bool {
        shape.iter().product::<usize>() <= TILE
    }
}

fn fits_broadcast(from: Shape, to: Shape) -> bool {
    from.rank() == to.rank() && from.dims().iter().zip(to.dims()).all(|(&a, &b)| a == b || a == 1)
}
