//! Evaluates regions: the body of a kernel and its index maps.

use super::memory::{Memories, Site, View};
use super::random::Random;
use super::semaphore::Counters;
use super::tile::{Data, Index, Tile, unravel};
use super::{dot, reduce, shape, sort};
use crate::exec::print::{Shown, format};
use crate::exec::{Log, Printed, RunError};
use crate::ir::{BinaryOp, Kernel, Literal, Loc, MAX_RANK, Op, OpKind, Param, Region, Shape, Type, Value, Window, eval};
use crate::launch::Binding;
use crate::math;
use std::collections::HashMap;

/// The state of a running kernel.
pub(super) struct Machine<'a> {
    kernel: &'a Kernel,
    binding: &'a Binding,
    /// The core that runs, and how many there are: 1 that is alone, 0 where others run before or after it.
    pub core: usize,
    pub cores: usize,
    /// The running step.
    pub(super) step: Vec<i32>,
    pub(super) memories: Memories,
    /// By output: the array that it shares with an input.
    pub(super) shared: HashMap<usize, View>,
    pub(super) counters: Counters,
    /// Values that are defined, by number.
    pub(super) values: Vec<Option<Data>>,
    /// None before it is seeded.
    pub random: Option<Random>,
    log: Log<'a>,
}

impl<'a> Machine<'a> {
    /// Before the first step, without operands.
    pub(super) fn new(kernel: &'a Kernel, binding: &'a Binding, log: Log<'a>) -> Machine<'a> {
        let step = vec![0; binding.grid.len()];
        let values = vec![None; kernel.types.len()];
        Machine {
            kernel,
            binding,
            step,
            memories: Memories::default(),
            shared: HashMap::new(),
            counters: Counters::default(),
            values,
            random: None,
            core: 0,
            cores: 1,
            log,
        }
    }

    /// What the index map gives for the running step.
    pub(super) fn mapped(&mut self, window: &Window) -> Result<Vec<i32>, RunError> {
        let mut args: Vec<Data> = self.step.iter().map(|&i| Data::Scalar(i.into())).collect();
        for (at, _) in self.kernel.prefetched() {
            args.push(self.get(self.kernel.body.args[at]).clone());
        }
        Ok(self.region(&window.map, Some(args))?.iter().map(Data::i32).collect())
    }

    /// That a block lies in range along each axis.
    pub(super) fn inside(&self, param: &Param, window: &Window, block: &[i32], array: &[usize]) -> Result<(), RunError> {
        for (axis, &index) in block.iter().enumerate() {
            let (dim, extent) = (window.block[axis], array[axis]);
            let (least, most) = dim.indices(extent);
            if i64::from(index) < least || i64::from(index) > most {
                return Err(RunError::BlockIndex {
                    operand: param.name.clone(),
                    axis,
                    index: i64::from(index),
                    block: dim,
                    extent,
                    step: self.step.clone(),
                    loc: param.loc.clone(),
                });
            }
        }
        Ok(())
    }

    /// Runs a region and returns what it yields. Without `args` its arguments are defined already.
    pub(super) fn region(&mut self, region: &Region, args: Option<Vec<Data>>) -> Result<Vec<Data>, RunError> {
        for (&arg, data) in region.args.iter().zip(args.unwrap_or_default()) {
            self.values[arg.0 as usize] = Some(data);
        }
        for op in &region.ops {
            let results = self.op(op)?;
            for (&value, data) in op.results.iter().zip(results) {
                self.values[value.0 as usize] = Some(data);
            }
        }
        Ok(self.get_all(&region.yields))
    }

    fn get(&self, value: Value) -> &Data {
        self.values[value.0 as usize].as_ref().expect("verified: defined before it is used")
    }

    fn get_all(&self, values: &[Value]) -> Vec<Data> {
        values.iter().map(|&v| self.get(v).clone()).collect()
    }

    fn op(&mut self, op: &Op) -> Result<Vec<Data>, RunError> {
        let result = match &op.kind {
            OpKind::If => {
                let [then, otherwise] = &op.regions[..] else { panic!("verified: two regions") };
                let taken = if self.get(op.operands[0]).bool() { then } else { otherwise };
                return self.region(taken, None);
            }
            OpKind::For => return self.run_for(op),
            OpKind::While => return self.run_while(op),
            OpKind::Scoped => return self.scoped(op),
            OpKind::Store => {
                self.store(op)?;
                return Ok(vec![]);
            }
            OpKind::Load(size) => self.load(op, *size)?,
            OpKind::LoadScalar => Data::Scalar(self.memories.get(&self.element(op, 1)?, &[0; MAX_RANK])),
            OpKind::StoreScalar => {
                let (place, scalar) = (self.element(op, 2)?, self.get(op.operands[1]).scalar());
                self.memories.set(&place, &[0; MAX_RANK], scalar);
                return Ok(vec![]);
            }
            OpKind::View { shape, strides } => {
                let (memory, starts) = (self.get(op.operands[0]).memory(), self.indices(&op.operands[1..]));
                Data::Memory(self.memories.part(&memory, &starts, *shape, strides, &self.site(op))?)
            }
            OpKind::ViewSqueezed(axes) => Data::Memory(self.get(op.operands[0]).memory().squeezed(axes)),
            OpKind::ViewReshaped(shape) => Data::Memory(self.get(op.operands[0]).memory().reshaped(*shape)),
            OpKind::ViewTransposed(perm) => Data::Memory(self.get(op.operands[0]).memory().transposed(perm)),
            OpKind::ViewBitcast(dtype) => {
                let shape = self.kernel.ty(op.results[0]).shape();
                Data::Memory(self.memories.cast(self.get(op.operands[0]).memory(), *dtype, shape))
            }
            OpKind::LoadMasked(shape) => self.load_masked(op, *shape)?,
            OpKind::StoreMasked => {
                self.store_masked(op)?;
                return Ok(vec![]);
            }
            OpKind::SemaphoreAt => {
                let (semaphores, index) = (self.get(op.operands[0]).semaphores(), self.indices(&op.operands[1..]));
                Data::Semaphores(self.counters.at(semaphores, &index, &self.site(op))?)
            }
            OpKind::DmaStart { add, .. } => {
                self.start_copy(op, *add)?;
                return Ok(vec![]);
            }
            OpKind::DmaWait => {
                let (semaphore, (_, target)) = (self.get(op.operands[2]).semaphores(), self.ends(op)?);
                let bytes = target.shape.elements() * self.memories.dtype(&target).bytes();
                let site = Site { step: &self.step, loc: &op.loc };
                self.counters.wait(semaphore, bytes as i64, &site)?;
                return Ok(vec![]);
            }
            OpKind::RemoteStart { .. } => {
                self.start_remote_copy(op)?;
                return Ok(vec![]);
            }
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait => {
                match op.operands.get(2) {
                    Some(&core) if op.kind == OpKind::CoreSignal => self.own_core(core, op)?,
                    Some(&device) => self.alone(device, "a signal", op)?,
                    None => {}
                }
                let (semaphore, by) = (self.get(op.operands[0]).semaphores(), i64::from(self.get(op.operands[1]).i32()));
                let site = Site { step: &self.step, loc: &op.loc };
                match op.kind {
                    OpKind::SemaphoreSignal | OpKind::CoreSignal => self.counters.signal(semaphore, by, &site)?,
                    _ => self.counters.wait(semaphore, by, &site)?,
                }
                return Ok(vec![]);
            }
            OpKind::SemaphoreRead => {
                let count = self.counters.read(self.get(op.operands[0]).semaphores());
                Data::Scalar(i32::try_from(count).unwrap_or(i32::MAX).into())
            }
            OpKind::Gather { axis } => self.gather(op, *axis)?,
            OpKind::Sort { axis, descending } => {
                let operands = self.get_all(&op.operands);
                let tiles: Vec<&Tile> = operands.iter().map(Data::tile).collect();
                return Ok(sort::sort(&tiles, *axis, *descending).into_iter().map(Data::from).collect());
            }
            OpKind::PrngSeed => {
                let seeds: Vec<u32> = op.operands.iter().map(|&v| self.get(v).scalar().bits()).collect();
                self.random = Some(Random::new(&seeds));
                return Ok(vec![]);
            }
            OpKind::PrngBits(shape) => match &mut self.random {
                Some(random) => random.draw(*shape).into(),
                None => return Err(RunError::Unseeded { step: self.step.clone(), loc: op.loc.clone() }),
            },
            OpKind::Print(text) => {
                self.print(op, text);
                return Ok(vec![]);
            }
            OpKind::Defined(_) if !self.get(op.operands[0]).bool() => return Ok(vec![]),
            OpKind::Defined(what) => {
                let (what, step) = (what.clone(), self.step.clone());
                return Err(RunError::Poison { what, step, loc: op.loc.clone() });
            }
            OpKind::Check(_) if self.get(op.operands[0]).bool() => return Ok(vec![]),
            OpKind::Check(message) => {
                let (message, step) = (message.clone(), self.step.clone());
                return Err(RunError::Check { message, step, loc: op.loc.clone() });
            }
            kind => self.compute(kind, &self.get_all(&op.operands), self.kernel.ty(op.results[0])),
        };
        Ok(vec![result])
    }

    /// An operation without effects.
    fn compute(&self, kind: &OpKind, operands: &[Data], ty: Type) -> Data {
        match kind {
            OpKind::Const(literal) => Data::Scalar(*literal),
            // One device runs the kernel.
            OpKind::DeviceId => Data::Scalar(0.into()),
            OpKind::ProgramId(axis) => Data::Scalar(self.step[*axis].into()),
            OpKind::NumPrograms(axis) => Data::Scalar(self.binding.grid[*axis].into()),
            OpKind::Size(id) => Data::Scalar(self.binding.sizes[id.0 as usize].into()),
            OpKind::Unary(op) => elementwise(ty, |at| math::unary(*op, operands[0].at(at)).expect("verified: element types fit")),
            OpKind::Binary(op) => elementwise(ty, |at| {
                math::binary(*op, operands[0].at(at), operands[1].at(at)).expect("verified: element types fit")
            }),
            OpKind::Compare(op) => elementwise(ty, |at| {
                eval::compare(*op, operands[0].at(at), operands[1].at(at)).expect("verified: element types fit").into()
            }),
            OpKind::Select => elementwise(ty, |at| {
                let chosen = operands[0].at(at).as_bool().expect("verified: a condition");
                if chosen { operands[1].at(at) } else { operands[2].at(at) }
            }),
            OpKind::Cast(to) => elementwise(ty, |at| eval::cast(*to, operands[0].at(at))),
            OpKind::Bitcast(to) => match &operands[0] {
                Data::Tile(tile) => shape::bitcast(tile, *to, ty.shape()).into(),
                scalar => Data::Scalar(Literal::from_bits(*to, scalar.scalar().bits())),
            },
            OpKind::StochasticRound(to) => elementwise(ty, |at| {
                eval::stochastic_round(*to, operands[0].at(at), operands[1].at(at)).expect("verified: element types fit")
            }),
            OpKind::Iota { shape, axis } => shape::iota(*shape, *axis).into(),
            OpKind::Broadcast(to) => shape::broadcast(&operands[0], ty.dtype(), *to).into(),
            OpKind::Reshape(to) => shape::reshape(operands[0].tile(), *to).into(),
            OpKind::Transpose(perm) => shape::transpose(operands[0].tile(), perm, ty.shape()).into(),
            OpKind::Slice { starts, strides, .. } => shape::slice(operands[0].tile(), starts, strides, ty.shape()).into(),
            OpKind::Concat { axis } => {
                let tiles: Vec<&Tile> = operands.iter().map(Data::tile).collect();
                shape::concat(&tiles, *axis, ty.dtype(), ty.shape()).into()
            }
            OpKind::Rotate { axis, stride } => shape::rotate(operands[0].tile(), operands[1].i32(), *axis, *stride).into(),
            OpKind::Extract(index) => {
                let tile = operands[0].tile();
                let position = index.iter().zip(tile.shape.dims()).fold(0, |position, (&i, &dim)| position * dim + i);
                Data::Scalar(tile.at(position))
            }
            OpKind::Reduce { op, axis } => reduce::reduce(*op, operands[0].tile(), *axis).into(),
            OpKind::Scan { op, axis, reverse } => reduce::scan(*op, operands[0].tile(), *axis, *reverse).into(),
            OpKind::Dot { dims, precision } => {
                dot::dot(operands[0].tile(), operands[1].tile(), dims, *precision, ty.dtype(), ty.shape()).into()
            }
            OpKind::LoadScalar
            | OpKind::StoreScalar
            | OpKind::LoadMasked(_)
            | OpKind::StoreMasked
            | OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_)
            | OpKind::SemaphoreAt => {
                unreachable!("`op` has those on memory")
            }
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait => unreachable!("`op` has those on memory"),
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => {
                unreachable!("`op` has those on semaphores")
            }
            OpKind::Load(_) | OpKind::Store | OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => {
                unreachable!("`op` has the operations with effects and regions")
            }
            OpKind::Gather { .. } | OpKind::Sort { .. } | OpKind::PrngSeed | OpKind::PrngBits(_) => {
                unreachable!("`op` has those that can fail, keep state, or have several results")
            }
            OpKind::Print(_) | OpKind::Check(_) | OpKind::Defined(_) => unreachable!("`op` has those without a result"),
        }
    }

