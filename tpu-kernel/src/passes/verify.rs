//! Checks every rule of the IR and collects every fault, in the order of the kernel's text.
//!
//! It takes any kernel at all. What it accepts, an executor may index without checks, except for
//! starts of loads and stores that are not constant. A fault is reported once: what is computed from
//! a value that is itself at fault is not.
//!
//! | code | rule |
//! |---|---|
//! | V001 | an operation has the number of operands that it takes |
//! | V002 | each operand is of the kind that it must be (tile, scalar, memory, i32 scalar…); windows and scratch are memory, scalar operands are scalars |
//! | V003 | operands that must agree have one type |
//! | V004 | the operation takes that element type |
//! | V005 | an axis exists in its value |
//! | V006 | a broadcast keeps the rank and changes dimensions of 1 only |
//! | V007 | a reshape keeps the number of elements |
//! | V008 | a transpose names each dimension once |
//! | V009 | the contracted dimensions of a dot are equal |
//! | V010 | a tile or memory has rank 1 to 4 and no dimension of 0 |
//! | V011 | no value is larger than the largest VMEM |
//! | V012 | an access with constant starts, or larger than its operand, stays inside the operand |
//! | V013 | no store writes an input |
//! | V014 | a value is used after its definition, in its region or one nested in it; an index map sees nothing outside itself |
//! | V015 | a value is defined once |
//! | V016 | an operation has the regions that it takes |
//! | V017 | a region takes what its operation hands it; the body takes the operands, an index map the grid indices |
//! | V018 | a region yields what its operation expects |
//! | V019 | results have the types that the operation gives |
//! | V020 | memory is neither carried nor yielded |
//! | V021 | `program_id` and `num_programs` name a dimension of the grid |
//! | V022 | size expressions and `size` name a size of the kernel |
//! | V023 | an index map computes with scalars only, without memory or control flow |
//! | V024 | an index map yields one index a dimension of the array |
//! | V025 | the block has the rank of the array, and without its squeezed dimensions the shape of the operand |
//! | V026 | names of sizes, of grid dimensions and of operands are unique, each among themselves |
//! | V027 | parallel dimensions of the grid come before arbitrary ones |
//! | V028 | some store writes each output |
//! | V029 | an array has rank 1 to 4 |
//! | V030 | regions and size expressions nest at most 64 deep |
//! | V031 | a slice has a start, a size and a stride, and an extract an index, for each dimension |
//! | V032 | a slice or extract stays inside its operand |
//! | V033 | strides are at least 1 |
//! | V034 | axes that must differ do |
//! | V035 | a bitcast between widths has rows to fold, without a rest |
//! | V036 | the element types of a dot have a product |
//! | V037 | tiles are loaded from VMEM, scalars from SMEM, and stored there |
//! | V038 | a copy moves between memories of one shape and element type |
//! | V039 | not both ends of a copy are scalar memory |
//! | V040 | the priority of a copy is 0 or 1 |
//! | V041 | copies take dma semaphores, signals and waits regular ones |
//! | V042 | a squeezed dimension of a view has size 1 |
//! | V043 | prefetched arrays come before windows |
//! | V044 | a region has memory of VMEM and SMEM, and semaphores |
//! | V045 | whole arrays lie in HBM, prefetched ones in SMEM, scratch in VMEM or SMEM |
//! | V046 | an operand, or an argument of a region, is at most 4096 semaphores |
//! | V049 | a window has 1 to 16 buffers; `lookahead` is for inputs, `revisit` for outputs |
//! | V050 | an output shares the array of one input, of its element type and rank, that no other output shares |
//! | V051 | a size with the name of a scalar is an i32 scalar, and stands in extents of the grid alone |
//! | V052 | a view under another shape has strides |
//! | V053 | a bitcast of scalar memory keeps the width of its elements |

mod alias;
mod given;
mod memory;

use crate::ir::layout::Layout;
use crate::ir::{
    BlockDim, DType, Fault, Kernel, Loc, MAX_BUFFERS, MAX_DEPTH, MAX_RANK, Op, OpKind, ParamKind, Pipelining, Region, Revisit,
    Rule, Semantics, SemaphoreKind, Shape, SizeExpr, Space, Type, Value, Window, infer, tile,
};
use std::collections::{HashMap, HashSet};

/// More semaphores than any chip has room for.
const MAX_SEMAPHORES: usize = 4096;

