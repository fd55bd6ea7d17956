//! Random programs that move memory by hand, with what they must leave, computed beside them.
//!
//! The oracle shares nothing with any executor: memory is a list of numbers, a view the list of positions that it shows, found
//! by indexing lists as NumPy does. Every copy is waited for before anything touches what it reads or writes, so that the
//! program has one meaning whenever its copies happen.

use crate::executors::Array;
use crate::generate::Rng;
use tpu_kernel::ir::{
    BinaryOp, Builder, DType, Kernel, Literal, Loc, OpKind, ParamKind, SemaphoreKind, Shape, SizeExpr, Space, Type, Value,
};
use tpu_kernel::launch::Binding;

/// A program, its launch, and what its outputs must be.
pub struct Program {
    /// The kernel.
    pub kernel: Kernel,
    /// The numbers of the launch.
    pub binding: Binding,
    /// The inputs.
    pub inputs: Vec<Array>,
    /// The scalars: starts that no one knows before the launch.
    pub scalars: Vec<Literal>,
    /// The outputs that it must leave.
    pub outputs: Vec<Array>,
}

/// A memory with its elements as they are now.
struct Memory {
    value: Value,
    space: Space,
    /// Whether its extents are those of an array of the launch.
    array: bool,
    writable: bool,
    dims: Vec<usize>,
    elements: Vec<i32>,
}

/// A view: its value, its shape, and the positions of its elements in row-major order.
#[derive(Clone)]
struct View {
    value: Value,
    memory: usize,
    dims: Vec<usize>,
    positions: Vec<usize>,
}

/// A copy that is started and not waited for.
struct Flying {
    operands: Vec<Value>,
    from: (usize, Vec<usize>),
    to: (usize, Vec<usize>),
}

/// The operations on memory and semaphores, as the table of operations names them.
pub const OPERATIONS: [&str; 11] = [
    "load_scalar",
    "store_scalar",
    "view",
    "view_squeezed",
    "scoped",
    "dma_start",
    "dma_wait",
    "semaphore_at",
    "semaphore_signal",
    "semaphore_wait",
    "semaphore_read",
];

struct Writer {
    b: Builder,
    rng: Rng,
    memories: Vec<Memory>,
    /// Scalar operands by number.
    starts: Vec<Value>,
    semaphores: Value,
    /// Regular semaphores, with their counts.
    turns: (Value, [usize; TURNS]),
    flying: Vec<(usize, Flying)>,
}

/// How many scalars: scalar i is i.
const STARTS: usize = 4;
/// How many semaphores.
const SEMAPHORES: usize = 3;
/// How many regular semaphores.
const TURNS: usize = 2;
const POISON: i32 = i32::MIN;

