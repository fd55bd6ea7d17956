//! Numbers as i32 keys of the same order.
//!
//! Rules: NaN is above all numbers, -0 equals +0. Only integers are compared, so that no chip's treatment of NaN, zeros or
//! denormals matters.

use super::super::Illegal;
use super::super::lowering::Lowering;
use super::make;
use crate::ir::{BinaryOp, CompareOp, DType, OpKind, Value};

/// The key of NaN: above that of infinity.
pub(super) const NAN: i32 = i32::MAX;

/// The keys of a tile.
pub(super) fn keys(lowering: &mut Lowering<'_>, x: Value) -> Result<Value, Illegal> {
    let dtype = lowering.ty(x).dtype();
    if !dtype.is_float() {
        let words = make::widened(lowering, x)?;
        return if dtype == DType::U32 { flipped(lowering, words) } else { Ok(words) };
    }
    let words = make::widened(lowering, x)?;
    let bits = lowering.apply(OpKind::Bitcast(DType::I32), &[words])?;
    let [zero, magnitude, infinity, nan] =
        [0, i32::MAX, f32::INFINITY.to_bits() as i32, NAN].map(|n| make::like(lowering, bits, n));
    let size = make::binary(lowering, BinaryOp::And, bits, magnitude)?;
    // A greater magnitude is a smaller number where the sign is set.
    let turned = make::binary(lowering, BinaryOp::Xor, bits, magnitude)?;
    let negative = make::compare(lowering, CompareOp::Lt, bits, zero)?;
    let key = make::select(lowering, negative, turned, bits)?;
    let is_zero = make::compare(lowering, CompareOp::Eq, size, zero)?;
    let key = make::select(lowering, is_zero, zero, key)?;
    let is_nan = make::compare(lowering, CompareOp::Gt, size, infinity)?;
    make::select(lowering, is_nan, nan, key)
}

/// u32 as i32 of the same order.
pub(super) fn flipped(lowering: &mut Lowering<'_>, x: Value) -> Result<Value, Illegal> {
    let bits = lowering.apply(OpKind::Bitcast(DType::I32), &[x])?;
    let sign = make::like(lowering, bits, i32::MIN);
    make::binary(lowering, BinaryOp::Xor, bits, sign)
}

/// The u32 that [`flipped`] gives this for.
pub(super) fn flipped_back(lowering: &mut Lowering<'_>, x: Value) -> Result<Value, Illegal> {
    let sign = make::like(lowering, x, i32::MIN);
    let bits = make::binary(lowering, BinaryOp::Xor, x, sign)?;
    lowering.apply(OpKind::Bitcast(DType::U32), &[bits])
}
