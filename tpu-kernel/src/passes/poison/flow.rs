//! Which values may be poison: what is loaded from memory that starts as poison, and all that is computed of it.
//!
//! Rule: the least such set, found by going over the kernel until nothing is added; a pass more for each loop that something has to
//! go around.

use crate::ir::{Kernel, Op, OpKind, Region, Roots, Type, Value};
use std::collections::HashSet;

/// The memories that are seen as elements of another width.
pub(super) fn of_other_widths(kernel: &Kernel) -> HashSet<Value> {
    fn visit(region: &Region, kernel: &Kernel, roots: &Roots, found: &mut HashSet<Value>) {
        for op in &region.ops {
            if let OpKind::ViewBitcast(to) = op.kind
                && to.bits() != kernel.ty(op.operands[0]).dtype().bits()
            {
                found.insert(roots.root(op.operands[0]));
            }
            op.regions.iter().for_each(|inner| visit(inner, kernel, roots, found));
        }
    }
    let mut found = HashSet::new();
    visit(&kernel.body, kernel, &Roots::of(kernel), &mut found);
    found
}

struct Flow<'k> {
    kernel: &'k Kernel,
    roots: Roots,
    may: Vec<bool>,
    changed: bool,
    unwatched: &'k HashSet<Value>,
}

/// By value: whether it may be poison.
pub(super) fn may(kernel: &Kernel, unwatched: &HashSet<Value>) -> Vec<bool> {
    let mut flow = Flow { kernel, roots: Roots::of(kernel), may: vec![false; kernel.types.len()], changed: true, unwatched };
    while std::mem::take(&mut flow.changed) {
        flow.region(&kernel.body);
    }
    flow.may
}

impl Flow<'_> {
    fn has_shadow(&self, memory: Value) -> bool {
        let root = self.roots.root(memory);
        matches!(self.kernel.ty(root), Type::Ref(..)) && !self.unwatched.contains(&root)
    }

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
            OpKind::Load(_) | OpKind::LoadScalar => self.add(op.results[0], self.has_shadow(op.operands[0])),
            OpKind::LoadMasked(_) => self.add(op.results[0], self.has_shadow(op.operands[0]) || self.is(op.operands[2])),
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
