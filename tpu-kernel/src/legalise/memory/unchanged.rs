//! Drops the stores of what is there already.
//!
//! Rules: libtpu finds such a store itself where the tile is packed and ragged, so that it would write what it has just read under
//! a mask; beside another store like it, it fails on what is left: "The new region is empty". A part of memory is known to hold a
//! value from the load or the store of it to the next store anywhere in the same memory that is not one of these. The last store to
//! an output stays in the IR, as the verifier wants one, and is left out of the text.

use crate::ir::{Kernel, Op, OpKind, ParamKind, Region, Value};
use std::collections::HashMap;

/// Drops them from a kernel whose equal constants are one value, but the last to each output; whether there were any.
pub(in crate::legalise) fn drop_unchanged(kernel: &mut Kernel) -> bool {
    let mut stores = HashMap::new();
    count(&kernel.body, &mut stores);
    for (param, memory) in kernel.params.iter().zip(&kernel.body.args) {
        if !matches!(param.kind, ParamKind::Out(_)) {
            stores.remove(memory);
        }
    }
    let mut pass = Pass { needed: stores, dropped: 0 };
    pass.region(&mut kernel.body, vec![]);
    pass.dropped > 0
}

/// Drops the last ones too: what is left is to be printed, and does not verify where an output has no other store.
pub(crate) fn drop_last_unchanged(kernel: &mut Kernel) {
    Pass { needed: HashMap::new(), dropped: 0 }.region(&mut kernel.body, vec![]);
}

/// The stores to each memory.
fn count(region: &Region, stores: &mut HashMap<Value, usize>) {
    for op in &region.ops {
        if op.kind == OpKind::Store {
            *stores.entry(op.operands[0]).or_default() += 1;
        }
        op.regions.iter().for_each(|region| count(region, stores));
    }
}

/// That a part of memory holds a value.
#[derive(Clone)]
struct Held {
    memory: Value,
    starts: Vec<Value>,
    value: Value,
}

#[derive(Clone)]
struct Pass {
    /// The stores that are left to each output that needs one.
    needed: HashMap<Value, usize>,
    dropped: usize,
}

impl Pass {
    fn region(&mut self, region: &mut Region, mut known: Vec<Held>) {
        region.ops.retain_mut(|op| self.op(op, &mut known));
    }

    /// Whether the operation stays.
    fn op(&mut self, op: &mut Op, known: &mut Vec<Held>) -> bool {
        match op.kind {
            OpKind::Load(_) => {
                known.push(Held { memory: op.operands[0], starts: op.operands[1..].to_vec(), value: op.results[0] });
            }
            OpKind::Store => {
                let (memory, value, starts) = (op.operands[0], op.operands[1], &op.operands[2..]);
                let there = known.iter().any(|held| (held.memory, held.value) == (memory, value) && held.starts == starts);
                if there && self.needed.get(&memory).is_none_or(|&stores| stores > 1) {
                    self.needed.entry(memory).and_modify(|stores| *stores -= 1);
                    self.dropped += 1;
                    return false;
                }
                known.retain(|held| held.memory != memory);
                known.push(Held { memory, starts: starts.to_vec(), value });
            }
            _ => self.regions(op, known),
        }
        true
    }

    /// Regions are entered with all that is known; a loop comes back to its first operation after its last, so that what its stores
    /// change was not known after all.
    fn regions(&mut self, op: &mut Op, known: &mut Vec<Held>) {
        let mut entered = known.clone();
        loop {
            let (mut pass, mut regions) = (self.clone(), op.regions.clone());
            regions.iter_mut().for_each(|region| pass.region(region, entered.clone()));
            let mut stores = HashMap::new();
            regions.iter().for_each(|region| count(region, &mut stores));
            known.retain(|held| !stores.contains_key(&held.memory));
            if op.kind == OpKind::If || known.len() == entered.len() {
                (*self, op.regions) = (pass, regions);
                return;
            }
            entered.clone_from(known);
        }
    }
}
