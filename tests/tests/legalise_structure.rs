//! Legalised shapes, reductions, scans, sorts, gathers, rotations and control flow compute what the original does, on every
//! chip: the interpreter runs both.
//!
//! Rules: the same bits. Running sums, and products, of floats have another order on a chip: they are given numbers on which
//! every order is exact. What a chip refuses is listed in `refused`.

use std::io::Write;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Literal, OpKind, Param, ReduceOp, ScanOp, Shape, SizeExpr, Type};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{Illegal, Rule, legalise, native, stored};
use tpu_kernel::mosaic;
use tpu_kernel::passes::verify;
use tpu_tests::executors::{Array, INTERPRETER, run, same};
use tpu_tests::kernels::{Writer, blocked};
use tpu_tests::libtpu::{accepted, judge, library};
use tpu_tests::matrix::{Case, cases_on};

const CHIPS: [&Chip; 4] = [&Chip::V4, &Chip::V5E, &Chip::V6E, &Chip::TPU7X];

/// Shapes at which a lowering could go wrong, beside those of the matrix, on which `legalised` has every operation.
const SHAPES: [&[usize]; 6] = [&[7, 100], &[1, 128], &[128, 1], &[3, 5, 32], &[2, 1, 9, 2], &[40]];

/// Shapes of several registers, for libtpu alone.
const LARGE: [&[usize]; 5] = [&[8, 128], &[40, 300], &[5, 16, 128], &[1000], &[2, 3, 8, 128]];

/// Those of operations that take long.
const FEW: [&[usize]; 5] = [&[9], &[3, 10], &[17, 2], &[1, 33], &[2, 1, 9, 2]];

/// An array as a chip stores it: the same bytes.
fn as_stored(array: &Array) -> Array {
    Array { dtype: stored(array.dtype), ..array.clone() }
}

fn all_native(kernel: &Kernel, chip: &Chip) -> Result<(), String> {
    fn region(kernel: &Kernel, ops: &[tpu_kernel::ir::Op], chip: &Chip) -> Result<(), String> {
        for op in ops {
            let types: Vec<_> = op.operands.iter().map(|&v| kernel.ty(v)).collect();
            if !native(chip, &op.kind, &types) {
                return Err(format!("{:?} of {types:?} is not native", op.kind));
            }
            op.regions.iter().try_for_each(|r| region(kernel, &r.ops, chip))?;
        }
        Ok(())
    }
    region(kernel, &kernel.body.ops, chip)
}

/// Whether the chip may refuse the kernel with that rule: an element type that it lacks, or a vector that it cannot lay out.
fn refused(kernel: &Kernel, chip: &Chip, refusal: &Illegal) -> bool {
    match refusal.rule {
        Rule::ElementType(dtype) => {
            let has = kernel.types.iter().any(|ty| ty.dtype() == dtype);
            has && matches!(dtype, DType::I2 | DType::F4E2M1Fn | DType::F8E4M3B11Fnuz)
        }
        Rule::Vector { dtype, length, .. } => {
            let narrow = dtype.bits() == 4 || (dtype.bits() == 8 && chip.name == "v4");
            let shape = Shape::new(&[length]);
            let has =
                kernel.types.iter().any(|&ty| ty == Type::Tile(stored(ty.dtype()), shape) || ty == Type::Tile(DType::Bool, shape));
            narrow && !length.is_multiple_of(1024) && has
        }
        _ => false,
    }
}

/// Whether floats are added or multiplied in another order than the simulator's; and whether they are multiplied.
fn reordered(kernel: &Kernel) -> Option<bool> {
    kernel.body.ops.iter().find_map(|op| match op.kind {
        _ if op.operands.is_empty() || !kernel.ty(op.operands[0]).dtype().is_float() => None,
        OpKind::Reduce { op: ReduceOp::Prod, .. } | OpKind::Scan { op: ScanOp::Prod, .. } => Some(true),
        OpKind::Scan { op: ScanOp::Sum, .. } => Some(false),
        _ => None,
    })
}

