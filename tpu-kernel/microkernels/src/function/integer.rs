//! Integers: quotients, remainders, shifts, counts.
//!
//! A quotient is computed in f64, where every 32-bit integer is exact: rounded to the nearest integer and, if the
//! remainder is then negative, one less. That is the integer quotient: the error of one division, 2^-53 relative, is less
//! than the distance of a quotient of 32-bit integers from the next integer.

use super::body::Body;
use super::parts::TO_INTEGER;

const MIN: u32 = i32::MIN.cast_unsigned();

/// Unsigned a / b, of any b.
#[inline(always)]
fn quotient(a: u32, b: u32) -> u32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let sum = x / y + TO_INTEGER;
    let below = x - (sum - TO_INTEGER) * y < 0.0;
    let q = (sum.to_bits() as u32).wrapping_sub(u32::from(below));
    if b == 0 { u32::MAX } else { q }
}

/// Signed a / b rounded to zero.
#[inline(always)]
fn signed_quotient(a: u32, b: u32) -> u32 {
    let q = quotient(magnitude(a), magnitude(b));
    let q = if (a ^ b) & MIN == 0 { q } else { q.wrapping_neg() };
    if b == 0 { u32::MAX } else { q }
}

/// |a| of a signed a.
#[inline(always)]
fn magnitude(a: u32) -> u32 {
    a.cast_signed().unsigned_abs()
}

/// a − q·b; with b = 0 that is a.
#[inline(always)]
fn rest(a: u32, b: u32, q: u32) -> u32 {
    a.wrapping_sub(q.wrapping_mul(b))
}

/// Whether a quotient rounded to zero is above the exact one.
#[inline(always)]
fn is_above(b: u32, rest: u32) -> bool {
    (rest != 0) & ((rest ^ b) & MIN != 0) & (b != 0)
}

macro_rules! bodies {
    ($($name:ident, $a:ident, $b:tt => $value:expr;)*) => {$(
        pub(super) struct $name;

        impl Body for $name {
            #[inline(always)]
            fn lane($a: u32, $b: u32) -> u32 {
                $value
            }
        }
    )*};
}

bodies! {
    DivUnsigned, a, b => quotient(a, b);
    RemUnsigned, a, b => rest(a, b, quotient(a, b));
    DivSigned, a, b => signed_quotient(a, b);
    RemSigned, a, b => rest(a, b, signed_quotient(a, b));
    FloorDivSigned, a, b => {
        let q = signed_quotient(a, b);
        q.wrapping_sub(u32::from(is_above(b, rest(a, b, q))))
    };
    FloorModSigned, a, b => {
        let r = rest(a, b, signed_quotient(a, b));
        if is_above(b, r) { r.wrapping_add(b) } else { r }
    };
    Shl, a, b => if b < 32 { a.wrapping_shl(b) } else { 0 };
    Shr, a, b => a.cast_signed().wrapping_shr(if b < 32 { b } else { 31 }).cast_unsigned();
    ShrLogical, a, b => if b < 32 { a.wrapping_shr(b) } else { 0 };
    Popcount, a, _ => a.count_ones();
    Clz, a, _ => a.leading_zeros();
}
