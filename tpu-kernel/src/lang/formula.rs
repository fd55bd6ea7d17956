//! Formulas of the language itself: values with operators, whose types are known when the kernel is built.
//!
//! Rules: every operation of a formula is recorded at the user's line; a literal takes the element type of the
//! value beside it; a dimension of 1 repeats. The typed functions around a formula state its types.

use super::session::{self, Raw};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, Loc, OpKind, ReduceOp, Shape, Type, UnaryOp};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// A tile or scalar in a formula.
#[derive(Clone, Copy)]
pub(super) struct Term<'l> {
    pub(super) raw: Raw,
    pub(super) loc: &'l Loc,
}

impl<'l> Term<'l> {
    pub(super) fn new(raw: Raw, loc: &'l Loc) -> Term<'l> {
        Term { raw, loc }
    }

    /// A scalar constant.
    pub(super) fn constant(literal: impl Into<Literal>, loc: &'l Loc) -> Term<'l> {
        Term::new(session::emit(OpKind::Const(literal.into()), &[], loc.clone()), loc)
    }

    pub(super) fn emit(self, kind: OpKind, rest: &[Raw]) -> Term<'l> {
        Term::new(session::emit(kind, &[&[self.raw], rest].concat(), self.loc.clone()), self.loc)
    }

    /// The element type; of what is dead, any.
    pub(super) fn dtype(self) -> DType {
        session::type_of(self.raw).map_or(DType::F32, Type::dtype)
    }

    /// The shape of a tile.
    pub(super) fn shape(self) -> Option<Shape> {
        session::type_of(self.raw).filter(|ty| ty.is_tile()).map(Type::shape)
    }

    pub(super) fn unary(self, op: UnaryOp) -> Term<'l> {
        self.emit(OpKind::Unary(op), &[])
    }

    pub(super) fn binary(self, op: BinaryOp, other: impl Beside) -> Term<'l> {
        self.with(other, OpKind::Binary(op))
    }

    pub(super) fn compare(self, op: CompareOp, other: impl Beside) -> Term<'l> {
        self.with(other, OpKind::Compare(op))
    }

    fn with(self, other: impl Beside, kind: OpKind) -> Term<'l> {
        let other = other.beside(self);
        let (a, b) = (self.stretched(other), other.stretched(self));
        a.emit(kind, &[b.raw])
    }

    /// `self` where it is true, as `a`, else `b`.
    pub(super) fn select(self, a: impl Beside, b: Term<'l>) -> Term<'l> {
        let a = a.beside(b).stretched(b);
        self.stretched(b).emit(OpKind::Select, &[a.raw, b.stretched(a).raw])
    }

    pub(super) fn cast(self, to: DType) -> Term<'l> {
        if self.dtype() == to { self } else { self.emit(OpKind::Cast(to), &[]) }
    }

    pub(super) fn bitcast(self, to: DType) -> Term<'l> {
        if self.dtype() == to { self } else { self.emit(OpKind::Bitcast(to), &[]) }
    }

    pub(super) fn reshape(self, to: Shape) -> Term<'l> {
        if self.shape() == Some(to) { self } else { self.emit(OpKind::Reshape(to), &[]) }
    }

    /// Repeated to that shape.
    pub(super) fn broadcast(self, to: Shape) -> Term<'l> {
        if self.shape() == Some(to) { self } else { self.emit(OpKind::Broadcast(to), &[]) }
    }

    /// Repeated to the shape of the other where that is larger.
    fn stretched(self, other: Term<'_>) -> Term<'l> {
        match (self.shape(), other.shape()) {
            (_, None) => self,
            (None, Some(to)) => self.broadcast(to),
            (Some(from), Some(to)) => {
                let dims: Vec<usize> = from.dims().iter().zip(to.dims()).map(|(&a, &b)| a.max(b)).collect();
                Shape::try_new(&dims).map_or(self, |shape| self.broadcast(shape))
            }
        }
    }

    pub(super) fn reduce(self, op: ReduceOp, axis: usize) -> Term<'l> {
        self.emit(OpKind::Reduce { op, axis }, &[])
    }

    pub(super) fn exp(self) -> Term<'l> {
        self.unary(UnaryOp::Exp)
    }

    pub(super) fn abs(self) -> Term<'l> {
        self.unary(UnaryOp::Abs)
    }

    pub(super) fn max(self, other: impl Beside) -> Term<'l> {
        self.binary(BinaryOp::Max, other)
    }

    pub(super) fn min(self, other: impl Beside) -> Term<'l> {
        self.binary(BinaryOp::Min, other)
    }
}

/// What may stand beside a term: another one, or a number of its element type.
pub(super) trait Beside {
    fn beside<'l>(self, term: Term<'l>) -> Term<'l>;
}

impl Beside for Term<'_> {
    fn beside<'l>(self, term: Term<'l>) -> Term<'l> {
        Term::new(self.raw, term.loc)
    }
}
impl Beside for f32 {
    fn beside<'l>(self, term: Term<'l>) -> Term<'l> {
        Term::constant(Literal::from_f32(term.dtype(), self), term.loc)
    }
}
impl Beside for u32 {
    fn beside<'l>(self, term: Term<'l>) -> Term<'l> {
        Term::constant(Literal::from_int(term.dtype(), i64::from(self)), term.loc)
    }
}

macro_rules! operators {
    ($($tr:ident $method:ident $op:ident),+) => { $(
        impl<'l, B: Beside> $tr<B> for Term<'l> {
            type Output = Term<'l>;
            fn $method(self, other: B) -> Term<'l> {
                self.binary(BinaryOp::$op, other)
            }
        }
    )+ };
}

operators!(
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor, Shl shl Shl,
    Shr shr ShrLogical
);

impl<'l> Neg for Term<'l> {
    type Output = Term<'l>;
    fn neg(self) -> Term<'l> {
        self.unary(UnaryOp::Neg)
    }
}
impl<'l> Not for Term<'l> {
    type Output = Term<'l>;
    fn not(self) -> Term<'l> {
        self.unary(UnaryOp::Not)
    }
}
