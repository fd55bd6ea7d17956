//! Kernels built operation by operation, for tests that need a whole one.
//!
//! Rules: each function gives the same kernel every time; a place in it is the number of its operation.

use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DType, DotDims, GridDim, Kernel, Literal, Loc, OpKind, ParamKind, Pipelining,
    Precision, ReduceOp, Region, Semantics, Shape, SizeExpr, SizeId, Space, Type, UnaryOp, Value, Window,
};
use tpu_kernel::launch::Binding;

/// A builder that panics where an operation breaks a rule: these kernels are right.
pub struct Writer {
    builder: Builder,
    file: &'static str,
    line: u32,
}

impl Writer {
    /// An empty kernel of that name, with places in `file`.
    pub fn new(name: &str, file: &'static str) -> Writer {
        let loc = Loc { file: file.into(), line: 1, column: 1 };
        Writer { builder: Builder::new(name, loc), file, line: 1 }
    }

    fn loc(&mut self) -> Loc {
        self.line += 1;
        Loc { file: self.file.into(), line: self.line, column: 5 }
    }

    /// A named size as an expression.
    pub fn size(&mut self, name: &str) -> SizeExpr {
        SizeExpr::Size(self.builder.size(name))
    }

    /// A grid dimension.
    pub fn grid(&mut self, name: &str, extent: SizeExpr, semantics: Semantics) {
        let loc = self.loc();
        self.builder.grid_dim(GridDim { name: name.into(), extent, semantics, loc });
    }

    fn window(&mut self, name: &str, dtype: DType, dims: Dims<'_>, map: Map<'_>, output: bool) -> Value {
        let (array, block): (Vec<SizeExpr>, Vec<BlockDim>) = dims.iter().cloned().unzip();
        let line = self.line;
        let region = self.builder.map(|b, index| {
            let mut zero = || b.constant(0, Loc { file: self.file.into(), line, column: 9 });
            Ok::<_, std::convert::Infallible>(map.iter().map(|d| d.map_or_else(&mut zero, |d| index[d])).collect())
        });
        let Ok(map) = region;
        let ty = Builder::window_type(dtype, &block).expect("a block of rank 1 to 4");
        let window = Window { array, block, map, pipelining: Pipelining::default() };
        let kind = if output { ParamKind::Out(window) } else { ParamKind::In(window) };
        let loc = self.loc();
        self.builder.param(name, ty, kind, loc)
    }

    /// An input; `map` names the grid dimension of each block index, `None` is block 0.
    pub fn input(&mut self, name: &str, dtype: DType, dims: Dims<'_>, map: Map<'_>) -> Value {
        self.window(name, dtype, dims, map, false)
    }

    /// An output, as [`input`](Self::input).
    pub fn output(&mut self, name: &str, dtype: DType, dims: Dims<'_>, map: Map<'_>) -> Value {
        self.window(name, dtype, dims, map, true)
    }

    /// A scalar of the launch.
    pub fn scalar(&mut self, name: &str, dtype: DType) -> Value {
        let loc = self.loc();
        self.builder.param(name, Type::Scalar(dtype), ParamKind::Scalar, loc)
    }

    /// Memory beside the windows.
    pub fn scratch(&mut self, name: &str, dtype: DType, shape: Shape) -> Value {
        let loc = self.loc();
        self.builder.param(name, Type::Ref(Space::Vmem, dtype, shape), ParamKind::Scratch, loc)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.builder.ty(value)
    }

    /// Any operation with a result.
    pub fn op(&mut self, kind: OpKind, operands: &[Value]) -> Value {
        let loc = self.loc();
        self.builder.value(kind, operands, loc).expect("a well-typed operation")
    }

    /// All results of an operation.
    pub fn results(&mut self, kind: OpKind, operands: &[Value]) -> Vec<Value> {
        let loc = self.loc();
        self.builder.results(kind, operands, loc).expect("a well-typed operation")
    }

    /// An operation without a result.
    pub fn effect(&mut self, kind: OpKind, operands: &[Value]) {
        let loc = self.loc();
        self.builder.op(kind, operands, loc).expect("a well-typed operation");
    }

    /// A scalar constant.
    pub fn constant(&mut self, literal: impl Into<Literal>) -> Value {
        let loc = self.loc();
        self.builder.constant(literal, loc)
    }

    /// A constant in every element.
    pub fn filled(&mut self, literal: impl Into<Literal>, shape: &[usize]) -> Value {
        let constant = self.constant(literal);
        self.op(OpKind::Broadcast(Shape::new(shape)), &[constant])
    }