/// The program of that number.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed ^ 0x6d6f_7665);
    let mut b = Builder::new("movement", Loc::UNKNOWN);
    let mut memories = vec![];
    let random_dims = |rng: &mut Rng| (0..1 + rng.below(3)).map(|_| 1 + rng.below(5)).collect::<Vec<usize>>();
    let sizes = |dims: &[usize]| dims.iter().map(|&n| SizeExpr::Const(n as i64)).collect::<Vec<_>>();
    let (mut inputs, mut arrays) = (vec![], vec![]);
    for at in 0..2 {
        let dims = random_dims(&mut rng);
        let elements: Vec<i32> = (0..dims.iter().product::<usize>()).map(|_| rng.below(2000) as i32 - 1000).collect();
        inputs.push(Array::new(DType::I32, &dims, elements.iter().map(|&n| Literal::from(n))));
        let ty = Type::Array(Space::Hbm, DType::I32, dims.len());
        let value = b.param(&format!("x{at}"), ty, ParamKind::InArray(sizes(&dims)), Loc::UNKNOWN);
        arrays.push(dims.clone());
        memories.push(Memory { value, space: Space::Hbm, array: true, writable: false, dims, elements });
    }
    let mut own = |b: &mut Builder, name: String, space, array: bool, dims: Vec<usize>| {
        let (ty, kind) = match array {
            true => (Type::Array(space, DType::I32, dims.len()), ParamKind::OutArray(sizes(&dims))),
            false => (Type::Ref(space, DType::I32, Shape::new(&dims)), ParamKind::Scratch),
        };
        let value = b.param(&name, ty, kind, Loc::UNKNOWN);
        arrays.push(if array { dims.clone() } else { vec![] });
        let elements = vec![POISON; dims.iter().product()];
        memories.push(Memory { value, space, array, writable: true, dims, elements });
    };
    for at in 0..2 {
        let dims = random_dims(&mut rng);
        own(&mut b, format!("o{at}"), Space::Hbm, true, dims);
    }
    for at in 0..2 {
        let dims = random_dims(&mut rng);
        own(&mut b, format!("v{at}"), Space::Vmem, false, dims);
    }
    let dims = random_dims(&mut rng);
    own(&mut b, "s".to_string(), Space::Smem, false, dims);
    let semaphores = Type::Semaphore(SemaphoreKind::Dma, Shape::new(&[SEMAPHORES]));
    let semaphores = b.param("sems", semaphores, ParamKind::Scratch, Loc::UNKNOWN);
    let turns = Type::Semaphore(SemaphoreKind::Regular, Shape::new(&[TURNS]));
    let turns = (b.param("turns", turns, ParamKind::Scratch, Loc::UNKNOWN), [0; TURNS]);
    arrays.extend([vec![], vec![]]);
    let starts: Vec<Value> =
        (0..STARTS).map(|n| b.param(&format!("n{n}"), Type::Scalar(DType::I32), ParamKind::Scalar, Loc::UNKNOWN)).collect();
    arrays.extend(vec![vec![]; STARTS]);

    let mut writer = Writer { b, rng, memories, starts, semaphores, turns, flying: vec![] };
    for _ in 0..4 {
        let (from, to) = (writer.rng.below(2), 4 + writer.rng.below(3));
        writer.copy_between(from, to);
    }
    for _ in 0..6 + writer.rng.below(24) {
        writer.statement(0);
    }
    // Each output is written by something: one element fits everywhere.
    for output in 2..4 {
        let from = writer.rng.below(2);
        writer.copy_of(from, output, &[1]);
    }
    writer.land(|_| true);
    for which in 0..TURNS {
        let left = writer.turns.1[which];
        writer.turn(OpKind::SemaphoreWait, which, left);
    }
    let outputs =
        writer.memories[2..4].iter().map(|m| Array::new(DType::I32, &m.dims, m.elements.iter().map(|&n| Literal::from(n))));
    let outputs = outputs.collect();
    let kernel = writer.b.finish().expect("every region is closed");
    let scalars = (0..STARTS as i32).map(Literal::from).collect();
    Program { kernel, binding: Binding { cores: 1, sizes: vec![], grid: vec![], arrays }, inputs, scalars, outputs }
}

impl Writer {
    fn emit(&mut self, kind: OpKind, operands: &[Value]) -> Option<Value> {
        self.b.op(kind, operands, Loc::UNKNOWN).expect("the program breaks no rule")
    }

    fn value(&mut self, kind: OpKind, operands: &[Value]) -> Value {
        self.emit(kind, operands).expect("a result")
    }

    /// That number, as a constant or as an operand that has it.
    fn number(&mut self, n: usize) -> Value {
        if n < STARTS && self.rng.chance(50) { self.starts[n] } else { self.b.constant(n as i32, Loc::UNKNOWN) }
    }

    fn statement(&mut self, depth: usize) {
        match self.rng.below(if depth < 2 { 11 } else { 10 }) {
            0..4 => {
                let (from, to) = (self.rng.below(self.memories.len()), 2 + self.rng.below(self.memories.len() - 2));
                self.copy_between(from, to);
            }
            4..6 => self.load_and_store(),
            6..8 => self.scalar(),
            8 => {
                let which = self.rng.below(3);
                self.land(|at| at == which);
            }
            9 => self.count(),
            _ => self.scoped(depth),
        }
    }

