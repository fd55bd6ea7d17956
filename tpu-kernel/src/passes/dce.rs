//! Drops operations, results and carried values that nothing observes.
//!
//! Rules: what may fail or not end at run time stays, so that the error stays: loads and views with starts that are
//! not constant, or in an array, `gather`, `check`, `for` without a constant positive step, and `while`; so does what changes memory,
//! semaphores, the log or the state of the launch: `store`, `dma_start`, `print`, `prng_seed`, `prng_bits`. A carried value that serves only to compute
//! itself goes.

use crate::ir::{Kernel, Op, OpKind, Region, Type, Value};

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// An operand, the index of a loop, an argument of an index map.
    Given,
    /// Result `.1` of operation `.0`.
    Result(usize, usize),
    /// Carried value `.1` of loop `.0`.
    Carried(usize, usize),
}

/// Drops what is dead; whether anything was.
pub(super) fn dce(kernel: &mut Kernel) -> bool {
    let constants = constants(kernel);
    let mut dropped = false;
    let Kernel { params, body, types, .. } = kernel;
    for param in params {
        if let Some(map) = param.map_mut() {
            dropped |= region(map, types, &constants);
        }
    }
    region(body, types, &constants) | dropped
}

/// By value: the bits of an i32 constant.
fn constants(kernel: &Kernel) -> Vec<Option<i32>> {
    fn visit(ops: &[Op], constants: &mut [Option<i32>]) {
        for op in ops {
            if let (OpKind::Const(literal), &[result]) = (&op.kind, op.results.as_slice()) {
                constants[result.0 as usize] = literal.as_i32();
            }
            op.regions.iter().for_each(|r| visit(&r.ops, constants));
        }
    }
    let mut constants = vec![None; kernel.types.len()];
    visit(&kernel.body.ops, &mut constants);
    constants
}

fn region(region: &mut Region, types: &[Type], constants: &[Option<i32>]) -> bool {
    let values = types.len();
    let mut marker = Marker {
        ops: vec![],
        origins: vec![Origin::Given; values],
        live_values: vec![false; values],
        live_ops: vec![],
        work: vec![],
    };
    marker.index(&region.ops, None, types, constants);
    region.yields.iter().for_each(|&v| marker.value(v));
    marker.spread();
    let Marker { live_values, live_ops, .. } = marker;
    let mut sweeper = Sweeper { live_values, live_ops, next: 0, dropped: false };
    sweeper.ops(&mut region.ops);
    sweeper.dropped
}

struct Marker<'a> {
    /// In the order of the text, an operation before those in its regions, with the enclosing one.
    ops: Vec<(&'a Op, Option<usize>)>,
    origins: Vec<Origin>,
    live_values: Vec<bool>,
    live_ops: Vec<bool>,
    /// Live values whose origin is not yet live.
    work: Vec<Value>,
}

impl<'a> Marker<'a> {
    /// Numbers the operations and marks those with effects.
    fn index(&mut self, ops: &'a [Op], parent: Option<usize>, types: &[Type], constants: &[Option<i32>]) {
        let constant = |v: &Value| constants[v.0 as usize];
        for op in ops {
            let id = self.ops.len();
            self.ops.push((op, parent));
            self.live_ops.push(false);
            for (i, result) in op.results.iter().enumerate() {
                self.origins[result.0 as usize] = Origin::Result(id, i);
            }
            for (region, index) in op.regions.iter().zip(0..) {
                let first = usize::from(op.kind == OpKind::For && index == 0);
                let carried = if op.kind == OpKind::Scoped { &[] } else { region.args.as_slice() };
                for (i, arg) in carried.iter().skip(first).enumerate() {
                    self.origins[arg.0 as usize] = Origin::Carried(id, i);
                }
                self.index(&region.ops, Some(id), types, constants);
            }
            let effect = match op.kind {
                OpKind::Store | OpKind::While | OpKind::Gather { .. } | OpKind::Check(_) | OpKind::Defined(_) => true,
                OpKind::LoadMasked(_) | OpKind::StoreMasked => true,
                OpKind::Print(_) | OpKind::PrngSeed | OpKind::PrngBits(_) => true,
                OpKind::StoreScalar | OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait => true,
                // A read sees what others signal; it stays where they do.
                OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => true,
                OpKind::Load(_) | OpKind::LoadScalar | OpKind::View { .. } | OpKind::SemaphoreAt => {
                    // The extents of an array are known to the launch only.
                    let array = matches!(types[op.operands[0].0 as usize], Type::Array(..));
                    array || !op.operands[1..].iter().all(|v| constant(v).is_some())
                }
                OpKind::For => constant(&op.operands[2]).is_none_or(|step| step <= 0),
                _ => false,
            };
            if effect {
                self.op(id);
            }
        }
    }

