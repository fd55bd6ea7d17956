//! A scalar constant, kept by its bits so that NaN payloads and signed zeros survive.

use super::DType;
use crate::formats::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, Format, I2, I4, U4};
use half::{bf16, f16};
use std::fmt;

/// One element of a known type. Equality is equality of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Literal {
    dtype: DType,
    bits: u32,
}

impl Literal {
    /// The literal of `dtype` with these low bits; of bool, whether any of the low eight is set.
    pub const fn from_bits(dtype: DType, bits: u32) -> Literal {
        let bits = bits & dtype.mask();
        Literal { dtype, bits: if matches!(dtype, DType::Bool) { (bits != 0) as u32 } else { bits } }
    }

    /// The float of that type nearest to `value`, ties to even, overflowing as [`Format::encode`]; of another type as a cast.
    pub fn from_f32(dtype: DType, value: f32) -> Literal {
        match Format::of(dtype) {
            Some(format) => Literal::from_bits(dtype, format.encode(value)),
            None if dtype == DType::F32 => value.into(),
            None if dtype == DType::Bool => Literal::from(value != 0.0),
            // `as` truncates, saturates and takes NaN to 0.
            None => {
                let (low, high) = dtype.range();
                Literal::from_int(dtype, (value as i64).clamp(low, high))
            }
        }
    }

    /// The low bits of `value` as an integer of that type, of a float the nearest; bool is `value != 0`.
    pub fn from_int(dtype: DType, value: i64) -> Literal {
        match dtype {
            DType::Bool => Literal::from(value != 0),
            _ if dtype.is_float() => Literal::from_f32(dtype, value as f32),
            _ => Literal::from_bits(dtype, value as u32),
        }
    }

    /// `value` as `dtype`, rounded and saturated as a cast from f64 through f32 would; bool is `value != 0`.
    pub fn from_f64(dtype: DType, value: f64) -> Literal {
        match dtype {
            DType::Bool => Literal::from(value != 0.0),
            _ if dtype.is_integer() => {
                let (low, high) = dtype.range();
                Literal::from_int(dtype, (value as i64).clamp(low, high))
            }
            _ => Literal::from_f32(dtype, value as f32),
        }
    }

    /// Reads what [`Display`](fmt::Display) writes; any other decimal number of a float is rounded through f32. `None` for
    /// text that is no literal of that type or does not fit it.
    pub fn parse(dtype: DType, text: &str) -> Option<Literal> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let decimal = digits.starts_with(|c: char| c.is_ascii_digit());
        if dtype == DType::Bool {
            return text.parse().ok().map(|v: bool| Literal::from(v));
        }
        if dtype.is_integer() {
            let (low, high) = dtype.range();
            let value: i64 = text.parse().ok().filter(|_| decimal)?;
            return (low..=high).contains(&value).then(|| Literal::from_int(dtype, value));
        }
        if let Some(hex) = text.strip_prefix("0x") {
            let bits = u32::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+'))?;
            return Some(Literal::from_bits(dtype, bits)).filter(|l| l.bits == bits);
        }
        let special = match text {
            "nan" => Some(f32::NAN),
            "inf" => Some(f32::INFINITY),
            "-inf" => Some(f32::NEG_INFINITY),
            _ => None,
        };
        if let Some(special) = special {
            let literal = Literal::from_f32(dtype, special);
            return Some(literal).filter(|l| l.as_f32().is_some_and(|v| v.is_nan() == special.is_nan() && !v.is_finite()));
        }
        let value: f32 = text.parse().ok().filter(|_| decimal)?;
        let literal = Literal::from_f32(dtype, value);
        // Too large for the format: infinity, NaN, or cut to the largest number.
        let fits = literal.as_f32().is_some_and(|v| v.is_finite() && (v - value).abs() <= value.abs());
        Some(literal).filter(|_| fits)
    }

    /// What memory outside an array, and memory never written, reads as: NaN (of `f4e2m1fn`, which has none, -6), the
    /// smallest signed and the largest unsigned integer, true.
    pub const fn poison(dtype: DType) -> Literal {
        let bits = match Format::of(dtype) {
            Some(_) if matches!(dtype, DType::F4E2M1Fn) => dtype.mask(),
            Some(format) => format.nan(),
            None => match dtype {
                DType::F32 => 0x7fc0_0000,
                DType::Bool => 1,
                _ if dtype.is_signed() => 1 << (dtype.bits() - 1),
                _ => dtype.mask(),
            },
        };
        Literal { dtype, bits }
    }

    /// The element type.
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// The bits, low-order.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The bits as they lie in memory: a signed integer narrower than its bytes is sign-extended.
    pub const fn memory(self) -> u32 {
        match self.as_int() {
            Some(value) => value as u32,
            None => self.bits,
        }
    }

    /// The value of a float, widened.
    pub fn as_f32(self) -> Option<f32> {
        match Format::of(self.dtype) {
            Some(format) => Some(format.decode(self.bits)),
            None if self.dtype == DType::F32 => Some(f32::from_bits(self.bits)),
            None => None,
        }
    }

    /// The value of an i32.
    pub const fn as_i32(self) -> Option<i32> {
        match self.dtype {
            DType::I32 => Some(self.bits as i32),
            _ => None,
        }
    }

    /// The value of any integer.
    pub const fn as_int(self) -> Option<i64> {
        let unused = 32 - self.dtype.bits();
        match self.dtype {
            _ if self.dtype.is_signed() => Some((((self.bits << unused) as i32) >> unused) as i64),
            _ if self.dtype.is_unsigned() => Some(self.bits as i64),
            _ => None,
        }
    }

    /// The value of a bool.
    pub const fn as_bool(self) -> Option<bool> {
        match self.dtype {
            DType::Bool => Some(self.bits != 0),
            _ => None,
        }
    }
}

