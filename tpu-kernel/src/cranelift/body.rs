//! Emits a region: scalars as registers, tiles through loop nests, loads and stores with their checks.

use super::code::{Code, Pack, flags};
use super::context::{ALL, Context, ErrorSlot, FAILED, FIRST, OUTPUTS};
use super::loops;
use super::mem::{Mem, Origin, Start};
use super::nest::{Graph, Lookup, Output, Queue};
use super::plan::{Place, Plan, Reader};
use super::semaphore::Group;
use super::site::{Extent, Site};
use crate::ir::{DType, Kernel, MAX_RANK, Op, OpKind, Param, ReduceOp, Region, Shape, Type, Value};
use cranelift::codegen::ir::BlockArg;
use cranelift::prelude::{Block, InstBuilder, IntCC, Value as Clif, types};
use std::collections::HashMap;
use std::mem::offset_of;
use tpu_microkernels::tile::Task;

/// What compiled code refers to by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub sites: Vec<Site>,
    pub tasks: Vec<Task>,
    /// The semaphores of operands and regions, all at 0.
    pub semaphores: Vec<Group>,
}

/// What errors call the memory and the semaphores of a region.
pub(super) const OWN: &str = "memory of the region";

/// What became of a kernel's tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanSummary {
    /// Loop nests emitted.
    pub nests: usize,
    /// Tiles and reductions that the nests leave in memory or in an operand.
    pub outputs: usize,
    /// Matrix products.
    pub dots: usize,
    /// Bytes of memory for tiles that no register holds.
    pub arena_bytes: usize,
}

/// Values by where they are.
#[derive(Default)]
pub(super) struct Values {
    pub scalars: HashMap<Value, Clif>,
    pub memory: HashMap<Value, Mem>,
    /// Memory: operands, that of regions, and views.
    pub refs: HashMap<Value, Mem>,
    /// Semaphores: their group, and which of it (an i64).
    pub semaphores: HashMap<Value, (usize, Clif)>,
    /// Of loads and slices with memory of their own: where they read.
    pub loaded: HashMap<Value, Mem>,
}

impl Lookup for Values {
    fn scalar(&mut self, v: Value) -> Clif {
        self.scalars[&v]
    }
    fn memory(&self, v: Value) -> Mem {
        self.memory[&v].clone()
    }
    fn loaded(&self, v: Value) -> Mem {
        self.loaded[&v].clone()
    }
}

/// Emits the body of a kernel, or its index maps.
pub(super) struct Body<'a, 'f, 'k> {
    pub code: Code<'f>,
    pub kernel: &'k Kernel,
    pub plan: &'a Plan<'k>,
    pub values: Values,
    waiting: Queue,
    /// Bytes of the arena in use, and the most there were.
    pub used: usize,
    most: usize,
    pub sites: Vec<Site>,
    pub tasks: Vec<Task>,
    pub groups: Vec<Group>,
    fail: Block,
    pub summary: PlanSummary,
    /// By number of a memory, whether its accesses are told to the launch.
    pub watched: &'a [bool],
}

