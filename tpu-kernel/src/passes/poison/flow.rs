//! Which values may be poison: what is loaded from memory that starts as poison, and all that is computed of it.
//!
//! Rule: the least such set, found by going over the kernel until nothing is added; a pass more for each loop that something has to
//! go around.

use crate::ir::{Kernel, Op, OpKind, Region, Roots, Type, Value};

struct Flow<'k> {
    kernel: &'k Kernel,
    roots: Roots,
    may: Vec<bool>,
    changed: bool,
}

/// By value: whether it may be poison.
pub(super) fn may(kernel: &Kernel) -> Vec<bool> {
    let mut flow = Flow { kernel, roots: Roots::of(kernel), may: vec![false; kernel.types.len()], changed: true };
    while std::mem::take(&mut flow.changed) {
        flow.region(&kernel.body);
    }
    flow.may
}

impl Flow<'_> {
    fn is(&self, value: Value) -> bool {
        self.may[value.0 as usize]
    }

    fn add(&mut self, to: Value, may: bool) {
        let known = &mut self.may[to.0 as usize];
        if may && !*known {
            *known = true;
            self.changed = true;
        }
    }

    /// Poison flows from each of one list to the one at its place in the other.
    fn along(&mut self, from: &[Value], to: &[Value]) {
        for (&from, &to) in from.iter().zip(to) {
            self.add(to, self.is(from));
        }
    }

    fn region(&mut self, region: &Region) {
        for op in &region.ops {
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        match &op.kind {
            // An array in scalar memory holds what was given, or what was stored and found to be no poison.
            OpKind::Load(_) | OpKind::LoadScalar => {
                let root = self.kernel.ty(self.roots.root(op.operands[0]));
                self.add(op.results[0], matches!(root, Type::Ref(..)));
            }
            // Their indices may not be poison.
            OpKind::Gather { .. } => self.along(&op.operands[..1], &op.results),
            OpKind::If | OpKind::Scoped => {
                for region in &op.regions {
                    self.region(region);
                    self.along(&region.yields, &op.results);
                }
            }
            OpKind::For => {
                let body = &op.regions[0];
                self.along(&op.operands[3..], &body.args[1..]);
                self.region(body);
                self.along(&body.yields, &body.args[1..]);
                self.along(&op.operands[3..], &op.results);
                self.along(&body.yields, &op.results);
            }
            OpKind::While => {
                let [test, body] = &op.regions[..] else { return };
                self.along(&op.operands, &test.args);
                self.region(test);
                self.along(&test.args, &body.args);
                self.region(body);
                self.along(&body.yields, &test.args);
                self.along(&test.args, &op.results);
            }
            _ => {
                let any = op.operands.iter().any(|&v| self.kernel.ty(v).is_value() && self.is(v));
                op.results.iter().filter(|v| self.kernel.ty(**v).is_value()).for_each(|&v| self.add(v, any));
            }
        }
    }
}
