//! The body as the model sees it: straight stretches of tile operations with what each asks of the units, and control flow.
//!
//! Rules: made once for a launch; nothing in it depends on the grid step. A stretch is divided into phases: what needs the
//! result of a reduction comes after it. A tile that outlives its phase and does not fit the registers is stored and loaded
//! again. Every operation is matched by name, so that a new one needs a look here.

use super::Unit;
use super::layout::{Layout, all_registers, bits, registers};
use super::table::Rates;
use super::work::{Each, Product, Work, binary, cast, elementwise, moved, reduce, unary};
use crate::chips::Chip;
use crate::ir::{BinaryOp, DType, Kernel, Op, OpKind, ParamKind, Region, Shape, Space, Type, Value};
use crate::launch::Binding;

/// Tiles of more registers than this do not stay in registers from one phase to the next.
const KEPT: f64 = 40.0;

/// From one phase to the next; what is stored and loaded again lies between.
const PHASE: usize = 2;

/// A part of the body.
pub(super) enum Node<'a> {
    /// Computes scalars.
    Scalar(&'a Op),
    /// Computes tiles.
    Tile(Cost<'a>),
    /// Starts a copy, which is under way for so long: latency, and bytes over the rate.
    Start { op: &'a Op, latency: f64, transfer: f64 },
    /// Waits for the copy that was started first with the semaphore and is not waited for.
    Wait(&'a Op),
    /// Runs one of two regions.
    If { op: &'a Op, then: Vec<Node<'a>>, otherwise: Vec<Node<'a>>, fixed: bool },
    /// Runs a region for each index.
    For { op: &'a Op, body: Vec<Node<'a>> },
    /// Runs a region as long as another says so.
    While { test: Vec<Node<'a>>, body: Vec<Node<'a>> },
}

/// What one operation asks for.
pub(super) struct Cost<'a> {
    pub(super) op: &'a Op,
    /// By phase.
    pub(super) work: Vec<(usize, Work)>,
    /// Cycles from the start of its stretch until its first result.
    pub(super) ready: f64,
}

/// What is known of a value.
#[derive(Clone, Copy, Default)]
struct Fact {
    layout: Layout,
    phase: usize,
    ready: f64,
    /// The stretch that it is computed in.
    stretch: usize,
    /// Whether it can be had again without having been stored.
    again: bool,
    /// Whether it is the same at every step.
    fixed: bool,
}

struct Planner<'a> {
    kernel: &'a Kernel,
    binding: &'a Binding,
    chip: &'a Chip,
    rates: &'a Rates,
    facts: Vec<Fact>,
    stretch: usize,
}

/// The plan of a kernel's body.
pub(super) fn plan<'a>(kernel: &'a Kernel, binding: &'a Binding, chip: &'a Chip, rates: &'a Rates) -> Vec<Node<'a>> {
    let mut planner = Planner { kernel, binding, chip, rates, facts: vec![Fact::default(); kernel.types.len()], stretch: 0 };
    for (param, &arg) in kernel.params.iter().zip(&kernel.body.args) {
        // A scalar of the launch is not known here, but never changes.
        planner.facts[arg.0 as usize].again = matches!(param.kind, ParamKind::Scalar);
    }
    planner.region(&kernel.body)
}

impl<'a> Planner<'a> {
    fn fact(&self, value: Value) -> Fact {
        self.facts[value.0 as usize]
    }

    fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    fn region(&mut self, region: &'a Region) -> Vec<Node<'a>> {
        let mut nodes = vec![];
        for op in &region.ops {
            let node = match &op.kind {
                OpKind::If => {
                    let fixed = self.fact(op.operands[0]).fixed;
                    let (then, otherwise) = (self.arm(&op.regions[0], fixed), self.arm(&op.regions[1], fixed));
                    self.results(op, &op.regions[0].yields);
                    Node::If { op, then, otherwise, fixed }
                }
                OpKind::For => {
                    self.carry(&op.regions[0].args[1..], &op.operands[3..]);
                    let body = self.arm(&op.regions[0], false);
                    self.results(op, &op.regions[0].yields);
                    Node::For { op, body }
                }
                OpKind::While => {
                    self.carry(&op.regions[0].args, &op.operands);
                    self.carry(&op.regions[1].args, &op.operands);
                    let (test, body) = (self.arm(&op.regions[0], false), self.arm(&op.regions[1], false));
                    self.results(op, &op.regions[1].yields);
                    Node::While { test, body }
                }
                OpKind::Scoped => {
                    nodes.extend(self.region(&op.regions[0]));
                    self.results(op, &op.regions[0].yields);
                    continue;
                }
                OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } => self.start(op),
                OpKind::DmaWait => Node::Wait(op),
                _ => self.operation(op),
            };
            nodes.push(node);
        }
        nodes
    }

    /// A region that begins a stretch of its own, unless it is known whether it runs.
    fn arm(&mut self, region: &'a Region, fixed: bool) -> Vec<Node<'a>> {
        if fixed {
            return self.region(region);
        }
        self.stretch += 1;
        let nodes = self.region(region);
        self.stretch += 1;
        nodes
    }

    fn carry(&mut self, args: &[Value], from: &[Value]) {
        for (arg, &from) in args.iter().zip(from) {
            self.facts[arg.0 as usize] = Fact { fixed: false, again: false, ready: 0.0, ..self.fact(from) };
        }
    }

    fn results(&mut self, op: &Op, yields: &[Value]) {
        for (result, &from) in op.results.iter().zip(yields) {
            self.facts[result.0 as usize] = Fact { fixed: false, again: false, ready: 0.0, ..self.fact(from) };
        }
    }

    fn start(&self, op: &'a Op) -> Node<'a> {
        let [from, to] = [0, 1].map(|at| self.ty(op.operands[at]));
        let elements = match (self.kernel.param_of(op.operands[0]), from) {
            (Some((at, _)), Type::Array(..)) => self.binding.arrays[at].iter().map(|&n| n as f64).product(),
            _ => from.shape().dims().iter().map(|&n| n as f64).product::<f64>(),
        };
        // Between two arrays in the main memory, or within a core, it goes in and out.
        let latency = match (from.space() == Some(Space::Hbm), to.space() == Some(Space::Hbm)) {
            (true, false) => self.rates.latency_in,
            (false, true) => self.rates.latency_out,
            _ => self.rates.latency_in.max(self.rates.latency_out),
        };
        let bytes = elements * bits(from.dtype()) as f64 / 8.0;
        Node::Start { op, latency, transfer: bytes / self.rates.copy_bytes }
    }

    fn operation(&mut self, op: &'a Op) -> Node<'a> {
        let tile = op.operands.iter().chain(&op.results).any(|&v| self.ty(v).is_tile());
        if !tile {
            let fixed = match op.kind {
                OpKind::ProgramId(axis) => self.binding.grid.get(axis).is_none_or(|&n| n == 1),
                OpKind::Const(_) | OpKind::NumPrograms(_) | OpKind::Size(_) | OpKind::DeviceId => true,
                _ => op.kind.is_pure() && op.operands.iter().all(|&v| self.fact(v).fixed),
            };
            op.results.iter().for_each(|r| self.facts[r.0 as usize].fixed = fixed);
            return Node::Scalar(op);
        }
        let operands: Vec<Fact> = op.operands.iter().filter(|&&v| self.ty(v).is_tile()).map(|&v| self.fact(v)).collect();
        let phase = operands.iter().map(|f| f.phase).max().unwrap_or(0);
        let here = operands.iter().filter(|f| f.stretch == self.stretch);
        let ready = here.map(|f| f.ready).fold(0.0, f64::max);
        let layouts: Vec<Layout> = operands.iter().map(|f| f.layout).collect();
        let mut fact = Fact {
            layout: Layout::of(&layouts),
            phase,
            ready,
            stretch: self.stretch,
            again: Self::again(op, &operands),
            fixed: false,
        };
        let mut work = self.kept(op, phase);
        self.work(op, &operands, &mut fact, &mut work);
        let ready = fact.ready;
        op.results.iter().for_each(|r| self.facts[r.0 as usize] = fact);
        Node::Tile(Cost { op, work, ready })
    }

    /// Operands from earlier phases that do not stay in registers.
    fn kept(&self, op: &Op, phase: usize) -> Vec<(usize, Work)> {
        let mut work = vec![];
        for &value in op.operands.iter().filter(|&&v| self.ty(v).is_tile()) {
            let fact = self.fact(value);
            let Type::Tile(dtype, shape) = self.ty(value) else { continue };
            let registers = registers(shape, bits(dtype), &fact.layout);
            if fact.phase == phase || registers <= KEPT {
                continue;
            }
            let mut load = Work::default();
            load.add(Unit::Load, registers / self.rates.loads);
            if fact.again {
                work.push((phase, load));
            } else {
                let mut store = Work::default();
                store.add(Unit::Store, registers / self.rates.stores);
                work.extend([(fact.phase + 1, store), (phase + 1, load)]);
            }
        }
        work
    }

    fn work(&mut self, op: &Op, operands: &[Fact], fact: &mut Fact, work: &mut Vec<(usize, Work)>) {
        let (rates, phase) = (self.rates, fact.phase);
        let result = op.results.first().map_or(Type::Scalar(DType::I32), |&v| self.ty(v));
        let source = op.operands.first().map_or(result, |&v| self.ty(v));
        let mut now = |done: Work| work.push((phase, done));
        match &op.kind {
            OpKind::Unary(kind) => {
                let each = unary(*kind, source.dtype(), rates);
                fact.ready += each.functions * rates.start_function;
                now(elementwise(each, 1, source, &fact.layout, rates));
            }
            OpKind::Binary(kind) => {
                let mut each = binary(*kind, source.dtype(), rates);
                if *kind == BinaryOp::Div && source.dtype().is_float() {
                    // The divisor is inverted once for each of its registers.
                    let divisor = operands.get(1).map_or(fact.layout, |f| f.layout);
                    let invert = Each { arithmetic: rates.reciprocal, functions: 1.0 };
                    now(elementwise(invert, 0, Type::Tile(DType::F32, source.shape()), &divisor, rates));
                    each.arithmetic = 1.0;
                }
                now(elementwise(each, 2, source, &fact.layout, rates));
            }
            OpKind::Compare(_) => now(elementwise(Each { arithmetic: 1.0, functions: 0.0 }, 2, source, &fact.layout, rates)),
            OpKind::Select => now(elementwise(Each { arithmetic: 1.0, functions: 0.0 }, 2, result, &fact.layout, rates)),
            OpKind::Cast(to) => now(cast(source.dtype(), *to, source.shape(), &fact.layout, rates)),
            OpKind::Bitcast(_) if bits(source.dtype()) == bits(result.dtype()) => {}
            OpKind::Bitcast(_) | OpKind::StochasticRound(_) => {
                now(elementwise(Each { arithmetic: 2.0, functions: 0.0 }, 1, result, &fact.layout, rates));
            }
            OpKind::Const(_) => fact.layout.constant = [true; 4],
            OpKind::Iota { axis, .. } => {
                fact.layout.constant = [true; 4];
                fact.layout.constant[*axis] = false;
                fact.again = true;
                now(elementwise(Each { arithmetic: 1.0, functions: 0.0 }, 0, result, &fact.layout, rates));
            }
            OpKind::Broadcast(shape) => self.broadcast(source, *shape, operands, fact, &mut now),
            OpKind::Reduce { op: kind, axis } => {
                let (before, across) = reduce(*kind, source, *axis, rates);
                now(before);
                let lanes = *axis + 1 == source.shape().rank();
                work.push((phase + PHASE, across));
                fact.phase = phase + 2 * PHASE;
                fact.ready += match lanes {
                    true => rates.start_across,
                    // One sum after the other, where there are too few columns to fill the time.
                    false => (rates.chain * chained(source.shape(), *axis) - before.most()).max(0.0),
                };
                fact.layout.constant[*axis] = true;
                fact.layout.spread = lanes || fact.layout.spread;
            }
            OpKind::Dot { dims, precision } => {
                let product = Product::of(dims, *precision, source, self.ty(op.operands[1]), rates);
                // Loaded operands stream; computed ones wait until they are there.
                let begin = if phase == 0 { 0 } else { phase + PHASE };
                work.push((begin, product.work(self.chip, rates)));
                fact.phase = if phase == 0 { 0 } else { begin + PHASE };
                fact.ready += rates.start_product;
                fact.layout = Layout::default();
            }
            OpKind::Load(_) => {
                let mut load = Work::default();
                load.add(Unit::Load, all_registers(result) / rates.loads);
                now(load);
                (fact.again, fact.layout) = (true, Layout::default());
            }
            OpKind::Store => {
                let mut store = Work::default();
                store.add(Unit::Store, all_registers(self.ty(op.operands[1])) / rates.stores);
                now(store);
            }
            OpKind::LoadMasked(_) | OpKind::StoreMasked => unreachable!("legalised: loads, stores and selections"),
            OpKind::ViewReshaped(_) | OpKind::ViewTransposed(_) | OpKind::ViewBitcast(_) => unreachable!("legalised: of tiles"),
            // The scalar unit's, and copies: elsewhere.
            OpKind::LoadScalar | OpKind::StoreScalar | OpKind::View { .. } | OpKind::ViewSqueezed(_) | OpKind::SemaphoreAt => {}
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait => {}
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead | OpKind::Scoped => {}
            OpKind::Transpose(_) | OpKind::Rotate { .. } | OpKind::Extract(_) => {
                now(moved(source, 1.0, rates));
                fact.layout = Layout::default();
            }
            OpKind::Reshape(_) | OpKind::Slice { .. } | OpKind::Concat { .. } => {
                if !self.in_place(op, source, result) {
                    now(moved(result, 1.0, rates));
                }
                fact.layout = Layout::default();
            }
            OpKind::Gather { axis } => {
                let rows = source.shape().dim(*axis).div_ceil(crate::chips::LANES).max(1) as f64;
                now(moved(result, rows, rates));
                fact.layout = Layout::default();
            }
            OpKind::Scan { axis, .. } => {
                let rounds = f64::from(source.shape().dim(*axis).next_power_of_two().trailing_zeros());
                now(moved(source, rounds, rates));
                now(elementwise(Each { arithmetic: 2.0 * rounds, functions: 0.0 }, 1, source, &Layout::default(), rates));
                fact.layout = Layout::default();
            }
            OpKind::Sort { axis, .. } => {
                let rounds = f64::from(source.shape().dim(*axis).next_power_of_two().trailing_zeros());
                let rounds = rounds * (rounds + 1.0) / 2.0 * op.operands.len() as f64;
                now(moved(source, 2.0 * rounds, rates));
                now(elementwise(Each { arithmetic: 4.0 * rounds, functions: 0.0 }, 1, source, &Layout::default(), rates));
                fact.layout = Layout::default();
            }
            OpKind::PrngBits(_) => {
                now(elementwise(Each { arithmetic: 2.0, functions: 0.0 }, 0, result, &Layout::default(), rates));
                fact.layout = Layout::default();
            }
            OpKind::ProgramId(_)
            | OpKind::NumPrograms(_)
            | OpKind::Size(_)
            | OpKind::DeviceId
            | OpKind::PrngSeed
            | OpKind::Print(_)
            | OpKind::Check(_)
            | OpKind::Defined(_)
            | OpKind::If
            | OpKind::For
            | OpKind::While => {}
        }
    }

    /// A column spreads over lanes through the XLU, unless it came from a reduction; a row is loaded so, a scalar is everywhere.
    fn broadcast(&self, source: Type, shape: Shape, operands: &[Fact], fact: &mut Fact, now: &mut dyn FnMut(Work)) {
        let rank = shape.rank();
        fact.layout = operands.first().map_or(Layout { constant: [true; 4], spread: true }, |f| f.layout);
        if source.is_scalar() {
            fact.again = true;
            return;
        }
        let columns = rank > 0 && source.shape().dim(rank - 1) == 1 && shape.dim(rank - 1) > 1;
        if columns && !fact.layout.spread {
            let mut spread = Work::default();
            let registers = registers(source.shape(), bits(source.dtype()), &fact.layout);
            spread.add(Unit::Xlu, registers * self.rates.across);
            fact.ready += self.rates.start_across;
            now(spread);
        }
        for axis in 0..rank {
            if source.shape().dim(axis) == 1 {
                fact.layout.constant[axis] = true;
            }
        }
        fact.layout.spread = true;
    }

    /// Whether a value that is computed so from others can be computed again where it is needed, without storing it.
    fn again(op: &Op, operands: &[Fact]) -> bool {
        let cheap = match &op.kind {
            OpKind::Select | OpKind::Compare(_) | OpKind::Cast(_) => true,
            OpKind::Binary(kind) => matches!(kind, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor),
            _ => false,
        };
        cheap && operands.iter().all(|f| f.again)
    }

    /// Whether a tile keeps its registers: its last two dimensions stay, or parts lie at whole registers.
    fn in_place(&self, op: &Op, source: Type, result: Type) -> bool {
        let aligned = |shape: Shape, dtype: DType| {
            let rank = shape.rank();
            let rows = crate::chips::SUBLANES * 32 / bits(dtype);
            rank < 2 || (shape.dim(rank - 1).is_multiple_of(crate::chips::LANES) && shape.dim(rank - 2).is_multiple_of(rows))
        };
        let last = |shape: Shape| shape.dims().last().copied();
        match &op.kind {
            OpKind::Reshape(to) => {
                last(source.shape()) == last(*to) && aligned(source.shape(), source.dtype()) && aligned(*to, source.dtype())
            }
            OpKind::Slice { starts, shape, strides } => {
                let rank = shape.rank();
                let lanes = rank == 0 || starts[rank - 1].is_multiple_of(crate::chips::LANES);
                let rows = rank < 2 || starts[rank - 2].is_multiple_of(crate::chips::SUBLANES * 32 / bits(source.dtype()));
                lanes && rows && strides.iter().all(|&s| s == 1)
            }
            OpKind::Concat { axis } => *axis + 2 < result.shape().rank() || aligned(source.shape(), source.dtype()),
            _ => false,
        }
    }
}

/// Registers that a reduction adds up one after the other.
fn chained(shape: Shape, axis: usize) -> f64 {
    let size = shape.dim(axis);
    if axis + 2 == shape.rank() { size.div_ceil(crate::chips::SUBLANES) as f64 } else { size as f64 }
}