    /// Elementwise, two operands.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.op(OpKind::Binary(op), &[a, b])
    }

    /// Elementwise, the second operand stretched to the shape of the first.
    pub fn stretched(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let shape = self.ty(a).shape();
        let b = self.op(OpKind::Broadcast(shape), &[b]);
        self.binary(op, a, b)
    }

    /// A whole window or scratch.
    pub fn load(&mut self, memory: Value) -> Value {
        let shape = self.ty(memory).shape();
        let zero = self.constant(0);
        let starts = vec![zero; shape.rank()];
        self.load_at(memory, shape.dims(), &starts)
    }

    /// A part of a window or scratch.
    pub fn load_at(&mut self, memory: Value, shape: &[usize], starts: &[Value]) -> Value {
        let operands = [&[memory], starts].concat();
        self.op(OpKind::Load(Shape::new(shape)), &operands)
    }

    /// Stores to the corner of a window or scratch.
    pub fn store(&mut self, memory: Value, tile: Value) {
        let zero = self.constant(0);
        let rank = self.ty(memory).shape().rank();
        let operands = [vec![memory, tile], vec![zero; rank]].concat();
        let loc = self.loc();
        self.builder.op(OpKind::Store, &operands, loc).expect("a well-typed store");
    }

    /// Stores from those starts on.
    pub fn store_at(&mut self, memory: Value, tile: Value, starts: &[Value]) {
        self.effect(OpKind::Store, &[&[memory, tile], starts].concat());
    }

    /// Opens a region.
    pub fn open(&mut self, args: &[Type]) -> Vec<Value> {
        self.builder.begin_region(args)
    }

    /// Closes the innermost region.
    pub fn close(&mut self, yields: &[Value]) -> Region {
        self.builder.end_region(yields)
    }

    /// Control flow over closed regions.
    pub fn control(&mut self, kind: OpKind, operands: &[Value], regions: Vec<Region>, results: &[Type]) -> Vec<Value> {
        let loc = self.loc();
        self.builder.control(kind, operands, regions, results, loc)
    }

    /// Where the index along `axis` plus `start` is below the named size.
    pub fn below(&mut self, shape: &[usize], axis: usize, start: Value, size: SizeId) -> Value {
        let index = self.op(OpKind::Iota { shape: Shape::new(shape), axis }, &[]);
        let index = self.stretched(BinaryOp::Add, index, start);
        let size = self.op(OpKind::Size(size), &[]);
        let size = self.op(OpKind::Broadcast(Shape::new(shape)), &[size]);
        self.op(OpKind::Compare(CompareOp::Lt), &[index, size])
    }

    /// `x` where the mask holds, else a constant.
    pub fn masked(&mut self, mask: Value, x: Value, other: impl Into<Literal>) -> Value {
        let shape = self.ty(x).shape();
        let other = self.filled(other, shape.dims());
        self.op(OpKind::Select, &[mask, x, other])
    }

    /// A matrix product, the right operand transposed or not.
    pub fn dot(&mut self, a: Value, b: Value, rhs_transposed: bool, precision: Precision) -> Value {
        self.op(OpKind::Dot { dims: DotDims::matrices(false, rhs_transposed), precision }, &[a, b])
    }

    /// A reduction over one axis.
    pub fn reduce(&mut self, op: ReduceOp, x: Value, axis: usize) -> Value {
        self.op(OpKind::Reduce { op, axis }, &[x])
    }

    /// The kernel.
    pub fn finish(self) -> Kernel {
        self.builder.finish().expect("no open region")
    }
}

/// Size of the array and block along each dimension.
pub type Dims<'a> = &'a [(SizeExpr, BlockDim)];
/// The grid dimension that gives each block index.
pub type Map<'a> = &'a [Option<usize>];

/// `block` elements.
pub fn blocked(block: usize) -> BlockDim {
    BlockDim::Blocked(block)
}

fn ceil(size: &SizeExpr, block: usize) -> SizeExpr {
    size.clone() / SizeExpr::Const(block as i64)
}

/// Softmax over rows that fit one block of `bn` columns, of which `n` hold data.
pub fn softmax(bm: usize, bn: usize) -> Kernel {
    let mut w = Writer::new("softmax", "softmax.rs");
    let (m, n) = (w.size("m"), w.size("n"));
    w.grid("i", ceil(&m, bm), Semantics::Parallel);
    let dims = [(m, blocked(bm)), (n, blocked(bn))];
    let x = w.input("x", DType::F32, &dims, &[Some(0), None]);
    let o = w.output("o", DType::F32, &dims, &[Some(0), None]);

    let tile = w.load(x);
    let zero = w.constant(0);
    let inside = w.below(&[bm, bn], 1, zero, SizeId(1));
    let tile = w.masked(inside, tile, f32::NEG_INFINITY);
    let highest = w.reduce(ReduceOp::Max, tile, 1);
    let shifted = w.stretched(BinaryOp::Sub, tile, highest);
    let e = w.op(OpKind::Unary(UnaryOp::Exp), &[shifted]);
    let sum = w.reduce(ReduceOp::Sum, e, 1);
    let result = w.stretched(BinaryOp::Div, e, sum);
    w.store(o, result);
    w.finish()
}

/// The running maximum, running sum and accumulator of online softmax.
#[derive(Clone, Copy)]
struct Online {
    max: Value,
    sum: Value,
    acc: Value,
}

