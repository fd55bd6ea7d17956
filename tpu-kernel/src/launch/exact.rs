//! What scalars, and so index maps, give at one grid step: evaluated, as an executor does.

use super::maps::Numbers;
use crate::ir::{Kernel, Literal, OpKind, Region, Value, eval};
use crate::math;

/// An index map evaluated at step after step.
pub(super) struct Evaluator<'a> {
    map: &'a Region,
    numbers: &'a Numbers<'a>,
    /// By value of the kernel.
    values: Vec<Option<Literal>>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(kernel: &Kernel, map: &'a Region, numbers: &'a Numbers<'a>) -> Evaluator<'a> {
        Evaluator { map, numbers, values: vec![None; kernel.types.len()] }
    }

    /// Index `which` at that step; `None` where it comes from a prefetched array, or for a map that the verifier refuses.
    pub(super) fn index(&mut self, step: &[i32], which: usize) -> Option<i64> {
        for (arg, &i) in self.map.args.iter().zip(step) {
            *self.values.get_mut(arg.0 as usize)? = Some(i.into());
        }
        for op in &self.map.ops {
            let value = self.value(&op.kind, &op.operands, step);
            *self.values.get_mut(op.results.first()?.0 as usize)? = value;
        }
        self.get(*self.map.yields.get(which)?)?.as_i32().map(i64::from)
    }

    fn get(&self, value: Value) -> Option<Literal> {
        *self.values.get(value.0 as usize)?
    }

    fn value(&self, kind: &OpKind, operands: &[Value], step: &[i32]) -> Option<Literal> {
        scalar(kind, |at| self.get(*operands.get(at)?), step, self.numbers)
    }
}

/// What a scalar operation gives at a step, where its operands are known and it depends on nothing else.
pub(crate) fn scalar(
    kind: &OpKind,
    operand: impl Fn(usize) -> Option<Literal>,
    step: &[i32],
    numbers: &Numbers<'_>,
) -> Option<Literal> {
    match kind {
        OpKind::Const(literal) => Some(*literal),
        OpKind::ProgramId(axis) => step.get(*axis).map(|&i| i.into()),
        OpKind::NumPrograms(axis) => numbers.grid.get(*axis).map(|&n| n.into()),
        OpKind::Size(id) => numbers.sizes.get(id.0 as usize).map(|&n| n.into()),
        OpKind::Unary(op) => math::unary(*op, operand(0)?),
        OpKind::Binary(op) => math::binary(*op, operand(0)?, operand(1)?),
        OpKind::Compare(op) => eval::compare(*op, operand(0)?, operand(1)?).map(Literal::from),
        OpKind::Select => {
            if operand(0)?.as_bool()? {
                operand(1)
            } else {
                operand(2)
            }
        }
        OpKind::Cast(to) => Some(eval::cast(*to, operand(0)?)),
        OpKind::Bitcast(to) => Some(Literal::from_bits(*to, operand(0)?.bits())),
        OpKind::StochasticRound(to) => eval::stochastic_round(*to, operand(0)?, operand(1)?),
        _ => None,
    }
}
