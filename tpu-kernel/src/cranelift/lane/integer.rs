//! Operations on integers, and the bitwise ones on bools.

use crate::cranelift::code::{Code, Pack};
use crate::ir::{BinaryOp, DType, UnaryOp};
use cranelift::codegen::ir::{InstructionData, Opcode, ValueDef};
use cranelift::prelude::*;
use tpu_microkernels::function::Function;

/// How far a shift goes.
#[derive(Clone, Copy)]
enum Amount {
    /// Known now.
    Known(u32),
    /// The same in all lanes, a scalar.
    Uniform(Value),
}

impl Code<'_> {
    /// The low bits of words as an integer of that type; bool and floats stay.
    pub(in crate::cranelift) fn wrapped(&mut self, dtype: DType, x: Pack) -> Pack {
        let unused = 32 - dtype.bits();
        if unused == 0 || !dtype.is_integer() {
            return x;
        }
        if dtype.is_unsigned() {
            return self.low_bits(dtype, x);
        }
        let by = self.bits(unused, types::I32);
        let high = x.map(|v| self.b.ins().ishl(v, by));
        high.map(|v| self.b.ins().sshr(v, by))
    }

    /// The bits of the type, zeros above them.
    fn low_bits(&mut self, dtype: DType, x: Pack) -> Pack {
        let mask = self.bits(dtype.mask(), self.word_like(x));
        if dtype.bits() == 32 { x } else { x.map(|v| self.b.ins().band(v, mask)) }
    }

    /// The type of words for as many lanes.
    pub(super) fn word_like(&self, x: Pack) -> Type {
        Self::word_type(self.is_vector(x.values()[0]))
    }

    pub(super) fn unary_integer(&mut self, op: UnaryOp, dtype: DType, x: Pack) -> Pack {
        let word = self.word_like(x);
        match op {
            UnaryOp::Neg => {
                let y = x.map(|v| self.b.ins().ineg(v));
                self.wrapped(dtype, y)
            }
            UnaryOp::Abs if dtype.is_unsigned() => x,
            UnaryOp::Abs => {
                let y = x.map(|v| self.b.ins().iabs(v));
                self.wrapped(dtype, y)
            }
            UnaryOp::Not if dtype.is_signed() => x.map(|v| self.b.ins().bnot(v)),
            UnaryOp::Not => {
                let ones = self.bits(dtype.mask(), word);
                x.map(|v| self.b.ins().bxor(v, ones))
            }
            UnaryOp::Sign => {
                let one = self.bits(1, word);
                if dtype.is_unsigned() {
                    return x.map(|v| self.b.ins().umin(v, one));
                }
                let minus_one = self.bits(u32::MAX, word);
                let y = x.map(|v| self.b.ins().smin(v, one));
                y.map(|v| self.b.ins().smax(v, minus_one))
            }
            UnaryOp::Popcount => {
                let bits = if dtype.is_signed() { self.low_bits(dtype, x) } else { x };
                let y = self.call_function(Function::Popcount, bits, None);
                self.small_count(dtype, y)
            }
            UnaryOp::Clz => {
                let bits = if dtype.is_signed() { self.low_bits(dtype, x) } else { x };
                let y = self.call_function(Function::Clz, bits, None);
                let above = self.bits(32 - dtype.bits(), word);
                let y = if dtype.bits() == 32 { y } else { y.map(|v| self.b.ins().isub(v, above)) };
                self.small_count(dtype, y)
            }
            _ => unreachable!("the verifier keeps integers from `{op}`"),
        }
    }

    /// A number of bits: only two bits are too few to hold how many they are.
    fn small_count(&mut self, dtype: DType, x: Pack) -> Pack {
        if dtype == DType::I2 { self.wrapped(dtype, x) } else { x }
    }

    pub(super) fn binary_integer(&mut self, op: BinaryOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        let unsigned = dtype.is_unsigned();
        let z = match op {
            BinaryOp::Add => x.zip(y, |a, b| self.b.ins().iadd(a, b)),
            BinaryOp::Sub => x.zip(y, |a, b| self.b.ins().isub(a, b)),
            BinaryOp::Mul => x.zip(y, |a, b| self.b.ins().imul(a, b)),
            BinaryOp::Div | BinaryOp::Rem if !self.is_vector(x.values()[0]) => {
                x.zip(y, |a, b| self.divide(a, b, unsigned, op == BinaryOp::Rem))
            }
            BinaryOp::Div | BinaryOp::FloorDiv if unsigned => self.call_function(Function::DivUnsigned, x, Some(y)),
            BinaryOp::Rem | BinaryOp::FloorMod if unsigned => self.call_function(Function::RemUnsigned, x, Some(y)),
            BinaryOp::Div => self.call_function(Function::DivSigned, x, Some(y)),
            BinaryOp::Rem => self.call_function(Function::RemSigned, x, Some(y)),
            BinaryOp::FloorDiv => self.call_function(Function::FloorDivSigned, x, Some(y)),
            BinaryOp::FloorMod => self.call_function(Function::FloorModSigned, x, Some(y)),
            BinaryOp::Min if unsigned => x.zip(y, |a, b| self.b.ins().umin(a, b)),
            BinaryOp::Max if unsigned => x.zip(y, |a, b| self.b.ins().umax(a, b)),
            BinaryOp::Min => x.zip(y, |a, b| self.b.ins().smin(a, b)),
            BinaryOp::Max => x.zip(y, |a, b| self.b.ins().smax(a, b)),
            BinaryOp::And => x.zip(y, |a, b| self.b.ins().band(a, b)),
            BinaryOp::Or => x.zip(y, |a, b| self.b.ins().bor(a, b)),
            BinaryOp::Xor => x.zip(y, |a, b| self.b.ins().bxor(a, b)),
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical => return self.shift(op, dtype, x, y),
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign | BinaryOp::NextAfter => {
                unreachable!("the verifier keeps integers from functions of floats")
            }
        };
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => self.wrapped(dtype, z),
            // MIN / -1 of signed integers, x / 0 of unsigned ones.
            BinaryOp::Div | BinaryOp::FloorDiv => self.wrapped(dtype, z),
            _ => z,
        }
    }

    /// Quotient or remainder of scalars, with the cases apart in which the instruction traps.
    fn divide(&mut self, n: Value, d: Value, unsigned: bool, remainder: bool) -> Value {
        let (zero, one, minus_one) = (self.bits(0, types::I32), self.bits(1, types::I32), self.bits(u32::MAX, types::I32));
        let by_zero = self.b.ins().icmp(IntCC::Equal, d, zero);
        let at_zero = if remainder { n } else { minus_one };
        if unsigned {
            let safe = self.b.ins().select(by_zero, one, d);
            let plain = if remainder { self.b.ins().urem(n, safe) } else { self.b.ins().udiv(n, safe) };
            return self.b.ins().select(by_zero, at_zero, plain);
        }
        let by_minus_one = self.b.ins().icmp(IntCC::Equal, d, minus_one);
        let special = self.b.ins().bor(by_zero, by_minus_one);
        let safe = self.b.ins().select(special, one, d);
        let (plain, at_minus_one) =
            if remainder { (self.b.ins().srem(n, safe), zero) } else { (self.b.ins().sdiv(n, safe), self.b.ins().ineg(n)) };
        let rest = self.b.ins().select(by_minus_one, at_minus_one, plain);
        self.b.ins().select(by_zero, at_zero, rest)
    }

    /// A shift. Vectors shift by one amount; lanes with amounts of their own call a function.
    fn shift(&mut self, op: BinaryOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        let arithmetic = op == BinaryOp::Shr && dtype.is_signed();
        let x = if op == BinaryOp::ShrLogical && dtype.is_signed() { self.low_bits(dtype, x) } else { x };
        let z = match self.amount(y) {
            Some(Amount::Known(by)) => {
                let beyond = by >= dtype.bits();
                let by = self.bits(if arithmetic { by.min(31) } else { by % 32 }, types::I32);
                match op {
                    _ if arithmetic => x.map(|v| self.b.ins().sshr(v, by)),
                    _ if beyond => {
                        let zero = self.bits(0, self.word_like(x));
                        Pack::repeated(zero, x.values().len())
                    }
                    BinaryOp::Shl => x.map(|v| self.b.ins().ishl(v, by)),
                    _ => x.map(|v| self.b.ins().ushr(v, by)),
                }
            }
            Some(Amount::Uniform(by)) => {
                let last = self.bits(31, types::I32);
                if arithmetic {
                    let by = self.b.ins().umin(by, last);
                    x.map(|v| self.b.ins().sshr(v, by))
                } else {
                    // The instructions take the amount modulo 32.
                    let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, by, last);
                    let mut mask = self.mask(inside);
                    if self.is_vector(x.values()[0]) {
                        mask = self.b.ins().splat(types::I32X4, mask);
                    }
                    let kept = x.map(|v| self.b.ins().band(v, mask));
                    match op {
                        BinaryOp::Shl => kept.map(|v| self.b.ins().ishl(v, by)),
                        _ => kept.map(|v| self.b.ins().ushr(v, by)),
                    }
                }
            }
            None => {
                let function = match op {
                    BinaryOp::Shl => Function::Shl,
                    _ if arithmetic => Function::Shr,
                    _ => Function::ShrLogical,
                };
                self.call_function(function, x, Some(y))
            }
        };
        // A logical shift by 0 of a signed integer leaves its sign bit in place.
        let overflows = op == BinaryOp::Shl || (op == BinaryOp::ShrLogical && dtype.is_signed());
        if overflows { self.wrapped(dtype, z) } else { z }
    }

    /// The amount, where all lanes have the same.
    fn amount(&self, y: Pack) -> Option<Amount> {
        let first = y.values()[0];
        if y.values().iter().any(|&v| v != first) {
            return None;
        }
        let scalar = match self.defined_by(first) {
            Some(InstructionData::Unary { opcode: Opcode::Splat, arg }) => *arg,
            _ if !self.is_vector(first) => first,
            _ => return None,
        };
        Some(match self.defined_by(scalar) {
            Some(InstructionData::UnaryImm { opcode: Opcode::Iconst, imm }) => Amount::Known(imm.bits() as u32),
            _ => Amount::Uniform(scalar),
        })
    }

    fn defined_by(&self, v: Value) -> Option<&InstructionData> {
        let dfg = &self.b.func.dfg;
        match dfg.value_def(dfg.resolve_aliases(v)) {
            ValueDef::Result(inst, _) => Some(&dfg.insts[inst]),
            _ => None,
        }
    }
}
