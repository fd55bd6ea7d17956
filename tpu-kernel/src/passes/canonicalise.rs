//! Brings a kernel into its canonical form: the same kernel, shorter.
//!
//! What it does: folds constants (not `exp` and `tanh`); merges operations that compute the same, also
//! with one of an enclosing region; drops neutral elements where every bit stays; takes constant
//! `if`s apart, turns those that choose between scalars into `select`, `and`, `or`; merges chains of
//! broadcasts, reshapes, transposes and casts, and transposes into `dot`; removes carried values that
//! do not change or that nothing reads, loops that never run, and dead code.
//!
//! Rules: every value keeps its bits (NaN payloads aside) and every run-time error stays. The result
//! verifies, is numbered normally, and does not change when canonicalised again. An operation that is
//! merged keeps the place of the first. A rewrite that would break a verifier's rule is left out: an
//! access whose start would become a constant outside its operand stays a run-time error, and the
//! last store to an output stays even where it is never reached.

use super::cse::Table;
use super::dce::dce;
use super::fold::{Defs, Rewrite, simplify};
use super::verify;
use crate::ir::{Kernel, Literal, Op, OpKind, Param, Region, Roots, Value};
use std::collections::HashMap;

/// Rounds in all. Each does whatever its operands allow at once; more than three are rare.
const ROUNDS: usize = 32;

/// An `if` of more operations stays a branch.
const SELECT_LIMIT: usize = 8;

/// Rewrites a kernel. One that does not verify is left as it is.
pub fn canonicalise(kernel: &mut Kernel) {
    if verify(kernel).is_err() {
        return;
    }
    for _ in 0..ROUNDS {
        let rewritten = rewrite(kernel);
        if !(dce(kernel) | rewritten) {
            break;
        }
    }
    kernel.renumber();
}

/// One round over all operations; whether anything changed.
fn rewrite(kernel: &mut Kernel) -> bool {
    let mut accesses = Accesses { roots: Roots::of(kernel), limits: HashMap::new(), stores: HashMap::new() };
    accesses.visit(kernel, &kernel.body.ops);
    kernel.params.iter().filter_map(Param::window).for_each(|window| accesses.visit(kernel, &window.map.ops));
    let outputs = kernel.params.iter().zip(&kernel.body.args).filter(|(p, _)| p.is_output()).map(|(_, &v)| v);
    let stores = outputs.map(|v| (v, accesses.stores.get(&v).copied().unwrap_or(0))).collect();
    let Kernel { params, body, types, .. } = kernel;
    let mut pass = Pass {
        replaced: (0..).map(Value).take(types.len()).collect(),
        defs: Defs::new(types),
        table: Table::default(),
        roots: accesses.roots,
        limits: accesses.limits,
        stores,
        changed: false,
    };
    for param in params {
        if let Some(map) = param.map_mut() {
            pass.region(map);
        }
    }
    pass.region(body);
    pass.changed
}

/// What a round needs to know of accesses to memory.
struct Accesses {
    roots: Roots,
    /// By value: the largest start that stays inside, of every access that starts there.
    limits: HashMap<Value, i64>,
    /// By memory: how many operations write it, or a view of it.
    stores: HashMap<Value, usize>,
}

impl Accesses {
    fn visit(&mut self, kernel: &Kernel, ops: &[Op]) {
        for op in ops {
            op.regions.iter().for_each(|r| self.visit(kernel, &r.ops));
            if let Some(written) = op.kind.writes() {
                *self.stores.entry(self.roots.root(op.operands[written])).or_default() += 1;
            }
            let Some((reach, starts)) = op.reach(|v| kernel.ty(v).shape()) else { continue };
            let extents = kernel.ty(op.operands[0]).shape();
            for (axis, (&start, &size)) in starts.iter().zip(&reach).enumerate() {
                // An array is as large as a launch makes it.
                let limit = if axis < extents.rank() { extents.dim(axis) as i64 - size as i64 } else { i64::MAX };
                self.limits.entry(start).and_modify(|l| *l = limit.min(*l)).or_insert(limit);
            }
        }
    }
}

