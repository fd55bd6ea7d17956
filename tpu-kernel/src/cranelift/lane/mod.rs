//! The elementwise operations, for a vector of lanes or a scalar alike.
//!
//! Rules: floats compute in f32 and are rounded to their type where the result may not be one of its numbers;
//! integers compute in 32 bits and are wrapped where the result may not fit; what takes more than a few
//! instructions calls a function compiled ahead, through the table in the context.

mod access;
mod cast;
mod float;
mod function;
mod integer;

use super::code::{Code, Pack};
use crate::ir::{BinaryOp, CompareOp, DType, ReduceOp, UnaryOp};
use cranelift::prelude::*;

impl Code<'_> {
    /// A unary operation on elements of that type.
    pub(super) fn unary(&mut self, op: UnaryOp, dtype: DType, x: Pack) -> Pack {
        match dtype {
            _ if dtype.is_float() => self.unary_float(op, dtype, x),
            DType::Bool => x.map(|v| {
                if self.is_vector(v) {
                    self.b.ins().bnot(v)
                } else {
                    let one = self.bits(1, types::I8);
                    self.b.ins().bxor(v, one)
                }
            }),
            _ => self.unary_integer(op, dtype, x),
        }
    }

    /// A binary operation on elements of that type.
    pub(super) fn binary(&mut self, op: BinaryOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        if dtype.is_float() { self.binary_float(op, dtype, x, y) } else { self.binary_integer(op, dtype, x, y) }
    }

    /// A comparison.
    pub(super) fn compare(&mut self, op: CompareOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        if dtype.is_float() {
            let code = match op {
                CompareOp::Eq => FloatCC::Equal,
                CompareOp::Ne => FloatCC::NotEqual,
                CompareOp::Lt => FloatCC::LessThan,
                CompareOp::Le => FloatCC::LessThanOrEqual,
                CompareOp::Gt => FloatCC::GreaterThan,
                CompareOp::Ge => FloatCC::GreaterThanOrEqual,
            };
            return x.zip(y, |a, b| self.b.ins().fcmp(code, a, b));
        }
        // The narrower unsigned types do not reach the sign bit.
        let code = match (op, dtype == DType::U32) {
            (CompareOp::Eq, _) => IntCC::Equal,
            (CompareOp::Ne, _) => IntCC::NotEqual,
            (CompareOp::Lt, false) => IntCC::SignedLessThan,
            (CompareOp::Le, false) => IntCC::SignedLessThanOrEqual,
            (CompareOp::Gt, false) => IntCC::SignedGreaterThan,
            (CompareOp::Ge, false) => IntCC::SignedGreaterThanOrEqual,
            (CompareOp::Lt, true) => IntCC::UnsignedLessThan,
            (CompareOp::Le, true) => IntCC::UnsignedLessThanOrEqual,
            (CompareOp::Gt, true) => IntCC::UnsignedGreaterThan,
            (CompareOp::Ge, true) => IntCC::UnsignedGreaterThanOrEqual,
        };
        x.zip(y, |a, b| self.b.ins().icmp(code, a, b))
    }

    /// `x` where `c`, else `y`.
    pub(super) fn select_lanes(&mut self, c: Pack, x: Pack, y: Pack) -> Pack {
        let mut at = 0;
        x.zip(y, |a, b| {
            at += 1;
            self.choose(c.values()[at - 1], a, b)
        })
    }

    /// One step of a reduction. The accumulator of floats is f32, of integers 32 bits wide.
    pub(super) fn combine(&mut self, op: ReduceOp, dtype: DType, acc: Value, x: Value) -> Value {
        match (op, dtype.is_float()) {
            (ReduceOp::Sum, true) => self.b.ins().fadd(acc, x),
            (ReduceOp::Sum, false) => self.b.ins().iadd(acc, x),
            (ReduceOp::Prod, true) => self.b.ins().fmul(acc, x),
            (ReduceOp::Prod, false) => self.b.ins().imul(acc, x),
            (ReduceOp::Max, true) => self.b.ins().fmax(acc, x),
            (ReduceOp::Max, false) if dtype == DType::U32 => self.b.ins().umax(acc, x),
            (ReduceOp::Max, false) => self.b.ins().smax(acc, x),
            (ReduceOp::Min, true) => self.b.ins().fmin(acc, x),
            (ReduceOp::Min, false) if dtype == DType::U32 => self.b.ins().umin(acc, x),
            (ReduceOp::Min, false) => self.b.ins().smin(acc, x),
            (ReduceOp::Any, _) => self.b.ins().bor(acc, x),
            (ReduceOp::All, _) => self.b.ins().band(acc, x),
            (ReduceOp::ArgMax | ReduceOp::ArgMin, _) => unreachable!("indices are not reduced in a nest"),
        }
    }

    /// What leaves every operand as it is: -0.0 for a sum, since -0.0 + x is x, also of -0.0.
    pub(super) fn identity(&mut self, op: ReduceOp, dtype: DType, vector: bool) -> Value {
        let (low, high) = dtype.range();
        let bits = match (op, dtype.is_float()) {
            (ReduceOp::Sum, true) => (-0f32).to_bits(),
            (ReduceOp::Sum, false) => 0,
            (ReduceOp::Prod, true) => 1f32.to_bits(),
            (ReduceOp::Prod, false) => 1,
            (ReduceOp::Max, true) => f32::NEG_INFINITY.to_bits(),
            (ReduceOp::Max, false) => low as u32,
            (ReduceOp::Min, true) => f32::INFINITY.to_bits(),
            (ReduceOp::Min, false) => high as u32,
            (ReduceOp::Any, _) => 0,
            (ReduceOp::All, _) => u32::MAX,
            (ReduceOp::ArgMax | ReduceOp::ArgMin, _) => unreachable!("indices are not reduced in a nest"),
        };
        self.bits(bits, Self::clif_type(dtype, vector))
    }

    /// The accumulator of a reduction as an element.
    pub(super) fn reduced(&mut self, op: ReduceOp, dtype: DType, acc: Pack) -> Pack {
        match op {
            ReduceOp::Sum | ReduceOp::Prod if dtype.is_float() => self.rounded(dtype, acc),
            ReduceOp::Sum | ReduceOp::Prod => self.wrapped(dtype, acc),
            _ => acc,
        }
    }
}
