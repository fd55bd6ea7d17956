//! Tile operations that no loop computes: what they read lies in memory, and a function compiled ahead does the work.
//!
//! Rules: a call is described by [`Task`]s, data without addresses that the executable keeps; compiled code lays out one
//! [`Slot`] a tile in the arena, operands before results. Results are dense and new, so they overlap no operand.

use super::body::Body;
use super::code::flags;
use super::context::{Context, Helpers};
use super::mem::{Mem, Origin};
use super::site::{Cast, Chain, ReachSite, Site};
use crate::ir::{DType, Op, OpKind, ReduceOp, RotateStride, ScanOp, Shape, Type, Value};
use cranelift::prelude::{InstBuilder, IntCC, Value as Clif, types};
use std::mem::offset_of;
use tpu_microkernels::tile::{self, RANK, Rng, Slot, Task};

/// The shape with dimensions of 1 in front.
fn padded(shape: Shape) -> [u32; RANK] {
    let mut dims = [1; RANK];
    for (to, &n) in dims[RANK - shape.rank()..].iter_mut().zip(shape.dims()) {
        // Dimensions are below 2^31.
        *to = n as u32;
    }
    dims
}

/// The dimension as it is counted then.
fn front(shape: Shape, axis: usize) -> u32 {
    (RANK - shape.rank() + axis) as u32
}

fn task(shape: Shape, axis: usize) -> Task {
    Task { dims: padded(shape), axis: front(shape, axis), step_axis: u32::MAX, ..Task::default() }
}

fn number(dtype: DType) -> Result<u32, String> {
    match dtype {
        DType::F32 => Ok(tile::F32),
        DType::I32 => Ok(tile::I32),
        DType::U32 => Ok(tile::U32),
        other => Err(format!("{other} is not widened")),
    }
}

/// The mask of an access, what stands where it is false, and where the access begins.
pub(super) struct Masked<'a> {
    mask: Mem,
    other: Option<Mem>,
    starts: &'a [Value],
}

/// A call of a function compiled ahead.
struct Call<'a> {
    /// Its place among the helpers.
    helper: usize,
    tasks: &'a [Task],
    tiles: &'a [Mem],
    amount: Option<Clif>,
    /// The third argument, where it is not scratch memory.
    memory: Option<Clif>,
    /// Bytes of scratch memory.
    scratch: usize,
    /// Names the check.
    site: Site,
}

impl<'k> Body<'_, '_, 'k> {
    fn shape(&self, v: Value) -> Shape {
        self.kernel.ty(v).shape()
    }

    fn dtype(&self, v: Value) -> DType {
        self.kernel.ty(v).dtype()
    }

    fn memory(&self, v: Value) -> Mem {
        self.values.memory[&v].clone()
    }

    /// One operand to one result.
    fn simple(&mut self, op: &Op, helper: usize, task: Task, amount: Option<Clif>) -> Result<(), String> {
        if self.plan.unused(op.results[0]) {
            return Ok(());
        }
        let tiles = [self.memory(op.operands[0]), self.allocate(op.results[0])?];
        let site = Site::Helper { axis: 0, extent: 0, loc: op.loc.clone() };
        self.call(Call { helper, tasks: &[task], tiles: &tiles, amount, memory: None, scratch: 0, site })
    }

    /// `rotate`.
    pub(super) fn rotate(&mut self, op: &Op, axis: usize, stride: Option<RotateStride>) -> Result<(), String> {
        let shape = self.shape(op.operands[0]);
        let mut task = Task { bytes: self.dtype(op.operands[0]).bytes() as u32, ..task(shape, axis) };
        if let Some(stride) = stride {
            task = Task { step_axis: front(shape, stride.axis), step: stride.by, ..task };
        }
        let amount = self.values.scalars[&op.operands[1]];
        self.simple(op, offset_of!(Helpers, rotate), task, Some(amount))
    }

