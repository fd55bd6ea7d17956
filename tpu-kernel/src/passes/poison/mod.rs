//! A kernel that also computes which of its elements are poison: memory that nothing has written, and the padding of blocks.
//!
//! Each memory in VMEM and SMEM has a shadow, memory of bool of the same shape, true where an element is poison; each value that may
//! be poison has one, too. What fills the shadows of windows and scratch, moves them with copies, and looks at those of outputs, is
//! whoever runs the kernel. Where poison may not come at all (a condition, an index), there is an operation `defined`.
//!
//! Rules: the data is what it was, operation by operation. What is never poison has no shadow, so that a kernel pays for what it
//! reads from memory. The idea is MemorySanitizer's (Stepanov and Serebryany, CGO 2015), a level higher.

mod flow;
mod rules;

use crate::ir::{DType, Kernel, Literal, Loc, Op, OpKind, Param, ParamKind, Region, Roots, Shape, Type, Value};
use std::collections::{HashMap, HashSet};

/// A kernel that also computes which of its elements are poison.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// The kernel. Its own operands come first, then the shadows of those that are memory, as scratch.
    pub kernel: Kernel,
    /// By memory (operands, memory of regions, views): its shadow.
    pub shadows: HashMap<Value, Value>,
    /// Memories that have none and are not watched: they are seen as elements of another width, whose bits no bool stands for.
    pub unwatched: HashSet<Value>,
}

/// Tracks the poison of a kernel that verifies. The result verifies.
pub fn track(kernel: &Kernel) -> Tracked {
    let mut tracked = kernel.clone();
    let unwatched = flow::of_other_widths(kernel);
    let (may, roots) = (flow::may(kernel, &unwatched), Roots::of(kernel));
    let mut shadows = HashMap::new();
    for (at, param) in kernel.params.iter().enumerate() {
        let Type::Ref(space, _, shape) = param.ty else { continue };
        if unwatched.contains(&kernel.body.args[at]) {
            continue;
        }
        let ty = Type::Ref(space, DType::Bool, shape);
        let shadow = tracked.new_value(ty);
        shadows.insert(kernel.body.args[at], shadow);
        tracked.body.args.push(shadow);
        let mut name = format!("{}_poison", param.name);
        while tracked.params.iter().any(|p| p.name == name) {
            name.push('_');
        }
        tracked.params.push(Param { name, ty, kind: ParamKind::Scratch, alias: None, loc: param.loc.clone() });
    }
    let mut body = std::mem::take(&mut tracked.body);
    let names = kernel.body.args.iter().zip(&kernel.params).map(|(&arg, param)| (arg, param.name.clone())).collect();
    let mut tracker = Tracker { kernel: &mut tracked, ops: vec![], may, roots, names, shadows, unwatched, poison: HashMap::new() };
    tracker.region(&mut body, &[]);
    let (shadows, unwatched) = (tracker.shadows, tracker.unwatched);
    tracked.body = body;
    Tracked { kernel: tracked, shadows, unwatched }
}

/// Rewrites region by region.
struct Tracker<'k> {
    kernel: &'k mut Kernel,
    /// The region under construction.
    ops: Vec<Op>,
    /// By value: whether it may be poison.
    may: Vec<bool>,
    roots: Roots,
    /// What operands are called.
    names: HashMap<Value, String>,
    shadows: HashMap<Value, Value>,
    unwatched: HashSet<Value>,
    /// By value that may be poison: where it is.
    poison: HashMap<Value, Value>,
}

