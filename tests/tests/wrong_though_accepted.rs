//! What libtpu compiles though it is wrong, which is refused before it is asked, or cannot be said at all.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BlockDim, DType, DotDims, Kernel, OpKind, Precision, Rule, Semantics, Shape, SizeExpr};
use tpu_kernel::launch::{Allow, Binding, Config, bind};
use tpu_kernel::legalise::represented;
use tpu_kernel::mosaic;
use tpu_kernel::passes::verify;
use tpu_tests::kernels::{self, Writer, blocked};
use tpu_tests::matrix;

/// A copy of blocks of 8 rows of an array of `rows`, in that many steps.
fn copy(rows: i64, steps: i64, semantics: Semantics, output_moves: bool) -> Kernel {
    let mut w = Writer::new("copy", "copy.rs");
    w.grid("i", SizeExpr::Const(steps), semantics);
    let columns = (SizeExpr::Const(128), blocked(128));
    let x = w.input("x", DType::F32, &[(SizeExpr::Const(rows), blocked(8)), columns.clone()], &[Some(0), None]);
    let kept = if output_moves { rows } else { 8 };
    let o = w.output("o", DType::F32, &[(SizeExpr::Const(kept), blocked(8)), columns], &[output_moves.then_some(0), None]);
    let tile = w.load(x);
    w.store(o, tile);
    w.finish()
}

fn refusal(kernel: &Kernel, rows: usize, chip: &Chip) -> &'static str {
    bind(kernel, chip, &[(DType::F32, vec![rows, 128])], &Config::default()).expect_err("a refusal").code()
}

#[test]
fn a_grid_past_the_array() {
    for chip in Chip::ALL {
        assert_eq!(refusal(&copy(32, 5, Semantics::Arbitrary, true), 32, chip), "L008");
    }
}

#[test]
fn a_block_before_the_array() {
    for chip in Chip::ALL {
        assert_eq!(refusal(&kernels::fixed_block(-1), 32, chip), "L008");
        assert_eq!(refusal(&kernels::fixed_block(4), 32, chip), "L008");
    }
}

#[test]
fn a_grid_without_a_step() {
    let kernel = copy(32, 0, Semantics::Arbitrary, true);
    for chip in Chip::ALL {
        assert_eq!(refusal(&kernel, 32, chip), "L009");
        let binding = Binding { cores: 1, sizes: vec![], grid: vec![0], arrays: vec![vec![32, 128]; 2] };
        assert_eq!(mosaic::print(&kernel, &binding, chip).expect_err("a refusal").code(), "M006");
    }
}

#[test]
fn a_static_access_past_the_block() {
    for (store, start) in [(false, [3, 0]), (false, [0, 1]), (false, [-1, 0]), (true, [3, 0]), (true, [0, -1])] {
        let mut w = Writer::new("past", "past.rs");
        let dims = [(SizeExpr::Const(8), blocked(8)), (SizeExpr::Const(128), blocked(128))];
        let x = w.input("x", DType::F32, &dims, &[None, None]);
        let o = w.output("o", DType::F32, &dims, &[None, None]);
        let start = start.map(|n| w.constant(n));
        if store {
            let tile = w.load(x);
            w.store_at(o, tile, &start);
        } else {
            let tile = w.load_at(x, &[8, 128], &start);
            w.store(o, tile);
        }
        let faults = verify(&w.finish()).expect_err("a refusal");
        assert!(faults.iter().all(|fault| matches!(fault.rule, Rule::OutOfBounds { .. })), "{faults:?}");
    }
}

/// The part of a line after a word, up to another.
fn between<'a>(line: &'a str, from: &str, to: &str) -> Option<&'a str> {
    line.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map(|(part, _)| part)
}