    /// `gather`; also where nothing reads the result, since it may fail.
    pub(super) fn gather(&mut self, op: &Op, axis: usize) -> Result<(), String> {
        let (shape, from) = (self.shape(op.results[0]), self.shape(op.operands[0]));
        let extent = from.dim(axis);
        let bytes = self.dtype(op.operands[0]).bytes() as u32;
        let task = Task { extent: extent as u32, bytes, ..task(shape, axis) };
        let tiles = [self.memory(op.operands[0]), self.memory(op.operands[1]), self.allocate(op.results[0])?];
        let site = Site::Helper { axis, extent, loc: op.loc.clone() };
        let helper = offset_of!(Helpers, gather);
        self.call(Call { helper, tasks: &[task], tiles: &tiles, amount: None, memory: None, scratch: 0, site })
    }

    /// `scan` of 32-bit numbers.
    pub(super) fn scan(&mut self, op: &Op, scan: ScanOp, axis: usize, reverse: bool) -> Result<(), String> {
        let code = match scan {
            ScanOp::Sum => tile::SUM,
            ScanOp::Prod => tile::PROD,
            ScanOp::Max => tile::MAX,
            ScanOp::Min => tile::MIN,
        };
        let number = number(self.dtype(op.operands[0]))?;
        let task = Task { op: code, number, reverse: u32::from(reverse), ..task(self.shape(op.operands[0]), axis) };
        self.simple(op, offset_of!(Helpers, scan), task, None)
    }

    /// `reduce argmax` and `reduce argmin` of 32-bit numbers.
    pub(super) fn argument(&mut self, op: &Op, reduce: ReduceOp, axis: usize) -> Result<(), String> {
        let code = if reduce == ReduceOp::ArgMin { tile::MIN } else { tile::MAX };
        let number = number(self.dtype(op.operands[0]))?;
        let task = Task { op: code, number, ..task(self.shape(op.operands[0]), axis) };
        self.simple(op, offset_of!(Helpers, argument), task, None)
    }

    /// `bitcast` between widths.
    pub(super) fn fold(&mut self, op: &Op, to: DType) -> Result<(), String> {
        let (from, shape) = (self.dtype(op.operands[0]), self.shape(op.results[0]));
        let Some(rows) = shape.rank().checked_sub(2) else { return Err("a bitcast of no rows".into()) };
        let task = Task {
            extent: self.shape(op.operands[0]).dim(rows) as u32,
            bytes: from.bytes() as u32,
            bits: [from.bits(), to.bits()],
            signed: u32::from(to.is_signed()),
            ..task(shape, rows)
        };
        self.simple(op, offset_of!(Helpers, bitcast), task, None)
    }

    /// `sort` by 32-bit keys: results that nothing reads are left out.
    pub(super) fn sort(&mut self, op: &Op, axis: usize, descending: bool) -> Result<(), String> {
        let shape = self.shape(op.operands[0]);
        let mut tasks = vec![task(shape, axis)];
        let mut tiles = vec![self.memory(op.operands[0])];
        for (&operand, &result) in op.operands.iter().zip(&op.results) {
            if !self.plan.unused(result) {
                tasks.push(Task { bytes: self.dtype(operand).bytes() as u32, ..Task::default() });
                tiles.extend([self.memory(operand), self.allocate(result)?]);
            }
        }
        if tiles.len() == 1 {
            return Ok(());
        }
        tasks[0].number = number(self.dtype(op.operands[0]))?;
        tasks[0].reverse = u32::from(descending);
        tasks[0].payloads = tasks.len() as u32 - 1;
        let scratch = shape.dim(axis).checked_mul(size_of::<u64>()).ok_or("its temporaries need more than 2 GiB")?;
        let site = Site::Helper { axis, extent: 0, loc: op.loc.clone() };
        let helper = offset_of!(Helpers, sort);
        self.call(Call { helper, tasks: &tasks, tiles: &tiles, amount: None, memory: None, scratch, site })
    }