/// Checks a kernel: nothing, or all its faults.
pub fn verify(kernel: &Kernel) -> Result<(), Vec<Fault>> {
    let state = kernel.types.iter().map(|_| State::Unseen).collect();
    let constants = vec![None; kernel.types.len()];
    let written = vec![false; kernel.params.len()];
    let layouts = HashMap::new();
    let mut verifier = Verifier { kernel, faults: vec![], state, constants, layouts, written, scopes: vec![], depth: 0 };
    verifier.kernel();
    if verifier.faults.is_empty() { Ok(()) } else { Err(verifier.faults) }
}

const I32: Type = Type::Scalar(DType::I32);

/// What is known of a value.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    /// Usable; for memory, the operand that it is.
    Live(Option<usize>),
    /// Defined with a fault of its own: uses say nothing more.
    Faulty,
    /// Its region is closed.
    Closed,
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    faults: Vec<Fault>,
    /// By value.
    state: Vec<State>,
    /// By value: i32 constants.
    constants: Vec<Option<i32>>,
    /// Of views: how far their elements lie apart.
    layouts: HashMap<Value, Layout>,
    /// By operand: whether a store writes it.
    written: Vec<bool>,
    /// Values of each open region.
    scopes: Vec<Vec<Value>>,
    depth: usize,
}

/// The name and place that a fault is reported with.
#[derive(Clone, Copy)]
struct At<'a>(&'a str, &'a Loc);

impl<'a> Verifier<'a> {
    fn fault(&mut self, rule: Rule, at: At<'_>) {
        let fault = Fault { rule, at: at.0.to_string(), loc: at.1.clone() };
        // Two operands of one operation with one fault, or one line of the source staged twice.
        if self.faults.last() != Some(&fault) {
            self.faults.push(fault);
        }
    }

    fn check(&mut self, holds: bool, rule: impl FnOnce() -> Rule, at: At<'_>) {
        if !holds {
            self.fault(rule(), at);
        }
    }

    fn kernel(&mut self) {
        let kernel = self.kernel;
        let whole = At(&kernel.name, &kernel.loc);
        self.names(kernel.sizes.iter().map(|s| At(s, &kernel.loc)));
        self.names(kernel.grid.iter().map(|d| At(&d.name, &d.loc)));
        self.names(kernel.params.iter().map(|p| At(&p.name, &p.loc)));
        let mut arbitrary = false;
        for (index, dim) in kernel.grid.iter().enumerate() {
            let at = At(&dim.name, &dim.loc);
            self.size_expr(&dim.extent, 0, at);
            self.check(!arbitrary || !dim.semantics.is_parallel(), || Rule::ParallelAfterArbitrary, at);
            let late = index > 0 && dim.semantics == Semantics::CoreParallel;
            self.check(!late, || Rule::CoreParallelAfterOthers, at);
            arbitrary |= dim.semantics == Semantics::Arbitrary;
        }
        alias::check(self);
        given::check(self);
        self.bounds();
        let mut windows = false;
        for (index, param) in kernel.params.iter().enumerate() {
            let late = windows && matches!(param.kind, ParamKind::Prefetch(_));
            self.check(!late, || Rule::PrefetchAfterWindow, At(&param.name, &param.loc));
            windows |= param.window().is_some();
            self.param(index, param);
        }
        self.region_args(&kernel.body, 0, kernel.params.iter().map(|p| p.ty), whole);
        self.scopes.push(vec![]);
        for (index, &arg) in kernel.body.args.iter().enumerate() {
            let at = kernel.params.get(index).map_or(whole, |p| At(&p.name, &p.loc));
            self.define(arg, Some(index), at);
        }
        self.ops(&kernel.body.ops);
        self.region_yields(&kernel.body, 0, &[], whole);
        self.close();
        for (index, param) in kernel.params.iter().enumerate() {
            // An array in HBM that nothing is copied to stays the input that it starts as.
            let kept = param.alias.is_some() && matches!(param.kind, ParamKind::OutArray(_));
            self.check(!param.is_output() || self.written[index] || kept, || Rule::NeverWritten, At(&param.name, &param.loc));
        }
    }

    fn names(&mut self, names: impl Iterator<Item = At<'a>>) {
        let mut seen = HashSet::new();
        for at in names {
            self.check(seen.insert(at.0), || Rule::DuplicateName { name: at.0.to_string() }, at);
        }
    }

    fn size_expr(&mut self, expr: &SizeExpr, depth: usize, at: At<'_>) {
        if depth > MAX_DEPTH {
            return self.fault(Rule::TooDeep { limit: MAX_DEPTH }, at);
        }
        match expr {
            SizeExpr::Const(_) => {}
            SizeExpr::Size(id) => self.size(id.0, at),
            SizeExpr::Add(a, b) | SizeExpr::Sub(a, b) | SizeExpr::Mul(a, b) | SizeExpr::CeilDiv(a, b) => {
                self.size_expr(a, depth + 1, at);
                self.size_expr(b, depth + 1, at);
            }
        }
    }

