//! Floating-point formats of at most 16 bits, described by four numbers.

use crate::ir::DType;

/// What becomes of a number that rounds beyond the largest, and where NaN and infinity are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The highest exponent holds infinity (mantissa 0) and NaN, as in IEEE 754.
    Infinity,
    /// No infinity; NaN is all ones but the sign. Overflow gives NaN.
    Nan,
    /// No infinity and no negative zero, whose bits are the one NaN. Overflow gives NaN.
    NanAtNegativeZero,
    /// Neither infinity nor NaN. Overflow gives the largest number, NaN gives 0.
    Saturate,
}

/// A sign, `exponent` bits with this bias, and `mantissa` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the mantissa.
    pub mantissa: u32,
    /// What is subtracted from the exponent's bits.
    pub bias: i32,
    /// How it ends.
    pub overflow: Overflow,
}

impl Format {
    /// The format of a float element type; `None` of f32 and of what is no float.
    pub const fn of(dtype: DType) -> Option<Format> {
        let (exponent, mantissa, bias, overflow) = match dtype {
            DType::Bf16 => (8, 7, 127, Overflow::Infinity),
            DType::F16 => (5, 10, 15, Overflow::Infinity),
            DType::F8E5M2 => (5, 2, 15, Overflow::Infinity),
            DType::F8E4M3Fn => (4, 3, 7, Overflow::Nan),
            DType::F8E4M3B11Fnuz => (4, 3, 11, Overflow::NanAtNegativeZero),
            DType::F4E2M1Fn => (2, 1, 1, Overflow::Saturate),
            DType::F32 | DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I2 => return None,
            DType::U32 | DType::U16 | DType::U8 | DType::U4 | DType::Bool => return None,
        };
        Some(Format { exponent, mantissa, bias, overflow })
    }

    /// The sign bit.
    pub const fn sign(self) -> u32 {
        1 << (self.exponent + self.mantissa)
    }

    /// A quiet NaN; 0 of a format without one.
    pub const fn nan(self) -> u32 {
        let ones = self.sign() - 1;
        match self.overflow {
            Overflow::Infinity => ones ^ ((1 << (self.mantissa - 1)) - 1),
            Overflow::Nan => ones,
            Overflow::NanAtNegativeZero => self.sign(),
            Overflow::Saturate => 0,
        }
    }

    /// The bits of the largest number.
    pub const fn largest(self) -> u32 {
        let ones = self.sign() - 1;
        match self.overflow {
            Overflow::Infinity => ones ^ (1 << self.mantissa),
            Overflow::Nan => ones - 1,
            Overflow::NanAtNegativeZero | Overflow::Saturate => ones,
        }
    }

    /// The number that the low bits mean: exact.
    pub fn decode(self, bits: u32) -> f32 {
        let magnitude = bits & (self.sign() - 1);
        let negative = bits & self.sign() != 0;
        let field = magnitude >> self.mantissa;
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let special = match self.overflow {
            Overflow::Infinity if field == (1 << self.exponent) - 1 => Some(if fraction == 0 { f32::INFINITY } else { f32::NAN }),
            Overflow::Nan if magnitude == self.sign() - 1 => Some(f32::NAN),
            Overflow::NanAtNegativeZero if negative && magnitude == 0 => Some(f32::NAN),
            _ => None,
        };
        let value = special.unwrap_or_else(|| {
            let (units, exponent) = if field == 0 { (fraction, 1) } else { (fraction | 1 << self.mantissa, field as i32) };
            (f64::from(units) * power_of_two(exponent - self.bias - self.mantissa as i32)) as f32
        });
        if negative { -value } else { value }
    }

    /// The nearest number of the format, ties to even.
    pub fn encode(self, value: f32) -> u32 {
        self.rounded(value, f64::round_ties_even)
    }

    /// One of the two neighbours of `value`: the one farther from zero where `random` / 2^32 is below the distance from the
    /// nearer one, in units of the distance between them; compared exactly. Beyond the largest number the neighbour is what
    /// [`encode`](Format::encode) makes of overflow: infinity, NaN, or the largest number again.
    pub fn encode_stochastic(self, value: f32, random: u32) -> u32 {
        // A fraction of f32 has 24 bits: f64 has it exactly, also 2^32 times it.
        let pick = |units: f64| units.floor() + f64::from(u8::from(f64::from(random) < units.fract() * 4_294_967_296.0));
        self.rounded(value, pick)
    }

    /// The number of the format whose magnitude, in units of its last place, is `pick` of that of the value.
    fn rounded(self, value: f32, pick: impl Fn(f64) -> f64) -> u32 {
        if value.is_nan() {
            return self.nan();
        }
        let negative = value.is_sign_negative();
        let signed = |magnitude: u32| match self.overflow {
            Overflow::NanAtNegativeZero if magnitude == 0 => 0,
            _ if negative => magnitude | self.sign(),
            _ => magnitude,
        };
        let beyond = || match self.overflow {
            Overflow::Infinity => signed(self.largest() + 1),
            Overflow::Nan | Overflow::NanAtNegativeZero => self.nan(),
            Overflow::Saturate => signed(self.largest()),
        };
        if value.is_infinite() {
            return beyond();
        }
        let magnitude = f64::from(value.abs());
        let lowest = 1 - self.bias;
        // Of f64, no f32 is denormal: its exponent is in its bits.
        let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(lowest);
        let units = pick(magnitude * power_of_two(self.mantissa as i32 - exponent)) as u32;
        // A carry out of the mantissa goes into the exponent by itself.
        let rounded = (((exponent - lowest) as u32) << self.mantissa) + units;
        if rounded > self.largest() { beyond() } else { signed(rounded) }
    }
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
