//! Conversions.

use crate::cranelift::code::{Code, Pack};
use crate::cranelift::math::Math;
use crate::formats::{Format, Overflow};
use crate::ir::DType;
use crate::math;
use cranelift::prelude::*;

/// Whether every element of one float type is one of the other.
fn floats_fit(from: DType, to: DType) -> bool {
    let (Some(from), Some(to)) = (Format::of(from), Format::of(to)) else { return to == DType::F32 };
    let highest = |format: Format| format.decode(format.largest());
    from.mantissa <= to.mantissa
        && to.overflow == Overflow::Infinity
        && highest(from) <= highest(to)
        && from.decode(1) >= to.decode(1)
}

/// Whether every integer of a type is a number of the float type.
fn integers_fit(from: DType, to: DType) -> bool {
    let digits = from.bits() - u32::from(from.is_signed());
    Format::of(to).is_none_or(|to| digits <= to.mantissa + 1 && 2f32.powi(digits as i32) <= to.decode(to.largest()))
}

impl Code<'_> {
    /// A conversion.
    pub(in crate::cranelift) fn cast(&mut self, from: DType, to: DType, x: Pack) -> Pack {
        match (from, to) {
            _ if from == to => x,
            (DType::Bool, _) => self.cast_bool(to, x),
            (_, DType::Bool) => self.not_zero(from, x),
            _ if from.is_float() && to.is_float() => {
                if floats_fit(from, to) {
                    x
                } else {
                    self.rounded(to, x)
                }
            }
            _ if from.is_float() => self.cut_to_integer(to, x),
            _ if to.is_float() => {
                let ty = Self::float_type(self.is_vector(x.values()[0]));
                let y =
                    x.map(
                        |v| {
                            if from == DType::U32 { self.b.ins().fcvt_from_uint(ty, v) } else { self.b.ins().fcvt_from_sint(ty, v) }
                        },
                    );
                if integers_fit(from, to) { y } else { self.rounded(to, y) }
            }
            _ => {
                let ((low, high), (lowest, highest)) = (from.range(), to.range());
                if lowest <= low && high <= highest { x } else { self.wrapped(to, x) }
            }
        }
    }

    fn cast_bool(&mut self, to: DType, x: Pack) -> Pack {
        x.map(|v| {
            if self.is_vector(v) {
                let one = self.bits(if to.is_float() { 1f32.to_bits() } else { 1 }, types::I32X4);
                let bits = self.b.ins().band(v, one);
                self.bitcast(bits, Self::clif_type(to, true))
            } else {
                let wide = self.b.ins().uextend(types::I32, v);
                if to.is_float() { self.b.ins().fcvt_from_sint(types::F32, wide) } else { wide }
            }
        })
    }

    /// Whether each element is not zero; NaN is not.
    pub(in crate::cranelift) fn not_zero(&mut self, dtype: DType, x: Pack) -> Pack {
        x.map(|v| {
            let zero = self.bits(0, Self::clif_type(dtype, self.is_vector(v)));
            if dtype.is_float() {
                self.b.ins().fcmp(FloatCC::NotEqual, v, zero)
            } else {
                self.b.ins().icmp(IntCC::NotEqual, v, zero)
            }
        })
    }

    /// Toward zero; cut to the range of the type; NaN to 0.
    fn cut_to_integer(&mut self, to: DType, x: Pack) -> Pack {
        let word = self.word_like(x);
        if to == DType::U32 {
            return x.map(|v| self.b.ins().fcvt_to_uint_sat(word, v));
        }
        let y = x.map(|v| self.b.ins().fcvt_to_sint_sat(word, v));
        if to == DType::I32 {
            return y;
        }
        let (low, high) = to.range();
        let [low, high] = [low, high].map(|limit| self.bits(limit as u32, word));
        let y = y.map(|v| self.b.ins().smax(v, low));
        y.map(|v| self.b.ins().smin(v, high))
    }

    /// The same bits as a type of the same width; neither is bool.
    pub(in crate::cranelift) fn reinterpret(&mut self, from: DType, to: DType, x: Pack) -> Pack {
        if from == to {
            return x;
        }
        let word = self.word_like(x);
        let bits = match Format::of(from) {
            Some(format) => math::pack(&mut Math::new(self, x), format, x),
            None => x.map(|v| self.bitcast(v, word)),
        };
        // Bits of another sign lie otherwise above the width.
        let same = from.is_signed() == to.is_signed() || to.is_float();
        let bits = if same { bits } else { self.wrapped(to, bits) };
        self.of_bits(to, bits)
    }
}