    /// Waits for what touches these positions: of a read only for what writes them.
    fn settle(&mut self, view: &View, written: bool) {
        let touches =
            |memory: usize, positions: &[usize]| memory == view.memory && positions.iter().any(|p| view.positions.contains(p));
        let waits: Vec<usize> = self
            .flying
            .iter()
            .filter(|(_, f)| touches(f.to.0, &f.to.1) || (written && touches(f.from.0, &f.from.1)))
            .map(|(semaphore, _)| *semaphore)
            .collect();
        self.land(|semaphore| waits.contains(&semaphore));
    }

    /// Waits for the copies of these semaphores, in any order.
    fn land(&mut self, which: impl Fn(usize) -> bool) {
        let (mut landing, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.flying).into_iter().partition(|(at, _)| which(*at));
        self.flying = rest;
        while !landing.is_empty() {
            let at = self.rng.below(landing.len());
            let (_, copy) = landing.swap_remove(at);
            self.emit(OpKind::DmaWait, &copy.operands);
        }
    }

    /// A part of a memory of that shape, some with its dimensions in another order, or cut in two; `None` where none fits.
    fn part(&mut self, memory: usize, want: &[usize]) -> Option<View> {
        match self.rng.below(4) {
            0 if want.len() > 1 => {
                let mut perm: Vec<usize> = (0..want.len()).collect();
                (1..want.len()).for_each(|at| perm.swap(at, self.rng.below(at + 1)));
                let mut below = want.to_vec();
                perm.iter().zip(want).for_each(|(&axis, &n)| below[axis] = n);
                let view = self.sliced(memory, &below)?;
                let value = self.value(OpKind::ViewTransposed(perm.clone()), &[view.value]);
                let weight = |axis: usize| below[axis + 1..].iter().product::<usize>();
                let positions = (0..want.iter().product::<usize>()).map(|at| {
                    let mut rest = at;
                    let index = perm.iter().zip(want).rev().map(|(&axis, &n)| {
                        let i = rest % n;
                        rest /= n;
                        i * weight(axis)
                    });
                    view.positions[index.sum::<usize>()]
                });
                let positions = positions.collect();
                Some(View { value, dims: want.to_vec(), positions, ..view })
            }
            1 if want.len() > 1 => {
                // A dimension that becomes two has strides wherever it lies.
                let view = self.sliced(memory, &[&[want[0] * want[1]], &want[2..]].concat())?;
                let value = self.value(OpKind::ViewReshaped(Shape::new(want)), &[view.value]);
                Some(View { value, dims: want.to_vec(), ..view })
            }
            _ => self.sliced(memory, want),
        }
    }

    /// A part of a memory of that shape, through one to three views; `None` where none fits.
    fn sliced(&mut self, memory: usize, want: &[usize]) -> Option<View> {
        let Memory { value, array, dims, .. } = &self.memories[memory];
        let (array, dims) = (*array, dims.clone());
        let mut view = View { value: *value, memory, dims: dims.clone(), positions: (0..dims.iter().product()).collect() };
        // Which of its dimensions stay: as many as are wanted, in order, large enough.
        let mut kept = vec![];
        let mut next = 0;
        for (axis, &extent) in dims.iter().enumerate() {
            let left = dims.len() - axis;
            let needed = want.len() - next;
            if needed > 0 && want[next] <= extent && (left == needed || self.rng.chance(60)) {
                kept.push(axis);
                next += 1;
            }
        }
        if next < want.len() {
            return None;
        }
        let steps = usize::from(array) + self.rng.below(2);
        for step in 0..=steps {
            let last = step == steps;
            if !last && !array && self.rng.chance(50) {
                continue;
            }
            let mut starts = vec![];
            let (mut sizes, mut strides) = (vec![], vec![]);
            for (axis, &extent) in view.dims.clone().iter().enumerate() {
                let least = kept.iter().position(|&k| k == axis).map_or(1, |at| want[at]);
                let size = if last { least } else { least + self.rng.below(extent - least + 1) };
                let most = if size > 1 { (extent - 1) / (size - 1) } else { 3 };
                let stride = 1 + self.rng.below(most.max(1));
                starts.push(self.rng.below(extent - (size - 1) * stride));
                sizes.push(size);
                strides.push(stride);
            }
            view = self.view(view, &starts, &sizes, &strides);
        }
        let squeezed: Vec<usize> = (0..view.dims.len()).filter(|axis| !kept.contains(axis)).collect();
        if !squeezed.is_empty() {
            view.value = self.value(OpKind::ViewSqueezed(squeezed.clone()), &[view.value]);
            view.dims = kept.iter().map(|&axis| view.dims[axis]).collect();
        }
        Some(view)
    }

