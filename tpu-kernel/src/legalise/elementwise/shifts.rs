//! Shifts by any amount, which is taken as unsigned.
//!
//! Rules: a chip defines shifts by less than the width. An amount that is known to be less is shifted by as it is; else what
//! lies beyond is chosen. A narrow integer shifts in its word, where amounts between both widths do what they should.

use super::super::lowering::{Lowering, Typed};
use super::super::{Illegal, table};
use super::integers::bits;
use super::words::Words;
use crate::ir::{BinaryOp, OpKind, Value};
use crate::math::Lanes;

pub(super) fn shift(lowering: &mut Lowering<'_>, op: BinaryOp, a: Typed, b: Typed) -> Result<Value, Illegal> {
    let dtype = a.ty.dtype();
    let kind = OpKind::Binary(op);
    let amount = lowering.literal_of(b.value).and_then(|literal| literal.as_int());
    let below = |width: u32| amount.is_some_and(|n| (0..i64::from(width)).contains(&n));
    if a.ty == lowering.ty(a.value) && below(dtype.bits()) && table::native(lowering.chip, &kind, &[a.ty, b.ty]) {
        return Ok(lowering.emit(kind, &[a.value, b.value])[0]);
    }
    let (mut x, by) = (lowering.widen(a)?, lowering.widen(b)?);
    if op == BinaryOp::ShrLogical {
        x = bits(lowering, x, dtype);
    }
    // Amounts of four bits are below 32.
    let known = below(32) || dtype.bits() <= 4;
    let by = if known && amount.is_some() { by } else { bits(lowering, by, dtype) };
    let mut w = Words::of(lowering, x);
    let by = w.bits_as(by, w.ty(x).dtype());
    let shifted = if known {
        w.binary(op, x, by)
    } else {
        let width = w.i32(32);
        let inside = w.ult(by, width);
        let last = w.like(by, 31);
        // The last bits of a signed number are its sign.
        let fills = op == BinaryOp::Shr && dtype.is_signed();
        let within = w.choose(inside, by, last);
        let shifted = w.binary(op, x, within);
        if fills {
            shifted
        } else {
            let zero = w.like(x, 0);
            w.choose(inside, shifted, zero)
        }
    };
    lowering.settle(shifted, dtype)
}