    fn run_for(&mut self, op: &Op) -> Result<Vec<Data>, RunError> {
        let [lo, hi, by] = [0, 1, 2].map(|i| self.get(op.operands[i]).i32());
        if by <= 0 {
            return Err(RunError::LoopStep { by, loc: op.loc.clone() });
        }
        let mut carried = self.get_all(&op.operands[3..]);
        let mut index = i64::from(lo);
        while index < i64::from(hi) {
            let mut args = vec![Data::Scalar((index as i32).into())];
            args.append(&mut carried);
            carried = self.region(&op.regions[0], Some(args))?;
            index += i64::from(by);
        }
        Ok(carried)
    }

    fn run_while(&mut self, op: &Op) -> Result<Vec<Data>, RunError> {
        let mut carried = self.get_all(&op.operands);
        loop {
            let test = self.region(&op.regions[0], Some(carried.clone()))?;
            if !test[0].bool() {
                return Ok(carried);
            }
            carried = self.region(&op.regions[1], Some(carried))?;
        }
    }

    fn gather(&self, op: &Op, axis: usize) -> Result<Data, RunError> {
        let (tile, indices) = (self.get(op.operands[0]).tile(), self.get(op.operands[1]).tile());
        match shape::gather(tile, indices, axis) {
            Ok(gathered) => Ok(gathered.into()),
            Err(index) => {
                let (extent, step, loc) = (tile.shape.dim(axis), self.step.clone(), op.loc.clone());
                Err(RunError::GatherIndex { axis, index, extent, step, loc })
            }
        }
    }