/// Elements whose sums and products are exact in any order: ±1 and ±2, and of products ±1/2.
fn exact(array: &Array, product: bool) -> Array {
    let element = |(at, _): (usize, Literal)| {
        let choice = at.wrapping_mul(0x9e37_79b9) >> 7;
        let size = [1.0, 2.0, if product { 0.5 } else { 3.0 }, 1.0][choice % 4];
        Literal::from_f32(array.dtype, if choice.is_multiple_of(3) { -size } else { size })
    };
    Array::new(array.dtype, &array.shape, array.elements().enumerate().map(element))
}

/// Whether the chip has the kernel; `proven` are legalised kernels that are known to be right.
fn check(case: &Case, chip: &Chip, proven: &mut Vec<Kernel>) -> Result<bool, String> {
    let Case { name, kernel, runs } = case;
    let lowered = match legalise(kernel, chip) {
        Ok(lowered) => lowered,
        Err(refusal) if refused(kernel, chip, &refusal) => return Ok(false),
        Err(refusal) => return Err(format!("{name}: {refusal}")),
    };
    let at = |e: String| format!("{name} on {}: {e}", chip.name);
    verify(&lowered).map_err(|faults| at(format!("{faults:?}")))?;
    all_native(&lowered, chip).map_err(at)?;
    if proven.contains(&lowered) {
        return Ok(true);
    }
    let [want, got] = [kernel, &lowered].map(|kernel| (INTERPRETER.compile)(kernel));
    let (want, got) = (want?, got?);
    for given in &runs[..1] {
        let inputs = match reordered(kernel) {
            Some(product) => given.inputs.iter().map(|array| exact(array, product)).collect(),
            None => given.inputs.clone(),
        };
        let as_stored: Vec<Array> = inputs.iter().map(as_stored).collect();
        let want = run(kernel, &want, &given.binding, &inputs, &[]).map_err(|e| at(e.to_string()))?;
        let got = run(&lowered, &got, &given.binding, &as_stored, &[]).map_err(|e| at(e.to_string()))?;
        for (want, got) in want.iter().zip(&got) {
            let got = Array { dtype: want.dtype, ..got.clone() };
            for (i, (w, g)) in want.elements().zip(got.elements()).enumerate() {
                if !same(w, g) {
                    return Err(at(format!("arrays {:?}: element {i}: {w:?} against {g:?}", given.binding.arrays)));
                }
            }
        }
    }
    proven.push(lowered);
    Ok(true)
}

