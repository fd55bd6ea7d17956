//! By which power of two a scalar is known to be divisible.
//!
//! libtpu loads and stores at a dynamic start only where it can prove alignment. It follows sums and
//! products but not every operation, so what is provable here is said in the text.
//!
//! Rules: only powers of two are followed, because they survive that i32 wraps. A fact is the number
//! of trailing zero bits, at most 31.

use crate::ir::{BinaryOp, Literal, OpKind, UnaryOp};

/// Trailing zero bits of a constant; 31 for zero.
pub(super) fn of_constant(literal: Literal) -> u32 {
    literal.as_i32().map_or(0, of_i32)
}

/// Trailing zero bits of a number; 31 for zero.
pub(super) fn of_i32(n: i32) -> u32 {
    n.trailing_zeros().min(31)
}

/// Trailing zero bits of an i32 operation's result, from those of its operands.
pub(super) fn of_op(kind: &OpKind, operands: &[u32]) -> u32 {
    match (kind, operands) {
        (OpKind::Binary(BinaryOp::Mul), &[a, b]) => (a + b).min(31),
        (OpKind::Binary(BinaryOp::And), &[a, b]) => a.max(b),
        // `a % b` is `a - q·b`, also for b = 0.
        (
            OpKind::Binary(
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Rem | BinaryOp::Min | BinaryOp::Max | BinaryOp::Or | BinaryOp::Xor,
            ),
            &[a, b],
        ) => a.min(b),
        (OpKind::Select, &[_, a, b]) => a.min(b),
        (OpKind::Unary(UnaryOp::Neg | UnaryOp::Abs), &[a]) => a,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Literal, eval};
    use proptest::prelude::*;

    #[test]
    fn products_and_sums_of_multiples() {
        let mul = OpKind::Binary(BinaryOp::Mul);
        let add = OpKind::Binary(BinaryOp::Add);
        assert_eq!(of_op(&mul, &[0, of_i32(128)]), 7);
        assert_eq!(of_op(&add, &[7, of_i32(8)]), 3);
        assert_eq!(of_i32(0), 31);
        assert_eq!(of_i32(i32::MIN), 31);
    }

    proptest! {
        #[test]
        fn facts_hold(a: i32, b: i32, shift in (0..32u32, 0..32u32), op in 0..BinaryOp::ALL.len()) {
            let (a, b) = (a.wrapping_shl(shift.0), b.wrapping_shl(shift.1));
            let op = BinaryOp::ALL[op];
            let Some(result) = eval::binary(op, a.into(), b.into()).and_then(Literal::as_i32) else { return Ok(()) };
            let fact = of_op(&OpKind::Binary(op), &[of_i32(a), of_i32(b)]);
            prop_assert!(of_i32(result) >= fact, "{a} {op} {b} = {result}, fact {fact}");
        }
    }
}