    fn size(&mut self, index: u32, at: At<'_>) {
        let count = self.kernel.sizes.len();
        self.check((index as usize) < count, || Rule::SizeIndex { index, count }, at);
    }

    fn window(&mut self, index: usize, window: &'a Window, operand: Shape, at: At<'a>) {
        let rank = window.array.len();
        let kept = window.block.iter().filter_map(|b| b.kept());
        let fits = window.block.len() == rank && kept.eq(operand.dims().iter().copied());
        self.check(fits, || Rule::BlockShape { block: block_text(&window.block), operand }, at);
        self.pipelining(index, window, at);
        self.map(index, &window.map, rank, at);
    }

    fn pipelining(&mut self, index: usize, window: &Window, at: At<'_>) {
        let Pipelining { buffers, lookahead, revisit } = window.pipelining;
        let output = self.kernel.params[index].is_output();
        let rule = |what: &str| Rule::Pipelining { what: what.to_string() };
        let countable = buffers.is_none_or(|count| (1..=MAX_BUFFERS).contains(&count));
        self.check(countable, || rule(&format!("a window has 1 to {MAX_BUFFERS} buffers")), at);
        self.check(!(lookahead && output), || rule("`lookahead` is for inputs: a block of an output is not fetched"), at);
        let read_back = revisit == Revisit::Any && !output;
        self.check(!read_back, || rule("`revisit` is for outputs: a block of an input is fetched whenever it is entered"), at);
    }

    /// An index map sees nothing but itself: no other value is defined when it is checked.
    fn map(&mut self, index: usize, map: &'a Region, rank: usize, at: At<'a>) {
        // A prefetched array that comes too late is a fault of its own.
        let prefetched = self.kernel.prefetched().take_while(|&(before, _)| before < index).map(|(_, p)| p.ty);
        let takes: Vec<Type> = self.kernel.grid.iter().map(|_| I32).chain(prefetched).collect();
        self.region_args(map, 0, takes.into_iter(), at);
        self.scopes.push(vec![]);
        for (at_arg, &arg) in map.args.iter().enumerate() {
            let array = at_arg.checked_sub(self.kernel.grid.len()).and_then(|nth| self.kernel.prefetched().nth(nth));
            self.define(arg, array.map(|(param, _)| param), at);
        }
        for op in &map.ops {
            let op_at = At(op.kind.mnemonic(), &op.loc);
            let scalars = op.results.iter().all(|&v| self.declared(v).is_none_or(Type::is_scalar));
            let allowed = op.kind.is_pure() || op.kind == OpKind::LoadScalar;
            if allowed && op.regions.is_empty() && scalars {
                self.op(op);
            } else {
                self.fault(Rule::ImpureMap, op_at);
                self.faulty_results(op, op_at);
            }
        }
        let got = map.yields.len();
        if got == rank {
            self.region_yields(map, 0, &vec![I32; rank], at);
        } else {
            self.fault(Rule::MapRank { want: rank, got }, at);
        }
        self.close();
    }

    /// The type in the kernel's table.
    fn declared(&self, value: Value) -> Option<Type> {
        self.kernel.types.get(value.0 as usize).copied()
    }

