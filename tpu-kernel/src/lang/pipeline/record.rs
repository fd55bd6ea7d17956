//! Scalar arithmetic, branches and loops, recorded: what a pipeline is made of.

use super::super::session::{self, Raw};
use crate::ir::{BinaryOp, CompareOp, DType, Loc, OpKind, Region, SizeExpr, Type};

/// Records at one place of the user's.
#[derive(Clone, Copy)]
pub(super) struct Record<'l>(pub(super) &'l Loc);

impl Record<'_> {
    pub(super) fn emit(self, kind: OpKind, operands: &[Raw]) -> Raw {
        session::emit(kind, operands, self.0.clone())
    }

    pub(super) fn number(self, n: usize) -> Raw {
        self.emit(OpKind::Const(i32::try_from(n).unwrap_or(i32::MAX).into()), &[])
    }

    /// -1.
    pub(super) fn before_zero(self) -> Raw {
        self.emit(OpKind::Const((-1).into()), &[])
    }

    pub(super) fn truth(self, value: bool) -> Raw {
        self.emit(OpKind::Const(value.into()), &[])
    }

    pub(super) fn binary(self, op: BinaryOp, a: Raw, b: Raw) -> Raw {
        self.emit(OpKind::Binary(op), &[a, b])
    }

    pub(super) fn add(self, a: Raw, b: Raw) -> Raw {
        self.binary(BinaryOp::Add, a, b)
    }

    /// `a + 1`, and 0 after the last of so many.
    pub(super) fn turn(self, a: Raw, of: usize) -> Raw {
        let next = self.add(a, self.number(1));
        let inside = self.compare(CompareOp::Lt, next, self.number(of));
        self.select(inside, next, self.number(0))
    }

    /// `a - 1`, and the last of so many before 0.
    pub(super) fn turn_back(self, a: Raw, of: usize) -> Raw {
        let first = self.compare(CompareOp::Eq, a, self.number(0));
        let before = self.binary(BinaryOp::Sub, a, self.number(1));
        self.select(first, self.number(of - 1), before)
    }

    pub(super) fn compare(self, op: CompareOp, a: Raw, b: Raw) -> Raw {
        self.emit(OpKind::Compare(op), &[a, b])
    }

    pub(super) fn select(self, condition: Raw, a: Raw, b: Raw) -> Raw {
        self.emit(OpKind::Select, &[condition, a, b])
    }

    /// The value of a size expression.
    pub(super) fn size(self, expr: &SizeExpr) -> Raw {
        let both = |op, a: &SizeExpr, b: &SizeExpr| self.binary(op, self.size(a), self.size(b));
        match expr {
            SizeExpr::Const(n) => self.number(usize::try_from(*n).unwrap_or(0)),
            SizeExpr::Size(id) => self.emit(OpKind::Size(*id), &[]),
            SizeExpr::Add(a, b) => both(BinaryOp::Add, a, b),
            SizeExpr::Sub(a, b) => both(BinaryOp::Sub, a, b),
            SizeExpr::Mul(a, b) => both(BinaryOp::Mul, a, b),
            SizeExpr::CeilDiv(a, b) => {
                let (a, b) = (self.size(a), self.size(b));
                let rest = self.binary(BinaryOp::Rem, a, b);
                let up = self.compare(CompareOp::Gt, rest, self.number(0));
                let whole = self.binary(BinaryOp::Div, a, b);
                self.add(whole, self.select(up, self.number(1), self.number(0)))
            }
        }
    }

    /// `if condition { then() } else { otherwise() }`.
    pub(super) fn branch(self, condition: Raw, then: impl FnOnce() -> Vec<Raw>, otherwise: impl FnOnce() -> Vec<Raw>) -> Vec<Raw> {
        let ((then, like), (otherwise, _)) = (self.arm(then), self.arm(otherwise));
        let regions = then.zip(otherwise).map(|(a, b)| vec![a, b]);
        session::control(OpKind::If, &[condition], regions, &like, self.0.clone())
    }

    fn arm(self, values: impl FnOnce() -> Vec<Raw>) -> (Option<Region>, Vec<Raw>) {
        session::begin_region(&[], &[]);
        let yields = values();
        (session::end_region(&yields, self.0), yields)
    }

    /// `if condition { then() }`.
    pub(super) fn when(self, condition: Raw, then: impl FnOnce()) {
        let then = || {
            then();
            vec![]
        };
        self.branch(condition, then, Vec::new);
    }

    /// `for index in from..to { state = body(index, state) }`.
    pub(super) fn each(self, [from, to]: [Raw; 2], state: Vec<Raw>, body: impl FnOnce(Raw, Vec<Raw>) -> Vec<Raw>) -> Vec<Raw> {
        let (index, args) = session::begin_region(&[Type::Scalar(DType::I32)], &state);
        let yields = body(index[0], args);
        let region = session::end_region(&yields, self.0);
        let operands = [&[from, to, self.number(1)], state.as_slice()].concat();
        session::control(OpKind::For, &operands, region.map(|r| vec![r]), &state, self.0.clone())
    }

    /// Runs `body` with memory of its own.
    pub(super) fn scoped(self, types: &[Type], body: impl FnOnce(Vec<Raw>)) {
        let own = session::begin_scoped(types);
        body(own);
        let region = session::end_region(&[], self.0);
        session::control(OpKind::Scoped, &[], region.map(|r| vec![r]), &[], self.0.clone());
    }
}