struct Pass<'a> {
    /// By value: what stands for it.
    replaced: Vec<Value>,
    defs: Defs<'a>,
    table: Table,
    roots: Roots,
    limits: HashMap<Value, i64>,
    /// By output: how many operations that write it are left.
    stores: HashMap<Value, usize>,
    changed: bool,
}

impl Pass<'_> {
    fn resolve(&self, mut value: Value) -> Value {
        while self.replaced[value.0 as usize] != value {
            value = self.replaced[value.0 as usize];
        }
        value
    }

    fn resolve_all(&self, values: &mut [Value]) {
        values.iter_mut().for_each(|v| *v = self.resolve(*v));
    }

    /// Whether accesses that start at `value` would stay inside with that start.
    fn inside(&self, value: Value, start: Option<Literal>) -> bool {
        match (self.limits.get(&value), start.and_then(Literal::as_i32)) {
            (Some(&limit), Some(start)) => (0..=limit).contains(&i64::from(start)),
            _ => true,
        }
    }

    fn may_replace(&self, value: Value, by: Value) -> bool {
        self.inside(value, self.defs.literal(by))
    }

    /// Puts another value in the place of one; whether that may be.
    fn replace(&mut self, value: Value, by: Value) -> bool {
        let by = self.resolve(by);
        if !self.may_replace(value, by) {
            return false;
        }
        if let Some(&limit) = self.limits.get(&value) {
            self.limits.entry(by).and_modify(|l| *l = limit.min(*l)).or_insert(limit);
        }
        self.replaced[value.0 as usize] = by;
        self.changed = true;
        true
    }

    fn region(&mut self, region: &mut Region) {
        self.table.open();
        let mut out = Vec::with_capacity(region.ops.len());
        for op in std::mem::take(&mut region.ops) {
            self.op(op, &mut out);
        }
        region.ops = out;
        self.resolve_all(&mut region.yields);
        self.table.close();
    }

    fn op(&mut self, mut op: Op, out: &mut Vec<Op>) {
        self.resolve_all(&mut op.operands);
        match op.kind {
            OpKind::If => self.branch(op, out),
            OpKind::For | OpKind::While => self.repeat(op, out),
            OpKind::Scoped => {
                self.region(&mut op.regions[0]);
                out.push(op);
            }
            // `sort` is the one operation with several results; few kernels have two that are alike.
            OpKind::Sort { .. } => out.push(op),
            _ if op.kind.is_pure() => self.pure(op, out),
            _ => out.push(op),
        }
    }

    fn pure(&mut self, mut op: Op, out: &mut Vec<Op>) {
        let result = op.results[0];
        loop {
            match simplify(&op.kind, &op.operands, &self.defs) {
                Rewrite::Value(value) if self.replace(result, value) => return,
                Rewrite::Op(OpKind::Const(literal), _) if !self.inside(result, Some(literal)) => break,
                Rewrite::Op(kind, operands) => {
                    (op.kind, op.operands) = (kind, operands);
                    self.changed = true;
                }
                Rewrite::Value(_) | Rewrite::Keep => break,
            }
        }
        let same = self.table.find(&op.kind, &op.operands, self.defs.ty(result), result);
        if same.is_some_and(|value| self.replace(result, value)) {
            return;
        }
        self.defs.define(result, op.kind.clone(), op.operands.clone());
        out.push(op);
    }

    fn branch(&mut self, mut op: Op, out: &mut Vec<Op>) {
        let condition = op.operands[0];
        if let Some(condition) = self.defs.literal(condition).and_then(Literal::as_bool)
            && self.forget_stores(&op.regions[usize::from(condition)].ops)
        {
            let taken = op.regions.swap_remove(usize::from(!condition));
            self.splice(&op, vec![taken], out);
            return;
        }
        for region in &mut op.regions {
            self.region(region);
        }
        self.equal_yields(&mut op);
        let scalar = |v: &Value| self.defs.ty(*v).is_scalar();
        let cheap = |o: &Op| o.kind.is_pure() && o.results.iter().all(scalar);
        let ops = || op.regions.iter().flat_map(|r| &r.ops);
        if !op.results.is_empty() && op.results.iter().all(scalar) && ops().all(cheap) && ops().count() <= SELECT_LIMIT {
            let regions = std::mem::take(&mut op.regions);
            self.splice(&op, regions, out);
        } else {
            out.push(op);
        }
    }

    /// Puts the operations of these regions in the place of an `if`, whose results become selections
    /// between what the first and the last of them yield.
    fn splice(&mut self, op: &Op, regions: Vec<Region>, out: &mut Vec<Op>) {
        self.changed = true;
        let mut yields = vec![];
        for region in regions {
            for inner in region.ops {
                self.op(inner, out);
            }
            yields.push(region.yields);
        }
        let (Some(first), Some(last)) = (yields.first(), yields.last()) else {
            return;
        };
        for ((&result, &then), &otherwise) in op.results.iter().zip(first).zip(last) {
            let by = self.resolve(then);
            if then == otherwise && self.replace(result, by) {
                continue;
            }
            let operands = vec![op.operands[0], then, otherwise];
            let select = Op { kind: OpKind::Select, operands, results: vec![result], regions: vec![], loc: op.loc.clone() };
            self.op(select, out);
        }
    }

    /// Results that both regions yield alike are that value.
    fn equal_yields(&mut self, op: &mut Op) {
        for i in (0..op.results.len()).rev() {
            let value = op.regions[0].yields[i];
            if value == op.regions[1].yields[i] && self.replace(op.results[i], value) {
                op.results.remove(i);
                op.regions.iter_mut().for_each(|r| _ = r.yields.remove(i));
            }
        }
    }

    fn repeat(&mut self, mut op: Op, out: &mut Vec<Op>) {
        if self.never_runs(&op) && self.forget_stores(&op.regions[0].ops) {
            for (&result, &init) in op.results.iter().zip(&op.operands[3..]) {
                self.replace(result, init);
            }
            return;
        }
        self.invariants(&mut op);
        for region in &mut op.regions {
            self.region(region);
        }
        out.push(op);
    }

    /// A loop of no steps, whose results may all become its initial values.
    fn never_runs(&self, op: &Op) -> bool {
        if op.kind != OpKind::For {
            return false;
        }
        let constant = |i: usize| self.defs.literal(op.operands[i]).and_then(Literal::as_i32);
        let empty = matches!((constant(0), constant(1), constant(2)), (Some(lo), Some(hi), Some(step)) if step > 0 && lo >= hi);
        empty && op.results.iter().zip(&op.operands[3..]).all(|(&result, &init)| self.may_replace(result, init))
    }

    /// Removes carried values that each iteration hands on unchanged.
    fn invariants(&mut self, op: &mut Op) {
        let (operand, arg) = if op.kind == OpKind::For { (3, 1) } else { (0, 0) };
        let last = op.regions.len() - 1;
        for i in (0..op.results.len()).rev() {
            let init = op.operands[operand + i];
            let next = self.resolve(op.regions[last].yields[i]);
            let unchanged = next == init || next == op.regions[last].args[arg + i];
            let aliases: Vec<Value> = op.regions.iter().map(|r| r.args[arg + i]).chain([op.results[i]]).collect();
            if !unchanged || !aliases.iter().all(|&v| self.may_replace(v, init)) {
                continue;
            }
            for value in aliases {
                self.replace(value, init);
            }
            op.results.remove(i);
            op.operands.remove(operand + i);
            op.regions.iter_mut().for_each(|r| _ = r.args.remove(arg + i));
            op.regions[last].yields.remove(i);
        }
    }

    /// Takes the stores of operations that are dropped off the counts, unless an output would lose its last.
    fn forget_stores(&mut self, ops: &[Op]) -> bool {
        fn count(ops: &[Op], roots: &Roots, counts: &mut HashMap<Value, usize>) {
            for op in ops {
                if let Some(written) = op.kind.writes() {
                    *counts.entry(roots.root(op.operands[written])).or_default() += 1;
                }
                op.regions.iter().for_each(|r| count(&r.ops, roots, counts));
            }
        }
        let mut counts = HashMap::new();
        count(ops, &self.roots, &mut counts);
        if counts.iter().any(|(memory, n)| self.stores.get(memory).is_some_and(|left| left <= n)) {
            return false;
        }
        for (memory, n) in counts {
            self.stores.entry(memory).and_modify(|left| *left -= n);
        }
        true
    }
}
