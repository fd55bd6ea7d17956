//! The value of an elementwise operation on scalars: the one definition that constant folding and the
//! interpreter share.
//!
//! Rules: f32 is IEEE; bf16 computes in f32 and rounds to nearest even; i32 wraps. A NaN that an
//! arithmetic operation makes is the quiet NaN without payload, so that folding gives the same text
//! on every machine; `neg` and `abs` act on the sign bit alone. `exp` and `tanh` are not here.

use super::{BinaryOp, CompareOp, DType, Literal, UnaryOp};
use half::bf16;
use std::cmp::Ordering;

/// The value of `op x`; `None` for `exp`, `tanh`, and element types that the operation does not take.
pub fn unary(op: UnaryOp, x: Literal) -> Option<Literal> {
    if !op.takes(x.dtype()) {
        return None;
    }
    let sign = if x.dtype() == DType::Bf16 { 1 << 15 } else { 1 << 31 };
    let float = x.as_f32();
    Some(match (op, x.as_i32(), float) {
        (UnaryOp::Neg, Some(v), _) => Literal::from(v.wrapping_neg()),
        (UnaryOp::Neg, None, _) => Literal::from_bits(x.dtype(), x.bits() ^ sign),
        (UnaryOp::Abs, Some(v), _) => Literal::from(v.wrapping_abs()),
        (UnaryOp::Abs, None, _) => Literal::from_bits(x.dtype(), x.bits() & !sign),
        (UnaryOp::Not, Some(v), _) => Literal::from(!v),
        (UnaryOp::Not, None, _) => Literal::from(x.bits() == 0),
        (UnaryOp::Sqrt, _, Some(v)) => rounded(x.dtype(), v.sqrt()),
        (UnaryOp::Rsqrt, _, Some(v)) => rounded(x.dtype(), 1.0 / v.sqrt()),
        (UnaryOp::Exp | UnaryOp::Tanh | UnaryOp::Sqrt | UnaryOp::Rsqrt, _, _) => return None,
    })
}

/// The value of `a op b`; `None` for different or wrong element types.
pub fn binary(op: BinaryOp, a: Literal, b: Literal) -> Option<Literal> {
    if a.dtype() != b.dtype() || !op.takes(a.dtype()) {
        return None;
    }
    if let (Some(x), Some(y)) = (a.as_f32(), b.as_f32()) {
        return binary_f32(op, x, y).map(|v| rounded(a.dtype(), v));
    }
    if let (Some(x), Some(y)) = (a.as_i32(), b.as_i32()) {
        return Some(binary_i32(op, x, y).into());
    }
    let (x, y) = (a.as_bool()?, b.as_bool()?);
    match op {
        BinaryOp::And => Some((x & y).into()),
        BinaryOp::Or => Some((x | y).into()),
        BinaryOp::Xor => Some((x ^ y).into()),
        _ => None,
    }
}

fn binary_f32(op: BinaryOp, x: f32, y: f32) -> Option<f32> {
    Some(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x % y,
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
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => return None,
    })
}

fn binary_i32(op: BinaryOp, x: i32, y: i32) -> i32 {
    match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div if y == 0 => -1,
        BinaryOp::Div => x.wrapping_div(y),
        BinaryOp::Rem if y == 0 => x,
        BinaryOp::Rem => x.wrapping_rem(y),
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
    }
}

/// Whether `a op b`; `None` for different or wrong element types.
pub fn compare(op: CompareOp, a: Literal, b: Literal) -> Option<bool> {
    if a.dtype() != b.dtype() || !op.takes(a.dtype()) {
        return None;
    }
    let order = match (a.as_f32(), b.as_f32()) {
        (Some(x), Some(y)) => x.partial_cmp(&y),
        _ => Some((a.bits() as i32).cmp(&(b.bits() as i32))),
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

/// The value as another element type. To i32: truncates, saturates, NaN is 0. i32 to bf16 goes through
/// f32, rounding twice. To bool: not zero, and NaN is true.
pub fn cast(to: DType, x: Literal) -> Literal {
    if x.dtype() == to {
        return x;
    }
    let float = match (x.as_f32(), x.as_i32()) {
        (Some(v), _) => v,
        (None, Some(v)) => v as f32,
        (None, None) => x.bits() as f32,
    };
    match to {
        DType::F32 => float.into(),
        DType::Bf16 => bf16::from_f32(float).into(),
        DType::I32 if x.dtype() == DType::Bool => (x.bits() as i32).into(),
        DType::I32 => (float as i32).into(),
        DType::Bool => (float != 0.0).into(),
    }
}

/// A result computed in f32, as the element type; NaN without payload.
fn rounded(dtype: DType, value: f32) -> Literal {
    match dtype {
        _ if value.is_nan() => Literal::poison(if dtype == DType::Bf16 { DType::Bf16 } else { DType::F32 }),
        DType::Bf16 => bf16::from_f32(value).into(),
        _ => value.into(),
    }
}