impl DType {
    /// The smallest and the largest integer of the type; of a type that is no integer, (0, 1).
    pub const fn range(self) -> (i64, i64) {
        match self {
            _ if self.is_signed() => (-1 << (self.bits() - 1), (1 << (self.bits() - 1)) - 1),
            _ if self.is_unsigned() => (0, self.mask() as i64),
            _ => (0, 1),
        }
    }
}

macro_rules! from {
    ($($ty:ty => $dtype:ident, |$v:ident| $bits:expr;)+) => { $(
        impl From<$ty> for Literal {
            fn from($v: $ty) -> Literal {
                Literal::from_bits(DType::$dtype, $bits)
            }
        }
    )+ };
}

from! {
    f32 => F32, |v| v.to_bits();
    bf16 => Bf16, |v| u32::from(v.to_bits());
    f16 => F16, |v| u32::from(v.to_bits());
    F8E4M3 => F8E4M3Fn, |v| u32::from(v.to_bits());
    F8E5M2 => F8E5M2, |v| u32::from(v.to_bits());
    F8E4M3B11 => F8E4M3B11Fnuz, |v| u32::from(v.to_bits());
    F4E2M1 => F4E2M1Fn, |v| u32::from(v.to_bits());
    i32 => I32, |v| v as u32;
    i16 => I16, |v| v as u32;
    i8 => I8, |v| v as u32;
    I4 => I4, |v| v.get() as u32;
    I2 => I2, |v| v.get() as u32;
    u32 => U32, |v| v;
    u16 => U16, |v| u32::from(v);
    u8 => U8, |v| u32::from(v);
    U4 => U4, |v| u32::from(v.get());
    bool => Bool, |v| u32::from(v);
}

/// `1.5`, `-0.0`, `inf`, `-inf`, `nan` (any other NaN as `0x7fc00001`), `7`, `true`.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_f32(), self.as_int()) {
            (Some(v), _) if !v.is_nan() => write!(f, "{v:?}"),
            (Some(_), _) if *self == Literal::poison(self.dtype) => f.write_str("nan"),
            (Some(_), _) => write!(f, "{:#x}", self.bits),
            (None, Some(v)) => write!(f, "{v}"),
            (None, None) => write!(f, "{}", self.bits != 0),
        }
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: {}", self.dtype)
    }
}
