//! What libtpu failed on in random kernels: the legalised forms give the same numbers, and libtpu takes them.
//!
//! `LIBTPU_PATH` names libtpu.so; without it only the numbers are compared.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, CompareOp, DType, Kernel, Literal, Op, OpKind, Param, ReduceOp, Region, Shape, SizeExpr, Type, UnaryOp,
    Value,
};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::legalise;
use tpu_kernel::mosaic;
use tpu_tests::executors::{Array, same};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::Writer;
use tpu_tests::legalised::{Original, forms};
use tpu_tests::libtpu::{accepted, judge, library};

fn whole(shape: &[usize]) -> Vec<(SizeExpr, BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect()
}

fn input(w: &mut Writer, name: &str, dtype: DType, shape: &[usize]) -> Value {
    w.input(name, dtype, &whole(shape), &vec![None; shape.len()])
}

fn output(w: &mut Writer, name: &str, dtype: DType, shape: &[usize]) -> Value {
    w.output(name, dtype, &whole(shape), &vec![None; shape.len()])
}

/// Whole arrays, one block each.
fn binding(kernel: &Kernel) -> Binding {
    let block = |param: &Param| param.window().map_or(vec![], |w| w.block.iter().map(|b| b.size()).collect::<Vec<_>>());
    Binding { cores: 1, sizes: vec![], grid: vec![], arrays: kernel.params.iter().map(block).collect() }
}

/// Operations of that name in the kernel as it is for v5e.
fn count(kernel: &Kernel, mnemonic: &str) -> usize {
    fn within(region: &Region, mnemonic: &str) -> usize {
        let nested = |op: &Op| op.regions.iter().map(|r| within(r, mnemonic)).sum::<usize>();
        region.ops.iter().map(|op| usize::from(op.kind.mnemonic() == mnemonic) + nested(op)).sum()
    }
    within(&legalise(kernel, &Chip::V5E).expect("a form").body, mnemonic)
}

/// The same numbers on every chip.
fn same_numbers(kernel: &Kernel) {
    let name = &kernel.name;
    let binding = binding(kernel);
    let (forms, refusals) = forms(kernel);
    assert!(refusals.is_empty(), "{name}: {refusals:?}");
    for seed in 0..2 {
        let mut rng = Rng::new(seed);
        let array = |(at, param): (usize, &Param)| {
            let shape: &[usize] = &binding.arrays[at];
            Array::new(param.ty.dtype(), shape, (0..shape.iter().product()).map(|_| rng.literal(param.ty.dtype(), 10)))
        };
        let inputs: Vec<Array> = kernel.inputs().map(array).collect();
        let scalars = kernel.params.iter().filter(|p| p.ty.is_scalar());
        let scalars: Vec<Literal> = scalars.map(|p| Literal::from_int(p.ty.dtype(), seed as i64)).collect();
        let original = Original::run(kernel, &binding, &inputs, &scalars);
        assert!(original.outputs().is_ok(), "{name}: {:?}", original.outputs());
        for (legal, chips) in &forms {
            original.against(legal, &|_, _, a, b| same(a, b)).unwrap_or_else(|e| panic!("{name} on {chips:?}: {e}"));
        }
    }
}

/// The same numbers on every chip, and libtpu takes what is printed.
fn hold(kernels: &[Kernel]) {
    kernels.iter().for_each(same_numbers);
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let text = |kernel: &Kernel| mosaic::stablehlo(kernel, &binding(kernel), chip).expect("a text");
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, kernels.iter().map(text).collect());
        for (kernel, verdict) in kernels.iter().zip(&verdicts) {
            assert!(accepted(verdict), "{} on {}: {verdict:?}", kernel.name, chip.name);
        }
    }
}

/// A ragged packed memory that `f` stores to, with what it has just loaded from it, between stores of the same kind.
fn between(name: &str, f: impl FnOnce(&mut Writer, Value, Value)) -> Kernel {
    let mut w = Writer::new(name, "failures.rs");
    let a = input(&mut w, "a", DType::I16, &[7, 33]);
    let b = input(&mut w, "b", DType::Bf16, &[7, 33]);
    let x = input(&mut w, "x", DType::Bf16, &[71, 1]);
    let [oa, ob] = [("oa", DType::I16), ("ob", DType::Bf16)].map(|(name, dtype)| output(&mut w, name, dtype, &[7, 33]));
    let o = output(&mut w, "o", DType::Bf16, &[71, 1]);
    let memory = w.scratch("kept", DType::Bf16, Shape::new(&[71, 1]));
    let (a, b, x) = (w.load(a), w.load(b), w.load(x));
    w.store(memory, x);
    w.store(oa, a);
    let there = w.load(memory);
    f(&mut w, memory, there);
    w.store(ob, b);
    let kept = w.load(memory);
    w.store(o, kept);
    w.finish()
}

/// A counted loop that carries nothing.
fn thrice(w: &mut Writer, f: impl FnOnce(&mut Writer)) {
    let bounds = [0, 3, 1].map(|n| w.constant(n));
    w.open(&[Type::Scalar(DType::I32)]);
    f(w);
    let body = w.close(&[]);
    w.control(OpKind::For, &bounds, vec![body], &[]);
}