fn operation(name: &str, shapes: &[&[usize]]) {
    let all = cases_on(name, shapes);
    let (mut right, mut wrong) = (0, vec![]);
    for case in &all {
        let mut proven = vec![];
        for chip in CHIPS {
            match check(case, chip, &mut proven) {
                Ok(legal) => right += usize::from(legal),
                Err(error) => wrong.push(error),
            }
        }
    }
    let total = all.len() * CHIPS.len();
    let _ = writeln!(std::io::stderr(), "{name}: {right} of {total} are legal");
    assert!(wrong.is_empty(), "{} of {total}: {}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    assert!(right * 2 > total, "only {right} of {total}");
}

/// The operations of this file.
const NAMES: [&str; 23] = [
    "iota",
    "broadcast",
    "reshape",
    "transpose",
    "slice",
    "concat",
    "rotate",
    "gather",
    "sort",
    "extract",
    "prng_bits",
    "reduce sum",
    "reduce prod",
    "reduce max",
    "reduce min",
    "reduce any",
    "reduce all",
    "reduce argmax",
    "reduce argmin",
    "scan sum",
    "scan prod",
    "scan max",
    "scan min",
];

#[test]
fn iota() {
    operation("iota", &SHAPES);
}

#[test]
fn broadcast() {
    operation("broadcast", &SHAPES);
}

#[test]
fn reshape() {
    operation("reshape", &SHAPES);
}

#[test]
fn transpose() {
    operation("transpose", &SHAPES);
}

#[test]
fn slice() {
    operation("slice", &SHAPES);
}

#[test]
fn concat() {
    operation("concat", &SHAPES);
}

#[test]
fn rotate() {
    operation("rotate", &SHAPES);
}

#[test]
fn gather() {
    operation("gather", &SHAPES);
}

#[test]
fn sort() {
    operation("sort", &FEW);
}

#[test]
fn extract() {
    operation("extract", &SHAPES);
}

#[test]
fn random_bits() {
    operation("prng_bits", &SHAPES);
}

#[test]
fn sums() {
    operation("reduce sum", &SHAPES);
    operation("reduce prod", &SHAPES);
}

#[test]
fn extrema() {
    operation("reduce max", &SHAPES);
    operation("reduce min", &SHAPES);
}

#[test]
fn truths() {
    operation("reduce any", &SHAPES);
    operation("reduce all", &SHAPES);
}

#[test]
fn places_of_extrema() {
    operation("reduce argmax", &SHAPES);
    operation("reduce argmin", &SHAPES);
}

#[test]
fn running() {
    operation("scan sum", &FEW);
    operation("scan prod", &FEW);
    operation("scan max", &FEW);
    operation("scan min", &FEW);
}

#[test]
fn an_index_outside_is_an_error_of_the_simulator_only() {
    for (axis, shape) in [(1, [2, 4]), (0, [4, 2]), (0, [20, 2])] {
        let mut w = Writer::new("outside", "outside.rs");
        let dims = shape.map(|n| (SizeExpr::Const(n as i64), blocked(n)));
        let x = w.input("x", DType::F32, &dims, &[None, None]);
        let o = w.output("o", DType::F32, &dims, &[None, None]);
        let (tile, far) = (w.load(x), w.filled(100, &shape));
        let gathered = w.op(OpKind::Gather { axis }, &[tile, far]);
        w.store(o, gathered);
        let kernel = w.finish();
        let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![shape.to_vec(); 2] };
        let inputs = [Array::filled(&shape, 1f32.into())];
        let result = |kernel: &Kernel| {
            let compiled = (INTERPRETER.compile)(kernel).expect("the interpreter takes every kernel");
            run(kernel, &compiled, &binding, &inputs, &[]).map(|_| ())
        };
        assert_eq!(result(&kernel).expect_err("an index outside").code(), "R007");
        for chip in CHIPS {
            assert_eq!(result(&legalise(&kernel, chip).expect("a gather has a form")), Ok(()), "{shape:?} on {}", chip.name);
        }
    }
}

/// The kernel's numbers for arrays of one block each, which every chip takes whatever the block.
fn one_block(kernel: &Kernel) -> Binding {
    let block = |param: &Param| param.window().map_or(vec![], |w| w.block.iter().map(|b| b.size()).collect::<Vec<_>>());
    let arrays: Vec<Vec<usize>> = kernel.params.iter().map(block).collect();
    let lead = kernel.inputs().next().map_or(1, |(at, _)| arrays[at][0]);
    Binding { cores: 1, sizes: vec![lead as i32], grid: vec![1], arrays }
}

/// What is legal compiles: a sample, or with `STRUCTURE_EVERY=1` everything.
#[test]
fn libtpu_accepts_what_is_legal() {
    let Some(library) = library() else { return };
    let every = std::env::var("STRUCTURE_EVERY").map_or(61, |n| n.parse().expect("a number"));
    let only = std::env::var("STRUCTURE_ONLY").unwrap_or_default();
    let names: Vec<&str> = NAMES.iter().copied().filter(|name| name.contains(&only)).collect();
    let mut all: Vec<Case> = names.iter().flat_map(|name| cases_on(name, &SHAPES)).collect();
    all.extend(names.iter().flat_map(|name| cases_on(name, &LARGE)));
    let (mut asked, mut refused) = (0, vec![]);
    for chip in CHIPS {
        let (mut labels, mut programs) = (vec![], vec![]);
        for case in all.iter().step_by(every) {
            if let Ok(program) = mosaic::stablehlo(&case.kernel, &one_block(&case.kernel), chip) {
                labels.push(&case.name);
                programs.push(program);
            }
        }
        asked += programs.len();
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs);
        let wrong = labels.iter().zip(&verdicts).filter(|(_, verdict)| !accepted(verdict));
        refused.extend(wrong.map(|(label, verdict)| format!("{label} on {}: {verdict:?}", chip.name)));
    }
    let _ = writeln!(std::io::stderr(), "libtpu compiled {} of {asked} kernels", asked - refused.len());
    assert!(refused.is_empty(), "{} of {asked}:\n{}", refused.len(), refused.join("\n"));
}