    fn view(&mut self, of: View, starts: &[usize], sizes: &[usize], strides: &[usize]) -> View {
        let mut operands = vec![of.value];
        for &start in starts {
            operands.push(self.number(start));
        }
        let value = self.value(OpKind::View { shape: Shape::new(sizes), strides: strides.to_vec() }, &operands);
        // Row by row, as nested lists are sliced.
        let mut positions = of.positions;
        let mut chunk = positions.len();
        let mut groups = 1;
        for axis in 0..sizes.len() {
            let inner = chunk / of.dims[axis];
            let mut picked = vec![];
            for group in 0..groups {
                for i in 0..sizes[axis] {
                    let at = group * chunk + (starts[axis] + i * strides[axis]) * inner;
                    picked.extend_from_slice(&positions[at..at + inner]);
                }
            }
            positions = picked;
            groups *= sizes[axis];
            chunk = inner;
        }
        View { value, memory: of.memory, dims: sizes.to_vec(), positions }
    }

    /// A copy between parts of two memories, or of one, of a shape that both have.
    fn copy_between(&mut self, from: usize, to: usize) {
        let both = [from, to].map(|m| self.memories[m].space);
        if both == [Space::Smem; 2] || !self.memories[to].writable {
            return;
        }
        let rank = 1 + self.rng.below(self.memories[from].dims.len().min(self.memories[to].dims.len()));
        let want: Vec<usize> = (0..rank).map(|_| 1 + self.rng.below(3)).collect();
        self.copy_of(from, to, &want);
    }

    /// A copy of that shape, where both have it.
    fn copy_of(&mut self, from: usize, to: usize, want: &[usize]) {
        let (Some(source), Some(target)) = (self.part(from, want), self.part(to, want)) else { return };
        let semaphore = self.rng.below(SEMAPHORES);
        let at = self.number(semaphore);
        let one = self.value(OpKind::SemaphoreAt, &[self.semaphores, at]);
        self.settle(&source, false);
        self.settle(&target, true);
        let mut operands = vec![source.value, target.value, one];
        let mut count = source.positions.len();
        if self.rng.chance(30) {
            let rows = self.rng.below(want[0] + 1);
            operands.push(self.number(rows));
            count = count / want[0] * rows;
        }
        let (add, priority) = (self.rng.chance(25), self.rng.below(2) as u8);
        self.emit(OpKind::DmaStart { priority, add }, &operands);
        let moved: Vec<i32> = source.positions[..count].iter().map(|&p| self.memories[from].elements[p]).collect();
        for (&p, &n) in target.positions[..count].iter().zip(&moved) {
            let there = &mut self.memories[to].elements[p];
            *there = if add { there.wrapping_add(n) } else { n };
        }
        let flying = Flying { operands, from: (from, source.positions), to: (to, target.positions) };
        self.flying.push((semaphore, flying));
    }