    /// Enters a value into the scope; its type, where it may be defined.
    fn declare(&mut self, value: Value, at: At<'_>) -> Option<Type> {
        let Some(ty) = self.declared(value) else {
            self.fault(Rule::Undefined, at);
            return None;
        };
        if self.state[value.0 as usize] != State::Unseen {
            self.fault(Rule::Redefined, at);
            return None;
        }
        self.state[value.0 as usize] = State::Faulty;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(value);
        }
        Some(ty)
    }

    fn define(&mut self, value: Value, param: Option<usize>, at: At<'_>) {
        let Some(ty) = self.declare(value, at) else {
            return;
        };
        let sound = match ty {
            Type::Tile(dtype, shape) | Type::Ref(_, dtype, shape) => tile(dtype, shape).map(|_| ()),
            Type::Semaphore(_, shape) if shape.checked_elements().is_none_or(|count| count > MAX_SEMAPHORES) => {
                Err(Rule::Semaphores { shape, limit: MAX_SEMAPHORES })
            }
            Type::Semaphore(_, shape) if shape.rank() > 0 => tile(ty.dtype(), shape).map(|_| ()),
            Type::Array(_, _, rank) if !(1..=MAX_RANK).contains(&rank) => Err(Rule::ArrayRank { rank, limit: MAX_RANK }),
            Type::Scalar(_) | Type::Array(..) | Type::Semaphore(..) => Ok(()),
        };
        if let Err(rule) = sound {
            return self.fault(rule, at);
        }
        self.state[value.0 as usize] = State::Live(param);
    }

    /// The results of an operation at fault.
    fn faulty_results(&mut self, op: &Op, at: At<'_>) {
        for &result in &op.results {
            self.declare(result, at);
        }
    }

    /// Ends the scope of the innermost region.
    fn close(&mut self) {
        for value in self.scopes.pop().unwrap_or_default() {
            self.state[value.0 as usize] = State::Closed;
        }
    }

    /// The types of used values, or `None` where one of them is at fault (reported here or before).
    fn uses(&mut self, values: &[Value], at: At<'_>) -> Option<Vec<Type>> {
        let mut types = Vec::with_capacity(values.len());
        let mut sound = true;
        for &value in values {
            match (self.state.get(value.0 as usize), self.declared(value)) {
                (Some(State::Live(_)), Some(ty)) => types.push(ty),
                (Some(State::Faulty), _) => sound = false,
                _ => {
                    sound = false;
                    self.fault(Rule::Undefined, at);
                }
            }
        }
        sound.then_some(types)
    }

    fn region_args(&mut self, region: &Region, index: usize, want: impl Iterator<Item = Type> + Clone, at: At<'_>) {
        let got = || region.args.iter().map(|&v| self.declared(v));
        if !got().eq(want.clone().map(Some)) {
            let (want, got) = (list(want.map(Some)), list(got()));
            self.fault(Rule::RegionArgs { region: index, want, got }, at);
        }
    }

    fn region_yields(&mut self, region: &Region, index: usize, want: &[Type], at: At<'_>) {
        let Some(got) = self.uses(&region.yields, at) else {
            return;
        };
        if !got.iter().all(|t| t.is_value()) {
            return self.fault(Rule::CarriedRef, at);
        }
        if got != want {
            let (want, got) = (list(want.iter().copied().map(Some)), list(got.iter().copied().map(Some)));
            self.fault(Rule::RegionYields { region: index, want, got }, at);
        }
    }

    fn results(&mut self, op: &Op, want: &[Type], at: At<'_>) {
        let got = || op.results.iter().map(|&v| self.declared(v));
        if got().eq(want.iter().copied().map(Some)) {
            for &result in &op.results {
                self.define(result, None, at);
            }
        } else {
            let (want, got) = (list(want.iter().copied().map(Some)), list(got()));
            self.fault(Rule::Results { want, got }, at);
            self.faulty_results(op, at);
        }
    }

    fn ops(&mut self, ops: &'a [Op]) {
        for op in ops {
            self.op(op);
        }
    }

    fn op(&mut self, op: &'a Op) {
        let at = At(op.kind.mnemonic(), &op.loc);
        let operands = self.uses(&op.operands, at);
        match op.kind {
            OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => return self.control(op, operands, at),
            OpKind::ProgramId(axis) | OpKind::NumPrograms(axis) => {
                let rank = self.kernel.grid.len();
                self.check(axis < rank, || Rule::GridAxis { axis, rank }, at);
            }
            OpKind::Size(id) => self.size(id.0, at),
            _ => {}
        }
        self.region_count(op, 0, at);
        match operands.map(|types| infer(&op.kind, &types)) {
            Some(Ok(want)) => {
                self.results(op, &want, at);
                self.access(op, at);
                self.elsewhere(op, at);
            }
            Some(Err(rule)) => {
                self.fault(rule, at);
                self.faulty_results(op, at);
            }
            None => self.faulty_results(op, at),
        }
        if let (OpKind::Const(literal), &[result]) = (&op.kind, op.results.as_slice())
            && let Some(constant) = self.constants.get_mut(result.0 as usize)
        {
            *constant = literal.as_i32();
        }
    }

    fn region_count(&mut self, op: &Op, want: usize, at: At<'_>) -> bool {
        let got = op.regions.len();
        self.check(got == want, || Rule::RegionCount { want, got }, at);
        got == want
    }

    fn control(&mut self, op: &'a Op, operands: Option<Vec<Type>>, at: At<'a>) {
        // By region: the types it takes and yields; and the types of the results. `None`: not known.
        let (takes, yields, results) = match (&op.kind, operands) {
            (_, None) => (None, None, None),
            (OpKind::If, Some(types)) => {
                self.check(types.len() == 1, || Rule::OperandCount { want: 1, got: types.len() }, at);
                self.operand_is(&types, 0, Type::Scalar(DType::Bool), "a bool scalar", at);
                let results: Option<Vec<Type>> = op.results.iter().map(|&v| self.declared(v)).collect();
                (Some(vec![vec![]; 2]), results.map(|r| vec![r; 2]), None)
            }
            (OpKind::For, Some(types)) => {
                self.check(types.len() >= 3, || Rule::OperandCount { want: 3, got: types.len() }, at);
                for index in 0..3 {
                    self.operand_is(&types, index, I32, "an i32 scalar", at);
                }
                let carried = types.get(3..).and_then(|inits| self.carried(inits, at));
                let takes = carried.clone().map(|c| [vec![I32], c].concat());
                (takes.map(|t| vec![t]), carried.clone().map(|c| vec![c]), carried)
            }
            (OpKind::Scoped, Some(types)) => {
                self.check(types.is_empty(), || Rule::OperandCount { want: 0, got: types.len() }, at);
                let own: Option<Vec<Type>> =
                    op.regions.first().map_or(&[][..], |r| &r.args).iter().map(|&v| self.declared(v)).collect();
                for &got in own.iter().flatten() {
                    let fits = match got {
                        Type::Ref(space, ..) => space != Space::Hbm,
                        Type::Semaphore(kind, _) => !matches!(kind, SemaphoreKind::Barrier(_)),
                        Type::Scalar(_) | Type::Tile(..) | Type::Array(..) => false,
                    };
                    self.check(fits, || Rule::ScopedType { got }, at);
                }
                let results: Option<Vec<Type>> = op.results.iter().map(|&v| self.declared(v)).collect();
                (own.map(|o| vec![o]), results.map(|r| vec![r]), None)
            }
            (_, Some(types)) => {
                let carried = self.carried(&types, at);
                let yields = carried.clone().map(|c| vec![vec![Type::Scalar(DType::Bool)], c]);
                (carried.clone().map(|c| vec![c; 2]), yields, carried)
            }
        };
        let counts = self.region_count(op, if matches!(op.kind, OpKind::For | OpKind::Scoped) { 1 } else { 2 }, at);
        if self.depth >= MAX_DEPTH {
            self.fault(Rule::TooDeep { limit: MAX_DEPTH }, at);
            return self.faulty_results(op, at);
        }
        self.depth += 1;
        for (index, region) in op.regions.iter().enumerate() {
            let known = |types: &Option<Vec<Vec<Type>>>| types.as_ref().and_then(|t| t.get(index)).filter(|_| counts).cloned();
            if let Some(want) = known(&takes) {
                self.region_args(region, index, want.iter().copied(), at);
            }
            self.scopes.push(vec![]);
            for &arg in &region.args {
                self.define(arg, None, at);
            }
            self.ops(&region.ops);
            match known(&yields) {
                Some(want) => self.region_yields(region, index, &want, at),
                None => _ = self.uses(&region.yields, at),
            }
            self.close();
        }
        self.depth -= 1;
        match (&op.kind, results) {
            (_, Some(want)) => self.results(op, &want, at),
            (OpKind::If | OpKind::Scoped, None) if counts => {
                let values = op.results.iter().all(|&v| self.declared(v).is_none_or(Type::is_value));
                self.check(values, || Rule::CarriedRef, at);
                for &result in &op.results {
                    self.define(result, None, at);
                }
            }
            (_, None) => self.faulty_results(op, at),
        }
    }

    fn operand_is(&mut self, types: &[Type], index: usize, want: Type, text: &str, at: At<'_>) {
        if let Some(&got) = types.get(index) {
            self.check(got == want, || Rule::OperandType { index, want: text.into(), got }, at);
        }
    }

    /// The types that a loop carries, or `None` where one of them may not be.
    fn carried(&mut self, inits: &[Type], at: At<'_>) -> Option<Vec<Type>> {
        let values = inits.iter().all(|t| t.is_value());
        self.check(values, || Rule::CarriedRef, at);
        values.then(|| inits.to_vec())
    }
}

fn block_text(block: &[BlockDim]) -> String {
    block.iter().map(BlockDim::to_string).collect::<Vec<_>>().join(", ")
}

/// `f32, tile<8x128xf32>`, or `nothing`; of a long list, its beginning.
fn list(types: impl Iterator<Item = Option<Type>> + Clone) -> String {
    const SHOWN: usize = 8;
    let text = |t: Option<Type>| t.map_or_else(|| "?".to_string(), |t| t.to_string());
    let shown: Vec<String> = types.clone().take(SHOWN).map(text).collect();
    match types.count() {
        0 => "nothing".to_string(),
        n if n > SHOWN => format!("{}, … ({n} in all)", shown.join(", ")),
        _ => shown.join(", "),
    }
}