    fn print(&mut self, op: &Op, text: &str) {
        let shown = |&v: &Value| match self.get(v) {
            Data::Scalar(literal) => Shown::Scalar(*literal),
            Data::Tile(tile) => Shown::Tile(tile.shape, (0..tile.bits.len()).map(|at| tile.at(at)).collect()),
            Data::Memory(_) | Data::Semaphores(_) => unreachable!("verified: values are printed"),
        };
        let values: Vec<Shown> = op.operands.iter().map(shown).collect();
        let printed = Printed { step: self.step.clone(), text: format(text, &values), loc: op.loc.clone() };
        (self.log)(&printed);
    }

    /// Keeps an array that an output shares with an input.
    pub(super) fn share(&mut self, output: usize, name: &str, elements: Tile) {
        let view = self.memories.add(name, elements);
        self.shared.insert(output, view);
    }

    /// The array that an output shares with an input.
    pub(super) fn shared(&mut self, output: usize) -> &mut Tile {
        self.memories.elements(&self.shared[&output].clone())
    }

    /// The elements of an operand's memory.
    pub(super) fn elements(&mut self, operand: usize) -> &mut Tile {
        let view = self.get(self.kernel.body.args[operand]).memory();
        self.memories.elements(&view)
    }

    fn site<'s>(&'s self, op: &'s Op) -> Site<'s> {
        Site { step: &self.step, loc: &op.loc }
    }

