//! Every operation of one operand on a scalar: the functions of this module, and what [`eval`] has.

use super::{Scalar, exp, rsqrt, tanh};
use crate::ir::{Literal, UnaryOp, eval};

/// The value of `op x`; `None` for element types that the operation does not take. Of bf16, a function is that of
/// the widened value, rounded.
pub fn unary(op: UnaryOp, x: Literal) -> Option<Literal> {
    let function: fn(f32) -> f32 = match op {
        UnaryOp::Exp => |v| exp(&mut Scalar, v),
        UnaryOp::Tanh => |v| tanh(&mut Scalar, v),
        UnaryOp::Rsqrt => |v| rsqrt(&mut Scalar, v),
        _ => return eval::unary(op, x),
    };
    let y = function(x.as_f32()?);
    Some(if y.is_nan() { Literal::poison(x.dtype()) } else { Literal::from_f32(x.dtype(), y) })
}