impl Tracker<'_> {
    fn emit(&mut self, kind: OpKind, operands: &[Value], ty: Type, loc: &Loc) -> Value {
        let result = self.kernel.new_value(ty);
        self.ops.push(Op { kind, operands: operands.to_vec(), results: vec![result], regions: vec![], loc: loc.clone() });
        result
    }

    fn effect(&mut self, kind: OpKind, operands: &[Value], loc: &Loc) {
        self.ops.push(Op { kind, operands: operands.to_vec(), results: vec![], regions: vec![], loc: loc.clone() });
    }

    /// The type of a value's shadow.
    fn shadow_type(&self, value: Value) -> Type {
        self.kernel.ty(value).with_dtype(DType::Bool)
    }

    /// No poison, in that type.
    fn clean(&mut self, ty: Type, loc: &Loc) -> Value {
        let none = self.emit(OpKind::Const(Literal::from(false)), &[], Type::Scalar(DType::Bool), loc);
        self.spread(none, ty, loc)
    }

    /// A scalar in every element of that type.
    fn spread(&mut self, scalar: Value, ty: Type, loc: &Loc) -> Value {
        match ty {
            Type::Tile(_, shape) => self.emit(OpKind::Broadcast(shape), &[scalar], ty, loc),
            _ => scalar,
        }
    }

    /// Where a value is poison, made where nothing knows.
    fn of(&mut self, value: Value, loc: &Loc) -> Value {
        match self.poison.get(&value) {
            Some(&poison) => poison,
            None => {
                let ty = self.shadow_type(value);
                self.clean(ty, loc)
            }
        }
    }

    /// The region with shadows; its yields are followed by those of the ones that have a `twin`.
    fn region(&mut self, region: &mut Region, twins: &[bool]) {
        let outer = std::mem::take(&mut self.ops);
        for mut op in std::mem::take(&mut region.ops) {
            let own = op.results.clone();
            self.op(&mut op);
            // What may be poison has a shadow, whatever its operation found.
            for value in own {
                if self.may[value.0 as usize] && !self.poison.contains_key(&value) {
                    let ty = self.shadow_type(value);
                    let clean = self.clean(ty, &op.loc);
                    self.poison.insert(value, clean);
                }
            }
        }
        let loc = self.ops.last().map_or(Loc::UNKNOWN, |op| op.loc.clone());
        for (at, _) in twins.iter().enumerate().filter(|(_, twin)| **twin) {
            let shadow = self.of(region.yields[at], &loc);
            region.yields.push(shadow);
        }
        region.ops = std::mem::replace(&mut self.ops, outer);
    }

    /// Shadows of the arguments of a region that have a `twin`, as more arguments.
    fn arguments(&mut self, region: &mut Region, twins: &[bool]) {
        let own = region.args.clone();
        for (&arg, _) in own.iter().zip(twins).filter(|(_, twin)| **twin) {
            let ty = self.shadow_type(arg);
            let shadow = self.kernel.new_value(ty);
            self.poison.insert(arg, shadow);
            region.args.push(shadow);
        }
    }

    /// Which of these may be poison.
    fn twins(&self, values: &[Value]) -> Vec<bool> {
        values.iter().map(|v| self.kernel.ty(*v).is_value() && self.may[v.0 as usize]).collect()
    }

    /// Shadows of the results that have a `twin`, as more results.
    fn results(&mut self, op: &mut Op, twins: &[bool]) {
        let own = op.results.clone();
        for (&result, _) in own.iter().zip(twins).filter(|(_, twin)| **twin) {
            let ty = self.shadow_type(result);
            let shadow = self.kernel.new_value(ty);
            self.poison.insert(result, shadow);
            op.results.push(shadow);
        }
    }

    /// Shadows of the operands from `first` on that have a `twin`, as more operands.
    fn operands(&mut self, op: &mut Op, first: usize, twins: &[bool]) {
        for (at, _) in twins.iter().enumerate().filter(|(_, twin)| **twin) {
            let shadow = self.of(op.operands[first + at], &op.loc);
            op.operands.push(shadow);
        }
    }

    /// That a scalar is no poison, where it may be.
    fn defined(&mut self, value: Value, what: &str, loc: &Loc) {
        if let Some(&poison) = self.poison.get(&value) {
            self.effect(OpKind::Defined(what.to_string()), &[poison], loc);
        }
    }

    /// What messages call a memory.
    fn called(&self, memory: Value) -> String {
        match self.names.get(&self.roots.root(memory)) {
            Some(name) => format!("operand `{name}`"),
            None => "memory of the region".to_string(),
        }
    }

    /// An operation with regions: what flows in and out has shadows beside it.
    fn control(&mut self, op: &mut Op) {
        let loc = op.loc.clone();
        let twins = self.twins(&op.results);
        match op.kind {
            OpKind::If => self.defined(op.operands[0], "a condition", &loc),
            OpKind::For => {
                for (at, what) in ["the first index of a loop", "the end of a loop", "the step of a loop"].into_iter().enumerate() {
                    self.defined(op.operands[at], what, &loc);
                }
                self.operands(op, 3, &twins);
                // The index itself is never poison.
                let carried: Vec<bool> = std::iter::once(false).chain(twins.iter().copied()).collect();
                self.arguments(&mut op.regions[0], &carried);
            }
            OpKind::While => {
                self.operands(op, 0, &twins);
                self.arguments(&mut op.regions[0], &twins);
                self.arguments(&mut op.regions[1], &twins);
            }
            _ => {
                let own = op.regions[0].args.clone();
                for arg in own {
                    if let Type::Ref(space, _, shape) = self.kernel.ty(arg)
                        && !self.unwatched.contains(&arg)
                    {
                        let shadow = self.kernel.new_value(Type::Ref(space, DType::Bool, shape));
                        self.shadows.insert(arg, shadow);
                        op.regions[0].args.push(shadow);
                    }
                }
            }
        }
        let tests = matches!(op.kind, OpKind::While);
        for (at, region) in op.regions.iter_mut().enumerate() {
            if tests && at == 0 {
                self.region(region, &[]);
                let outer = std::mem::replace(&mut self.ops, std::mem::take(&mut region.ops));
                self.defined(region.yields[0], "a condition", &loc);
                region.ops = std::mem::replace(&mut self.ops, outer);
            } else {
                self.region(region, &twins);
            }
        }
        self.results(op, &twins);
        self.ops.push(op.clone());
    }
}

/// The shape of a tile, or none of a scalar.
fn shape_of(ty: Type) -> Option<Shape> {
    match ty {
        Type::Tile(_, shape) => Some(shape),
        _ => None,
    }
}
