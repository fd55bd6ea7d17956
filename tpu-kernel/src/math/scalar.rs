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
    fn select(&mut self, mask: bool, a: f32, b: f32) -> f32 {
        if mask { a } else { b }
    }
    fn to_bits(&mut self, a: f32) -> i32 {
        a.to_bits().cast_signed()
    }
    fn from_bits(&mut self, a: i32) -> f32 {
        f32::from_bits(a.cast_unsigned())
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
}
