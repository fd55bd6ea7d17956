//! What shares memory: products computed where they are stored, and loads whose memory a store changes.

use super::{OpInfo, Plan};
use crate::cranelift::map::Map;
use crate::ir::{BinaryOp, Op, OpKind, Value};

/// A product that is computed in the memory to which it is stored.
#[derive(Clone, Copy, Debug)]
pub(in crate::cranelift) struct Direct<'k> {
    /// The `dot`.
    pub dot: &'k Op,
    /// Whether it is added to what is there: the microkernels form the whole product, then add it once.
    pub accumulate: bool,
}

impl<'k> Plan<'k> {
    /// The product that a store of this value computes in place.
    pub(in crate::cranelift) fn direct(&self, stored: Value) -> Option<Direct<'k>> {
        self.direct.get(&stored).copied()
    }

    /// Whether a product is computed by a later store.
    pub(in crate::cranelift) fn is_direct(&self, dot: Value) -> bool {
        self.direct_at.contains_key(&dot)
    }

    /// Finds `store dot` and `store (load + dot)` of one place, where nothing else reads the product or the sum.
    pub(super) fn find_direct(&mut self) {
        for at in 0..self.ops.len() {
            let OpInfo { op, pos, region, .. } = self.ops[at];
            // The microkernels write rows whose elements lie side by side; those of a view may not.
            let view = self.def(op.operands.first().copied().unwrap_or(Value(0))).is_some();
            if op.kind != OpKind::Store || view || self.uses[op.operands[1].0 as usize].len() != 1 {
                continue;
            }
            // Defined in this region and read once.
            let own = |v: Value| {
                let info = self.def[v.0 as usize].map(|at| &self.ops[at])?;
                (info.region == region && self.uses[v.0 as usize].len() == 1).then_some(info)
            };
            let stored = op.operands[1];
            let Some(top) = own(stored) else { continue };
            let found = match top.op.kind {
                OpKind::Dot { .. } => Some(Direct { dot: top.op, accumulate: false }),
                OpKind::Binary(BinaryOp::Add) => {
                    let terms = [top.op.operands[0], top.op.operands[1]];
                    [terms, [terms[1], terms[0]]].into_iter().find_map(|[a, b]| {
                        let (load, dot) = (own(a)?, own(b)?);
                        let added = matches!(load.op.kind, OpKind::Load(_)) && matches!(dot.op.kind, OpKind::Dot { .. });
                        (added && self.updates(load, op, pos)).then_some(Direct { dot: dot.op, accumulate: true })
                    })
                }
                _ => None,
            };
            if let Some(direct) = found {
                self.direct.insert(stored, direct);
                self.direct_at.insert(direct.dot.results[0], pos);
            }
        }
    }

    /// Whether the load reads the place that the store at `pos` writes, and no store comes between.
    fn updates(&self, load: &OpInfo<'_>, store: &Op, pos: u32) -> bool {
        load.op.operands[0] == store.operands[0]
            && self.same_starts(load.op, store)
            && !self.stores[self.memory(store.operands[0])].iter().any(|&at| at > load.pos && at < pos)
    }

    fn same_starts(&self, load: &Op, store: &Op) -> bool {
        load.operands[1..].iter().zip(&store.operands[2..]).all(|(&a, &b)| a == b || self.same_constant(a, b))
    }

    /// Whether a store, or a copy, changes what a load read before the last reader has seen it.
    pub(super) fn overwritten(&self, load: &Op, v: Value, pos: u32, end: u32) -> bool {
        self.stores[self.memory(load.operands[0])].iter().any(|&store| {
            if store == end && store > pos { !self.same_elements(load, v, store) } else { store > pos && store < end }
        })
    }

    /// Whether a store that is the load's last reader writes each element where it was read.
    fn same_elements(&self, load: &Op, v: Value, store: u32) -> bool {
        let Some(store) = self.ops.iter().find(|info| info.pos == store && info.op.kind == OpKind::Store) else { return false };
        let (stored, shape) = (store.op.operands[1], self.kernel.ty(store.op.operands[1]).shape());
        if load.operands[0] != store.op.operands[0] || !self.same_starts(load, store.op) || shape != self.kernel.ty(v).shape() {
            return false;
        }
        let identity = Map::identity(shape);
        let mut same = true;
        self.visit(stored, identity, false, &mut |value, map| same &= value != v || map == identity);
        same
    }

    fn same_constant(&self, a: Value, b: Value) -> bool {
        match (self.def(a).map(|op| &op.kind), self.def(b).map(|op| &op.kind)) {
            (Some(OpKind::Const(a)), Some(OpKind::Const(b))) => a == b,
            _ => false,
        }
    }
}
