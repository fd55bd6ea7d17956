//! Operations on floats.

use crate::cranelift::code::{Code, Pack};
use crate::cranelift::math::Math;
use crate::formats::{Format, Overflow};
use crate::ir::{BinaryOp, DType, UnaryOp};
use crate::math::{self, Lanes};
use cranelift::prelude::*;
use tpu_microkernels::function::Function;

/// The largest f32 below one half.
const BELOW_HALF: u32 = 0x3eff_ffff;

/// Whether the type has no -0.
fn zero_is_unsigned(dtype: DType) -> bool {
    Format::of(dtype).is_some_and(|format| format.overflow == Overflow::NanAtNegativeZero)
}

impl Code<'_> {
    /// The f32 rounded to an element of that float type.
    pub(in crate::cranelift) fn rounded(&mut self, dtype: DType, x: Pack) -> Pack {
        match Format::of(dtype) {
            // One vector after the other: with all at once the registers do not suffice.
            Some(format) => x.map(|v| math::round(&mut Math::new(self, Pack::one(v)), format, Pack::one(v)).values()[0]),
            None => x,
        }
    }

    /// A number of the type but for the sign of zero.
    fn zero_settled(&mut self, dtype: DType, x: Pack) -> Pack {
        if !zero_is_unsigned(dtype) {
            return x;
        }
        let mut l = Math::new(self, x);
        let zero = l.f32(0.0);
        l.add(x, zero)
    }

    pub(super) fn unary_float(&mut self, op: UnaryOp, dtype: DType, x: Pack) -> Pack {
        let y = match op {
            UnaryOp::Neg if zero_is_unsigned(dtype) => {
                let mut l = Math::new(self, x);
                let zero = l.f32(0.0);
                return l.sub(zero, x);
            }
            UnaryOp::Neg => return x.map(|v| self.b.ins().fneg(v)),
            UnaryOp::Abs => return x.map(|v| self.b.ins().fabs(v)),
            UnaryOp::Sign => return self.sign(x),
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Trunc => self.integral(op, x),
            UnaryOp::Round => {
                // The sum with one half itself would round up what lies just below it.
                let mut l = Math::new(self, x);
                let half = l.f32(f32::from_bits(BELOW_HALF));
                let half = copysign(&mut l, half, x);
                let sum = l.add(x, half);
                self.integral(UnaryOp::Trunc, sum)
            }
            UnaryOp::IsNan => return Math::new(self, x).is_nan(x),
            UnaryOp::IsFinite => {
                let magnitude = x.map(|v| self.b.ins().fabs(v));
                let mut l = Math::new(self, x);
                let infinity = l.f32(f32::INFINITY);
                return l.lt(magnitude, infinity);
            }
            UnaryOp::Sqrt => x.map(|v| self.b.ins().sqrt(v)),
            UnaryOp::Exp => math::exp(&mut Math::new(self, x), x),
            UnaryOp::Rsqrt => math::rsqrt(&mut Math::new(self, x), x),
            UnaryOp::Tanh => math::tanh(&mut Math::new(self, x), x),
            UnaryOp::Recip => self.reciprocal(x),
            UnaryOp::RecipApprox => {
                let x = if dtype == DType::F32 || dtype == DType::F16 { self.rounded(DType::Bf16, x) } else { x };
                let y = self.reciprocal(x);
                self.rounded(DType::Bf16, y)
            }
            UnaryOp::Not | UnaryOp::Popcount | UnaryOp::Clz => unreachable!("the verifier keeps floats from bitwise operations"),
            _ => match math::unary_function(op) {
                Some(function) => self.call_function(function, x, None),
                None => unreachable!("`{op}` is computed above"),
            },
        };
        match op {
            // Integers of the type's range are numbers of the type.
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Trunc | UnaryOp::Round => self.zero_settled(dtype, y),
            _ => self.rounded(dtype, y),
        }
    }

    /// An integer beside each number: by an instruction, where the processor has it.
    fn integral(&mut self, op: UnaryOp, x: Pack) -> Pack {
        match (op, self.features.rounds) {
            (UnaryOp::Floor, true) => x.map(|v| self.b.ins().floor(v)),
            (UnaryOp::Ceil, true) => x.map(|v| self.b.ins().ceil(v)),
            (UnaryOp::RoundEven, true) => x.map(|v| self.b.ins().nearest(v)),
            (_, true) => x.map(|v| self.b.ins().trunc(v)),
            (UnaryOp::Floor, false) => math::floor(&mut Math::new(self, x), x),
            (UnaryOp::Ceil, false) => math::ceil(&mut Math::new(self, x), x),
            (UnaryOp::RoundEven, false) => math::round_even(&mut Math::new(self, x), x),
            (_, false) => math::trunc(&mut Math::new(self, x), x),
        }
    }

    fn reciprocal(&mut self, x: Pack) -> Pack {
        let mut l = Math::new(self, x);
        let one = l.f32(1.0);
        l.div(one, x)
    }

    /// 1 with the sign of x; x where that is zero or NaN.
    fn sign(&mut self, x: Pack) -> Pack {
        let magnitude = x.map(|v| self.b.ins().fabs(v));
        let mut l = Math::new(self, x);
        let (zero, one) = (l.f32(0.0), l.f32(1.0));
        let has_sign = l.lt(zero, magnitude);
        let one = copysign(&mut l, one, x);
        l.select(has_sign, one, x)
    }

    pub(super) fn binary_float(&mut self, op: BinaryOp, dtype: DType, x: Pack, y: Pack) -> Pack {
        let z = match op {
            BinaryOp::Add => x.zip(y, |a, b| self.b.ins().fadd(a, b)),
            BinaryOp::Sub => x.zip(y, |a, b| self.b.ins().fsub(a, b)),
            BinaryOp::Mul => x.zip(y, |a, b| self.b.ins().fmul(a, b)),
            BinaryOp::Div => x.zip(y, |a, b| self.b.ins().fdiv(a, b)),
            // The smaller or larger of two elements is one of them.
            BinaryOp::Min => return x.zip(y, |a, b| self.b.ins().fmin(a, b)),
            BinaryOp::Max => return x.zip(y, |a, b| self.b.ins().fmax(a, b)),
            BinaryOp::Rem => self.call_function(Function::Rem, x, Some(y)),
            BinaryOp::FloorMod => self.call_function(Function::FloorMod, x, Some(y)),
            BinaryOp::Pow => self.call_function(Function::Pow, x, Some(y)),
            BinaryOp::Atan2 => self.call_function(Function::Atan2, x, Some(y)),
            BinaryOp::Hypot => self.call_function(Function::Hypot, x, Some(y)),
            BinaryOp::Copysign => {
                let magnitude = x.map(|v| self.b.ins().fabs(v));
                let z = copysign(&mut Math::new(self, x), magnitude, y);
                return self.zero_settled(dtype, z);
            }
            BinaryOp::NextAfter => return math::next_after(&mut Math::new(self, x), Format::of(dtype), x, y),
            BinaryOp::FloorDiv | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                unreachable!("the verifier keeps floats from integer operations")
            }
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical => unreachable!("the verifier keeps floats from shifts"),
        };
        self.rounded(dtype, z)
    }

    /// One of the two neighbours of f32 lanes in a narrower type, by random bits.
    pub(in crate::cranelift) fn stochastic_round(&mut self, to: DType, x: Pack, random: Pack) -> Pack {
        match Format::of(to) {
            Some(format) => math::stochastic_round(&mut Math::new(self, x), format, x, random),
            None => unreachable!("the verifier demands a narrower float"),
        }
    }
}

/// A positive number with the sign of another.
fn copysign<L: Lanes>(l: &mut L, magnitude: L::F, of: L::F) -> L::F {
    let (bits, of, mask) = (l.to_bits(magnitude), l.to_bits(of), l.i32(i32::MIN));
    let sign = l.iand(of, mask);
    let bits = l.ior(bits, sign);
    l.from_bits(bits)
}