    /// `prng_seed`: the key, and nothing drawn yet.
    pub(super) fn seed(&mut self, op: &Op) {
        let rng = self.code.field(types::I64, offset_of!(Context, rng));
        let zero = self.code.b.ins().iconst(types::I32, 0);
        let none = self.code.b.ins().iconst(types::I64, 0);
        let one = self.code.b.ins().iconst(types::I32, 1);
        let seeds: Vec<Clif> = op.operands.iter().map(|v| self.values.scalars[v]).collect();
        let key = if let [high, low] = seeds[..] { [high, low] } else { [zero, seeds[0]] };
        for (at, v) in key.into_iter().enumerate() {
            self.code.b.ins().store(flags(), v, rng, (offset_of!(Rng, key) + 4 * at) as i32);
        }
        self.code.b.ins().store(flags(), none, rng, offset_of!(Rng, counter) as i32);
        self.code.b.ins().store(flags(), one, rng, offset_of!(Rng, seeded) as i32);
    }

    /// `prng_bits`; also where nothing reads them, since the counter moves on.
    pub(super) fn draw(&mut self, op: &Op) -> Result<(), String> {
        let tiles = [self.allocate(op.results[0])?];
        let tasks = [task(self.shape(op.results[0]), 0)];
        let rng = self.code.field(types::I64, offset_of!(Context, rng));
        let site = Site::Helper { axis: 0, extent: 0, loc: op.loc.clone() };
        let helper = offset_of!(Helpers, random_bits);
        self.call(Call { helper, tasks: &tasks, tiles: &tiles, amount: None, memory: Some(rng), scratch: 0, site })
    }

    /// `extract`.
    pub(super) fn extract(&mut self, op: &Op, index: &[usize]) -> Clif {
        self.flush();
        let mem = self.memory(op.operands[0]).slice(index, Shape::new(&vec![1; index.len()]), &vec![1; index.len()]);
        let address = self.code.address(&mem, offset_of!(Context, arena));
        self.code.load_scalar(mem.dtype, address, 0)
    }

    /// `check`.
    pub(super) fn check(&mut self, op: &Op, message: &str) {
        let holds = self.values.scalars[&op.operands[0]];
        let zero = self.code.b.ins().iconst(types::I8, 0);
        let wrong = self.code.b.ins().icmp(IntCC::Equal, holds, zero);
        let value = self.code.b.ins().iconst(types::I64, 0);
        self.fail_if(wrong, value, Site::Check { message: message.into(), loc: op.loc.clone() });
    }

    /// `defined`.
    pub(super) fn defined(&mut self, op: &Op, what: &str) {
        let poison = self.values.scalars[&op.operands[0]];
        let zero = self.code.b.ins().iconst(types::I8, 0);
        let wrong = self.code.b.ins().icmp(IntCC::NotEqual, poison, zero);
        let value = self.code.b.ins().iconst(types::I64, 0);
        self.fail_if(wrong, value, Site::Defined { what: what.into(), loc: op.loc.clone() });
    }

    /// `print`: the driver reads the values from memory.
    pub(super) fn print(&mut self, op: &Op, text: &str) -> Result<(), String> {
        self.flush();
        let used = self.used;
        let mut tiles = vec![];
        for &v in &op.operands {
            let ty = self.kernel.ty(v);
            tiles.push(match ty {
                Type::Scalar(dtype) => {
                    let mem = Mem::dense(Origin::Arena(self.reserve(dtype.bytes())?), dtype, ty.shape());
                    let address = self.code.address(&mem, offset_of!(Context, arena));
                    let scalar = self.values.scalars[&v];
                    self.code.store_scalar(dtype, scalar, address, 0);
                    mem
                }
                Type::Tile(..) => self.memory(v),
                Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => unreachable!("verified: values are printed"),
            });
        }
        let slots = self.slots(&tiles)?;
        let types = op.operands.iter().map(|&v| self.kernel.ty(v)).collect();
        let site = Site::Print { text: text.into(), types, loc: op.loc.clone() };
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let args = [launch, number, slots];
        let failed = self.code.call(offset_of!(Helpers, print), &args, Some(types::I64)).ok_or("a call without a result")?;
        self.fail_unless_zero(failed, site);
        self.used = used;
        Ok(())
    }