    fn value(&mut self, value: Value) {
        if !std::mem::replace(&mut self.live_values[value.0 as usize], true) {
            self.work.push(value);
        }
    }

    /// Marks an operation, what encloses it, and what it needs whichever of its results are live.
    fn op(&mut self, id: usize) {
        let mut next = Some(id);
        while let Some(id) = next {
            if std::mem::replace(&mut self.live_ops[id], true) {
                return;
            }
            let (op, parent) = self.ops[id];
            let needed = match op.kind {
                OpKind::If => &op.operands[..1],
                OpKind::For => &op.operands[..3],
                OpKind::While => op.regions[0].yields.as_slice(),
                OpKind::Scoped => op.regions[0].yields.as_slice(),
                _ => op.operands.as_slice(),
            };
            needed.iter().for_each(|&v| self.value(v));
            next = parent;
        }
    }

    fn spread(&mut self) {
        while let Some(value) = self.work.pop() {
            match self.origins[value.0 as usize] {
                Origin::Given => {}
                Origin::Result(id, i) => {
                    self.op(id);
                    match self.ops[id].0.kind {
                        OpKind::If => self.ops[id].0.regions.iter().for_each(|r| self.value(r.yields[i])),
                        OpKind::For | OpKind::While => self.carried(id, i),
                        _ => {}
                    }
                }
                Origin::Carried(id, i) => {
                    self.op(id);
                    self.carried(id, i);
                }
            }
        }
    }

    /// A carried value is its result, its arguments, its start and its next value.
    fn carried(&mut self, id: usize, i: usize) {
        let op = self.ops[id].0;
        let first = usize::from(op.kind == OpKind::For);
        self.value(op.results[i]);
        self.value(op.operands[3 * first + i]);
        op.regions.iter().for_each(|r| self.value(r.args[first + i]));
        op.regions.last().into_iter().for_each(|r| self.value(r.yields[i]));
    }
}

struct Sweeper {
    live_values: Vec<bool>,
    live_ops: Vec<bool>,
    /// The number of the next operation.
    next: usize,
    dropped: bool,
}

impl Sweeper {
    fn ops(&mut self, ops: &mut Vec<Op>) {
        let before = ops.len();
        ops.retain_mut(|op| {
            let live = self.live_ops[self.next];
            self.next += 1;
            // Also inside a dead operation, to keep the numbers in step.
            op.regions.iter_mut().for_each(|r| self.ops(&mut r.ops));
            if live {
                self.results(op);
            }
            live
        });
        self.dropped |= ops.len() != before;
    }

    /// Drops dead results of control flow.
    fn results(&mut self, op: &mut Op) {
        if !matches!(op.kind, OpKind::If | OpKind::For | OpKind::While) {
            return;
        }
        let live: Vec<bool> = op.results.iter().map(|v| self.live_values[v.0 as usize]).collect();
        if live.iter().all(|&l| l) {
            return;
        }
        self.dropped = true;
        let keep = |values: &mut Vec<Value>, fixed: usize| {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                at <= fixed || live[at - 1 - fixed]
            });
        };
        keep(&mut op.results, 0);
        match op.kind {
            OpKind::If => op.regions.iter_mut().for_each(|r| keep(&mut r.yields, 0)),
            OpKind::For => {
                keep(&mut op.operands, 3);
                keep(&mut op.regions[0].args, 1);
                keep(&mut op.regions[0].yields, 0);
            }
            _ => {
                keep(&mut op.operands, 0);
                op.regions.iter_mut().for_each(|r| keep(&mut r.args, 0));
                keep(&mut op.regions[1].yields, 0);
            }
        }
    }
}
