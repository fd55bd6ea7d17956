//! What is known of values while a kernel is recorded: the constants, and what cannot be right about them.
//!
//! Rules: a mistake that constants show is refused at the line that makes it, before any pass folds it away.
//! Only what is recorded for certain counts: what a loop or branch carries is not known. Arithmetic that wraps
//! or divides by zero on values that only a run knows has a meaning (`docs/semantics.md`) and is no mistake.

use crate::BuildFault;
use crate::ir::{BinaryOp, DType, Fault, Kernel, Literal, Loc, OpKind, Rule, UnaryOp, Value, eval};
use std::collections::HashMap;

/// The values that are the same constant in every element.
#[derive(Default)]
pub(super) struct Constants(HashMap<Value, Literal>);

impl Constants {
    /// What is wrong with this operation on these operands.
    pub(super) fn faults(&self, kind: &OpKind, operands: &[Value], kernel: &Kernel, loc: &Loc) -> Vec<BuildFault> {
        match (kind, operands) {
            (OpKind::Unary(UnaryOp::Neg), [x]) => self.negation(*x, kernel, loc).into_iter().collect(),
            (OpKind::Binary(op), [a, b]) => self.arithmetic(*op, *a, *b, kernel, loc).into_iter().collect(),
            (OpKind::Gather { axis }, [data, index]) => self.index(*axis, *data, *index, kernel, loc).into_iter().collect(),
            (OpKind::Load(shape), [memory, starts @ ..]) => self.access("load", *memory, shape.dims(), starts, kernel, loc),
            (OpKind::Store, [memory, tile, starts @ ..]) => {
                self.access("store", *memory, kernel.ty(*tile).shape().dims(), starts, kernel, loc)
            }
            (OpKind::View { shape, strides }, [memory, starts @ ..]) => {
                let reach = |(&n, &by): (&usize, &usize)| n.saturating_sub(1).saturating_mul(by).saturating_add(1);
                let reach: Vec<usize> = shape.dims().iter().zip(strides).map(reach).collect();
                self.access("view", *memory, &reach, starts, kernel, loc)
            }
            (OpKind::LoadScalar | OpKind::SemaphoreAt, [memory, indices @ ..]) => {
                self.access(kind.mnemonic(), *memory, &vec![1; indices.len()], indices, kernel, loc)
            }
            (OpKind::StoreScalar, [memory, _, indices @ ..]) => {
                self.access(kind.mnemonic(), *memory, &vec![1; indices.len()], indices, kernel, loc)
            }
            _ => vec![],
        }
    }

    /// Notes the result of an operation.
    pub(super) fn note(&mut self, kind: &OpKind, operands: &[Value], result: Value) {
        let of = |value: &Value| self.0.get(value).copied();
        let known = match (kind, operands) {
            (OpKind::Const(literal), _) => Some(*literal),
            (OpKind::Broadcast(_) | OpKind::Reshape(_) | OpKind::Transpose(_), [x]) => of(x),
            (OpKind::Cast(to), [x]) => of(x).map(|x| eval::cast(*to, x)),
            (OpKind::Unary(op), [x]) => of(x).and_then(|x| eval::unary(*op, x)),
            (OpKind::Binary(op), [a, b]) => of(a).zip(of(b)).and_then(|(a, b)| eval::binary(*op, a, b)),
            _ => None,
        };
        if let Some(literal) = known {
            self.0.insert(result, literal);
        }
    }

    /// The value of an integer constant.
    pub(super) fn integer(&self, value: Value) -> Option<i64> {
        self.0.get(&value).and_then(|literal| literal.as_int())
    }

    fn negation(&self, x: Value, kernel: &Kernel, loc: &Loc) -> Option<BuildFault> {
        let dtype = kernel.ty(x).dtype();
        let value = self.integer(x).filter(|_| dtype.is_signed())?;
        overflow(OpKind::Unary(UnaryOp::Neg), format!("-({value})"), -value, dtype, loc)
    }

    fn arithmetic(&self, op: BinaryOp, a: Value, b: Value, kernel: &Kernel, loc: &Loc) -> Option<BuildFault> {
        let dtype = kernel.ty(b).dtype();
        let (left, right) = (self.integer(a), self.integer(b)?);
        let mnemonic = OpKind::Binary(op).mnemonic();
        match op {
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod if right == 0 => {
                return Some(BuildFault::DivisionByZero { op: mnemonic, dtype, loc: loc.clone() });
            }
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical if right < 0 || right >= i64::from(dtype.bits()) => {
                return Some(BuildFault::Shift { op: mnemonic, amount: right, dtype, loc: loc.clone() });
            }
            _ => {}
        }
        // Elements without a sign wrap by their nature.
        let left = left.filter(|_| dtype.is_signed())?;
        let (sign, exact) = match op {
            BinaryOp::Add => ("+", left + right),
            BinaryOp::Sub => ("-", left - right),
            BinaryOp::Mul => ("*", left * right),
            BinaryOp::Div | BinaryOp::FloorDiv => ("/", left / right),
            _ => return None,
        };
        overflow(OpKind::Binary(op), format!("{left} {sign} {}", in_sum(right)), exact, dtype, loc)
    }

    /// One index for every element, which the axis does not have.
    fn index(&self, axis: usize, data: Value, index: Value, kernel: &Kernel, loc: &Loc) -> Option<BuildFault> {
        let index = self.integer(index)?;
        let extent = kernel.ty(data).shape().dims().get(axis).copied()?;
        let inside = (-(extent as i64)..extent as i64).contains(&index);
        (!inside).then(|| BuildFault::Index { index, axis, extent, loc: loc.clone() })
    }

    /// An access by constants leaves its memory, or a part is larger than the memory wherever it starts.
    fn access(&self, at: &str, memory: Value, sizes: &[usize], starts: &[Value], kernel: &Kernel, loc: &Loc) -> Vec<BuildFault> {
        let extents = kernel.ty(memory).shape();
        let Some((_, param)) = kernel.param_of(memory).filter(|_| sizes.len() == extents.rank()) else { return vec![] };
        let axes = starts.iter().zip(sizes).zip(extents.dims()).enumerate();
        let outside = axes.filter_map(|(axis, ((&start, &size), &extent))| {
            let start = self.integer(start).unwrap_or(0);
            let inside = start >= 0 && start + size as i64 <= extent as i64;
            let rule = Rule::OutOfBounds { operand: param.name.clone(), axis, start, size, extent };
            (!inside).then(|| BuildFault::Rule(Fault { rule, at: at.to_string(), loc: loc.clone() }))
        });
        outside.collect()
    }
}

/// A negative operand in parentheses.
fn in_sum(value: i64) -> String {
    if value < 0 { format!("({value})") } else { value.to_string() }
}

fn overflow(kind: OpKind, computed: String, exact: i64, dtype: DType, loc: &Loc) -> Option<BuildFault> {
    let (least, most) = dtype.range();
    (!(least..=most).contains(&exact)).then(|| BuildFault::Overflow {
        op: kind.mnemonic(),
        computed,
        exact,
        dtype,
        loc: loc.clone(),
    })
}