    pub(super) fn fail_unless_zero(&mut self, outcome: Clif, site: Site) {
        let done = self.code.b.ins().iconst(types::I64, tile::DONE);
        let wrong = self.code.b.ins().icmp(IntCC::NotEqual, outcome, done);
        self.fail_if(wrong, outcome, site);
    }

    /// Lays out the addresses and strides of memories of that rank, each followed by the views of other widths on it; returns where.
    pub(super) fn slots_of(&mut self, ends: &[Mem], rank: usize) -> Result<Clif, String> {
        fn levels(mem: &Mem, into: &mut Vec<Mem>) {
            if let Origin::Cast(below, _) = &mem.origin {
                levels(below, into);
            }
            into.push(mem.clone());
        }
        let mut all = vec![];
        ends.iter().for_each(|end| levels(end, &mut all));
        let cast = all.iter().any(|mem| matches!(mem.origin, Origin::Cast(..)));
        self.slots_by(&all, |mem| if cast { mem.shape.rank() } else { rank })
    }

    /// How a memory is seen.
    pub(super) fn chain(mem: &Mem) -> Chain {
        match &mem.origin {
            Origin::Cast(below, whole) => {
                let mut chain = Self::chain(below);
                chain.casts.push(Cast { dims: padded(*whole).map(|n| n as usize), to: mem.dtype });
                chain
            }
            Origin::Arena(_) | Origin::Pointer(_) | Origin::Param(_) => Chain { root: mem.dtype, casts: vec![] },
        }
    }

    /// A load or store element by element, of memory that is seen under another width, or under a mask.
    pub(super) fn reach(
        &mut self,
        op: &Op,
        memory: &Mem,
        tile: &Mem,
        masked: Option<Masked<'_>>,
        store: bool,
    ) -> Result<(), String> {
        self.flush();
        let used = self.used;
        let rank = memory.shape.rank();
        let (mask, other) = masked.as_ref().map_or((tile, tile), |m| (&m.mask, m.other.as_ref().unwrap_or(tile)));
        // The starts have the place of a tile's strides.
        let tiles = [tile.clone(), mask.clone(), other.clone(), tile.clone(), memory.clone()];
        let slots = self.slots_of(&tiles, rank)?;
        for axis in 0..RANK {
            let start = axis.checked_sub(RANK - rank).and_then(|axis| masked.as_ref()?.starts.get(axis));
            let start = match start {
                Some(start) => {
                    let start = self.values.scalars[start];
                    self.code.b.ins().sextend(types::I64, start)
                }
                None => self.code.b.ins().iconst(types::I64, 0),
            };
            let at = 3 * size_of::<Slot>() + offset_of!(Slot, strides) + 8 * axis;
            self.code.b.ins().store(flags(), start, slots, at as i32);
        }
        let number = self.plan.memory(op.operands[0]);
        let site = Site::Reach(ReachSite {
            watched: self.watched.get(number).copied().unwrap_or(false).then_some(number),
            chain: Self::chain(memory),
            dims: padded(tile.shape).map(|n| n as usize),
            extents: padded(memory.shape).map(|n| n as usize),
            rank,
            store,
            masked: masked.is_some(),
            operand: self.name_of(op.operands[0]),
            loc: op.loc.clone(),
        });
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let args = [launch, number, slots];
        let outcome = self.code.call(offset_of!(Helpers, reach), &args, Some(types::I64)).ok_or("a call without a result")?;
        self.fail_unless_zero(outcome, site);
        self.used = used;
        Ok(())
    }

    /// `load_masked`; also where nothing reads the result, since it may fail.
    pub(super) fn load_masked(&mut self, op: &Op) -> Result<(), String> {
        let memory = self.values.refs.get(&op.operands[0]).cloned().ok_or("memory that is defined nowhere")?;
        let masked =
            Masked { mask: self.memory(op.operands[1]), other: Some(self.memory(op.operands[2])), starts: &op.operands[3..] };
        let tile = self.allocate(op.results[0])?;
        self.reach(op, &memory, &tile, Some(masked), false)
    }

