//! One small kernel for each operation of the IR, element type and shape that matters to a printer.
//!
//! Rules: operands are distinct values that come from memory or the launch, so that no compiler can
//! fold the operation away; what a kernel computes is stored.

use crate::kernels::{Writer, blocked};
use tpu_kernel::ir::{
    BinaryOp, BlockDim, CompareOp, DType, DotDims, Kernel, Literal, OpKind, Precision, ReduceOp, Semantics, Shape, SizeExpr, Type,
    UnaryOp, Value,
};

/// A kernel with a name and its input arrays.
pub struct Case {
    /// What it does.
    pub name: String,
    /// The kernel.
    pub kernel: Kernel,
    /// Its inputs.
    pub inputs: Vec<(DType, Vec<usize>)>,
}

/// A kernel without a grid: whole arrays in, one array out.
struct Single {
    writer: Writer,
    inputs: Vec<(DType, Vec<usize>)>,
    ins: Vec<Value>,
}

impl Single {
    /// Declares the inputs; the output must be declared by `out` before anything is computed.
    fn new(inputs: &[(DType, &[usize])]) -> Single {
        let mut single = Single { writer: Writer::new("one", "one.rs"), inputs: vec![], ins: vec![] };
        for (at, &(dtype, shape)) in inputs.iter().enumerate() {
            let dims = whole(shape);
            let value = single.writer.input(&format!("x{at}"), dtype, &dims, &vec![None; shape.len()]);
            single.ins.push(value);
            single.inputs.push((dtype, shape.to_vec()));
        }
        single
    }

    fn out(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.writer.output("o", dtype, &whole(shape), &vec![None; shape.len()])
    }

    fn case(self, name: String) -> Case {
        Case { name, kernel: self.writer.finish(), inputs: self.inputs }
    }
}

fn whole(shape: &[usize]) -> Vec<(SizeExpr, BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), blocked(n))).collect()
}

/// A kernel that loads tiles, computes one from them and stores it.
pub fn tiles(
    name: String,
    inputs: &[(DType, &[usize])],
    out: (DType, &[usize]),
    f: impl FnOnce(&mut Writer, &[Value]) -> Value,
) -> Case {
    let mut single = Single::new(inputs);
    let o = single.out(out.0, out.1);
    let loaded: Vec<Value> = single.ins.clone().into_iter().map(|x| single.writer.load(x)).collect();
    let result = f(&mut single.writer, &loaded);
    single.writer.store(o, result);
    single.case(name)
}

/// A kernel that computes a scalar from scalars of the launch and stores it in every element.
fn scalars(name: String, inputs: &[DType], out: DType, f: impl FnOnce(&mut Writer, &[Value]) -> Value) -> Case {
    let mut single = Single::new(&[]);
    let values: Vec<Value> = inputs.iter().enumerate().map(|(at, &d)| single.writer.scalar(&format!("s{at}"), d)).collect();
    let o = single.out(out, &[8, 128]);
    let result = f(&mut single.writer, &values);
    let tile = single.writer.op(OpKind::Broadcast(Shape::new(&[8, 128])), &[result]);
    single.writer.store(o, tile);
    single.case(name)
}

const SHAPES: [&[usize]; 4] = [&[16, 128], &[7, 100], &[1000], &[2, 3, 8, 128]];

/// Every case.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![];
    elementwise(&mut cases);
    casts(&mut cases);
    shapes(&mut cases);
    reductions(&mut cases);
    products(&mut cases);
    memory(&mut cases);
    control(&mut cases);
    cases
}

