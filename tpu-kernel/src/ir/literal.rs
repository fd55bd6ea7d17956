//! A scalar constant, kept by its bits so that NaN payloads and signed zeros survive.

use super::DType;
use half::bf16;
use std::fmt;

/// One element of a known type. Equality is equality of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Literal {
    dtype: DType,
    bits: u32,
}

impl Literal {
    /// The literal of `dtype` with these low-order bits (bf16 uses 16 of them, bool one).
    pub const fn from_bits(dtype: DType, bits: u32) -> Literal {
        let bits = match dtype {
            DType::F32 | DType::I32 => bits,
            DType::Bf16 => bits & 0xffff,
            DType::Bool => (bits != 0) as u32,
        };
        Literal { dtype, bits }
    }

    /// `value` as `dtype`, rounded and saturated as a cast from f64 through f32 would; bool is `value != 0`.
    pub fn from_f64(dtype: DType, value: f64) -> Literal {
        match dtype {
            DType::F32 => Literal::from(value as f32),
            DType::Bf16 => Literal::from(bf16::from_f32(value as f32)),
            DType::I32 => Literal::from(value as i32),
            DType::Bool => Literal::from(value != 0.0),
        }
    }

    /// Reads what [`Display`](fmt::Display) writes; any other decimal number of a float is rounded through f32. `None` for
    /// text that is no literal of that type or does not fit it.
    pub fn parse(dtype: DType, text: &str) -> Option<Literal> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let decimal = digits.starts_with(|c: char| c.is_ascii_digit());
        match dtype {
            DType::Bool => text.parse().ok().map(|v: bool| Literal::from(v)),
            DType::I32 => text.parse().ok().filter(|_| decimal).map(|v: i32| Literal::from(v)),
            DType::F32 | DType::Bf16 => {
                if let Some(hex) = text.strip_prefix("0x") {
                    let bits = u32::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+'))?;
                    return Some(Literal::from_bits(dtype, bits)).filter(|l| l.bits == bits);
                }
                match text {
                    "nan" => Some(Literal::poison(dtype)),
                    "inf" => Some(Literal::from_f64(dtype, f64::INFINITY)),
                    "-inf" => Some(Literal::from_f64(dtype, f64::NEG_INFINITY)),
                    _ => {
                        let value: f32 = text.parse().ok().filter(|_| decimal)?;
                        Some(Literal::from_f64(dtype, f64::from(value))).filter(|l| l.as_f32().is_some_and(f32::is_finite))
                    }
                }
            }
        }
    }

    /// What memory outside an array, and memory never written, reads as: NaN, `i32::MIN`, true.
    pub const fn poison(dtype: DType) -> Literal {
        match dtype {
            DType::F32 => Literal::from_bits(dtype, 0x7fc0_0000),
            DType::Bf16 => Literal::from_bits(dtype, 0x7fc0),
            DType::I32 => Literal::from_bits(dtype, i32::MIN as u32),
            DType::Bool => Literal::from_bits(dtype, 1),
        }
    }

    /// The element type.
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// The bits, low-order.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The value of an f32 or, widened, a bf16.
    pub fn as_f32(self) -> Option<f32> {
        match self.dtype {
            DType::F32 => Some(f32::from_bits(self.bits)),
            DType::Bf16 => Some(f32::from_bits(self.bits << 16)),
            _ => None,
        }
    }

    /// The value of an i32.
    pub const fn as_i32(self) -> Option<i32> {
        match self.dtype {
            DType::I32 => Some(self.bits as i32),
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

impl From<f32> for Literal {
    fn from(v: f32) -> Literal {
        Literal::from_bits(DType::F32, v.to_bits())
    }
}
impl From<bf16> for Literal {
    fn from(v: bf16) -> Literal {
        Literal::from_bits(DType::Bf16, u32::from(v.to_bits()))
    }
}
impl From<i32> for Literal {
    fn from(v: i32) -> Literal {
        Literal::from_bits(DType::I32, v as u32)
    }
}
impl From<bool> for Literal {
    fn from(v: bool) -> Literal {
        Literal::from_bits(DType::Bool, u32::from(v))
    }
}

/// `1.5`, `-0.0`, `inf`, `-inf`, `nan` (any other NaN as `0x7fc00001`), `7`, `true`.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            DType::F32 | DType::Bf16 => {
                let v = f32::from_bits(if self.dtype == DType::Bf16 { self.bits << 16 } else { self.bits });
                if !v.is_nan() {
                    write!(f, "{v:?}")
                } else if *self == Literal::poison(self.dtype) {
                    f.write_str("nan")
                } else {
                    write!(f, "{:#x}", self.bits)
                }
            }
            DType::I32 => write!(f, "{}", self.bits as i32),
            DType::Bool => write!(f, "{}", self.bits != 0),
        }
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: {}", self.dtype)
    }
}
