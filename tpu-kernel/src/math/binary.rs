//! Every operation of two operands on scalars: the functions compiled ahead of time, and what [`eval`] has.

use crate::ir::{BinaryOp, Literal, eval};
use tpu_microkernels::function::Function;

/// The value of `a op b`; `None` for different element types, and those that the operation does not take. Of floats narrower
/// than f32, a function is that of the widened values, rounded.
pub fn binary(op: BinaryOp, a: Literal, b: Literal) -> Option<Literal> {
    let function = match op {
        BinaryOp::Pow => Function::Pow,
        BinaryOp::Atan2 => Function::Atan2,
        BinaryOp::Hypot => Function::Hypot,
        _ => return eval::binary(op, a, b),
    };
    let dtype = a.dtype();
    if b.dtype() != dtype {
        return None;
    }
    let y = function.scalar(a.as_f32()?.to_bits(), b.as_f32()?.to_bits());
    Some(eval::rounded(dtype, f32::from_bits(y)))
}