    /// `store_masked`.
    pub(super) fn store_masked(&mut self, op: &Op) -> Result<(), String> {
        let memory = self.values.refs.get(&op.operands[0]).cloned().ok_or("memory that is defined nowhere")?;
        let masked = Masked { mask: self.memory(op.operands[2]), other: None, starts: &op.operands[3..] };
        let tile = self.memory(op.operands[1]);
        self.reach(op, &memory, &tile, Some(masked), true)
    }

    /// Lays out the addresses and strides of tiles; returns where.
    pub(super) fn slots(&mut self, tiles: &[Mem]) -> Result<Clif, String> {
        self.slots_by(tiles, |mem| mem.shape.rank())
    }

    fn slots_by(&mut self, tiles: &[Mem], rank: impl Fn(&Mem) -> usize) -> Result<Clif, String> {
        let at = self.reserve(tiles.len().checked_mul(size_of::<Slot>()).ok_or("too many operands")?)?;
        let arena = self.code.field(types::I64, offset_of!(Context, arena));
        let slots = self.code.b.ins().iadd_imm_s(arena, at as i64);
        for (at, mem) in tiles.iter().enumerate() {
            let base = at * size_of::<Slot>();
            let address = self.code.address(mem, offset_of!(Context, arena));
            self.code.b.ins().store(flags(), address, slots, (base + offset_of!(Slot, ptr)) as i32);
            let pad = RANK - rank(mem);
            for d in 0..RANK {
                let stride = match d.checked_sub(pad) {
                    Some(d) => self.code.stride_elements(mem.strides[d]),
                    None => self.code.b.ins().iconst(types::I64, 0),
                };
                self.code.b.ins().store(flags(), stride, slots, (base + offset_of!(Slot, strides) + 8 * d) as i32);
            }
        }
        Ok(slots)
    }

    fn call(&mut self, call: Call<'_>) -> Result<(), String> {
        self.flush();
        let used = self.used;
        let slots = self.slots(call.tiles)?;
        let memory = match call.memory {
            Some(v) => v,
            None => {
                let scratch = self.reserve(call.scratch)?;
                let arena = self.code.field(types::I64, offset_of!(Context, arena));
                self.code.b.ins().iadd_imm_s(arena, scratch as i64)
            }
        };
        let offset =
            self.tasks.len().checked_mul(size_of::<Task>()).and_then(|n| i64::try_from(n).ok()).ok_or("too many operations")?;
        self.tasks.extend(call.tasks);
        let tasks = self.code.field(types::I64, offset_of!(Context, tasks));
        let task = self.code.b.ins().iadd_imm_s(tasks, offset);
        let amount = match call.amount {
            Some(v) => v,
            None => self.code.b.ins().iconst(types::I32, 0),
        };
        let args = [task, slots, amount, memory];
        let outcome = self.code.call(call.helper, &args, Some(types::I64)).ok_or("a call without a result")?;
        self.fail_unless_zero(outcome, call.site);
        self.used = used;
        Ok(())
    }

    /// `concat`: each operand goes straight to its part.
    pub(super) fn concat(&mut self, op: &'k Op, axis: usize) -> Result<(), String> {
        let result = op.results[0];
        if self.plan.unused(result) {
            return Ok(());
        }
        let whole = self.allocate(result)?;
        let (mut starts, ones) = (vec![0; whole.shape.rank()], vec![1; whole.shape.rank()]);
        for (at, &operand) in op.operands.iter().enumerate() {
            let shape = self.shape(operand);
            let part = whole.slice(&starts, shape, &ones);
            self.push_part(operand, part, self.plan.reader(op, at), result);
            starts[axis] += shape.dim(axis);
        }
        Ok(())
    }

    /// `slice`, where it is no view: a nest copies it.
    pub(super) fn slice(&mut self, op: &'k Op) -> Result<(), String> {
        let OpKind::Slice { starts, shape, strides } = &op.kind else { return Ok(()) };
        let view = self.memory(op.operands[0]).slice(starts, *shape, strides);
        self.hold(op, view)
    }
}
