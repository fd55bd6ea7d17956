//! The next number of a float format.

use super::{Lanes, decode, format::unsigned_zero, pack};
use crate::formats::{Format, Overflow};

/// The neighbour of x toward y among the numbers of a format (`None`: f32), denormals included; y where they are equal, NaN
/// where one is.
pub fn next_after<L: Lanes>(l: &mut L, format: Option<Format>, x: L::F, y: L::F) -> L::F {
    let sign = format.map_or(1 << 31, Format::sign);
    let bits = match format {
        Some(format) => pack(l, format, x),
        None => l.to_bits(x),
    };
    let low = l.i32((sign - 1).cast_signed());
    let magnitude = l.iand(bits, low);

    // Turned so that x is positive: away from zero is up.
    let (x_bits, y_bits, mask) = (l.to_bits(x), l.to_bits(y), l.i32(i32::MIN));
    let x_sign = l.iand(x_bits, mask);
    let (x_up, y_up) = (l.ixor(x_bits, x_sign), l.ixor(y_bits, x_sign));
    let (x_up, y_up) = (l.from_bits(x_up), l.from_bits(y_up));
    let grows = l.lt(x_up, y_up);
    let (one, minus_one) = (l.i32(1), l.i32(-1));
    let step = l.iselect(grows, one, minus_one);
    let moved = l.iadd(bits, step);

    let (zero, mask) = (l.i32(0), l.i32(sign.cast_signed()));
    let y_sign = l.ushr(y_bits, sign.leading_zeros());
    let y_sign = l.iand(y_sign, mask);
    let smallest = l.ior(y_sign, one);
    let at_zero = l.ieq(magnitude, zero);
    let next = l.iselect(at_zero, smallest, moved);

    let next = match format {
        Some(format) => {
            let next = if format.overflow == Overflow::NanAtNegativeZero {
                // Between the smallest negative number and zero there is no other zero.
                let negative_zero = l.ieq(next, mask);
                l.iselect(negative_zero, zero, next)
            } else {
                next
            };
            let next = decode(l, format, next);
            if format.overflow == Overflow::NanAtNegativeZero { unsigned_zero(l, next) } else { next }
        }
        None => l.from_bits(next),
    };
    let equal = l.eq(x, y);
    let next = l.select(equal, y, next);
    let is_nan = l.is_nan(y);
    let next = l.select(is_nan, y, next);
    let is_nan = l.is_nan(x);
    l.select(is_nan, x, next)
}
