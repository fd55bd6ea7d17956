//! [`Lanes`] of CLIF values: the functions of `math`, emitted as code.

use super::code::{Code, Pack};
use crate::math::Lanes;
use cranelift::prelude::*;

/// Emits for a pack of one kind: vectors or a scalar.
pub(super) struct Math<'c, 'f> {
    code: &'c mut Code<'f>,
    len: usize,
    float: Type,
    int: Type,
}

impl<'c, 'f> Math<'c, 'f> {
    /// For packs like this one.
    pub(super) fn new(code: &'c mut Code<'f>, like: Pack) -> Math<'c, 'f> {
        let vector = code.is_vector(like.values()[0]);
        let (float, int) = if vector { (types::F32X4, types::I32X4) } else { (types::F32, types::I32) };
        Math { code, len: like.values().len(), float, int }
    }
}

impl Lanes for Math<'_, '_> {
    type F = Pack;
    type I = Pack;
    type M = Pack;

    fn f32(&mut self, value: f32) -> Pack {
        Pack::repeated(self.code.bits(value.to_bits(), self.float), self.len)
    }
    fn i32(&mut self, value: i32) -> Pack {
        Pack::repeated(self.code.bits(value.cast_unsigned(), self.int), self.len)
    }
    fn add(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().fadd(a, b))
    }
    fn sub(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().fsub(a, b))
    }
    fn mul(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().fmul(a, b))
    }
    fn div(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().fdiv(a, b))
    }
    fn fma(&mut self, a: Pack, b: Pack, c: Pack) -> Pack {
        let mut at = 0;
        a.zip(b, |a, b| {
            at += 1;
            self.code.fma(a, b, c.values()[at - 1])
        })
    }
    fn sqrt(&mut self, a: Pack) -> Pack {
        a.map(|a| self.code.b.ins().sqrt(a))
    }
    fn lt(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().fcmp(FloatCC::LessThan, a, b))
    }
    fn eq(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().fcmp(FloatCC::Equal, a, b))
    }
    fn is_nan(&mut self, a: Pack) -> Pack {
        a.map(|a| self.code.b.ins().fcmp(FloatCC::Unordered, a, a))
    }
    fn select(&mut self, mask: Pack, a: Pack, b: Pack) -> Pack {
        self.code.select_lanes(mask, a, b)
    }
    fn to_bits(&mut self, a: Pack) -> Pack {
        a.map(|a| self.code.bitcast(a, self.int))
    }
    fn from_bits(&mut self, a: Pack) -> Pack {
        a.map(|a| self.code.bitcast(a, self.float))
    }
    fn to_int(&mut self, a: Pack) -> Pack {
        a.map(|a| self.code.b.ins().fcvt_to_sint_sat(self.int, a))
    }
    fn from_int(&mut self, a: Pack) -> Pack {
        a.map(|a| self.code.b.ins().fcvt_from_sint(self.float, a))
    }
    fn iadd(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().iadd(a, b))
    }
    fn isub(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().isub(a, b))
    }
    fn iand(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().band(a, b))
    }
    fn ior(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().bor(a, b))
    }
    fn shl(&mut self, a: Pack, by: u32) -> Pack {
        let by = self.code.bits(by, types::I32);
        a.map(|a| self.code.b.ins().ishl(a, by))
    }
    fn ashr(&mut self, a: Pack, by: u32) -> Pack {
        let by = self.code.bits(by, types::I32);
        a.map(|a| self.code.b.ins().sshr(a, by))
    }
    fn ushr(&mut self, a: Pack, by: u32) -> Pack {
        let by = self.code.bits(by, types::I32);
        a.map(|a| self.code.b.ins().ushr(a, by))
    }
    fn ixor(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().bxor(a, b))
    }
    fn imax(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().smax(a, b))
    }
    fn ieq(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().icmp(IntCC::Equal, a, b))
    }
    fn ult(&mut self, a: Pack, b: Pack) -> Pack {
        a.zip(b, |a, b| self.code.b.ins().icmp(IntCC::UnsignedLessThan, a, b))
    }
    fn iselect(&mut self, mask: Pack, a: Pack, b: Pack) -> Pack {
        self.code.select_lanes(mask, a, b)
    }
}
