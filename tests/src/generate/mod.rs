//! Random well-typed kernels, with arrays to run them on.
//!
//! Rules: the same seed gives the same kernel; every kernel verifies and ends; results do not depend on
//! the order in which a `dot` accumulates, because its operands are made small integers and its zeros
//! positive, so executors can be compared bit by bit; nor on the sign and payload of NaN. Dynamic starts
//! are in range but for a few: then
//! every executor must give the same error.

mod body;
mod rng;
mod tiles;
mod values;
mod words;

use crate::executors::Array;
pub use rng::Rng;
use std::collections::HashSet;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, DType, GridDim, Kernel, Literal, Loc, OpKind, ParamKind, Pipelining, Semantics, Shape, SizeExpr,
    Space, Type, Value, Window,
};
use tpu_kernel::launch::Binding;
pub use words::Words;

/// A kernel with everything that a run takes.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel, which verifies.
    pub kernel: Kernel,
    /// The numbers of the launch.
    pub binding: Binding,
    /// An array an input.
    pub inputs: Vec<Array>,
    /// A value a scalar operand.
    pub scalars: Vec<Literal>,
}

/// A window or scratch, as the body sees it.
#[derive(Clone, Copy, Debug)]
struct Memory {
    value: Value,
    dtype: DType,
    shape: Shape,
    writable: bool,
    /// An output that no operation stores to yet.
    unwritten: bool,
}

/// Elements of a window at most.
const WINDOW: usize = 600;
/// Dimensions: units, and the neighbourhood of vector widths.
const DIMS: [usize; 18] = [1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 15, 16, 17, 33, 40, 71, 128, 130];

/// The case of that seed.
///
/// # Panics
/// Where the generator makes a kernel that is not well typed: a defect of the generator.
pub fn generate(seed: u64) -> Case {
    generate_in(Words::all(), seed)
}

/// The case of that seed in these words.
///
/// # Panics
/// As [`generate`].
pub fn generate_in(words: Words, seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    // Few different dimensions, so that shapes meet.
    let dims = (0..4).map(|_| rng.pick(&DIMS)).collect();
    let b = Builder::new(&format!("random{seed}"), line(1));
    let mut generator = Generator {
        words,
        rng,
        b,
        dims,
        sizes: vec![],
        grid: vec![],
        arrays: vec![],
        memories: vec![],
        scope: vec![],
        used: HashSet::new(),
        line: 10,
    };
    generator.grid();
    let scalars: Vec<Literal> = (0..generator.rng.below(3)).map(|at| generator.scalar(&format!("scalar{at}"))).collect();
    let mut inputs = vec![];
    for at in 0..generator.rng.pick(&[0, 1, 1, 2, 2, 3]) {
        let (dtype, shape) = (generator.dtype(), generator.shape());
        let (memory, array) = generator.window(&format!("in{at}"), false, dtype, &shape);
        let special = generator.rng.pick(&[0, 0, 2, 12]);
        let elements: Vec<Literal> = (0..array.iter().product()).map(|_| generator.rng.literal(dtype, special)).collect();
        inputs.push(Array::new(dtype, &array, elements));
        generator.memories.push(memory);
    }
    for at in 0..1 + generator.rng.below(2) {
        let (dtype, shape) = (generator.dtype(), generator.shape());
        let (memory, _) = generator.window(&format!("out{at}"), true, dtype, &shape);
        generator.memories.push(memory);
    }
    for at in 0..generator.rng.below(3) {
        generator.scratch(&format!("scratch{at}"));
    }
    generator.body();
    let Generator { b, sizes, grid, arrays, .. } = generator;
    // Every other kernel is split over two cores, where its grid lets it.
    let cores = 1 + (seed % 2) as usize;
    Case { kernel: b.finish().expect("no region is open"), binding: Binding { cores, sizes, grid, arrays }, inputs, scalars }
}

/// A place on that line.
fn line(line: u32) -> Loc {
    Loc { file: "random.rs".into(), line, column: 1 }
}

struct Generator {
    words: Words,
    rng: Rng,
    b: Builder,
    /// The value of each named size.
    sizes: Vec<i32>,
    grid: Vec<i32>,
    arrays: Vec<Vec<usize>>,
    /// The dimensions that shapes are made of.
    dims: Vec<usize>,
    memories: Vec<Memory>,
    /// Values that may be used, but for memory.
    scope: Vec<Value>,
    /// Values that are an operand of something.
    used: HashSet<Value>,
    /// The last line that was given to an operation.
    line: u32,
}

impl Generator {
    /// An expression that is `n`, over sizes that get values for it.
    fn expr(&mut self, n: usize) -> SizeExpr {
        let by = 2 + self.rng.below(5);
        let c = |n: usize| SizeExpr::Const(n as i64);
        match self.rng.below(6) {
            0 => c(n),
            1 => (self.size((n - 1) * by + 1 + self.rng.clone().below(by))) / c(by),
            2 if n.is_multiple_of(by) => self.size(n / by) * c(by),
            3 => self.size(n + by) - c(by),
            4 => self.size(n - 1) + c(1),
            _ => self.size(n),
        }
    }

    /// A named size of that value: one that there is, or a new one.
    fn size(&mut self, value: usize) -> SizeExpr {
        let value = value as i32;
        let at = self.sizes.iter().position(|&v| v == value).filter(|_| self.rng.chance(60)).unwrap_or_else(|| {
            self.sizes.push(value);
            self.sizes.len() - 1
        });
        SizeExpr::Size(self.b.size(&format!("s{at}")))
    }

