//! Elementwise functions of 32-bit words that compiled code calls: one value at a time, or a strip of 16.
//!
//! Rules:
//! - A function has the same bits on every machine, in every build, as a scalar and in a strip: it consists of
//!   operations that IEEE 754 rounds correctly (+ − · / √ and conversions) and of integer operations; no fused
//!   multiply-add, no function of the platform's C library. A NaN result is always `0x7fc0_0000`.
//! - Floats are f32, computed in f64 and rounded to f32 once: within 0.51 ulp (`docs/accuracy.md` has the measured errors).
//!   Denormal arguments and results are kept. Special values are those of C99, Annex F.
//! - No arithmetic traps: what has no mathematical result (a division by 0, a shift by too much) has a value stated here.
//! - A body is straight-line (select, not branch), so that the compiler turns a loop over lanes into vector code.
//!   Only the rare arguments that need a long reduction leave it, lane by lane.

mod body;
mod coefficients;
mod erf;
mod exp;
mod integer;
mod inverse_trig;
mod log;
mod parts;
mod pow;
mod remainder;
mod root;
mod strip;
#[cfg(test)]
mod tests;
mod trig;

use body::Body;

/// The number of lanes of a strip.
pub const STRIP: usize = 16;

/// The strip form of a function: a, b, out, n. It computes `out[i]` for i < n, n ≤ 16; a function of one operand does not
/// read b; `out` may be `a` or `b`.
///
/// # Safety
/// `a` and `out`, and for a function of two operands `b`, are aligned and valid for n words; `out` is a or b itself or
/// overlaps neither; n ≤ 16.
pub type Strip = unsafe extern "C" fn(a: *const u32, b: *const u32, out: *mut u32, n: u64);

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $operands:literal, $body:ty;)*) => {
        /// A function of one or two 32-bit words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Function {
            $($(#[$doc])* $variant,)*
        }

        impl Function {
            /// Every function, in the order of its number.
            pub const ALL: &'static [Function] = &[$(Function::$variant),*];

            /// The name, in lower case.
            pub fn name(self) -> &'static str {
                match self { $(Function::$variant => $name,)* }
            }

            /// How many operands it has: 1 or 2.
            pub fn operands(self) -> usize {
                match self { $(Function::$variant => $operands,)* }
            }

            /// The result's bits; a function of one operand ignores `b`.
            pub fn scalar(self, a: u32, b: u32) -> u32 {
                match self { $(Function::$variant => <$body>::lane(a, b),)* }
            }

            /// The strip form for the widest instruction set of this processor that has one.
            pub fn strip(self) -> Strip {
                self.strip_for(strip::Level::of_this_machine())
            }

            fn strip_for(self, level: strip::Level) -> Strip {
                match self { $(Function::$variant => strip::form::<$body>(level, $operands == 2),)* }
            }
        }
    };
}

functions! {
    /// 2^x
    Exp2 = "exp2", 1, exp::Exp2;
    /// e^x − 1
    Expm1 = "expm1", 1, exp::Expm1;
    /// Natural logarithm: -∞ of ±0, NaN of negative numbers.
    Log = "log", 1, log::Log;
    /// Logarithm to base 2, exact for powers of two.
    Log2 = "log2", 1, log::Log2;
    /// log(1 + x)
    Log1p = "log1p", 1, log::Log1p;
    /// Cube root, of negative numbers negative.
    Cbrt = "cbrt", 1, root::Cbrt;
    /// Sine of radians, of any size.
    Sin = "sin", 1, trig::Sin;
    /// Cosine of radians, of any size.
    Cos = "cos", 1, trig::Cos;
    /// Tangent of radians, of any size.
    Tan = "tan", 1, trig::Tan;
    /// Arc sine.
    Asin = "asin", 1, inverse_trig::Asin;
    /// Arc cosine.
    Acos = "acos", 1, inverse_trig::Acos;
    /// Arc tangent.
    Atan = "atan", 1, inverse_trig::Atan;
    /// Hyperbolic sine.
    Sinh = "sinh", 1, exp::Sinh;
    /// Hyperbolic cosine.
    Cosh = "cosh", 1, exp::Cosh;
    /// Inverse hyperbolic sine.
    Asinh = "asinh", 1, log::Asinh;
    /// Inverse hyperbolic cosine: NaN below 1.
    Acosh = "acosh", 1, log::Acosh;
    /// Inverse hyperbolic tangent: ±∞ of ±1.
    Atanh = "atanh", 1, log::Atanh;
    /// Error function.
    Erf = "erf", 1, erf::Erf;
    /// 1 − erf x, accurate where that is small.
    Erfc = "erfc", 1, erf::Erfc;
    /// The x whose error function is the argument: ±∞ of ±1.
    ErfInv = "erf_inv", 1, erf::ErfInv;
    /// 1 / (1 + e^−x)
    Logistic = "logistic", 1, exp::Logistic;
    /// a^b, with the special cases of C99.
    Pow = "pow", 2, pow::Pow;
    /// The angle of the point (b, a), from −π to π.
    Atan2 = "atan2", 2, inverse_trig::Atan2;
    /// √(a² + b²), without overflow on the way; infinite where an operand is, even beside NaN.
    Hypot = "hypot", 2, root::Hypot;
    /// a − b·trunc(a / b), exact, with the sign of a (C's fmod): NaN of a = ±∞ or b = 0.
    Rem = "rem", 2, remainder::Rem;
    /// [`Function::Rem`], plus b where that is not zero and its sign is not that of b.
    FloorMod = "floor_mod", 2, remainder::FloorMod;
    /// Signed quotient rounded to zero: x / 0 = -1, MIN / -1 = MIN.
    DivSigned = "div_signed", 2, integer::DivSigned;
    /// Signed a − b·trunc(a / b): x % 0 = x, MIN % -1 = 0.
    RemSigned = "rem_signed", 2, integer::RemSigned;
    /// Signed quotient rounded down: x / 0 = -1, MIN / -1 = MIN.
    FloorDivSigned = "floor_div_signed", 2, integer::FloorDivSigned;
    /// Signed a − b·floor(a / b): x % 0 = x, MIN % -1 = 0.
    FloorModSigned = "floor_mod_signed", 2, integer::FloorModSigned;
    /// Unsigned quotient, which is also that rounded down: x / 0 = MAX.
    DivUnsigned = "div_unsigned", 2, integer::DivUnsigned;
    /// Unsigned remainder: x % 0 = x.
    RemUnsigned = "rem_unsigned", 2, integer::RemUnsigned;
    /// a shifted to the left by b, unsigned: 0 from 32 on.
    Shl = "shl", 2, integer::Shl;
    /// Signed a shifted to the right by b, unsigned: the sign from 32 on.
    Shr = "shr", 2, integer::Shr;
    /// Unsigned a shifted to the right by b: 0 from 32 on.
    ShrLogical = "shr_logical", 2, integer::ShrLogical;
    /// The number of bits that are 1.
    Popcount = "popcount", 1, integer::Popcount;
    /// The number of leading bits that are 0: 32 of 0.
    Clz = "clz", 1, integer::Clz;
}
