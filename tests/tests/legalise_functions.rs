//! Functions that no chip has, as they are composed from those that it has: how far from the interpreter's values, which are
//! correctly rounded but for 0.01 ulp.
//!
//! Rules: every bf16, and for each an f32 with other low bits beside it; so each exponent has 256 arguments or more. NaN,
//! infinities and zeros with their sign are where the interpreter has them. Bounds are in ulp of f32: what is measured, rounded
//! up; they hold for the functions of the chip being those of the interpreter.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BinaryOp, DType, Kernel, Literal, OpKind, SizeExpr, UnaryOp, Value};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{check, legalise};
use tpu_tests::executors::{Array, CRANELIFT, run};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::{Writer, blocked};

const ROWS: usize = 64;
const COLUMNS: usize = 2048;

fn kernel(kind: &OpKind, operands: usize) -> (Kernel, Binding) {
    let mut w = Writer::new("one", "functions.rs");
    let dims = [ROWS, COLUMNS].map(|n| (SizeExpr::Const(n as i64), blocked(n)));
    let memories: Vec<Value> = (0..operands).map(|at| w.input(&format!("x{at}"), DType::F32, &dims, &[None, None])).collect();
    let out = w.output("o", DType::F32, &dims, &[None, None]);
    let values: Vec<Value> = memories.into_iter().map(|x| w.load(x)).collect();
    let value = w.op(kind.clone(), &values);
    w.store(out, value);
    (w.finish(), Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![ROWS, COLUMNS]; operands + 1] })
}

fn values(kernel: &Kernel, binding: &Binding, inputs: &[Array]) -> Vec<f32> {
    let compiled = (CRANELIFT.compile)(kernel).expect("a kernel that compiles");
    let outputs = run(kernel, &compiled, binding, inputs, &[]).expect("a kernel that runs");
    outputs[0].elements().map(|x| x.as_f32().expect("a float")).collect()
}

/// Arguments: all bf16, and f32 beside them.
fn arguments(seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let upper = (0..=u16::MAX).map(|bits| f32::from_bits(u32::from(bits) << 16));
    upper.flat_map(|x| [x, f32::from_bits(x.to_bits() | rng.below(1 << 16) as u32)]).collect()
}

/// How many f32 lie between, or why none could be counted.
fn distance(want: f32, got: f32) -> f64 {
    let ordered = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    match (want.is_nan(), got.is_nan()) {
        (true, true) => 0.0,
        (false, false) if want.is_infinite() != got.is_infinite() => f64::INFINITY,
        (false, false) if (want == 0.0 || got == 0.0) && want.is_sign_negative() != got.is_sign_negative() => f64::INFINITY,
        (false, false) => (ordered(want) - ordered(got)).abs() as f64,
        _ => f64::NAN,
    }
}

fn hold(kind: &OpKind, inputs: &[Vec<f32>], bound: f64) {
    let (original, binding) = kernel(kind, inputs.len());
    let arrays: Vec<Array> =
        inputs.iter().map(|numbers| Array::new(DType::F32, &[ROWS, COLUMNS], numbers.iter().map(|&x| Literal::from(x)))).collect();
    let want = values(&original, &binding, &arrays);
    for chip in [&Chip::V4, &Chip::V6E] {
        let legal = legalise(&original, chip).expect("a lowering");
        check(&legal, chip).expect("native operations");
        let got = values(&legal, &binding, &arrays);
        let (mut worst, mut at) = (0.0, 0);
        for (index, (&want, &got)) in want.iter().zip(&got).enumerate() {
            let distance = distance(want, got);
            if distance.is_nan() || distance > worst {
                (worst, at) = (distance, index);
            }
            if distance.is_nan() {
                break;
            }
        }
        let operands: Vec<f32> = inputs.iter().map(|numbers| numbers[at]).collect();
        assert!(worst <= bound, "{kind:?} of {operands:?} is {:e}, not {:e}: {worst} ulp, bound {bound}", got[at], want[at]);
        // A bound that is far above what is measured says nothing.
        assert!(worst + 1.0 >= bound, "{kind:?} is within {worst} ulp, bound {bound}");
    }
}

#[test]
fn of_one_operand() {
    use UnaryOp::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cosh, ErfInv, Erfc, Expm1, Sinh};
    let bounds = [
        (Expm1, 2.0),
        (Cbrt, 1.0),
        (Asin, 2.0),
        (Acos, 1.0),
        (Atan, 0.0),
        (Sinh, 3.0),
        (Cosh, 2.0),
        (Asinh, 1.0),
        (Acosh, 1.0),
        (Atanh, 2.0),
        (Erfc, 4.0),
        (ErfInv, 3.0),
    ];
    for (op, bound) in bounds {
        hold(&OpKind::Unary(op), &[arguments(1)], bound);
    }
}

#[test]
fn of_two_operands() {
    let mut rng = Rng::new(2);
    let mut pairs = || -> Vec<f32> { (0..ROWS * COLUMNS).filter_map(|_| rng.literal(DType::F32, 40).as_f32()).collect() };
    hold(&OpKind::Binary(BinaryOp::Hypot), &[pairs(), pairs()], 2.0);
}
