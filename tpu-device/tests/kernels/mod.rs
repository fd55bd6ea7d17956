//! Kernels built by hand, for the tests of the runtime: each is a function from the element types of its
//! inputs to IR, with a configuration and a counter of how often it was built.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tpu_kernel::Error;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DType, GridDim, Kernel, Loc, OpKind, ParamKind, Pipelining, Semantics, Shape, SizeExpr,
    Type, Value, Window,
};
use tpu_kernel::launch::{Allow, Config, LaunchError, Launchable};

/// Builds the IR for a configuration and the element types of the inputs.
pub(crate) type Stage = fn(&Config, &[DType]) -> Result<Kernel, Error>;

/// A kernel built by hand. Clones share the counter.
#[derive(Clone)]
pub(crate) struct Handmade {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) config: Config,
    pub(crate) stage: Stage,
    pub(crate) staged: Arc<AtomicUsize>,
}

impl Handmade {
    pub(crate) fn new(name: &'static str, path: &'static str, stage: Stage) -> Handmade {
        let config = Config { blocks: vec![("BN", 128)], allow: vec![Allow::BlockShape], ..Config::default() };
        Handmade { name, path, config, stage, staged: Arc::default() }
    }

    pub(crate) fn block(mut self, elements: usize) -> Handmade {
        self.config.blocks = vec![("BN", elements)];
        self
    }

    pub(crate) fn size(mut self, name: &'static str, elements: usize) -> Handmade {
        self.config.sizes = vec![(name, elements)];
        self
    }

    pub(crate) fn allow(mut self, rule: Allow) -> Handmade {
        self.config.allow.push(rule);
        self
    }

    pub(crate) fn times_staged(&self) -> usize {
        self.staged.load(SeqCst)
    }
}

impl Launchable for Handmade {
    fn name(&self) -> &'static str {
        self.name
    }
    fn path(&self) -> &'static str {
        self.path
    }
    fn config(&self) -> &Config {
        &self.config
    }
    fn stage(&self, inputs: &[DType]) -> Result<Kernel, Error> {
        self.staged.fetch_add(1, SeqCst);
        (self.stage)(&self.config, inputs)
    }
}

/// `o[n] = x[n] + y[n]` for numbers, `x & y` for bools.
pub(crate) fn add() -> Handmade {
    Handmade::new("add", "tests::add", |config, inputs| {
        let mut b = Rows::new("add", config);
        let dtype = first(inputs, "add", 2)?;
        let (x, y) = (b.input("x", dtype), b.input("y", dtype));
        let o = b.output("o", dtype);
        let (x, y) = (b.load(x), b.load(y));
        let op = if dtype == DType::Bool { BinaryOp::And } else { BinaryOp::Add };
        let sum = b.op(OpKind::Binary(op), &[x, y]);
        b.store(o, sum);
        Ok(b.finish())
    })
}

/// `o[n] = x[n] * factor`, the factor a scalar of f32.
pub(crate) fn scale() -> Handmade {
    Handmade::new("scale", "tests::scale", |config, _| {
        let mut b = Rows::new("scale", config);
        let x = b.input("x", DType::F32);
        let factor = b.scalar("factor", DType::F32);
        let o = b.output("o", DType::F32);
        let x = b.load(x);
        let factor = b.op(OpKind::Broadcast(b.shape()), &[factor]);
        let product = b.op(OpKind::Binary(BinaryOp::Mul), &[x, factor]);
        b.store(o, product);
        Ok(b.finish())
    })
}

/// `larger[n] = max(x[n], y[n])` and `which[n] = x[n] > y[n]`: two outputs, of two types.
pub(crate) fn larger() -> Handmade {
    Handmade::new("larger", "tests::larger", |config, inputs| {
        let mut b = Rows::new("larger", config);
        let dtype = first(inputs, "larger", 2)?;
        if dtype == DType::Bool {
            let loc = Loc::UNKNOWN;
            return Err(LaunchError::ElementType { operand: "x".into(), want: "a number".into(), got: dtype, loc }.into());
        }
        let (x, y) = (b.input("x", dtype), b.input("y", dtype));
        let (larger, which) = (b.output("larger", dtype), b.output("which", DType::Bool));
        let (x, y) = (b.load(x), b.load(y));
        let max = b.op(OpKind::Binary(BinaryOp::Max), &[x, y]);
        let greater = b.op(OpKind::Compare(CompareOp::Gt), &[x, y]);
        b.store(larger, max);
        b.store(which, greater);
        Ok(b.finish())
    })
}

