//! The value of an elementwise operation on scalars: the one definition that constant folding and the
//! interpreter share.
//!
//! Rules: f32 is IEEE; narrower floats compute in f32 and round to nearest even; integers wrap. A NaN that an
//! arithmetic operation makes is the quiet NaN without payload, so that folding gives the same text
//! on every machine; `neg`, `abs` and `copysign` act on the sign bit alone. Functions that are approximated are not here,
//! they are in `math`.

use super::{BinaryOp, CompareOp, DType, Literal, UnaryOp};
use crate::formats::Format;
use std::cmp::Ordering;

/// The value of `op x`; `None` for approximated functions, and element types that the operation does not take.
pub fn unary(op: UnaryOp, x: Literal) -> Option<Literal> {
    let dtype = x.dtype();
    if !op.takes(dtype) {
        return None;
    }
    if let Some(v) = x.as_f32() {
        return unary_float(op, x, v);
    }
    let Some(v) = x.as_int() else { return Some((x.bits() == 0).into()) };
    let zeros = || x.bits().leading_zeros() as i64 - i64::from(32 - dtype.bits());
    let result = match op {
        UnaryOp::Neg => -v,
        UnaryOp::Abs => v.abs(),
        UnaryOp::Not => !v,
        UnaryOp::Sign => v.signum(),
        UnaryOp::Popcount => i64::from(x.bits().count_ones()),
        UnaryOp::Clz => zeros(),
        _ => return None,
    };
    Some(Literal::from_int(dtype, result))
}

fn unary_float(op: UnaryOp, x: Literal, v: f32) -> Option<Literal> {
    let dtype = x.dtype();
    let sign = 1 << (dtype.bits() - 1);
    let result = match op {
        // Where no negative zero exists, there is nothing but the bits of NaN to flip zero to.
        UnaryOp::Neg | UnaryOp::Abs if dtype == DType::F8E4M3B11Fnuz && (v == 0.0 || v.is_nan()) => return Some(x),
        UnaryOp::Neg => return Some(Literal::from_bits(dtype, x.bits() ^ sign)),
        UnaryOp::Abs => return Some(Literal::from_bits(dtype, x.bits() & !sign)),
        UnaryOp::IsNan => return Some(v.is_nan().into()),
        UnaryOp::IsFinite => return Some(v.is_finite().into()),
        UnaryOp::Sign if v == 0.0 || v.is_nan() => return Some(x),
        UnaryOp::Sign => 1f32.copysign(v),
        UnaryOp::Sqrt => v.sqrt(),
        UnaryOp::Rsqrt => 1.0 / v.sqrt(),
        UnaryOp::Recip => 1.0 / v,
        UnaryOp::RecipApprox => bf16(1.0 / bf16(v)),
        UnaryOp::Floor => v.floor(),
        UnaryOp::Ceil => v.ceil(),
        UnaryOp::RoundEven => v.round_ties_even(),
        UnaryOp::Round => v.round(),
        UnaryOp::Trunc => v.trunc(),
        _ => return None,
    };
    Some(rounded(dtype, result))
}

fn bf16(v: f32) -> f32 {
    half::bf16::from_f32(v).to_f32()
}

/// The value of `a op b`; `None` for approximated functions, and different or wrong element types.
pub fn binary(op: BinaryOp, a: Literal, b: Literal) -> Option<Literal> {
    let dtype = a.dtype();
    if dtype != b.dtype() || !op.takes(dtype) {
        return None;
    }
    if let (Some(x), Some(y)) = (a.as_f32(), b.as_f32()) {
        return match op {
            BinaryOp::Copysign => Some(copysign(a, b)),
            BinaryOp::NextAfter => Some(next_after(a, b)),
            _ => binary_float(op, x, y).map(|v| rounded(dtype, v)),
        };
    }
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return binary_int(op, dtype, x, y).map(|v| Literal::from_int(dtype, v));
    }
    let (x, y) = (a.as_bool()?, b.as_bool()?);
    match op {
        BinaryOp::And => Some((x & y).into()),
        BinaryOp::Or => Some((x | y).into()),
        BinaryOp::Xor => Some((x ^ y).into()),
        _ => None,
    }
}

fn binary_float(op: BinaryOp, x: f32, y: f32) -> Option<f32> {
    Some(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x % y,
        BinaryOp::FloorMod => {
            let rest = x % y;
            if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
        }
        BinaryOp::Min | BinaryOp::Max if x.is_nan() || y.is_nan() => f32::NAN,
        // `total_cmp` has -0 below +0.
        BinaryOp::Min => {
            if x.total_cmp(&y).is_le() {
                x
            } else {
                y
            }
        }
        BinaryOp::Max => {
            if x.total_cmp(&y).is_ge() {
                x
            } else {
                y
            }
        }
        _ => return None,
    })
}