fn elementwise(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        for shape in SHAPES {
            let text = Shape::new(shape);
            let at = (dtype, shape);
            for &op in UnaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
                let out = (op.result(dtype), shape);
                cases.push(tiles(format!("{op} {dtype} {text}"), &[at], out, |w, x| w.op(OpKind::Unary(op), &[x[0]])));
            }
            for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
                cases.push(tiles(format!("{op} {dtype} {text}"), &[at, at], at, |w, x| w.binary(op, x[0], x[1])));
            }
            for &op in CompareOp::ALL.iter().filter(|op| op.takes(dtype)) {
                let out = (DType::Bool, shape);
                cases.push(tiles(format!("{op} {dtype} {text}"), &[at, at], out, |w, x| w.op(OpKind::Compare(op), &[x[0], x[1]])));
            }
            let inputs = [(DType::Bool, shape), at, at];
            cases.push(tiles(format!("select {dtype} {text}"), &inputs, at, |w, x| w.op(OpKind::Select, x)));
        }
        for &op in UnaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
            cases.push(scalars(format!("{op} {dtype}"), &[dtype], op.result(dtype), |w, x| w.op(OpKind::Unary(op), &[x[0]])));
        }
        for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
            cases.push(scalars(format!("{op} {dtype}"), &[dtype; 2], dtype, |w, x| w.binary(op, x[0], x[1])));
        }
        for &op in CompareOp::ALL.iter().filter(|op| op.takes(dtype)) {
            cases.push(scalars(format!("{op} {dtype}"), &[dtype; 2], DType::Bool, |w, x| w.op(OpKind::Compare(op), x)));
        }
        let inputs = [DType::Bool, dtype, dtype];
        cases.push(scalars(format!("select {dtype}"), &inputs, dtype, |w, x| w.op(OpKind::Select, x)));
    }
}

fn casts(cases: &mut Vec<Case>) {
    for from in DType::ALL {
        for to in DType::ALL {
            for shape in SHAPES {
                let name = format!("cast {from} {to} {}", Shape::new(shape));
                cases.push(tiles(name, &[(from, shape)], (to, shape), |w, x| w.op(OpKind::Cast(to), x)));
            }
            cases.push(scalars(format!("cast {from} {to}"), &[from], to, |w, x| w.op(OpKind::Cast(to), x)));
        }
    }
}

fn shapes(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        let one = Literal::from_f64(dtype, 1.0);
        for shape in SHAPES {
            cases.push(tiles(format!("const {dtype} {}", Shape::new(shape)), &[], (dtype, shape), |w, _| w.filled(one, shape)));
        }
        let broadcasts: [(&[usize], &[usize]); 7] = [
            (&[8, 1], &[8, 128]),
            (&[1, 128], &[8, 128]),
            (&[1, 1], &[7, 100]),
            (&[1], &[256]),
            (&[7, 1], &[7, 100]),
            (&[2, 1, 128], &[2, 8, 128]),
            (&[1, 8, 1], &[3, 8, 128]),
        ];
        for (from, to) in broadcasts {
            let shape = Shape::new(to);
            let name = format!("broadcast {dtype} {} {shape}", Shape::new(from));
            cases.push(tiles(name, &[(dtype, from)], (dtype, to), |w, x| w.op(OpKind::Broadcast(shape), x)));
        }
        let reshapes: [(&[usize], &[usize]); 14] = [
            (&[8, 128], &[1024]),
            (&[1024], &[8, 128]),
            (&[16, 128], &[2, 8, 128]),
            (&[32, 128], &[128, 32]),
            (&[2, 128], &[256, 1]),
            (&[64, 1], &[1, 64]),
            (&[1, 64], &[64]),
            (&[7, 100], &[700]),
            (&[700], &[7, 100]),
            (&[7, 100], &[100, 7]),
            (&[175, 32], &[35, 160]),
            (&[24, 96], &[18, 128]),
            (&[2, 100], &[200, 1]),
            (&[3, 5, 64], &[3, 320]),
        ];
        for (from, to) in reshapes {
            let shape = Shape::new(to);
            let name = format!("reshape {dtype} {} {shape}", Shape::new(from));
            cases.push(tiles(name, &[(dtype, from)], (dtype, to), |w, x| w.op(OpKind::Reshape(shape), x)));
        }
        let transposes: [(&[usize], &[usize]); 5] = [
            (&[16, 128], &[1, 0]),
            (&[7, 100], &[1, 0]),
            (&[2, 8, 128], &[0, 2, 1]),
            (&[2, 8, 128], &[2, 0, 1]),
            (&[2, 3, 8, 128], &[3, 1, 0, 2]),
        ];
        for (from, perm) in transposes {
            let to: Vec<usize> = perm.iter().map(|&d| from[d]).collect();
            let name = format!("transpose {dtype} {} {perm:?}", Shape::new(from));
            cases.push(tiles(name, &[(dtype, from)], (dtype, &to), |w, x| w.op(OpKind::Transpose(perm.to_vec()), x)));
        }
    }
    for shape in SHAPES {
        for axis in 0..shape.len() {
            let kind = OpKind::Iota { shape: Shape::new(shape), axis };
            let at = (DType::I32, shape);
            cases.push(tiles(format!("iota {} {axis}", Shape::new(shape)), &[at], at, |w, x| {
                let index = w.op(kind, &[]);
                w.binary(BinaryOp::Add, index, x[0])
            }));
        }
    }
}

