//! [`Lanes`] of one plain f32.

use super::Lanes;

/// Computes with one f32 at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

impl Lanes for Scalar {
    type F = f32;
    type I = i32;
    type M = bool;

    fn f32(&mut self, value: f32) -> f32 {
        value
    }
    fn i32(&mut self, value: i32) -> i32 {
        value
    }
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    fn eq(&mut self, a: f32, b: f32) -> bool {
        a == b
    }
    fn is_nan(&mut self, a: f32) -> bool {
        a.is_nan()
    }
    fn select(&mut self, mask: bool, a: f32, b: f32) -> f32 {
        if mask { a } else { b }
    }
    fn to_bits(&mut self, a: f32) -> i32 {
        a.to_bits().cast_signed()
    }
    fn from_bits(&mut self, a: i32) -> f32 {
        f32::from_bits(a.cast_unsigned())
    }
    fn to_int(&mut self, a: f32) -> i32 {
        a as i32
    }
    fn from_int(&mut self, a: i32) -> f32 {
        a as f32
    }
    fn iadd(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    fn isub(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    fn iand(&mut self, a: i32, b: i32) -> i32 {
        a & b
    }
    fn ior(&mut self, a: i32, b: i32) -> i32 {
        a | b
    }
    fn shl(&mut self, a: i32, by: u32) -> i32 {
        a.wrapping_shl(by)
    }
    fn ashr(&mut self, a: i32, by: u32) -> i32 {
        a.wrapping_shr(by)
    }
    fn ushr(&mut self, a: i32, by: u32) -> i32 {
        a.cast_unsigned().wrapping_shr(by).cast_signed()
    }
    fn ixor(&mut self, a: i32, b: i32) -> i32 {
        a ^ b
    }
    fn imax(&mut self, a: i32, b: i32) -> i32 {
        a.max(b)
    }
    fn ieq(&mut self, a: i32, b: i32) -> bool {
        a == b
    }
    fn ult(&mut self, a: i32, b: i32) -> bool {
        a.cast_unsigned() < b.cast_unsigned()
    }
    fn iselect(&mut self, mask: bool, a: i32, b: i32) -> i32 {
        if mask { a } else { b }
    }
}
