//! Words: the f32, i32 and u32 in which everything is computed that a chip has not in a narrower type.
//!
//! Rules: a float in words is the f32 of the same number, an integer the word of the same value.
//! [`Lowering::widen`] gives the word, [`Lowering::settle`] the value that represents a narrow type, rounded or wrapped.
//! [`Words`] writes operations on words, so that the functions of `math` are lowerings, too.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, represented, word};
use crate::formats::Format;
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Shape, Type, UnaryOp, Value};
use crate::math::{self, Lanes};

impl Lowering<'_> {
    /// The word of a value, tile or scalar; of a bool, itself.
    pub(in crate::legalise) fn widen(&mut self, x: Typed) -> Result<Value, Illegal> {
        self.cast(x.value, word(x.ty.dtype()))
    }

    /// A result in words as what represents the narrower type: rounded to nearest even, or its low bits.
    pub(in crate::legalise) fn settle(&mut self, x: Value, dtype: DType) -> Result<Value, Illegal> {
        let ty = self.ty(x);
        let held = represented(ty.with_dtype(dtype)).dtype();
        if held != ty.dtype() {
            return self.cast(x, held);
        }
        let Some(format) = Format::of(dtype) else { return Ok(self.wrapped(x, dtype)) };
        Ok(match self.literal_of(x) {
            Some(literal) => {
                let number = Literal::from_f32(dtype, literal.as_f32().unwrap_or(f32::NAN));
                let number = Literal::from(number.as_f32().unwrap_or(f32::NAN));
                self.constant(number, ty.is_tile().then(|| ty.shape()))
            }
            None => math::round(&mut Words::of(self, x), format, x),
        })
    }

    /// The low bits of an integer word, extended.
    fn wrapped(&mut self, x: Value, dtype: DType) -> Value {
        let unused = 32 - dtype.bits();
        if unused == 0 || dtype == DType::Bool {
            return x;
        }
        if let Some(n) = self.literal_of(x).and_then(|literal| literal.as_int()) {
            let (wrapped, ty) = (Literal::from_int(dtype, n).as_int().unwrap_or(n), self.ty(x));
            return self.constant(Literal::from_int(ty.dtype(), wrapped), ty.is_tile().then(|| ty.shape()));
        }
        let mut w = Words::of(self, x);
        if dtype.is_unsigned() {
            let mask = w.like(x, i64::from(dtype.mask()));
            return w.binary(BinaryOp::And, x, mask);
        }
        let up = w.shifted(BinaryOp::Shl, x, unused);
        w.shifted(BinaryOp::Shr, up, unused)
    }

    /// The bits of a float, narrower than f32 and in words, as an i32 or u32.
    pub(super) fn packed(&mut self, x: Value, format: Format) -> Value {
        math::pack(&mut Words::of(self, x), format, x)
    }

    /// The float in words with these bits.
    pub(super) fn unpacked(&mut self, bits: Value, format: Format) -> Value {
        let mut w = Words::of(self, bits);
        let bits = w.bits_as(bits, DType::I32);
        math::decode(&mut w, format, bits)
    }
}

/// Writes operations on words of one shape. All of them are native on every chip.
pub(super) struct Words<'l, 'k> {
    lowering: &'l mut Lowering<'k>,
    shape: Option<Shape>,
}

impl<'l, 'k> Words<'l, 'k> {
    /// Words of the shape of a value.
    pub(super) fn of(lowering: &'l mut Lowering<'k>, like: Value) -> Words<'l, 'k> {
        let ty = lowering.ty(like);
        Words { shape: ty.is_tile().then(|| ty.shape()), lowering }
    }

    /// What `f` makes of words of the shape of `like`.
    fn emit(&mut self, kind: OpKind, operands: &[Value]) -> Value {
        self.lowering.emit(kind, operands)[0]
    }

    /// The number as a value of the element type of `x`.
    pub(super) fn like(&mut self, x: Value, number: i64) -> Value {
        let dtype = self.lowering.ty(x).dtype();
        self.lowering.constant(Literal::from_int(dtype, number), self.shape)
    }

    /// A native operation of one operand.
    pub(super) fn unary(&mut self, op: UnaryOp, x: Value) -> Value {
        self.emit(OpKind::Unary(op), &[x])
    }