    /// Loads from one view and stores more of it through another.
    fn load_and_store(&mut self) {
        let vector: Vec<usize> = (0..self.memories.len()).filter(|&m| self.memories[m].space == Space::Vmem).collect();
        let (from, to) = (self.rng.pick(&vector), self.rng.pick(&vector));
        let rank = 1 + self.rng.below(self.memories[from].dims.len().min(self.memories[to].dims.len()));
        let want: Vec<usize> = (0..rank).map(|_| 1 + self.rng.below(3)).collect();
        let (Some(source), Some(target)) = (self.part(from, &want), self.part(to, &want)) else { return };
        self.settle(&source, false);
        self.settle(&target, true);
        let zero = self.number(0);
        let zeros = vec![zero; rank];
        let tile = self.value(OpKind::Load(Shape::new(&want)), &[vec![source.value], zeros.clone()].concat());
        let more = self.value(OpKind::Binary(BinaryOp::Add), &[tile, tile]);
        self.emit(OpKind::Store, &[vec![target.value, more], zeros].concat());
        let loaded: Vec<i32> = source.positions.iter().map(|&p| self.memories[from].elements[p]).collect();
        for (&p, &n) in target.positions.iter().zip(&loaded) {
            self.memories[to].elements[p] = n.wrapping_add(n);
        }
    }

    /// Reads an element of scalar memory and writes another.
    fn scalar(&mut self) {
        let Some(memory) = (0..self.memories.len()).find(|&m| self.memories[m].space == Space::Smem) else { return };
        let rank = self.memories[memory].dims.len();
        let (Some(source), Some(target)) = (self.part(memory, &vec![1; rank]), self.part(memory, &vec![1; rank])) else { return };
        self.settle(&source, false);
        self.settle(&target, true);
        let zero = self.number(0);
        let zeros = vec![zero; rank];
        let read = self.value(OpKind::LoadScalar, &[vec![source.value], zeros.clone()].concat());
        let three = self.b.constant(3, Loc::UNKNOWN);
        let more = self.value(OpKind::Binary(BinaryOp::Add), &[read, three]);
        self.emit(OpKind::StoreScalar, &[vec![target.value, more], zeros].concat());
        let n = self.memories[memory].elements[source.positions[0]];
        self.memories[memory].elements[target.positions[0]] = n.wrapping_add(3);
    }

    /// Signals a regular semaphore or waits for some of its count, and keeps the count in scalar memory.
    fn count(&mut self) {
        let which = self.rng.below(TURNS);
        if self.rng.chance(60) {
            let by = self.rng.below(4);
            self.turn(OpKind::SemaphoreSignal, which, by);
            self.turns.1[which] += by;
        } else {
            let by = self.rng.below(self.turns.1[which] + 1);
            self.turn(OpKind::SemaphoreWait, which, by);
            self.turns.1[which] -= by;
        }
        let Some(memory) = (0..self.memories.len()).find(|&m| self.memories[m].space == Space::Smem) else { return };
        let rank = self.memories[memory].dims.len();
        let Some(target) = self.part(memory, &vec![1; rank]) else { return };
        self.settle(&target, true);
        let at = self.number(which);
        let one = self.value(OpKind::SemaphoreAt, &[self.turns.0, at]);
        let count = self.value(OpKind::SemaphoreRead, &[one]);
        let zero = self.number(0);
        self.emit(OpKind::StoreScalar, &[vec![target.value, count], vec![zero; rank]].concat());
        self.memories[memory].elements[target.positions[0]] = self.turns.1[which] as i32;
    }

    fn turn(&mut self, kind: OpKind, which: usize, by: usize) {
        let at = self.number(which);
        let one = self.value(OpKind::SemaphoreAt, &[self.turns.0, at]);
        let by = self.number(by);
        self.emit(kind, &[one, by]);
    }

    /// Some statements in a region with memory of its own, all copies of which end inside.
    fn scoped(&mut self, depth: usize) {
        let dims: Vec<usize> = (0..1 + self.rng.below(3)).map(|_| 1 + self.rng.below(4)).collect();
        let args = self.b.begin_region(&[Type::Ref(Space::Vmem, DType::I32, Shape::new(&dims))]);
        let elements = vec![POISON; dims.iter().product()];
        self.memories.push(Memory { value: args[0], space: Space::Vmem, array: false, writable: true, dims, elements });
        for _ in 0..1 + self.rng.below(5) {
            self.statement(depth + 1);
        }
        // The waits name views that are made inside.
        self.land(|_| true);
        self.memories.pop();
        let region = self.b.end_region(&[]);
        self.b.control(OpKind::Scoped, &[], vec![region], &[], Loc::UNKNOWN);
    }
}