fn copysign(a: Literal, b: Literal) -> Literal {
    let sign = 1 << (a.dtype().bits() - 1);
    let negative = b.bits() & sign != 0;
    match unary(UnaryOp::Abs, a) {
        Some(magnitude) if negative => unary(UnaryOp::Neg, magnitude).unwrap_or(magnitude),
        Some(magnitude) => magnitude,
        None => a,
    }
}

/// The neighbour of `a` toward `b` in their own format; `b` where they are equal, NaN where one is.
fn next_after(a: Literal, b: Literal) -> Literal {
    let dtype = a.dtype();
    let (Some(x), Some(y)) = (a.as_f32(), b.as_f32()) else { return a };
    if x.is_nan() || y.is_nan() {
        return Literal::poison(dtype);
    }
    if x == y {
        return b;
    }
    let sign = 1 << (dtype.bits() - 1);
    let bits = match a.bits() & !sign {
        // The smallest number on that side of zero.
        0 => 1 | if y < 0.0 { sign } else { 0 },
        _ if (x < y) == (x > 0.0) => a.bits() + 1,
        _ => a.bits() - 1,
    };
    // One below the smallest negative number lies zero, which here has no sign.
    let unsigned_zero = Format::of(dtype).is_some_and(|f| f.overflow == crate::formats::Overflow::NanAtNegativeZero);
    Literal::from_bits(dtype, if unsigned_zero && bits == sign { 0 } else { bits })
}

fn binary_int(op: BinaryOp, dtype: DType, x: i64, y: i64) -> Option<i64> {
    let width = i64::from(dtype.bits());
    // A shift amount is unsigned: a negative one is a large one.
    let amount = Literal::from_int(dtype, y).bits();
    let (beyond, by) = (i64::from(amount) >= width, amount.min(31));
    let bits = i64::from(Literal::from_int(dtype, x).bits());
    Some(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div | BinaryOp::FloorDiv if y == 0 => -1,
        BinaryOp::Div => x / y,
        BinaryOp::FloorDiv => x.div_euclid(y) - i64::from(y < 0 && x.rem_euclid(y) != 0),
        BinaryOp::Rem | BinaryOp::FloorMod if y == 0 => x,
        BinaryOp::Rem => x % y,
        BinaryOp::FloorMod => ((x % y) + y) % y,
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl | BinaryOp::ShrLogical if beyond => 0,
        BinaryOp::Shl => x << by,
        BinaryOp::ShrLogical => bits >> by,
        BinaryOp::Shr if beyond => -i64::from(x < 0),
        BinaryOp::Shr => x >> by,
        BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign | BinaryOp::NextAfter => return None,
    })
}

/// Whether `a op b`; `None` for different or wrong element types.
pub fn compare(op: CompareOp, a: Literal, b: Literal) -> Option<bool> {
    if a.dtype() != b.dtype() || !op.takes(a.dtype()) {
        return None;
    }
    let order = match (a.as_f32(), b.as_f32()) {
        (Some(x), Some(y)) => x.partial_cmp(&y),
        _ => match (a.as_int(), b.as_int()) {
            (Some(x), Some(y)) => Some(x.cmp(&y)),
            _ => Some(a.bits().cmp(&b.bits())),
        },
    };
    Some(match op {
        CompareOp::Eq => order == Some(Ordering::Equal),
        CompareOp::Ne => order != Some(Ordering::Equal),
        CompareOp::Lt => order == Some(Ordering::Less),
        CompareOp::Le => order.is_some_and(Ordering::is_le),
        CompareOp::Gt => order == Some(Ordering::Greater),
        CompareOp::Ge => order.is_some_and(Ordering::is_ge),
    })
}

/// The value as another element type. Float to integer: truncates, saturates, NaN is 0, also of the float that has none. Between
/// integers: wraps. Integer to a narrow float goes through f32, rounding twice. To bool: not zero, and NaN is true.
pub fn cast(to: DType, x: Literal) -> Literal {
    if x.dtype() == to {
        return x;
    }
    match (x.as_f32(), x.as_int()) {
        (Some(v), _) => rounded(to, v),
        (None, Some(v)) => Literal::from_int(to, v),
        (None, None) => Literal::from_int(to, i64::from(x.bits())),
    }
}

/// An f32 as one of its two neighbours in a narrower float type, picked by random bits as
/// [`Format::encode_stochastic`] says. NaN stays NaN.
pub fn stochastic_round(to: DType, x: Literal, random: Literal) -> Option<Literal> {
    match (x.dtype(), random.dtype(), Format::of(to)) {
        (DType::F32, DType::U32, Some(format)) => {
            Some(Literal::from_bits(to, format.encode_stochastic(x.as_f32()?, random.bits())))
        }
        _ => None,
    }
}

/// A result computed in f32, as the element type; NaN without payload.
pub fn rounded(dtype: DType, value: f32) -> Literal {
    Literal::from_f32(dtype, if value.is_nan() { f32::NAN } else { value })
}