    /// A native operation of two operands.
    pub(super) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.emit(OpKind::Binary(op), &[a, b])
    }

    /// A native comparison.
    pub(super) fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Value {
        self.emit(OpKind::Compare(op), &[a, b])
    }

    /// A native selection.
    pub(super) fn choose(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.emit(OpKind::Select, &[mask, a, b])
    }

    /// A shift by fewer bits than a word has.
    pub(super) fn shifted(&mut self, op: BinaryOp, x: Value, by: u32) -> Value {
        let by = self.like(x, i64::from(by));
        self.binary(op, x, by)
    }

    /// The same bits as another word.
    pub(super) fn bits_as(&mut self, x: Value, dtype: DType) -> Value {
        if self.lowering.ty(x).dtype() == dtype { x } else { self.emit(OpKind::Bitcast(dtype), &[x]) }
    }

    /// A native conversion.
    pub(super) fn convert(&mut self, x: Value, to: DType) -> Value {
        self.emit(OpKind::Cast(to), &[x])
    }

    /// The magnitude bits of a float.
    pub(super) fn magnitude(&mut self, x: Value) -> Value {
        let (bits, mask) = (self.to_bits(x), self.i32(i32::MAX));
        self.iand(bits, mask)
    }

    /// Not.
    pub(super) fn not(&mut self, mask: Value) -> Value {
        self.unary(UnaryOp::Not, mask)
    }

    /// The type of a value.
    pub(super) fn ty(&self, x: Value) -> Type {
        self.lowering.ty(x)
    }
}

impl Lanes for Words<'_, '_> {
    type F = Value;
    type I = Value;
    type M = Value;

    fn keeps_denormals(&self) -> bool {
        false
    }
    fn f32(&mut self, value: f32) -> Value {
        self.lowering.constant(Literal::from(value), self.shape)
    }
    fn i32(&mut self, value: i32) -> Value {
        self.lowering.constant(Literal::from(value), self.shape)
    }
    fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }
    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Sub, a, b)
    }
    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }
    fn div(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Div, a, b)
    }
    fn fma(&mut self, _: Value, _: Value, _: Value) -> Value {
        unreachable!("no chip multiplies and adds with one rounding: what does so is not lowered to words")
    }
    fn sqrt(&mut self, a: Value) -> Value {
        self.unary(UnaryOp::Sqrt, a)
    }
    fn lt(&mut self, a: Value, b: Value) -> Value {
        self.compare(CompareOp::Lt, a, b)
    }
    fn eq(&mut self, a: Value, b: Value) -> Value {
        self.compare(CompareOp::Eq, a, b)
    }
    fn is_nan(&mut self, a: Value) -> Value {
        let (magnitude, infinity) = (self.magnitude(a), self.i32(0x7f80_0000));
        self.compare(CompareOp::Gt, magnitude, infinity)
    }
    fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.choose(mask, a, b)
    }
    fn to_bits(&mut self, a: Value) -> Value {
        self.bits_as(a, DType::I32)
    }
    fn from_bits(&mut self, a: Value) -> Value {
        self.bits_as(a, DType::F32)
    }
    fn to_int(&mut self, a: Value) -> Value {
        self.convert(a, DType::I32)
    }
    fn from_int(&mut self, a: Value) -> Value {
        self.convert(a, DType::F32)
    }
    fn iadd(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }
    fn isub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Sub, a, b)
    }
    fn iand(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::And, a, b)
    }
    fn ior(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Or, a, b)
    }
    fn shl(&mut self, a: Value, by: u32) -> Value {
        self.shifted(BinaryOp::Shl, a, by)
    }
    fn ashr(&mut self, a: Value, by: u32) -> Value {
        self.shifted(BinaryOp::Shr, a, by)
    }
    fn ushr(&mut self, a: Value, by: u32) -> Value {
        self.shifted(BinaryOp::ShrLogical, a, by)
    }
    fn ixor(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Xor, a, b)
    }
    fn imax(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Max, a, b)
    }
    fn ieq(&mut self, a: Value, b: Value) -> Value {
        self.compare(CompareOp::Eq, a, b)
    }
    fn ult(&mut self, a: Value, b: Value) -> Value {
        let (a, b) = (self.bits_as(a, DType::U32), self.bits_as(b, DType::U32));
        self.compare(CompareOp::Lt, a, b)
    }
    fn iselect(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.choose(mask, a, b)
    }
}
