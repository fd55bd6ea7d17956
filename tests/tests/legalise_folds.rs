//! Small kernels that libtpu simplifies into operations which it then refuses, unless they are written otherwise.
//!
//! Rules: each is an extremum, a clamp, a sign or a conversion in disguise; legalised it gives the interpreter's bits, and libtpu,
//! where there is one, takes it on an old chip and a new one.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, Kernel, Literal, OpKind, UnaryOp, Value};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{check, legalise, stored};
use tpu_kernel::mosaic;
use tpu_tests::executors::{Array, INTERPRETER, run, same};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::Writer;
use tpu_tests::libtpu::{accepted, judge, library};
use tpu_tests::one_op::{Case, tiles};

const SHAPE: &[usize] = &[16, 128];

const TYPES: [DType; 13] = [
    DType::F32,
    DType::Bf16,
    DType::F16,
    DType::F8E4M3Fn,
    DType::F8E5M2,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::I4,
    DType::U32,
    DType::U16,
    DType::U8,
    DType::U4,
];

fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for dtype in TYPES {
        let word = if dtype.is_float() { DType::F32 } else { DType::I32 };
        let mut add = |name: &str, f: &dyn Fn(&mut Writer, &[Value]) -> Value| {
            let at = (dtype, SHAPE);
            cases.push(tiles(format!("{name} {dtype}"), &[at, at], at, f));
        };
        for op in [CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge] {
            let compare = OpKind::Compare(op);
            add(&format!("a where a {op} b"), &|w, x| {
                let c = w.op(compare.clone(), x);
                w.op(OpKind::Select, &[c, x[0], x[1]])
            });
            add(&format!("b where a {op} b"), &|w, x| {
                let c = w.op(compare.clone(), x);
                w.op(OpKind::Select, &[c, x[1], x[0]])
            });
            add(&format!("a where not a {op} b"), &|w, x| {
                let c = w.op(compare.clone(), x);
                let c = w.op(OpKind::Unary(UnaryOp::Not), &[c]);
                w.op(OpKind::Select, &[c, x[0], x[1]])
            });
            add(&format!("a where the words of a {op} b"), &|w, x| {
                let wide = [x[0], x[1]].map(|v| w.op(OpKind::Cast(word), &[v]));
                let c = w.op(compare.clone(), &wide);
                w.op(OpKind::Select, &[c, x[0], x[1]])
            });
            add(&format!("words by {op}, cut"), &|w, x| {
                let wide = [x[0], x[1]].map(|v| w.op(OpKind::Cast(word), &[v]));
                let c = w.op(compare.clone(), &wide);
                let chosen = w.op(OpKind::Select, &[c, wide[0], wide[1]]);
                w.op(OpKind::Cast(dtype), &[chosen])
            });
        }
        for op in [BinaryOp::Max, BinaryOp::Min, BinaryOp::Add, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem] {
            add(&format!("{op} of words, cut"), &|w, x| {
                let wide = [x[0], x[1]].map(|v| w.op(OpKind::Cast(word), &[v]));
                let result = w.binary(op, wide[0], wide[1]);
                w.op(OpKind::Cast(dtype), &[result])
            });
            add(&format!("{op} of a word and a constant, cut"), &|w, x| {
                let wide = w.op(OpKind::Cast(word), &[x[0]]);
                let three = w.filled(Literal::from_int(word, 3), SHAPE);
                let result = w.binary(op, wide, three);
                w.op(OpKind::Cast(dtype), &[result])
            });
        }
        add("clamp", &|w, x| {
            let [low, high] = [1, 5].map(|n| w.filled(Literal::from_int(dtype, n), SHAPE));
            let above = w.binary(BinaryOp::Max, x[0], low);
            w.binary(BinaryOp::Min, above, high)
        });
        add("clamp of words, cut", &|w, x| {
            let wide = w.op(OpKind::Cast(word), &[x[0]]);
            let [low, high] = [1, 5].map(|n| w.filled(Literal::from_int(word, n), SHAPE));
            let above = w.binary(BinaryOp::Max, wide, low);
            let within = w.binary(BinaryOp::Min, above, high);
            w.op(OpKind::Cast(dtype), &[within])
        });
        add("negative where below zero", &|w, x| {
            let zero = w.filled(Literal::from_int(dtype, 0), SHAPE);
            let c = w.op(OpKind::Compare(CompareOp::Lt), &[x[0], zero]);
            let minus = w.op(OpKind::Unary(UnaryOp::Neg), &[x[0]]);
            w.op(OpKind::Select, &[c, minus, x[0]])
        });
        add("max of max", &|w, x| {
            let first = w.binary(BinaryOp::Max, x[0], x[1]);
            let second = w.binary(BinaryOp::Min, x[0], x[1]);
            w.binary(BinaryOp::Max, first, second)
        });
        add("to bool and back", &|w, x| {
            let truth = w.op(OpKind::Cast(DType::Bool), &[x[0]]);
            let number = w.op(OpKind::Cast(dtype), &[truth]);
            w.binary(BinaryOp::Max, number, x[1])
        });
    }
    cases
}

fn binding(case: &Case) -> Binding {
    let arrays = case.inputs.iter().map(|(_, shape)| shape.clone()).chain([SHAPE.to_vec()]).collect();
    Binding { cores: 1, sizes: vec![], grid: vec![], arrays }
}

#[test]
fn disguised_extrema_give_the_same_bits() {
    for case in cases() {
        let mut rng = Rng::new(5);
        let inputs: Vec<Array> = case
            .inputs
            .iter()
            .map(|(dtype, shape)| Array::new(*dtype, shape, (0..shape.iter().product()).map(|_| rng.literal(*dtype, 40))))
            .collect();
        let held: Vec<Array> = inputs.iter().map(|a| Array { dtype: stored(a.dtype), ..a.clone() }).collect();
        let values = |kernel: &Kernel, inputs: &[Array]| {
            let compiled = (INTERPRETER.compile)(kernel).expect("the interpreter takes every kernel");
            run(kernel, &compiled, &binding(&case), inputs, &[]).expect(&case.name)
        };
        let want = values(&case.kernel, &inputs);
        for chip in [&Chip::V4, &Chip::V6E] {
            let legal = legalise(&case.kernel, chip).expect(&case.name);
            check(&legal, chip).expect(&case.name);
            for (want, got) in want[0].elements().zip(values(&legal, &held)[0].elements()) {
                let got = Literal::from_bits(want.dtype(), got.bits());
                assert!(same(want, got), "{} on {}: {got:?}, not {want:?}\n{legal}", case.name, chip.name);
            }
        }
    }
}

#[test]
fn libtpu_takes_disguised_extrema() {
    let Some(library) = library() else { return };
    for chip in [&Chip::V4, &Chip::V6E] {
        let cases = cases();
        let programs = cases.iter().map(|case| mosaic::stablehlo(&case.kernel, &binding(case), chip).expect(&case.name)).collect();
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs);
        let refused: Vec<String> = cases
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| !accepted(verdict))
            .map(|(case, verdict)| format!("{}: {verdict:?}", case.name))
            .collect();
        assert!(refused.is_empty(), "{} of {} on {}:\n{}", refused.len(), cases.len(), chip.name, refused.join("\n"));
    }
}