    fn indices(&self, values: &[Value]) -> Vec<i32> {
        values.iter().map(|&v| self.get(v).i32()).collect()
    }

    fn load(&self, op: &Op, size: Shape) -> Result<Data, RunError> {
        Ok(self.memories.read(&self.part(op, size, 1)?).into())
    }

    fn store(&mut self, op: &Op) -> Result<(), RunError> {
        let data = self.get(op.operands[1]).clone();
        let part = self.part(op, data.tile().shape, 2)?;
        self.memories.write(&part, data.tile());
        Ok(())
    }

    fn load_masked(&self, op: &Op, shape: Shape) -> Result<Data, RunError> {
        let (mask, other) = (self.get(op.operands[1]).tile(), self.get(op.operands[2]).tile());
        let memory = self.get(op.operands[0]).memory();
        let mut elements = Vec::with_capacity(shape.elements());
        for at in 0..shape.elements() {
            elements.push(match self.lane(op, &memory, mask, at)? {
                Some(index) => self.memories.get(&memory, &index),
                None => other.at(at),
            });
        }
        Ok(Tile::new(other.dtype, shape, |at| elements[at]).into())
    }

    fn store_masked(&mut self, op: &Op) -> Result<(), RunError> {
        let (stored, mask) = (self.get(op.operands[1]).clone(), self.get(op.operands[2]).clone());
        let memory = self.get(op.operands[0]).memory();
        let lanes: Result<Vec<_>, _> = (0..mask.tile().bits.len()).map(|at| self.lane(op, &memory, mask.tile(), at)).collect();
        for (at, index) in lanes?.into_iter().enumerate() {
            if let Some(index) = index {
                self.memories.set(&memory, &index, stored.tile().at(at));
            }
        }
        Ok(())
    }