#[test]
fn stores_that_change_nothing_are_left_out() {
    let plain = between("plain", |w, memory, there| w.store(memory, there));
    let looped = between("looped", |w, memory, there| {
        thrice(w, |w| {
            w.store(memory, there);
            thrice(w, |w| w.store(memory, there));
        });
    });
    let turned = between("turned", |w, memory, there| {
        let row = w.op(OpKind::Transpose(vec![1, 0]), &[there]);
        let line = w.op(OpKind::Reshape(Shape::new(&[71])), &[row]);
        let row = w.op(OpKind::Reshape(Shape::new(&[1, 71])), &[line]);
        let column = w.op(OpKind::Transpose(vec![1, 0]), &[row]);
        w.store(memory, column);
    });
    let stored_over = between("stored_over", |w, memory, there| {
        let start = [6, 0].map(|n| w.constant(n));
        let part = w.filled(Literal::from_f64(DType::Bf16, 2.5), &[2, 1]);
        w.store_at(memory, part, &start);
        w.store(memory, there);
    });
    let kernels = [plain, looped, turned, stored_over];
    for kernel in &kernels {
        assert_eq!(count(kernel, "store"), 4, "{}", kernel.name);
    }
    hold(&kernels);
}

#[test]
fn stores_that_change_something_stay() {
    let part = |w: &mut Writer, memory: Value| {
        let start = [6, 0].map(|n| w.constant(n));
        let part = w.filled(Literal::from_f64(DType::Bf16, 2.5), &[2, 1]);
        w.store_at(memory, part, &start);
    };
    let seen = between("seen", |w, memory, there| {
        part(w, memory);
        let now = w.load(memory);
        w.store(memory, there);
        let more = w.binary(BinaryOp::Add, now, there);
        w.store(memory, more);
        part(w, memory);
    });
    // The loop comes back with another value in the memory.
    let again = between("again", |w, memory, there| {
        thrice(w, |w| {
            w.store(memory, there);
            let twice = w.binary(BinaryOp::Add, there, there);
            let now = w.load(memory);
            let more = w.binary(BinaryOp::Add, now, twice);
            w.store(memory, more);
        });
    });
    for (kernel, stores) in [(seen, 7), (again, 6)] {
        assert_eq!(count(&kernel, "store"), stores, "{}", kernel.name);
        same_numbers(&kernel);
    }
}

/// An output whose only store is of what it holds: its IR has the store, the text none.
#[test]
fn the_last_store_to_an_output_is_not_printed() {
    let mut w = Writer::new("last", "failures.rs");
    let a = input(&mut w, "a", DType::I16, &[7, 33]);
    let [o, same] = ["o", "same"].map(|name| output(&mut w, name, DType::I16, &[7, 33]));
    let a = w.load(a);
    w.store(o, a);
    let there = w.load(same);
    w.store(same, there);
    let kernel = w.finish();
    assert_eq!(count(&kernel, "store"), 2);
    let text = mosaic::print(&kernel, &binding(&kernel), &Chip::V5E).expect("a text");
    assert_eq!(text.matches("vector.store").count(), 1, "{text}");
    hold(&[kernel]);
}

#[test]
fn parts_from_outside_cross_a_branch_as_words() {
    let kernel = |dtype: DType| {
        let mut w = Writer::new("passed", "failures.rs");
        let c = w.scalar("c", DType::Bool);
        let [x, y] = [("x", 3), ("y", 8)].map(|(name, n)| input(&mut w, name, dtype, &[n, 7, 8, 1]));
        let o = output(&mut w, "o", dtype, &[11, 7, 8, 1]);
        let (x, y) = (w.load(x), w.load(y));
        w.open(&[]);
        let more = w.op(OpKind::Unary(UnaryOp::Neg), &[y]);
        let joined = w.op(OpKind::Concat { axis: 0 }, &[x, more]);
        let yes = w.close(&[joined]);
        w.open(&[]);
        let constant = w.filled(Literal::from_f64(dtype, 1.0), &[11, 7, 8, 1]);
        let no = w.close(&[constant]);
        let ty = w.ty(joined);
        let chosen = w.control(OpKind::If, &[c], vec![yes, no], &[ty])[0];
        w.store(o, chosen);
        let kernel = w.finish();
        assert!(count(&kernel, "cast") >= 2, "words cross: {dtype}");
        kernel
    };
    hold(&[DType::Bf16, DType::I16, DType::F8E5M2].map(kernel));
}

