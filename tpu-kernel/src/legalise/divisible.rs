//! By which power of two a scalar is known to be divisible.
//!
//! libtpu loads and stores at a dynamic start only where it can prove alignment. It follows sums and
//! products but not every operation, so what is provable here is said in the text.
//!
//! Rules: only powers of two are followed, because they survive that a word wraps. A fact is the number
//! of trailing zero bits, at most 31. What a launch gives (sizes, scalars, grid indices) is any number.

use crate::ir::{BinaryOp, DType, Literal, OpKind, Type, UnaryOp};

/// What is known of an operand: its trailing zero bits, and the number where it is a constant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fact {
    /// Trailing zero bits.
    pub(crate) zeros: u32,
    /// The number.
    pub(crate) number: Option<i64>,
}

impl Fact {
    /// What is known of a constant.
    pub(crate) fn of(literal: Literal) -> Fact {
        let number = literal.as_int();
        Fact { zeros: number.map_or(0, zeros), number }
    }

    /// Of a value that is no constant.
    pub(crate) const fn multiple(zeros: u32) -> Fact {
        Fact { zeros, number: None }
    }
}

/// Whether facts about a value are kept: a scalar integer of 32 bits.
pub(crate) const fn follows(ty: Type) -> bool {
    matches!(ty, Type::Scalar(DType::I32 | DType::U32))
}

/// Trailing zero bits of the word; 31 for zero.
fn zeros(n: i64) -> u32 {
    n.trailing_zeros().min(31)
}

/// Trailing zero bits of the result of an operation on words, from what is known of its operands.
pub(crate) fn of_op(kind: &OpKind, operands: &[Fact]) -> u32 {
    let shift = |by: Fact| by.number.and_then(|n| u32::try_from(n).ok()).filter(|&n| n < 32);
    match (kind, operands) {
        (OpKind::Const(literal), _) => Fact::of(*literal).zeros,
        (OpKind::Binary(BinaryOp::Mul), &[a, b]) => (a.zeros + b.zeros).min(31),
        (OpKind::Binary(BinaryOp::And), &[a, b]) => a.zeros.max(b.zeros),
        (OpKind::Binary(BinaryOp::Shl), &[a, by]) => shift(by).map_or(a.zeros, |by| (a.zeros + by).min(31)),
        (OpKind::Binary(BinaryOp::Shr | BinaryOp::ShrLogical), &[a, by]) => shift(by).map_or(0, |by| a.zeros.saturating_sub(by)),
        // `a % b` is `a - q·b`, also for b = 0.
        (
            OpKind::Binary(
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Rem
                | BinaryOp::FloorMod
                | BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::Or
                | BinaryOp::Xor,
            ),
            &[a, b],
        ) => a.zeros.min(b.zeros),
        (OpKind::Select, &[_, a, b]) => a.zeros.min(b.zeros),
        (OpKind::Unary(UnaryOp::Neg | UnaryOp::Abs), &[a]) => a.zeros,
        // From one word to the other.
        (OpKind::Cast(_) | OpKind::Bitcast(_), &[a]) => a.zeros,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::eval;
    use proptest::prelude::*;

    fn fact(n: i32) -> Fact {
        Fact::of(n.into())
    }

    #[test]
    fn products_and_sums_of_multiples() {
        let mul = OpKind::Binary(BinaryOp::Mul);
        let add = OpKind::Binary(BinaryOp::Add);
        assert_eq!(of_op(&mul, &[Fact::default(), fact(128)]), 7);
        assert_eq!(of_op(&add, &[Fact::multiple(7), fact(8)]), 3);
        assert_eq!(of_op(&OpKind::Binary(BinaryOp::Shl), &[Fact::default(), fact(3)]), 3);
        assert_eq!(fact(0).zeros, 31);
        assert_eq!(fact(i32::MIN).zeros, 31);
    }

    proptest! {
        #[test]
        fn facts_hold(a: i32, b: i32, small: bool, shift in (0..32u32, 0..32u32), op in 0..BinaryOp::ALL.len()) {
            let (a, b) = (a.wrapping_shl(shift.0), if small { b % 32 } else { b.wrapping_shl(shift.1) });
            let op = BinaryOp::ALL[op];
            let Some(result) = eval::binary(op, a.into(), b.into()).and_then(Literal::as_i32) else { return Ok(()) };
            let kind = OpKind::Binary(op);
            for known in [[fact(a), fact(b)], [Fact::multiple(fact(a).zeros), fact(b)], [fact(a).zeros, fact(b).zeros].map(Fact::multiple)] {
                let zeros = of_op(&kind, &known);
                prop_assert!(fact(result).zeros >= zeros, "{a} {op} {b} = {result}, {zeros} zeros");
            }
        }
    }
}
