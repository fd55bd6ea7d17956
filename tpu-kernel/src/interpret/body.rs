//! Evaluates regions: the body of a kernel and its index maps.

use super::random::Random;
use super::tile::{Data, Index, Tile, ravel, unravel};
use super::{dot, reduce, shape, sort};
use crate::exec::print::{Shown, format};
use crate::exec::{Log, Printed, RunError};
use crate::ir::{Kernel, Literal, Op, OpKind, Param, Region, Shape, Type, Value, Window, eval};
use crate::launch::Binding;
use crate::math;

/// The state of a running kernel.
pub(super) struct Machine<'a> {
    kernel: &'a Kernel,
    binding: &'a Binding,
    /// The running step.
    pub(super) step: Vec<i32>,
    /// Windows and scratch, by position among the operands.
    pub(super) memory: Vec<Option<Tile>>,
    /// Values that are defined, by number.
    pub(super) values: Vec<Option<Data>>,
    /// None before it is seeded.
    random: Option<Random>,
    log: Log<'a>,
}

impl<'a> Machine<'a> {
    /// Before the first step, without operands.
    pub(super) fn new(kernel: &'a Kernel, binding: &'a Binding, log: Log<'a>) -> Machine<'a> {
        let step = vec![0; binding.grid.len()];
        Machine { kernel, binding, step, memory: vec![], values: vec![None; kernel.types.len()], random: None, log }
    }

    /// The block that the index map gives for the running step: in range along each axis.
    pub(super) fn block_index(&mut self, param: &Param, window: &Window, array: &[usize]) -> Result<Vec<i32>, RunError> {
        let step = self.step.iter().map(|&i| Data::Scalar(i.into())).collect();
        let indices = self.region(&window.map, Some(step))?;
        let mut block = vec![];
        for (axis, index) in indices.iter().enumerate() {
            let index = index.i32();
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
            block.push(index);
        }
        Ok(block)
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
            OpKind::Store => {
                self.store(op)?;
                return Ok(vec![]);
            }
            OpKind::Load(size) => self.load(op, *size)?,
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
                Data::Scalar(literal) => Data::Scalar(Literal::from_bits(*to, literal.bits())),
                Data::Tile(tile) => shape::bitcast(tile, *to, ty.shape()).into(),
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
            OpKind::LoadScalar | OpKind::StoreScalar | OpKind::View { .. } | OpKind::ViewSqueezed(_) | OpKind::SemaphoreAt => {
                todo!()
            }
            OpKind::DmaStart { .. } | OpKind::DmaWait | OpKind::SemaphoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => {
                todo!()
            }
            OpKind::Scoped => todo!(),
            OpKind::Load(_) | OpKind::Store | OpKind::If | OpKind::For | OpKind::While => {
                unreachable!("`op` has the operations with effects and regions")
            }
            OpKind::Gather { .. } | OpKind::Sort { .. } | OpKind::PrngSeed | OpKind::PrngBits(_) => {
                unreachable!("`op` has those that can fail, keep state, or have several results")
            }
            OpKind::Print(_) | OpKind::Check(_) => unreachable!("`op` has those without a result"),
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
        };
        let values: Vec<Shown> = op.operands.iter().map(shown).collect();
        let printed = Printed { step: self.step.clone(), text: format(text, &values), loc: op.loc.clone() };
        (self.log)(&printed);
    }

    fn load(&self, op: &Op, size: Shape) -> Result<Data, RunError> {
        let (at, starts) = self.access(op, size, &op.operands[1..])?;
        let memory = self.memory[at].as_ref().expect("verified: memory");
        let position = |i: usize| ravel(&offset(&starts, unravel(i, size.dims())), memory.shape.dims());
        Ok(Tile::new(memory.dtype, size, |i| memory.at(position(i))).into())
    }

    fn store(&mut self, op: &Op) -> Result<(), RunError> {
        let data = self.get(op.operands[1]).clone();
        let tile = data.tile();
        let (at, starts) = self.access(op, tile.shape, &op.operands[2..])?;
        let memory = self.memory[at].as_mut().expect("verified: memory");
        for (i, &bits) in tile.bits.iter().enumerate() {
            let index = offset(&starts, unravel(i, tile.shape.dims()));
            memory.bits[ravel(&index, memory.shape.dims())] = bits;
        }
        Ok(())
    }

    /// The position of the operand that a load or store accesses, and where: nothing is clamped or wrapped.
    fn access(&self, op: &Op, size: Shape, starts: &[Value]) -> Result<(usize, Vec<usize>), RunError> {
        let (at, param) = self.kernel.param_of(op.operands[0]).expect("verified: memory is an operand");
        let extents = param.ty.shape();
        let mut inside = vec![];
        for (axis, &start) in starts.iter().enumerate() {
            let start = i64::from(self.get(start).i32());
            let (size, extent) = (size.dim(axis), extents.dim(axis));
            if start < 0 || start + size as i64 > extent as i64 {
                return Err(RunError::OutOfBounds {
                    operand: param.name.clone(),
                    axis,
                    start,
                    size,
                    extent,
                    step: self.step.clone(),
                    loc: op.loc.clone(),
                });
            }
            inside.push(start as usize);
        }
        Ok((at, inside))
    }
}

fn offset(starts: &[usize], mut index: Index) -> Index {
    for (i, start) in index.iter_mut().zip(starts) {
        *i += start;
    }
    index
}

/// A scalar or a tile, element by element.
fn elementwise(ty: Type, mut element: impl FnMut(usize) -> Literal) -> Data {
    match ty {
        Type::Tile(dtype, shape) => Tile::new(dtype, shape, element).into(),
        Type::Scalar(_) => Data::Scalar(element(0)),
        Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => panic!("verified: memory is no result"),
    }
}