/// One block of keys and values, the first of which is key `start`.
fn online(w: &mut Writer, q: Value, k: Value, v: Value, start: Value, tokens: SizeId, before: Online) -> Online {
    let (bq, bk) = (w.ty(q).shape().dim(0), w.ty(k).shape().dim(0));
    let scores = w.dot(q, k, true, Precision::Highest);
    let keys = w.below(&[bq, bk], 1, start, tokens);
    let scores = w.masked(keys, scores, f32::NEG_INFINITY);
    let highest = w.reduce(ReduceOp::Max, scores, 1);
    let max = w.binary(BinaryOp::Max, before.max, highest);
    let shifted = w.stretched(BinaryOp::Sub, scores, max);
    let p = w.op(OpKind::Unary(UnaryOp::Exp), &[shifted]);
    let shrunk = w.binary(BinaryOp::Sub, before.max, max);
    let alpha = w.op(OpKind::Unary(UnaryOp::Exp), &[shrunk]);
    let part = w.reduce(ReduceOp::Sum, p, 1);
    let sum = w.binary(BinaryOp::Mul, before.sum, alpha);
    let sum = w.binary(BinaryOp::Add, sum, part);
    let shape = w.ty(v).shape();
    let rows = w.below(shape.dims(), 0, start, tokens);
    let v = w.masked(rows, v, 0.0f32);
    let product = w.dot(p, v, false, Precision::Highest);
    let acc = w.stretched(BinaryOp::Mul, before.acc, alpha);
    // The product first: the printer must turn the sum round.
    let acc = w.binary(BinaryOp::Add, product, acc);
    Online { max, sum, acc }
}

fn scaled_queries(w: &mut Writer, q: Value) -> Value {
    let tile = w.load(q);
    let scale = w.constant(1.0 / (w.ty(tile).shape().dim(1) as f32).sqrt());
    w.stretched(BinaryOp::Mul, tile, scale)
}

/// Flash attention, a loop over blocks of keys that carries the state; `tk` holds all keys.
pub fn attention_loop(bq: usize, bk: usize, tk: usize, d: usize) -> Kernel {
    let mut w = Writer::new("attention_loop", "attention_loop.rs");
    let [h, t, dim] = ["h", "t", "d"].map(|name| w.size(name));
    let tokens = SizeId(1);
    w.grid("head", h.clone(), Semantics::Parallel);
    w.grid("i", ceil(&t, bq), Semantics::Parallel);
    let dims = |block: usize| [(h.clone(), BlockDim::Squeezed), (t.clone(), blocked(block)), (dim.clone(), blocked(d))];
    let q = w.input("q", DType::F32, &dims(bq), &[Some(0), Some(1), None]);
    let k = w.input("k", DType::F32, &dims(tk), &[Some(0), None, None]);
    let v = w.input("v", DType::F32, &dims(tk), &[Some(0), None, None]);
    let o = w.output("o", DType::F32, &dims(bq), &[Some(0), Some(1), None]);

    let queries = scaled_queries(&mut w, q);
    let init = [w.filled(f32::NEG_INFINITY, &[bq, 1]), w.filled(0.0f32, &[bq, 1]), w.filled(0.0f32, &[bq, d])];
    let (zero, one, by) = (w.constant(0), w.constant(1), w.constant(bk as i32));
    let all = w.op(OpKind::Size(tokens), &[]);
    let up = w.constant(bk as i32 - 1);
    let all = w.binary(BinaryOp::Add, all, up);
    let blocks = w.binary(BinaryOp::Div, all, by);
    let types = init.map(|v| w.ty(v));
    let args = w.open(&[vec![Type::Scalar(DType::I32)], types.to_vec()].concat());
    let start = w.binary(BinaryOp::Mul, args[0], by);
    let keys = w.load_at(k, &[bk, d], &[start, zero]);
    let values = w.load_at(v, &[bk, d], &[start, zero]);
    let before = Online { max: args[1], sum: args[2], acc: args[3] };
    let after = online(&mut w, queries, keys, values, start, tokens, before);
    let body = w.close(&[after.max, after.sum, after.acc]);
    let operands = [vec![zero, blocks, one], init.to_vec()].concat();
    let results = w.control(OpKind::For, &operands, vec![body], &types);
    let result = w.stretched(BinaryOp::Div, results[2], results[1]);
    w.store(o, result);
    w.finish()
}

/// A copy of the block with that index, of an array of four blocks.
pub fn fixed_block(index: i32) -> Kernel {
    let mut kernel = {
        let mut w = Writer::new("fixed", "fixed.rs");
        w.grid("i", SizeExpr::Const(4), Semantics::Arbitrary);
        let dims = [(SizeExpr::Const(32), blocked(8)), (SizeExpr::Const(128), blocked(128))];
        let x = w.input("x", DType::F32, &dims, &[None, None]);
        let o = w.output("o", DType::F32, &dims, &[Some(0), None]);
        let tile = w.load(x);
        w.store(o, tile);
        w.finish()
    };
    if let ParamKind::In(window) = &mut kernel.params[0].kind {
        window.map.ops[0].kind = OpKind::Const(Literal::from(index));
    }
    kernel
}

/// What a launch of [`fixed_block`] binds, whatever its index.
pub fn fixed_block_binding() -> Binding {
    Binding { cores: 1, sizes: vec![], grid: vec![4], arrays: vec![vec![32, 128]; 2] }
}
