//! The elementwise operations, for a vector of lanes or a scalar alike.

use super::code::{Code, Pack, flags};
use super::math::Math;
use crate::ir::{BinaryOp, CompareOp, DType, ReduceOp, UnaryOp};
use crate::math;
use cranelift::prelude::*;

impl Code<'_> {
    /// A unary operation.
    pub(super) fn unary(&mut self, op: UnaryOp, dtype: DType, x: Pack) -> Pack {
        match op {
            UnaryOp::Neg if dtype == DType::I32 => x.map(|v| self.b.ins().ineg(v)),
            UnaryOp::Neg => x.map(|v| self.b.ins().fneg(v)),
            UnaryOp::Abs if dtype == DType::I32 => x.map(|v| self.b.ins().iabs(v)),
            UnaryOp::Abs => x.map(|v| self.b.ins().fabs(v)),
            UnaryOp::Not => x.map(|v| {
                if dtype == DType::Bool && !self.is_vector(v) {
                    let one = self.b.ins().iconst(types::I8, 1);
                    self.b.ins().bxor(v, one)
                } else {
                    self.b.ins().bnot(v)
                }
            }),
            UnaryOp::Sqrt => {
                let y = x.map(|v| self.b.ins().sqrt(v));
                self.rounded(dtype, y)
            }
            UnaryOp::Exp => {
                let y = math::exp(&mut Math::new(self, x), x);
                self.rounded(dtype, y)
            }
            UnaryOp::Rsqrt => {
                let y = math::rsqrt(&mut Math::new(self, x), x);
                self.rounded(dtype, y)
            }
            UnaryOp::Tanh => {
                let y = math::tanh(&mut Math::new(self, x), x);
                self.rounded(dtype, y)
            }
            _ => crate::pending("unary"),
        }
    }

    /// The value as an element of that type: bf16 is rounded.
    pub(super) fn rounded(&mut self, dtype: DType, x: Pack) -> Pack {
        if dtype == DType::Bf16 { x.map(|v| self.round_bf16(v)) } else { x }
    }

    /// A binary operation.
    pub(super) fn binary(&mut self, op: BinaryOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        if dtype.is_float() {
            let z = x.zip(y, |a, b| match op {
                BinaryOp::Add => self.b.ins().fadd(a, b),
                BinaryOp::Sub => self.b.ins().fsub(a, b),
                BinaryOp::Mul => self.b.ins().fmul(a, b),
                BinaryOp::Div => self.b.ins().fdiv(a, b),
                BinaryOp::Rem => self.fmod(a, b),
                BinaryOp::Min => self.b.ins().fmin(a, b),
                BinaryOp::Max => self.b.ins().fmax(a, b),
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => unreachable!("the verifier keeps floats from bitwise operations"),
                _ => crate::pending("binary"),
            });
            // The smaller or larger of two bf16 values is one of them.
            return if matches!(op, BinaryOp::Min | BinaryOp::Max) { z } else { self.rounded(dtype, z) };
        }
        x.zip(y, |a, b| match op {
            BinaryOp::Add => self.b.ins().iadd(a, b),
            BinaryOp::Sub => self.b.ins().isub(a, b),
            BinaryOp::Mul => self.b.ins().imul(a, b),
            BinaryOp::Div => self.by_lane(&[a, b], |code, args| code.divide(args[0], args[1], false)),
            BinaryOp::Rem => self.by_lane(&[a, b], |code, args| code.divide(args[0], args[1], true)),
            BinaryOp::Min => self.b.ins().smin(a, b),
            BinaryOp::Max => self.b.ins().smax(a, b),
            BinaryOp::And => self.b.ins().band(a, b),
            BinaryOp::Or => self.b.ins().bor(a, b),
            BinaryOp::Xor => self.b.ins().bxor(a, b),
            _ => crate::pending("binary"),
        })
    }

    /// Quotient or remainder of i32 scalars, with the two cases in which the instruction traps apart.
    fn divide(&mut self, n: Value, d: Value, remainder: bool) -> Value {
        let (zero, one, minus_one) = (self.bits(0, types::I32), self.bits(1, types::I32), self.bits(u32::MAX, types::I32));
        let by_zero = self.b.ins().icmp(IntCC::Equal, d, zero);
        let by_minus_one = self.b.ins().icmp(IntCC::Equal, d, minus_one);
        let special = self.b.ins().bor(by_zero, by_minus_one);
        let safe = self.b.ins().select(special, one, d);
        let (plain, at_zero, at_minus_one) = if remainder {
            (self.b.ins().srem(n, safe), n, zero)
        } else {
            (self.b.ins().sdiv(n, safe), minus_one, self.b.ins().ineg(n))
        };
        let rest = self.b.ins().select(by_minus_one, at_minus_one, plain);
        self.b.ins().select(by_zero, at_zero, rest)
    }

    /// A comparison.
    pub(super) fn compare(&mut self, op: CompareOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        x.zip(y, |a, b| {
            if dtype.is_float() {
                let code = match op {
                    CompareOp::Eq => FloatCC::Equal,
                    CompareOp::Ne => FloatCC::NotEqual,
                    CompareOp::Lt => FloatCC::LessThan,
                    CompareOp::Le => FloatCC::LessThanOrEqual,
                    CompareOp::Gt => FloatCC::GreaterThan,
                    CompareOp::Ge => FloatCC::GreaterThanOrEqual,
                };
                self.b.ins().fcmp(code, a, b)
            } else {
                let code = match op {
                    CompareOp::Eq => IntCC::Equal,
                    CompareOp::Ne => IntCC::NotEqual,
                    CompareOp::Lt => IntCC::SignedLessThan,
                    CompareOp::Le => IntCC::SignedLessThanOrEqual,
                    CompareOp::Gt => IntCC::SignedGreaterThan,
                    CompareOp::Ge => IntCC::SignedGreaterThanOrEqual,
                };
                self.b.ins().icmp(code, a, b)
            }
        })
    }

    /// `x` where `c`, else `y`.
    pub(super) fn select_lanes(&mut self, c: Pack, x: Pack, y: Pack) -> Pack {
        let mut at = 0;
        x.zip(y, |a, b| {
            at += 1;
            self.choose(c.values()[at - 1], a, b)
        })
    }

    /// A conversion.
    pub(super) fn cast(&mut self, from: DType, to: DType, x: Pack) -> Pack {
        match (from, to) {
            (DType::F32, DType::Bf16) => x.map(|v| self.round_bf16(v)),
            (DType::F32 | DType::Bf16, DType::F32 | DType::Bf16) | (DType::I32, DType::I32) | (DType::Bool, DType::Bool) => x,
            (DType::F32 | DType::Bf16, DType::I32) => x.map(|v| {
                let to = if self.is_vector(v) { types::I32X4 } else { types::I32 };
                self.b.ins().fcvt_to_sint_sat(to, v)
            }),
            (DType::F32 | DType::Bf16, DType::Bool) => x.map(|v| {
                let ty = self.b.func.dfg.value_type(v);
                let zero = self.bits(0, ty);
                self.b.ins().fcmp(FloatCC::NotEqual, v, zero)
            }),
            (DType::I32, DType::F32 | DType::Bf16) => {
                let y = x.map(|v| {
                    let ty = Self::clif_type(to, self.is_vector(v));
                    self.b.ins().fcvt_from_sint(ty, v)
                });
                self.rounded(to, y)
            }
            (DType::I32, DType::Bool) => x.map(|v| {
                let ty = self.b.func.dfg.value_type(v);
                let zero = self.bits(0, ty);
                self.b.ins().icmp(IntCC::NotEqual, v, zero)
            }),
            (DType::Bool, DType::I32) => {
                x.map(|v| if self.is_vector(v) { self.b.ins().ineg(v) } else { self.b.ins().uextend(types::I32, v) })
            }
            (DType::Bool, DType::F32 | DType::Bf16) => x.map(|v| {
                if self.is_vector(v) {
                    let one = self.bits(1f32.to_bits(), types::I32X4);
                    let bits = self.b.ins().band(v, one);
                    self.bitcast(bits, types::F32X4)
                } else {
                    let wide = self.b.ins().uextend(types::I32, v);
                    self.b.ins().fcvt_from_sint(types::F32, wide)
                }
            }),
            _ => crate::pending("cast"),
        }
    }

    /// One step of a reduction. The accumulator of bf16 lanes is f32.
    pub(super) fn combine(&mut self, op: ReduceOp, dtype: DType, acc: Value, x: Value) -> Value {
        match (op, dtype.is_float()) {
            (ReduceOp::Sum, true) => self.b.ins().fadd(acc, x),
            (ReduceOp::Sum, false) => self.b.ins().iadd(acc, x),
            (ReduceOp::Max, true) => self.b.ins().fmax(acc, x),
            (ReduceOp::Max, false) => self.b.ins().smax(acc, x),
            (ReduceOp::Min, true) => self.b.ins().fmin(acc, x),
            (ReduceOp::Min, false) => self.b.ins().smin(acc, x),
            _ => crate::pending("combine"),
        }
    }

    /// What leaves every operand as it is: -0.0 for a sum, since -0.0 + x is x, also of -0.0.
    pub(super) fn identity(op: ReduceOp, dtype: DType) -> u32 {
        match (op, dtype.is_float()) {
            (ReduceOp::Sum, true) => (-0f32).to_bits(),
            (ReduceOp::Sum, false) => 0,
            (ReduceOp::Max, true) => f32::NEG_INFINITY.to_bits(),
            (ReduceOp::Max, false) => i32::MIN as u32,
            (ReduceOp::Min, true) => f32::INFINITY.to_bits(),
            (ReduceOp::Min, false) => i32::MAX as u32,
            _ => crate::pending("identity"),
        }
    }

    /// Reads a scalar element.
    pub(super) fn load_scalar(&mut self, dtype: DType, address: Value, offset: i32) -> Value {
        match dtype {
            DType::F32 => self.b.ins().load(types::F32, flags(), address, offset),
            DType::I32 => self.b.ins().load(types::I32, flags(), address, offset),
            DType::Bf16 => {
                let half = self.b.ins().uload16(types::I32, flags(), address, offset);
                let by = self.bits(16, types::I32);
                let bits = self.b.ins().ishl(half, by);
                self.bitcast(bits, types::F32)
            }
            DType::Bool => {
                let byte = self.b.ins().load(types::I8, flags(), address, offset);
                let zero = self.b.ins().iconst(types::I8, 0);
                self.b.ins().icmp(IntCC::NotEqual, byte, zero)
            }
            _ => crate::pending("load_scalar"),
        }
    }

    /// Writes a scalar element.
    pub(super) fn store_scalar(&mut self, dtype: DType, v: Value, address: Value, offset: i32) {
        match dtype {
            DType::F32 | DType::I32 | DType::Bool => {
                self.b.ins().store(flags(), v, address, offset);
            }
            DType::Bf16 => {
                let bits = self.bitcast(v, types::I32);
                let by = self.bits(16, types::I32);
                let half = self.b.ins().ushr(bits, by);
                self.b.ins().istore16(flags(), half, address, offset);
            }
            _ => crate::pending("store_scalar"),
        }
    }

    /// Reads four consecutive elements.
    pub(super) fn load_vector(&mut self, dtype: DType, address: Value, offset: i32) -> Value {
        match dtype {
            DType::F32 => self.b.ins().load(types::F32X4, flags(), address, offset),
            DType::I32 => self.b.ins().load(types::I32X4, flags(), address, offset),
            DType::Bf16 => {
                let halves = self.b.ins().uload16x4(flags(), address, offset);
                let by = self.bits(16, types::I32);
                let bits = self.b.ins().ishl(halves, by);
                self.bitcast(bits, types::F32X4)
            }
            DType::Bool => {
                let four = self.b.ins().load(types::I32, flags(), address, offset);
                let bytes = self.b.ins().scalar_to_vector(types::I32X4, four);
                let bytes = self.bitcast(bytes, types::I8X16);
                let halves = self.b.ins().uwiden_low(bytes);
                let words = self.b.ins().uwiden_low(halves);
                let zero = self.bits(0, types::I32X4);
                self.b.ins().icmp(IntCC::NotEqual, words, zero)
            }
            _ => crate::pending("load_vector"),
        }
    }

    /// Writes four consecutive elements.
    pub(super) fn store_vector(&mut self, dtype: DType, v: Value, address: Value, offset: i32) {
        match dtype {
            DType::F32 | DType::I32 => {
                self.b.ins().store(flags(), v, address, offset);
            }
            DType::Bf16 => {
                let bits = self.bitcast(v, types::I32X4);
                let by = self.bits(16, types::I32);
                let halves = self.b.ins().ushr(bits, by);
                let packed = self.b.ins().unarrow(halves, halves);
                let packed = self.bitcast(packed, types::I64X2);
                let low = self.b.ins().extractlane(packed, 0);
                self.b.ins().store(flags(), low, address, offset);
            }
            DType::Bool => {
                let one = self.bits(1, types::I32X4);
                let bit = self.b.ins().band(v, one);
                let halves = self.b.ins().snarrow(bit, bit);
                let bytes = self.b.ins().snarrow(halves, halves);
                let words = self.bitcast(bytes, types::I32X4);
                let low = self.b.ins().extractlane(words, 0);
                self.b.ins().store(flags(), low, address, offset);
            }
            _ => crate::pending("store_vector"),
        }
    }
}
