//! Every operation of one operand on a scalar: the functions of this module, those compiled ahead of time, and what
//! [`eval`] has.

use super::{Scalar, exp, rsqrt, tanh};
use crate::ir::{Literal, UnaryOp, eval};
use tpu_microkernels::function::Function;

/// The value of `op x`; `None` for element types that the operation does not take. Of a float narrower than f32, a function
/// is that of the widened value, rounded.
pub fn unary(op: UnaryOp, x: Literal) -> Option<Literal> {
    if !op.takes(x.dtype()) {
        return None;
    }
    let y = match op {
        UnaryOp::Exp => exp(&mut Scalar, x.as_f32()?),
        UnaryOp::Tanh => tanh(&mut Scalar, x.as_f32()?),
        UnaryOp::Rsqrt => rsqrt(&mut Scalar, x.as_f32()?),
        _ => match function(op) {
            Some(function) => f32::from_bits(function.scalar(x.as_f32()?.to_bits(), 0)),
            None => return eval::unary(op, x),
        },
    };
    Some(eval::rounded(x.dtype(), y))
}

pub(crate) fn function(op: UnaryOp) -> Option<Function> {
    Some(match op {
        UnaryOp::Exp2 => Function::Exp2,
        UnaryOp::Expm1 => Function::Expm1,
        UnaryOp::Log => Function::Log,
        UnaryOp::Log2 => Function::Log2,
        UnaryOp::Log1p => Function::Log1p,
        UnaryOp::Cbrt => Function::Cbrt,
        UnaryOp::Sin => Function::Sin,
        UnaryOp::Cos => Function::Cos,
        UnaryOp::Tan => Function::Tan,
        UnaryOp::Asin => Function::Asin,
        UnaryOp::Acos => Function::Acos,
        UnaryOp::Atan => Function::Atan,
        UnaryOp::Sinh => Function::Sinh,
        UnaryOp::Cosh => Function::Cosh,
        UnaryOp::Asinh => Function::Asinh,
        UnaryOp::Acosh => Function::Acosh,
        UnaryOp::Atanh => Function::Atanh,
        UnaryOp::Erf => Function::Erf,
        UnaryOp::Erfc => Function::Erfc,
        UnaryOp::ErfInv => Function::ErfInv,
        UnaryOp::Logistic => Function::Logistic,
        UnaryOp::Exp | UnaryOp::Tanh | UnaryOp::Rsqrt => return None,
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not | UnaryOp::Sign | UnaryOp::Sqrt | UnaryOp::Recip | UnaryOp::RecipApprox => {
            return None;
        }
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Round | UnaryOp::Trunc => return None,
        UnaryOp::IsNan | UnaryOp::IsFinite | UnaryOp::Popcount | UnaryOp::Clz => return None,
    })
}
