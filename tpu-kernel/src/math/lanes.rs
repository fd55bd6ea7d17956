//! The operations that transcendental functions are written in.

/// One lane or a vector of lanes, computed at once (f32) or emitted as code.
///
/// Every operation acts on each lane alone. The float operations are those of IEEE 754 binary32,
/// rounded to nearest even, with denormals; NaN payloads are free. Integers are 32 bits and wrap.
#[expect(clippy::wrong_self_convention, reason = "the receiver computes or emits; what is converted is the argument")]
pub trait Lanes {
    /// f32 lanes.
    type F: Copy;
    /// i32 lanes.
    type I: Copy;
    /// The outcome of a comparison, lane by lane.
    type M: Copy;

    /// Whether denormal f32 are more than zeros to the operations on floats.
    fn keeps_denormals(&self) -> bool {
        true
    }
    /// `value` in each lane.
    fn f32(&mut self, value: f32) -> Self::F;
    /// `value` in each lane.
    fn i32(&mut self, value: i32) -> Self::I;
    /// a + b
    fn add(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a - b
    fn sub(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a · b
    fn mul(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b
    fn div(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a · b + c, rounded once.
    fn fma(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The square root; of a negative number NaN.
    fn sqrt(&mut self, a: Self::F) -> Self::F;
    /// a < b, false where one is NaN.
    fn lt(&mut self, a: Self::F, b: Self::F) -> Self::M;
    /// a = b, false where one is NaN.
    fn eq(&mut self, a: Self::F, b: Self::F) -> Self::M;
    /// Whether a is NaN.
    fn is_nan(&mut self, a: Self::F) -> Self::M;
    /// a where the mask holds, else b.
    fn select(&mut self, mask: Self::M, a: Self::F, b: Self::F) -> Self::F;
    /// The bits of a float.
    fn to_bits(&mut self, a: Self::F) -> Self::I;
    /// The float with these bits.
    fn from_bits(&mut self, a: Self::I) -> Self::F;
    /// The integer toward zero, of a float whose integer an i32 holds.
    fn to_int(&mut self, a: Self::F) -> Self::I;
    /// The float nearest to a signed integer.
    fn from_int(&mut self, a: Self::I) -> Self::F;
    /// a + b, wrapping.
    fn iadd(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// a - b, wrapping.
    fn isub(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise and.
    fn iand(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise or.
    fn ior(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Shift to the left by `by` of 0 to 31.
    fn shl(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Shift to the right by `by` of 0 to 31, copying the sign.
    fn ashr(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Shift to the right by `by` of 0 to 31, filling with 0.
    fn ushr(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Exclusive or.
    fn ixor(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// The larger, signed.
    fn imax(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// a = b
    fn ieq(&mut self, a: Self::I, b: Self::I) -> Self::M;
    /// a < b, unsigned.
    fn ult(&mut self, a: Self::I, b: Self::I) -> Self::M;
    /// a where the mask holds, else b.
    fn iselect(&mut self, mask: Self::M, a: Self::I, b: Self::I) -> Self::I;
}
