//! Drops the stores that change nothing: of what is there already, and what is stored over before it is read.
//!
//! Rules: libtpu finds such a store itself where the tile is packed and ragged, so that it would write what it has just read under
//! a mask; beside another store like it, it fails on what is left: "The new region is empty". A part of memory is known to hold a
//! value from the load or the store of it to the next store anywhere in the same memory that is not one of these. Memory that is
//! also viewed or copied is left alone. The last store to
//! an output stays in the IR, as the verifier wants one, and is left out of the text.

use crate::ir::{Kernel, Op, OpKind, ParamKind, Region, Type, Value};
use std::collections::{HashMap, HashSet};

/// Drops them from a kernel whose equal constants are one value, but the last to each output; whether there were any.
pub(in crate::legalise) fn drop_unchanged(kernel: &mut Kernel) -> bool {
    let before = kernel.body.clone();
    let moved = moved(&kernel.body);
    stored_over(&mut kernel.body, &kernel.types, &moved);
    let mut stores = HashMap::new();
    count(&kernel.body, &mut stores);
    for (param, memory) in kernel.params.iter().zip(&kernel.body.args) {
        if !matches!(param.kind, ParamKind::Out(_)) {
            stores.remove(memory);
        }
    }
    let mut pass = Pass { needed: stores, moved, depth: 0 };
    pass.region(&mut kernel.body, vec![]);
    kernel.body != before
}

/// Drops the last ones too: what is left is to be printed, and does not verify where an output has no other store.
pub(crate) fn drop_last_unchanged(kernel: &mut Kernel) {
    Pass { needed: HashMap::new(), moved: moved(&kernel.body), depth: 0 }.region(&mut kernel.body, vec![]);
}

/// The memories that are viewed or copied, and the views of them.
fn moved(region: &Region) -> HashSet<Value> {
    let mut found = HashSet::new();
    for op in &region.ops {
        match op.kind {
            OpKind::Load(_) | OpKind::Store => {}
            OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::DmaStart { .. }
            | OpKind::RemoteStart { .. }
            | OpKind::DmaWait => {
                found.extend(op.operands.iter().chain(&op.results));
            }
            _ => op.regions.iter().for_each(|region| found.extend(moved(region))),
        }
    }
    found
}

/// Drops the stores of a region that a later one covers, with nothing between them that reads or writes the same memory.
fn stored_over(region: &mut Region, types: &[Type], moved: &HashSet<Value>) {
    let shape = |value: Value| types[value.0 as usize].shape();
    // The next access to a memory, where it is a store.
    let mut next: HashMap<Value, Op> = HashMap::new();
    let mut kept: Vec<Op> = vec![];
    for mut op in std::mem::take(&mut region.ops).into_iter().rev() {
        match op.kind {
            OpKind::Load(_) | OpKind::Store if moved.contains(&op.operands[0]) => {}
            OpKind::Load(_) => {
                next.remove(&op.operands[0]);
            }
            OpKind::Store => {
                let (memory, part) = (op.operands[0], shape(op.operands[1]));
                let covers = |later: &Op| {
                    let over = shape(later.operands[1]);
                    over == shape(memory) || (over == part && later.operands[2..] == op.operands[2..])
                };
                if next.get(&memory).is_some_and(covers) {
                    continue;
                }
                next.insert(memory, op.clone());
            }
            _ => {
                let mut touched = vec![];
                op.regions.iter_mut().for_each(|region| {
                    stored_over(region, types, moved);
                    accesses(region, &mut touched);
                });
                touched.iter().for_each(|memory| drop(next.remove(memory)));
            }
        }
        kept.push(op);
    }
    kept.reverse();
    region.ops = kept;
}

/// The memories that a region loads from or stores to.
fn accesses(region: &Region, touched: &mut Vec<Value>) {
    for op in &region.ops {
        if matches!(op.kind, OpKind::Load(_) | OpKind::Store) {
            touched.push(op.operands[0]);
        }
        op.regions.iter().for_each(|region| accesses(region, touched));
    }
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

/// Loops so many levels deep are looked at until nothing changes.
const LOOKED_AT_AGAIN: u32 = 3;

/// That a part of memory holds a value.
#[derive(Clone)]
struct Held {
    memory: Value,
    starts: Vec<Value>,
    value: Value,
}

#[derive(Clone)]
struct Pass {
    /// Regions around the one that is looked at.
    depth: u32,
    /// The memories that are also viewed or copied.
    moved: HashSet<Value>,
    /// The stores that are left to each output that needs one.
    needed: HashMap<Value, usize>,
}

impl Pass {
    fn region(&mut self, region: &mut Region, mut known: Vec<Held>) {
        region.ops.retain_mut(|op| self.op(op, &mut known));
    }

    /// Whether the operation stays.
    fn op(&mut self, op: &mut Op, known: &mut Vec<Held>) -> bool {
        match op.kind {
            OpKind::Load(_) | OpKind::Store if self.moved.contains(&op.operands[0]) => {}
            OpKind::Load(_) => {
                known.push(Held { memory: op.operands[0], starts: op.operands[1..].to_vec(), value: op.results[0] });
            }
            OpKind::Store => {
                let (memory, value, starts) = (op.operands[0], op.operands[1], &op.operands[2..]);
                let there = known.iter().any(|held| (held.memory, held.value) == (memory, value) && held.starts == starts);
                if there && self.needed.get(&memory).is_none_or(|&stores| stores > 1) {
                    self.needed.entry(memory).and_modify(|stores| *stores -= 1);
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
    /// change was not known after all. Looking again costs twice as much for each level: deep inside a loop is entered with what none
    /// of its stores may change.
    fn regions(&mut self, op: &mut Op, known: &mut Vec<Held>) {
        let mut entered = known.clone();
        if self.depth >= LOOKED_AT_AGAIN {
            let mut stores = HashMap::new();
            op.regions.iter().for_each(|region| count(region, &mut stores));
            known.retain(|held| !stores.contains_key(&held.memory));
            if op.kind != OpKind::If {
                entered.clone_from(known);
            }
            op.regions.iter_mut().for_each(|region| self.region(region, entered.clone()));
            return;
        }
        loop {
            let (mut pass, mut regions) = (Pass { depth: self.depth + 1, ..self.clone() }, op.regions.clone());
            regions.iter_mut().for_each(|region| pass.region(region, entered.clone()));
            let mut stores = HashMap::new();
            regions.iter().for_each(|region| count(region, &mut stores));
            known.retain(|held| !stores.contains_key(&held.memory));
            if op.kind == OpKind::If || known.len() == entered.len() {
                (*self, op.regions) = (Pass { depth: self.depth, ..pass }, regions);
                return;
            }
            entered.clone_from(known);
        }
    }
}