    fn grid(&mut self) {
        let rank = self.rng.below(4);
        let parallel = self.rng.below(rank + 1);
        for axis in 0..rank {
            let extent = 1 + self.rng.below(if rank == 1 { 5 } else { 3 });
            self.grid.push(extent as i32);
            let semantics = if axis < parallel { Semantics::Parallel } else { Semantics::Arbitrary };
            let extent = self.expr(extent);
            self.b.grid_dim(GridDim { name: format!("g{axis}"), extent, semantics, loc: line(3) });
        }
    }

    fn dim(&mut self) -> usize {
        if self.rng.chance(85) { self.rng.pick(&self.dims) } else { self.rng.pick(&DIMS) }
    }

    /// A scalar operand; its value.
    fn scalar(&mut self, name: &str) -> Literal {
        let dtype = self.rng.pick(&self.words.dtypes);
        let value = self.b.param(name, Type::Scalar(dtype), ParamKind::Scalar, line(2));
        self.scope.push(value);
        self.arrays.push(vec![]);
        self.rng.literal(dtype, 12)
    }

    /// An element type of an operand: often f32, one in three any at all.
    fn dtype(&mut self) -> DType {
        let common = [DType::F32, DType::F32, DType::F32, DType::Bf16, DType::I32, DType::Bool];
        if self.rng.chance(65) { self.rng.pick(&common) } else { self.rng.pick(&self.words.dtypes) }
    }

    /// Dimensions of 1 to 4, with not too many elements.
    fn shape(&mut self) -> Vec<usize> {
        loop {
            let rank = self.rng.pick(&[1, 2, 2, 2, 3, 4]);
            let dims: Vec<usize> = (0..rank).map(|_| self.dim()).collect();
            if dims.iter().product::<usize>() <= WINDOW {
                return dims;
            }
        }
    }

    /// A window on an array that its blocks need not divide, and the shape of the array.
    fn window(&mut self, name: &str, output: bool, dtype: DType, shape: &[usize]) -> (Memory, Vec<usize>) {
        let mut block: Vec<BlockDim> = shape.iter().copied().map(BlockDim::Blocked).collect();
        while block.len() < 4 && self.rng.chance(15) {
            block.insert(self.rng.below(block.len() + 1), BlockDim::Squeezed);
        }
        let mut array = vec![];
        let mut blocks = vec![];
        for dim in &mut block {
            let (count, size) = (1 + self.rng.below(3), dim.size());
            if self.words.elements && *dim != BlockDim::Squeezed && self.rng.chance(20) {
                let (low, high) = (self.rng.below(4), self.rng.below(4));
                *dim = BlockDim::Element { size, low, high };
                blocks.push((count, low));
                // The last start is count - 1 - low; the array may be longer, or lie in the padding's middle.
                array.push((count - 1 + size).saturating_sub(low + high).max(1) + self.rng.below(3));
                continue;
            }
            blocks.push((count, 0));
            array.push((count - 1) * size + 1 + self.rng.below(size));
        }
        let declared = array.iter().map(|&n| self.expr(n)).collect();
        let rng = &mut self.rng;
        let map = self
            .b
            .map(|b, indices| blocks.iter().map(|&(count, low)| start(b, rng, indices, count, low)).collect::<Result<_, ()>>());
        let window = Window { array: declared, block, map: map.expect("scalar operations"), pipelining: Pipelining::default() };
        let ty = Builder::window_type(dtype, &window.block).expect("rank 1 to 4");
        let kind = if output { ParamKind::Out(window) } else { ParamKind::In(window) };
        let value = self.b.param(name, ty, kind, line(4));
        self.arrays.push(array.clone());
        (Memory { value, dtype, shape: ty.shape(), writable: output, unwritten: output }, array)
    }

    fn scratch(&mut self, name: &str) {
        let dtype = self.dtype();
        let shape = Shape::new(&self.shape());
        let value = self.b.param(name, Type::Ref(Space::Vmem, dtype, shape), ParamKind::Scratch, line(5));
        self.arrays.push(vec![]);
        self.memories.push(Memory { value, dtype, shape, writable: true, unwritten: false });
    }
}

/// An index below `count`, moved into the padding of so many elements.
fn start(b: &mut Builder, rng: &mut Rng, indices: &[Value], count: usize, low: usize) -> Result<Value, ()> {
    let index = index(b, rng, indices, count)?;
    if low == 0 {
        return Ok(index);
    }
    let low = b.constant(low as i32, line(6));
    b.value(OpKind::Binary(BinaryOp::Sub), &[index, low], line(6)).map_err(|_| ())
}

/// A block index below `count` from the grid indices, none of which is negative.
fn index(b: &mut Builder, rng: &mut Rng, indices: &[Value], count: usize) -> Result<Value, ()> {
    let mut op = |op, x, y| b.value(OpKind::Binary(op), &[x, y], line(6)).map_err(|_| ());
    if indices.is_empty() || rng.chance(15) {
        return Ok(b.constant(rng.below(count) as i32, line(6)));
    }
    let mut sum = rng.pick(indices);
    if rng.chance(30) {
        sum = op(BinaryOp::Add, sum, rng.pick(indices))?;
    }
    let last = b.constant(count as i32 - 1, line(6));
    let blocks = b.constant(count as i32, line(6));
    let mut op = |op, x, y| b.value(OpKind::Binary(op), &[x, y], line(6)).map_err(|_| ());
    let inside = if rng.chance(50) { op(BinaryOp::Min, sum, last)? } else { op(BinaryOp::Rem, sum, blocks)? };
    if rng.chance(20) { op(BinaryOp::Sub, last, inside) } else { Ok(inside) }
}