/// `o[n] = 0, 1, 2 …` within each block; no input binds `n`.
pub(crate) fn count() -> Handmade {
    Handmade::new("count", "tests::count", |config, _| {
        let mut b = Rows::new("count", config);
        let o = b.output("o", DType::I32);
        let iota = b.op(OpKind::Iota { shape: b.shape(), axis: 0 }, &[]);
        b.store(o, iota);
        Ok(b.finish())
    })
}

/// Writes x to block 0 of `o[n]` and to no other.
pub(crate) fn first_block() -> Handmade {
    Handmade::new("first_block", "tests::first_block", |config, inputs| {
        let mut b = Rows::with_map("first_block", config, |b, _| b.constant(0, Loc::UNKNOWN));
        let dtype = first(inputs, "first_block", 1)?;
        let x = b.input("x", dtype);
        let o = b.output("o", dtype);
        let x = b.load(x);
        b.store(o, x);
        Ok(b.finish())
    })
}

/// Reads element `at` (a scalar) of each block of x, unchecked until it runs.
pub(crate) fn element() -> Handmade {
    Handmade::new("element", "tests::element", |config, _| {
        let mut b = Rows::new("element", config);
        let x = b.input("x", DType::F32);
        let at = b.scalar("at", DType::I32);
        let o = b.output("o", DType::F32);
        let one = b.op(OpKind::Load(Shape::new(&[1])), &[x, at]);
        let all = b.op(OpKind::Broadcast(b.shape()), &[one]);
        b.store(o, all);
        Ok(b.finish())
    })
}

/// The element type of the first input.
fn first(inputs: &[DType], kernel: &str, want: usize) -> Result<DType, Error> {
    let none = LaunchError::ArgumentCount { kernel: kernel.to_string(), want, got: 0, loc: Loc::UNKNOWN };
    Ok(*inputs.first().ok_or(none)?)
}

/// A kernel over arrays of shape `[n]`, in blocks of `BN`, a grid step a block.
struct Rows {
    b: Builder,
    n: SizeExpr,
    block: usize,
    map: fn(&mut Builder, Value) -> Value,
}

impl Rows {
    fn new(name: &str, config: &Config) -> Rows {
        Rows::with_map(name, config, |_, i| i)
    }

    /// `map` gives the block index for a grid index.
    fn with_map(name: &str, config: &Config, map: fn(&mut Builder, Value) -> Value) -> Rows {
        let mut b = Builder::new(name, Loc::UNKNOWN);
        let n = SizeExpr::from(b.size("n"));
        let block = config.blocks[0].1;
        let extent = n.clone() / SizeExpr::from(block as i64);
        b.grid_dim(GridDim { name: "i".into(), extent, semantics: Semantics::Arbitrary, loc: Loc::UNKNOWN });
        Rows { b, n, block, map }
    }

    fn shape(&self) -> Shape {
        Shape::new(&[self.block])
    }

    fn window(&mut self, dtype: DType) -> (Type, Window) {
        let block = vec![BlockDim::Blocked(self.block)];
        let index = self.map;
        let map = self.b.map(|b, grid| Ok::<_, Error>(vec![index(b, grid[0])])).unwrap();
        let ty = Builder::window_type(dtype, &block).unwrap();
        (ty, Window { array: vec![self.n.clone()], block, map, pipelining: Pipelining::default() })
    }

    fn input(&mut self, name: &str, dtype: DType) -> Value {
        let (ty, window) = self.window(dtype);
        self.b.param(name, ty, ParamKind::In(window), Loc::UNKNOWN)
    }

    fn output(&mut self, name: &str, dtype: DType) -> Value {
        let (ty, window) = self.window(dtype);
        self.b.param(name, ty, ParamKind::Out(window), Loc::UNKNOWN)
    }

    fn scalar(&mut self, name: &str, dtype: DType) -> Value {
        self.b.param(name, Type::Scalar(dtype), ParamKind::Scalar, Loc::UNKNOWN)
    }

    fn op(&mut self, kind: OpKind, operands: &[Value]) -> Value {
        self.b.value(kind, operands, Loc::UNKNOWN).unwrap()
    }

    fn load(&mut self, memory: Value) -> Value {
        let zero = self.b.constant(0, Loc::UNKNOWN);
        self.op(OpKind::Load(self.shape()), &[memory, zero])
    }

    fn store(&mut self, memory: Value, tile: Value) {
        let zero = self.b.constant(0, Loc::UNKNOWN);
        self.b.op(OpKind::Store, &[memory, tile, zero], Loc::UNKNOWN).unwrap();
    }

    fn finish(self) -> Kernel {
        self.b.finish().unwrap()
    }
}