fn reductions(cases: &mut Vec<Case>) {
    for dtype in [DType::F32, DType::Bf16, DType::I32] {
        for &op in ReduceOp::ALL.iter().filter(|op| op.takes(dtype)) {
            for shape in SHAPES {
                for axis in 0..shape.len() {
                    let kept = Shape::new(shape).with_dim(axis, 1);
                    let name = format!("reduce {op} {dtype} {} {axis}", Shape::new(shape));
                    let out = (op.result(dtype), kept.dims());
                    cases.push(tiles(name, &[(dtype, shape)], out, |w, x| w.reduce(op, x[0], axis)));
                }
            }
        }
    }
}

fn products(cases: &mut Vec<Case>) {
    for dtype in [DType::F32, DType::Bf16, DType::I32] {
        let sum = if dtype == DType::I32 { DType::I32 } else { DType::F32 };
        let zero = Literal::from_f64(sum, 0.0);
        for precision in Precision::ALL.iter().copied().filter(|&p| dtype == DType::F32 || p == Precision::Default) {
            for (m, k, n) in [(128, 128, 128), (8, 256, 128), (7, 100, 33)] {
                for (lhs_transposed, rhs_transposed) in [(false, false), (false, true), (true, false), (true, true)] {
                    let a = if lhs_transposed { [k, m] } else { [m, k] };
                    let b = if rhs_transposed { [n, k] } else { [k, n] };
                    let kind = OpKind::Dot { dims: DotDims::matrices(lhs_transposed, rhs_transposed), precision };
                    let name = format!("dot {dtype} {precision} {m}x{k}x{n} {lhs_transposed} {rhs_transposed}");
                    cases.push(tiles(name, &[(dtype, &a), (dtype, &b)], (sum, &[m, n]), |w, x| w.op(kind, x)));
                }
            }
        }
        // A product on either side of a sum with what a loop carries.
        for product_first in [false, true] {
            let at: (DType, &[usize]) = (dtype, &[128, 128]);
            let name = format!("carried dot {dtype} product first {product_first}");
            cases.push(tiles(name, &[at, at], (sum, &[128, 128]), |w, x| {
                let zeros = w.filled(zero, &[128, 128]);
                let bounds = [w.constant(0), w.constant(4), w.constant(1)];
                let ty = w.ty(zeros);
                let args = w.open(&[Type::Scalar(DType::I32), ty]);
                let product = w.dot(x[0], x[1], false, Precision::Default);
                let more = w.filled(zero, &[128, 128]);
                let product = w.binary(BinaryOp::Add, product, more);
                let (a, b) = if product_first { (product, args[1]) } else { (args[1], product) };
                let sum = w.binary(BinaryOp::Add, a, b);
                let body = w.close(&[sum]);
                w.control(OpKind::For, &[&bounds[..], &[zeros]].concat(), vec![body], &[ty])[0]
            }));
        }
    }
}