    /// Where the lane at a row-major position of a masked access lies in the memory, if it is on.
    fn lane(&self, op: &Op, memory: &View, mask: &Tile, at: usize) -> Result<Option<Index>, RunError> {
        if mask.at(at).as_bool() != Some(true) {
            return Ok(None);
        }
        let mut index = unravel(at, mask.shape.dims());
        for (axis, &start) in op.operands[3..].iter().enumerate() {
            let (start, extent) = (i64::from(self.get(start).i32()) + index[axis] as i64, memory.shape.dim(axis));
            let Some(inside) = usize::try_from(start).ok().filter(|&i| i < extent) else {
                return Err(self.memories.outside(memory, axis, start, 1, extent, &self.site(op)));
            };
            index[axis] = inside;
        }
        Ok(Some(index))
    }

    /// The one element of scalar memory that the operands from `first` on name.
    fn element(&self, op: &Op, first: usize) -> Result<View, RunError> {
        let one = self.get(op.operands[0]).memory().shape.dims().iter().map(|_| 1).collect::<Vec<_>>();
        self.part(op, Shape::new(&one), first)
    }

    /// The part of the first operand that starts where the operands from `first` on say.
    fn part(&self, op: &Op, size: Shape, first: usize) -> Result<View, RunError> {
        let (memory, starts) = (self.get(op.operands[0]).memory(), self.indices(&op.operands[first..]));
        self.memories.part(&memory, &starts, size, &vec![1; starts.len()], &self.site(op))
    }

