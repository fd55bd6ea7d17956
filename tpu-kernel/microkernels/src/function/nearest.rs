//! round (halves away from zero) and next_after, on f32 itself.

use super::body::{Body, canonical};

pub(super) struct Round;

impl Body for Round {
    #[inline(always)]
    fn lane(a: u32, _: u32) -> u32 {
        // A sum with it is rounded to an integer, ties to even.
        const TO_INTEGER: f32 = 8_388_608.0;
        let x = f32::from_bits(a);
        let size = x.abs();
        let even = (size + TO_INTEGER) - TO_INTEGER;
        let away = if size - even == 0.5 { even + 1.0 } else { even };
        let rounded = if size < TO_INTEGER { away } else { size };
        canonical(rounded.copysign(x))
    }
}

pub(super) struct NextAfter;

impl Body for NextAfter {
    #[inline(always)]
    fn lane(a: u32, b: u32) -> u32 {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        // Bits of one sign are in order of size.
        let outwards = (y > x) == (x > 0.0);
        let neighbour = if outwards { a.wrapping_add(1) } else { a.wrapping_sub(1) };
        let neighbour = if x == 0.0 { b & 0x8000_0000 | 1 } else { neighbour };
        let neighbour = if x == y { b } else { neighbour };
        canonical(if x.is_nan() | y.is_nan() { f32::NAN } else { f32::from_bits(neighbour) })
    }
}