fn memory(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        for (name, axis, shape) in [("rows", 0, [32, 256]), ("columns", 1, [64, 128])] {
            // The start is a multiple of the part, by the grid index.
            let mut w = Writer::new("part", "one.rs");
            w.grid("i", SizeExpr::Const(2), Semantics::Arbitrary);
            let x = w.input("x", dtype, &whole(&[64, 256]), &[None, None]);
            let mut dims = whole(&shape);
            dims[axis].0 = SizeExpr::Const(2 * shape[axis] as i64);
            let map = if axis == 0 { [Some(0), None] } else { [None, Some(0)] };
            let o = w.output("o", dtype, &dims, &map);
            let id = w.op(OpKind::ProgramId(0), &[]);
            let by = w.constant(shape[axis] as i32);
            let start = w.binary(BinaryOp::Mul, id, by);
            let zero = w.constant(0);
            let starts = if axis == 0 { [start, zero] } else { [zero, start] };
            let part = w.load_at(x, &shape, &starts);
            w.store(o, part);
            cases.push(Case { name: format!("load {name} {dtype}"), kernel: w.finish(), inputs: vec![(dtype, vec![64, 256])] });
        }
        let name = format!("load static {dtype}");
        let mut single = Single::new(&[(dtype, &[64, 256])]);
        let o = single.out(dtype, &[5, 100]);
        let starts = [single.writer.constant(3), single.writer.constant(77)];
        let part = single.writer.load_at(single.ins[0], &[5, 100], &starts);
        single.writer.store(o, part);
        cases.push(single.case(name));
    }
    // The numbers of a launch, and squeezed dimensions.
    let mut w = Writer::new("numbers", "one.rs");
    let m = w.size("m");
    w.grid("i", m.clone(), Semantics::Parallel);
    w.grid("j", SizeExpr::Const(3), Semantics::Arbitrary);
    let dims = [(m, BlockDim::Squeezed), (SizeExpr::Const(8), blocked(8)), (SizeExpr::Const(384), blocked(128))];
    let x = w.input("x", DType::I32, &dims, &[Some(0), None, Some(1)]);
    let o = w.output("o", DType::I32, &dims, &[Some(0), None, Some(1)]);
    let mut tile = w.load(x);
    let m = match w.size("m") {
        SizeExpr::Size(id) => id,
        _ => return,
    };
    for kind in [OpKind::ProgramId(0), OpKind::ProgramId(1), OpKind::NumPrograms(0), OpKind::NumPrograms(1), OpKind::Size(m)] {
        let value = w.op(kind, &[]);
        tile = w.stretched(BinaryOp::Add, tile, value);
    }
    w.store(o, tile);
    cases.push(Case { name: "numbers of a launch".into(), kernel: w.finish(), inputs: vec![(DType::I32, vec![5, 8, 384])] });
}

fn control(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        for shape in [&[16, 128][..], &[128, 1], &[7, 100], &[256]] {
            let at = (dtype, shape);
            let text = Shape::new(shape);
            let mut single = Single::new(&[at, at]);
            let condition = single.writer.scalar("c", DType::Bool);
            let o = single.out(dtype, shape);
            let w = &mut single.writer;
            let branches = [0, 1].map(|at| w.load(single.ins[at]));
            let ty = w.ty(branches[0]);
            let regions = branches.map(|v| {
                w.open(&[]);
                w.close(&[v])
            });
            let chosen = w.control(OpKind::If, &[condition], regions.to_vec(), &[ty])[0];
            w.store(o, chosen);
            cases.push(single.case(format!("if {dtype} {text}")));
            cases.push(tiles(format!("for {dtype} {text}"), &[at, at], at, |w, x| swap_loop(w, OpKind::For, x)));
            cases.push(tiles(format!("while {dtype} {text}"), &[at, at], at, |w, x| swap_loop(w, OpKind::While, x)));
        }
        cases.push(scalars(format!("for {dtype}"), &[dtype; 2], dtype, |w, x| swap_loop(w, OpKind::For, x)));
        cases.push(scalars(format!("while {dtype}"), &[dtype; 2], dtype, |w, x| swap_loop(w, OpKind::While, x)));
    }
}

/// A loop that exchanges its two carried values three times.
fn swap_loop(w: &mut Writer, kind: OpKind, x: &[Value]) -> Value {
    let ty = w.ty(x[0]);
    let index = Type::Scalar(DType::I32);
    let (zero, three, one) = (w.constant(0), w.constant(3), w.constant(1));
    if kind == OpKind::For {
        let args = w.open(&[index, ty, ty]);
        let body = w.close(&[args[2], args[1]]);
        return w.control(kind, &[zero, three, one, x[0], x[1]], vec![body], &[ty, ty])[0];
    }
    let args = w.open(&[index, ty, ty]);
    let go = w.op(OpKind::Compare(CompareOp::Lt), &[args[0], three]);
    let test = w.close(&[go]);
    let args = w.open(&[index, ty, ty]);
    let next = w.binary(BinaryOp::Add, args[0], one);
    let body = w.close(&[next, args[2], args[1]]);
    w.control(kind, &[zero, x[0], x[1]], vec![test, body], &[index, ty, ty])[1]
}