    /// Source and target of a copy, as far as it goes.
    fn ends(&self, op: &Op) -> Result<(View, View), RunError> {
        let (source, target) = (self.get(op.operands[0]).memory(), self.get(op.operands[1]).memory());
        let (step, loc) = (self.step.clone(), op.loc.clone());
        if source.shape != target.shape {
            let (from, to) = (source.shape.dims().to_vec(), target.shape.dims().to_vec());
            return Err(RunError::CopyShapes { from, to, step, loc });
        }
        let rows = op.operands.get(if matches!(op.kind, OpKind::RemoteStart { .. }) { 5 } else { 3 });
        let Some(&rows) = rows else { return Ok((source, target)) };
        let (rows, extent) = (self.get(rows).i32(), source.shape.dim(0));
        match usize::try_from(rows) {
            Ok(rows) if rows <= extent => Ok((source.rows(rows), target.rows(rows))),
            _ => Err(RunError::CopyRows { rows, extent, step, loc }),
        }
    }

    /// Copies at once: nothing may tell before the wait. Source and target may overlap: what is written was read before.
    fn start_copy(&mut self, op: &Op, add: bool) -> Result<(), RunError> {
        let (source, target) = self.ends(op)?;
        let mut moved = self.memories.read(&source);
        if add {
            let there = self.memories.read(&target);
            moved = Tile::new(moved.dtype, moved.shape, |at| {
                math::binary(BinaryOp::Add, there.at(at), moved.at(at)).expect("verified: numbers")
            });
        }
        self.memories.write(&target, &moved);
        let semaphore = self.get(op.operands[2]).semaphores();
        let site = Site { step: &self.step, loc: &op.loc };
        self.counters.signal(semaphore, (moved.bits.len() * moved.dtype.bytes()) as i64, &site)
    }

    /// A copy to a device: to this one, where that is the one.
    fn start_remote_copy(&mut self, op: &Op) -> Result<(), RunError> {
        self.alone(op.operands[4], "a copy", op)?;
        let (source, target) = self.ends(op)?;
        let moved = self.memories.read(&source);
        self.memories.write(&target, &moved);
        let site = Site { step: &self.step, loc: &op.loc };
        for &semaphore in &op.operands[2..4] {
            self.counters.signal(self.get(semaphore).semaphores(), (moved.bits.len() * moved.dtype.bytes()) as i64, &site)?;
        }
        Ok(())
    }

    /// Device 0 runs the kernel, and no other.
    fn alone(&self, device: Value, what: &'static str, op: &Op) -> Result<(), RunError> {
        match self.get(device).i32() {
            0 => Ok(()),
            device => Err(RunError::NoDevice { what, device, devices: 1, step: self.step.clone(), loc: op.loc.clone() }),
        }
    }

    /// One core runs after the other, so that none signals another.
    fn own_core(&self, core: Value, op: &Op) -> Result<(), RunError> {
        match self.get(core).i32() {
            core if usize::try_from(core) == Ok(self.core) => Ok(()),
            core => Err(RunError::NoCore { core, cores: self.cores, step: self.step.clone(), loc: op.loc.clone() }),
        }
    }

    fn scoped(&mut self, op: &Op) -> Result<Vec<Data>, RunError> {
        let (memories, groups) = (self.memories.count(), self.counters.count());
        let region = &op.regions[0];
        let mut args = vec![];
        for &arg in &region.args {
            args.push(self.allocate("memory of the region", self.kernel.ty(arg), &op.loc)?);
        }
        let results = self.region(region, Some(args))?;
        self.memories.forget(memories);
        self.counters.end(groups)?;
        Ok(results)
    }

    /// Memory full of poison, or semaphores at 0.
    pub(super) fn allocate(&mut self, name: &str, ty: Type, loc: &Loc) -> Result<Data, RunError> {
        Ok(match ty {
            Type::Semaphore(kind, shape) => Data::Semaphores(self.counters.add(name, kind, shape, loc)),
            ty => Data::Memory(self.memories.add(name, Tile::poison(ty.dtype(), ty.shape())?)),
        })
    }
}

/// A scalar or a tile, element by element.
fn elementwise(ty: Type, mut element: impl FnMut(usize) -> Literal) -> Data {
    match ty {
        Type::Tile(dtype, shape) => Tile::new(dtype, shape, element).into(),
        Type::Scalar(_) => Data::Scalar(element(0)),
        Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => panic!("verified: memory is no result"),
    }
}