impl<'a, 'f, 'k> Body<'a, 'f, 'k> {
    /// Ready to emit at the entry of the function.
    pub(super) fn new(mut code: Code<'f>, kernel: &'k Kernel, plan: &'a Plan<'k>) -> Body<'a, 'f, 'k> {
        let fail = code.b.create_block();
        code.b.append_block_param(fail, types::I32);
        code.b.append_block_param(fail, types::I64);
        code.b.set_cold_block(fail);
        Body {
            code,
            kernel,
            plan,
            values: Values::default(),
            waiting: Queue::default(),
            used: 0,
            most: 0,
            sites: vec![],
            tasks: vec![],
            groups: vec![],
            fail,
            summary: PlanSummary::default(),
            watched: &[],
        }
    }

    /// Emits the kernel's body, which tells the launch of accesses of the memories that are `watched`. Returns what it refers to by
    /// number, and what the plan came to.
    pub(super) fn emit_body(mut self, watched: &'a [bool]) -> Result<(Code<'f>, Tables, PlanSummary), String> {
        self.watched = watched;
        let kernel = self.kernel;
        for (at, (&value, param)) in kernel.body.args.iter().zip(&kernel.params).enumerate() {
            match param.ty {
                Type::Scalar(dtype) => {
                    let v = self.scalar_param(at, dtype);
                    self.values.scalars.insert(value, v);
                }
                Type::Semaphore(kind, shape) => self.group(value, Group::new(&param.name, kind, shape, &param.loc)),
                Type::Ref(..) | Type::Array(..) => _ = self.values.refs.insert(value, Mem::of_param(kernel, at)),
                Type::Tile(..) => {}
            }
        }
        self.region(&kernel.body)?;
        self.flush();
        let zero = self.code.b.ins().iconst(types::I32, 0);
        self.code.b.ins().return_(&[zero]);
        self.emit_fail();
        self.summary.arena_bytes = self.most;
        Ok((self.code, Tables { sites: self.sites, tasks: self.tasks, semaphores: self.groups }, self.summary))
    }

    /// Emits the index maps of all windows, which tell of what they read as the body does. Returns its checks, by number.
    pub(super) fn emit_maps(mut self, watched: &'a [bool]) -> Result<(Code<'f>, Vec<Site>), String> {
        self.watched = watched;
        let kernel = self.kernel;
        let prefetched: Vec<usize> = kernel.prefetched().map(|(at, _)| at).collect();
        if prefetched.is_empty() {
            self.maps_of(&prefetched, |_, _| true)?;
        } else {
            let inputs = kernel.inputs().filter(|(_, param)| param.window().is_some());
            let inputs = inputs.map(|(at, _)| Ok((u32::try_from(at).map_err(|e| e.to_string())? + FIRST, Some(at))));
            for part in inputs.chain([Ok::<_, String>((OUTPUTS, None))]) {
                let (part, input) = part?;
                let [some, next] = [(); 2].map(|()| self.code.b.create_block());
                let wanted = self.code.field(types::I32, offset_of!(Context, wanted));
                let [all, this] = [ALL, part].map(|n| self.code.b.ins().icmp_imm_u(IntCC::Equal, wanted, i64::from(n)));
                let asked = self.code.b.ins().bor(all, this);
                self.code.b.ins().brif(asked, some, &[], next, &[]);
                self.code.b.switch_to_block(some);
                self.maps_of(&prefetched, |at, param| input.map_or(param.is_output(), |input| input == at))?;
                self.code.b.ins().jump(next, &[]);
                self.code.b.switch_to_block(next);
            }
        }
        let zero = self.code.b.ins().iconst(types::I32, 0);
        self.code.b.ins().return_(&[zero]);
        self.emit_fail();
        Ok((self.code, self.sites))
    }

    fn maps_of(&mut self, prefetched: &[usize], wanted: impl Fn(usize, &Param) -> bool) -> Result<(), String> {
        let kernel = self.kernel;
        for (at, param) in kernel.params.iter().enumerate() {
            let Some(window) = param.window().filter(|_| wanted(at, param)) else { continue };
            let (indices, arrays) = window.map.args.split_at(kernel.grid.len());
            for (axis, &arg) in indices.iter().enumerate() {
                let v = self.code.listed(offset_of!(Context, grid), axis);
                self.values.scalars.insert(arg, v);
            }
            for (&arg, &at) in arrays.iter().zip(prefetched) {
                self.values.refs.insert(arg, Mem::of_param(kernel, at));
            }
            self.region(&window.map)?;
            let blocks = self.code.field(types::I64, offset_of!(Context, blocks));
            for (d, &index) in window.map.yields.iter().enumerate() {
                let v = self.values.scalars[&index];
                self.code.b.ins().store(flags(), v, blocks, ((at * MAX_RANK + d) * 4) as i32);
            }
        }
        Ok(())
    }

    fn emit_fail(&mut self) {
        self.code.b.switch_to_block(self.fail);
        let [site, value] = [0, 1].map(|i| self.code.b.block_params(self.fail)[i]);
        let error = offset_of!(Context, error);
        let ctx = self.code.ctx;
        self.code.b.ins().store(flags(), site, ctx, (error + offset_of!(ErrorSlot, site)) as i32);
        self.code.b.ins().store(flags(), value, ctx, (error + offset_of!(ErrorSlot, value)) as i32);
        let failed = self.code.b.ins().iconst(types::I32, i64::from(FAILED));
        self.code.b.ins().return_(&[failed]);
    }

    fn scalar_param(&mut self, at: usize, dtype: DType) -> Clif {
        let scalars = self.code.field(types::I64, offset_of!(Context, scalars));
        // The low bytes come first.
        self.code.load_scalar(dtype, scalars, (at * 4) as i32)
    }

    /// Emits the operations of a region.
    pub(super) fn region(&mut self, region: &'k Region) -> Result<(), String> {
        region.ops.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &'k Op) -> Result<(), String> {
        match &op.kind {
            OpKind::Const(literal) => {
                let v = self.code.literal(*literal);
                self.scalar(op, v);
            }
            OpKind::ProgramId(axis) => {
                let v = self.code.listed(offset_of!(Context, grid), *axis);
                self.scalar(op, v);
            }
            OpKind::DeviceId => {
                let v = self.code.field(types::I32, offset_of!(Context, device));
                self.scalar(op, v);
            }
            OpKind::NumPrograms(axis) => {
                let v = self.code.listed(offset_of!(Context, extents), *axis);
                self.scalar(op, v);
            }
            OpKind::Size(id) => {
                let v = self.code.listed(offset_of!(Context, sizes), id.0 as usize);
                self.scalar(op, v);
            }
            OpKind::Bitcast(to) if self.plan.folds(op) => self.fold(op, *to)?,
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Cast(_)
            | OpKind::Bitcast(_)
            | OpKind::StochasticRound(_) => {
                if self.kernel.ty(op.results[0]).is_scalar() {
                    let v = self.scalar_op(op);
                    self.scalar(op, v);
                } else {
                    self.tile(op)?;
                }
            }
            OpKind::Iota { .. } | OpKind::Broadcast(_) => self.tile(op)?,
            OpKind::Transpose(_) | OpKind::Reshape(_) => match self.plan.place(op.results[0]) {
                Place::View => {
                    let view = self.values.memory[&op.operands[0]].view(&op.kind, self.kernel.ty(op.results[0]).shape());
                    self.values.memory.insert(op.results[0], view);
                }
                Place::Inline | Place::Memory => self.tile(op)?,
            },
            OpKind::Reduce { op: reduce @ (ReduceOp::ArgMax | ReduceOp::ArgMin), axis } => self.argument(op, *reduce, *axis)?,
            OpKind::Reduce { op: reduce, axis } => {
                let (operand, result) = (op.operands[0], op.results[0]);
                if !self.plan.unused(result) {
                    let mem = self.allocate(result)?;
                    let one = self.kernel.ty(operand).shape().dim(*axis) == 1;
                    let reduce = (!one).then_some((*reduce, *axis));
                    let reader = self.plan.reader(op, 0);
                    self.push(Output { value: operand, mem, reduce, reader, makes: Some(result), stores: None });
                }
            }
            OpKind::Dot { .. } => {
                let result = op.results[0];
                if !self.plan.unused(result) && !self.plan.is_direct(result) {
                    let mem = self.allocate(result)?;
                    self.dot(op, &mem, false)?;
                }
            }
            OpKind::LoadScalar => self.load_scalar(op)?,
            OpKind::StoreScalar => self.store_scalar(op)?,
            OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_) => self.view(op)?,
            OpKind::LoadMasked(_) => self.load_masked(op)?,
            OpKind::StoreMasked => self.store_masked(op)?,
            OpKind::SemaphoreAt => self.semaphore_at(op),
            OpKind::DmaStart { .. } | OpKind::DmaWait => self.copy(op)?,
            OpKind::RemoteStart { .. } => self.remote_copy(op)?,
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => self.semaphore(op)?,
            OpKind::Scoped => self.scoped(op)?,
            OpKind::Load(shape) => self.load(op, *shape)?,
            OpKind::Store => {
                let value = op.operands[1];
                let (mem, memory) = self.access(op, &op.operands[2..], self.kernel.ty(value).shape())?;
                if self.plan.is_cast(op.operands[0]) {
                    let tile = self.values.memory[&value].clone();
                    return self.reach(op, &mem, &tile, None, true);
                }
                match self.plan.direct(value) {
                    Some(direct) => self.dot(direct.dot, &mem, direct.accumulate)?,
                    None => {
                        let reader = self.plan.reader(op, 1);
                        let mem = mem.clone();
                        self.push(Output { value, mem, reduce: None, reader, makes: None, stores: Some(memory) });
                    }
                }
                self.watch(op.operands[0], &mem, true, &op.loc)?;
            }
            OpKind::Slice { starts, shape, strides } => match self.plan.place(op.results[0]) {
                Place::View => {
                    let view = self.values.memory[&op.operands[0]].slice(starts, *shape, strides);
                    self.values.memory.insert(op.results[0], view);
                }
                Place::Inline | Place::Memory => self.slice(op)?,
            },
            OpKind::Concat { axis } => self.concat(op, *axis)?,
            OpKind::Rotate { axis, stride } => self.rotate(op, *axis, *stride)?,
            OpKind::Gather { axis } => self.gather(op, *axis)?,
            OpKind::Scan { op: scan, axis, reverse } => self.scan(op, *scan, *axis, *reverse)?,
            OpKind::Sort { axis, descending } => self.sort(op, *axis, *descending)?,
            OpKind::Extract(index) => {
                let v = self.extract(op, index);
                self.scalar(op, v);
            }
            OpKind::PrngSeed => self.seed(op),
            OpKind::PrngBits(_) => self.draw(op)?,
            OpKind::Print(text) => self.print(op, text)?,
            OpKind::Check(message) => self.check(op, message),
            OpKind::Defined(what) => self.defined(op, what),
            OpKind::If => self.branch(op)?,
            OpKind::For => self.count(op)?,
            OpKind::While => self.repeat(op)?,
        }
        Ok(())
    }

    fn scalar(&mut self, op: &Op, v: Clif) {
        self.values.scalars.insert(op.results[0], v);
    }

    fn scalar_op(&mut self, op: &Op) -> Clif {
        let args: Vec<Pack> = op.operands.iter().map(|v| Pack::one(self.values.scalars[v])).collect();
        let from = self.kernel.ty(op.operands[0]).dtype();
        let pack = match &op.kind {
            OpKind::Unary(unary) => self.code.unary(*unary, from, args[0]),
            OpKind::Binary(binary) => self.code.binary(*binary, from, args[0], args[1]),
            OpKind::Compare(compare) => self.code.compare(*compare, from, args[0], args[1]),
            OpKind::Cast(to) => self.code.cast(from, *to, args[0]),
            OpKind::Bitcast(to) => self.code.reinterpret(from, *to, args[0]),
            OpKind::StochasticRound(to) => self.code.stochastic_round(*to, args[0], args[1]),
            _ => self.code.select_lanes(args[0], args[1], args[2]),
        };
        pack.values()[0]
    }

    /// A tile that a nest computes: now, where it is held in memory, else where it is consumed.
    fn tile(&mut self, op: &'k Op) -> Result<(), String> {
        let v = op.results[0];
        if self.plan.place(v) == Place::Memory {
            let mem = self.allocate(v)?;
            let reader = self.plan.reader(op, 0);
            self.push(Output { value: v, mem, reduce: None, reader, makes: Some(v), stores: None });
        }
        Ok(())
    }

    /// So many bytes of the arena.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<usize, String> {
        let at = self.used;
        let end = at.checked_add(bytes).and_then(|n| n.checked_next_multiple_of(64)).filter(|&n| i32::try_from(n).is_ok());
        self.used = end.ok_or("its temporaries need more than 2 GiB")?;
        self.most = self.most.max(self.used);
        Ok(at)
    }

    /// Memory in the arena for a tile of that type.
    pub(super) fn slot(&mut self, ty: Type) -> Result<Mem, String> {
        let bytes = ty.shape().elements() * ty.dtype().bytes();
        Ok(Mem::dense(Origin::Arena(self.reserve(bytes)?), ty.dtype(), ty.shape()))
    }

    /// Memory in the arena that is this value's.
    pub(super) fn allocate(&mut self, v: Value) -> Result<Mem, String> {
        let mem = self.slot(self.kernel.ty(v))?;
        self.values.memory.insert(v, mem.clone());
        Ok(mem)
    }

    /// Adds an output to the nests that wait.
    pub(super) fn push(&mut self, output: Output) {
        self.waiting.push(self.plan, self.kernel, output);
    }

    /// Emits the nests that wait.
    pub(super) fn flush(&mut self) {
        for mut nest in self.waiting.take() {
            nest.drop_inner(self.plan);
            self.summary.nests += 1;
            self.summary.outputs += nest.outputs.len();
            let graph = Graph::new(&nest, self.plan, self.kernel, &mut self.values);
            loops::emit(&mut self.code, &nest, graph);
        }
    }

    /// The part of a memory that a load or store touches, checked, and the number of the memory.
    fn access(&mut self, op: &Op, starts: &[Value], shape: Shape) -> Result<(Mem, usize), String> {
        let mem = self.part(op, starts, shape, &vec![1; starts.len()])?;
        Ok((mem, self.plan.memory(op.operands[0])))
    }

    /// The part of the operation's first operand that begins there, checked.
    pub(super) fn part(&mut self, op: &Op, starts: &[Value], shape: Shape, steps: &[usize]) -> Result<Mem, String> {
        let memory = op.operands[0];
        let whole = self.values.refs.get(&memory).cloned().ok_or("memory that is defined nowhere")?;
        let mut known = vec![];
        for (axis, (&start, &step)) in starts.iter().zip(steps).enumerate() {
            let size = (shape.dim(axis) - 1).checked_mul(step).and_then(|n| n.checked_add(1));
            // A part that reaches so far lies in no memory.
            let size = size.filter(|&n| i64::try_from(n).is_ok()).unwrap_or(i64::MAX as usize);
            let extent = match self.kernel.ty(memory) {
                Type::Array(..) => Extent::Array(self.root_param(memory)?),
                ty => Extent::Fixed(ty.shape().dim(axis)),
            };
            let constant = self.plan.def(start).and_then(|op| match &op.kind {
                OpKind::Const(literal) => literal.as_i32(),
                _ => None,
            });
            match (constant, extent) {
                (Some(n), Extent::Fixed(extent)) if n >= 0 && n as usize + size <= extent => known.push(Start::Fixed(i64::from(n))),
                _ => {
                    let v = self.values.scalars[&start];
                    let site = Site::Start { operand: self.name_of(memory), axis, size, extent, loc: op.loc.clone() };
                    let last = match extent {
                        Extent::Fixed(extent) => self.code.b.ins().iconst(types::I64, extent as i64 - size as i64),
                        Extent::Array(param) => {
                            let extent = self.code.array_extent(param, axis);
                            let size = self.code.b.ins().iconst(types::I64, size as i64);
                            self.code.b.ins().isub(extent, size)
                        }
                    };
                    self.check_start(v, last, site);
                    known.push(Start::Dynamic(v));
                }
            }
        }
        Ok(whole.part(&known, shape, steps))
    }

    /// The operand that an array is; of an index map's argument, the prefetched one.
    fn root_param(&self, memory: Value) -> Result<usize, String> {
        self.values.refs.get(&memory).and_then(Mem::param).ok_or_else(|| "an array that is no operand".into())
    }

    /// The operand's name; of a region's memory a word for it.
    pub(super) fn name_of(&self, memory: Value) -> String {
        let param = self.values.refs.get(&memory).and_then(Mem::param);
        param.map_or_else(|| OWN.to_string(), |param| self.kernel.params[param].name.clone())
    }

    /// Fails where a start is less than 0 or beyond the last that is inside.
    pub(super) fn check_start(&mut self, start: Clif, last: Clif, site: Site) {
        let wide = self.code.b.ins().sextend(types::I64, start);
        let zero = self.code.b.ins().iconst(types::I64, 0);
        let (low, high) = (
            self.code.b.ins().icmp(IntCC::SignedLessThan, wide, zero),
            self.code.b.ins().icmp(IntCC::SignedGreaterThan, wide, last),
        );
        let wrong = self.code.b.ins().bor(low, high);
        self.fail_if(wrong, wide, site);
    }

    /// Leaves the function where a check failed.
    pub(super) fn fail_if(&mut self, wrong: Clif, value: Clif, site: Site) {
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        self.sites.push(site);
        let next = self.code.b.create_block();
        let args: [BlockArg; 2] = [number.into(), value.into()];
        self.code.b.ins().brif(wrong, self.fail, &args, next, &[]);
        self.code.b.switch_to_block(next);
    }

    fn load(&mut self, op: &'k Op, shape: Shape) -> Result<(), String> {
        let v = op.results[0];
        let (mem, _) = self.access(op, &op.operands[1..], shape)?;
        if self.plan.is_cast(op.operands[0]) {
            if self.plan.unused(v) {
                return Ok(());
            }
            let tile = self.allocate(v)?;
            return self.reach(op, &mem, &tile, None, false);
        }
        // A strided load is one of all that it covers, and a slice of that.
        match self.plan.only_slice(v).map(|slice| &slice.kind) {
            Some(OpKind::Slice { starts, shape, strides }) => {
                self.watch(op.operands[0], &mem.slice(starts, *shape, strides), false, &op.loc)?;
            }
            _ => self.watch(op.operands[0], &mem, false, &op.loc)?,
        }
        if self.plan.place(v) == Place::Memory {
            self.hold(op, mem)
        } else {
            self.values.memory.insert(v, mem);
            Ok(())
        }
    }

    /// Copies a tile from there to memory of its own.
    pub(super) fn hold(&mut self, op: &'k Op, from: Mem) -> Result<(), String> {
        self.values.loaded.insert(op.results[0], from);
        self.tile(op)
    }

    /// An output that copies or computes a tile into that memory.
    pub(super) fn push_copy(&mut self, value: Value, mem: Mem, reader: Reader) {
        self.push(Output { value, mem, reduce: None, reader, makes: None, stores: None });
    }

    /// An output that puts a tile into its part of a result.
    pub(super) fn push_part(&mut self, value: Value, mem: Mem, reader: Reader, result: Value) {
        self.push(Output { value, mem, reduce: None, reader, makes: Some(result), stores: None });
    }
}