/// A block in memory has the elements of its window: both are printed from one list, on every combination of the matrix
/// that has a text.
#[test]
fn windows_have_the_size_of_their_memory() {
    let mut compared = 0;
    for name in ["add", "cast", "select", "dot"] {
        for case in matrix::cases(name) {
            let Ok(text) = mosaic::print(&case.kernel, &case.runs[0].binding, &Chip::V6E) else { continue };
            let memory = text
                .lines()
                .take_while(|l| !l.contains("attributes"))
                .filter_map(|l| between(l, "memref<", ", #tpu.memory_space<vmem>"));
            let memory: Vec<usize> = memory.map(|dims| dims.split('x').filter_map(|d| d.parse::<usize>().ok()).product()).collect();
            let bounds = text.lines().filter_map(|l| between(l, "window_bounds = array<i64: ", ">"));
            let bounds: Vec<usize> =
                bounds.map(|dims| dims.split(", ").filter_map(|d| d.parse::<usize>().ok()).product()).collect();
            assert!(!bounds.is_empty(), "{text}");
            assert_eq!(memory, bounds, "{}:\n{text}", case.name);
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Steps that write the same block are in order, whatever the kernel says of the dimension.
#[test]
fn steps_on_cores_write_blocks_of_their_own() {
    for (moves, semantics, printed) in [
        (true, Semantics::Parallel, "parallel"),
        (false, Semantics::Parallel, "arbitrary"),
        (true, Semantics::Arbitrary, "arbitrary"),
    ] {
        let kernel = copy(32, 4, semantics, moves);
        let binding = bind(&kernel, &Chip::V5P, &[(DType::F32, vec![32, 128])], &Config::default()).expect("a launch that may run");
        let text = mosaic::print(&kernel, &binding, &Chip::V5P).expect("a text");
        assert!(text.contains(&format!("dimension_semantics = [#tpu.dimension_semantics<{printed}>]")), "{text}");
    }
}

/// A block that is left and visited again starts over, as libtpu has it: nothing of the first visit stays.
#[test]
fn a_block_that_is_visited_again_is_written_twice() {
    use tpu_kernel::ir::{BinaryOp, Literal};
    use tpu_tests::executors::{Array, INTERPRETER, run};
    let mut kernel = copy(32, 4, Semantics::Arbitrary, false);
    // Block i % 2 of an output of two, of which each step writes four rows.
    let tpu_kernel::ir::ParamKind::Out(window) = &mut kernel.params[1].kind else { panic!("an output") };
    window.array[0] = SizeExpr::Const(16);
    let index = window.map.args[0];
    let (two, rest) = (kernel.types.len() as u32, kernel.types.len() as u32 + 1);
    kernel.types.extend([tpu_kernel::ir::Type::Scalar(DType::I32); 2]);
    let (two, rest) = (tpu_kernel::ir::Value(two), tpu_kernel::ir::Value(rest));
    let op = |kind, operands: &[_], result| tpu_kernel::ir::Op {
        kind,
        operands: operands.to_vec(),
        results: vec![result],
        regions: vec![],
        loc: tpu_kernel::ir::Loc::UNKNOWN,
    };
    window.map.ops.push(op(OpKind::Const(Literal::from(2)), &[], two));
    window.map.ops.push(op(OpKind::Binary(BinaryOp::Rem), &[index, two], rest));
    window.map.yields[0] = rest;
    verify(&kernel).expect("a kernel");
    let binding = bind(&kernel, &Chip::V5E, &[(DType::F32, vec![32, 128])], &Config::default()).expect("a launch that may run");
    let x = Array::new(DType::F32, &[32, 128], (0..32 * 128).map(|at| Literal::from((at / 1024) as f32)));
    let compiled = (INTERPRETER.compile)(&kernel).expect("the interpreter takes every kernel");
    let out = run(&kernel, &compiled, &binding, &[x], &[]).expect("a run").remove(0);
    let rows: Vec<f32> = out.elements().step_by(1024).filter_map(|e| e.as_f32()).collect();
    assert_eq!(rows, [2.0, 3.0], "the last visit to each block");
}

/// `tpu.matmul` accumulates in what its operands have: f32 of floats, i32 of integers.
#[test]
fn accumulators_fit_their_products() {
    let mut products = 0;
    for a in DType::ALL {
        for b in DType::ALL {
            let Some(sum) = tpu_kernel::ir::dot_accumulator(a, b) else { continue };
            let mut w = Writer::new("product", "product.rs");
            let dims = [(SizeExpr::Const(128), BlockDim::Blocked(128)), (SizeExpr::Const(128), blocked(128))];
            let [x, y] = [("x", a), ("y", b)].map(|(name, dtype)| w.input(name, dtype, &dims, &[None, None]));
            let o = w.output("o", sum, &dims, &[None, None]);
            let (x, y) = (w.load(x), w.load(y));
            let kind = OpKind::Dot { dims: DotDims::matrices(false, false), precision: Precision::Default };
            let product = w.op(kind, &[x, y]);
            w.store(o, product);
            let kernel = w.finish();
            assert_eq!(represented(kernel.ty(product)).shape(), Shape::new(&[128, 128]));
            let inputs = [(a, vec![128, 128]), (b, vec![128, 128])];
            let config = Config { allow: vec![Allow::DotTypes], ..Config::default() };
            let binding = bind(&kernel, &Chip::TPU7X, &inputs, &config).expect("a launch that may run");
            let Ok(text) = mosaic::print(&kernel, &binding, &Chip::TPU7X) else { continue };
            for line in text.lines().filter(|l| l.contains("tpu.matmul")) {
                let types = between(line, "} : ", " loc(").expect("types");
                let elements: Vec<&str> =
                    types.split("vector<128x128x").skip(1).map(|t| t.split('>').next().unwrap_or("")).collect();
                let [lhs, rhs, acc, result] = elements[..] else { panic!("{line}") };
                let integer = |e: &str| e.starts_with('i');
                let wanted = if integer(lhs) && integer(rhs) { "i32" } else { "f32" };
                assert_eq!((acc, result), (wanted, wanted), "{line}");
                products += 1;
            }
        }
    }
    assert!(products >= 100, "{products}");
}