/// Carried values that come to be kept element by element in the second pass over a body: one follows another that is at
/// first a constant.
#[test]
fn carried_constants_begin_with_a_place_for_each_element() {
    let kernel = |shape: [usize; 2]| {
        let mut w = Writer::new("carried", "failures.rs");
        let x = input(&mut w, "x", DType::I32, &shape);
        let o = output(&mut w, "o", DType::I32, &shape);
        let x = w.load(x);
        let ty = w.ty(x);
        let types = [Type::Scalar(DType::I32), ty, ty, ty];
        let (zero, one) = (w.constant(0), w.constant(1));
        let [a, b, c] = [7, 0, 1].map(|n| w.filled(n, &shape));
        let args = w.open(&types);
        let limit = w.constant(4);
        let goes_on = w.op(OpKind::Compare(CompareOp::Lt), &[args[0], limit]);
        let test = w.close(&[goes_on]);
        let args = w.open(&types);
        let next = w.binary(BinaryOp::Add, args[0], one);
        let ones = w.op(OpKind::Unary(UnaryOp::Popcount), &[args[3]]);
        let body = w.close(&[next, ones, args[1], x]);
        let results = w.control(OpKind::While, &[zero, a, b, c], vec![test, body], &types);
        w.store(o, results[2]);
        let kernel = w.finish();
        assert!(count(&kernel, "iota") >= 2, "{shape:?}");
        kernel
    };
    hold(&[[1, 1], [1, 3], [8, 128]].map(kernel));
}

/// A column of every second row, repeated.
#[test]
fn columns_out_of_reshapes_are_repeated() {
    let mut w = Writer::new("column", "failures.rs");
    let x = input(&mut w, "x", DType::I32, &[5, 1]);
    let o = output(&mut w, "o", DType::I32, &[3, 33]);
    let x = w.load(x);
    let picked = OpKind::Slice { starts: vec![0, 0], shape: Shape::new(&[3, 1]), strides: vec![2, 1] };
    let picked = w.op(picked, &[x]);
    let wide = w.op(OpKind::Broadcast(Shape::new(&[3, 33])), &[picked]);
    let sum = w.reduce(ReduceOp::Sum, wide, 1);
    let wide = w.op(OpKind::Broadcast(Shape::new(&[3, 33])), &[sum]);
    w.store(o, wide);
    hold(&[w.finish()]);
}

/// On v4, which has no such reshape, rows become a column by way of one row.
#[test]
fn long_columns_fit_into_memory() {
    let mut w = Writer::new("long", "failures.rs");
    let x = input(&mut w, "x", DType::I16, &[16, 256]);
    let o = output(&mut w, "o", DType::I16, &[4096, 1]);
    let x = w.load(x);
    let column = w.op(OpKind::Reshape(Shape::new(&[4096, 1])), &[x]);
    w.store(o, column);
    hold(&[w.finish()]);
}

/// Branches whose sides only move what comes from outside: along a leading dimension libtpu renames registers for that.
#[test]
fn branches_that_only_move() {
    let kernel = |name: &str, dtype: DType, side: &dyn Fn(&mut Writer, Value) -> Value, other: bool| {
        let mut w = Writer::new(name, "failures.rs");
        let x = input(&mut w, "x", dtype, &[2, 8, 128]);
        let o = output(&mut w, "o", dtype, &[2, 8, 128]);
        let c = w.scalar("c", DType::I32);
        let t = w.load(x);
        let zero = w.constant(0);
        let holds = w.op(OpKind::Compare(CompareOp::Gt), &[c, zero]);
        w.open(&[]);
        let moved = side(&mut w, t);
        let then = w.close(&[moved]);
        w.open(&[]);
        let constant = if other { w.filled(Literal::from_int(dtype, 3), &[2, 8, 128]) } else { t };
        let otherwise = w.close(&[constant]);
        let results = w.control(OpKind::If, &[holds], vec![then, otherwise], &[Type::Tile(dtype, Shape::new(&[2, 8, 128]))]);
        w.store(o, results[0]);
        w.finish()
    };
    let roll = |w: &mut Writer, t: Value| {
        let one = w.constant(1);
        w.op(OpKind::Rotate { axis: 0, stride: None }, &[t, one])
    };
    let swap = |w: &mut Writer, t: Value| {
        let half = |w: &mut Writer, at: usize| {
            w.op(OpKind::Slice { starts: vec![at, 0, 0], shape: Shape::new(&[1, 8, 128]), strides: vec![1; 3] }, &[t])
        };
        let (a, b) = (half(w, 1), half(w, 0));
        w.op(OpKind::Concat { axis: 0 }, &[a, b])
    };
    let mut kernels = vec![];
    for dtype in [DType::F32, DType::Bf16, DType::I32, DType::I8] {
        kernels.push(kernel(&format!("roll_{dtype}"), dtype, &roll, false));
        kernels.push(kernel(&format!("swap_{dtype}"), dtype, &swap, false));
        kernels.push(kernel(&format!("constant_{dtype}"), dtype, &roll, dtype != DType::Bf16));
    }
    hold(&kernels);
}

/// A column of few half floats that is repeated.
#[test]
fn columns_of_halves_are_repeated() {
    let mut w = Writer::new("column", "failures.rs");
    let x = input(&mut w, "x", DType::F16, &[2, 3, 4, 1]);
    let o = output(&mut w, "o", DType::F16, &[2, 3, 4, 192]);
    let t = w.load(x);
    let wide = w.op(OpKind::Broadcast(Shape::new(&[2, 3, 4, 192])), &[t]);
    w.store(o, wide);
    let kernel = w.finish();
    hold(&[kernel]);
}
