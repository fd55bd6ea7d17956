//! Cases with results from elsewhere: each becomes a kernel of one operation, which every executor runs.
//!
//! Rules: a case runs over whole arrays, one that is elementwise on scalars as well; a result is compared by its bits, in ulp,
//! or within a bound of its own.

use crate::executors::{Array, EXECUTORS, Executor, run, same};
use crate::kernels::{Writer, blocked};
use tpu_kernel::ir::{DType, Kernel, Literal, OpKind, Shape, SizeExpr, Value};
use tpu_kernel::launch::Binding;

/// What a result is compared with.
pub enum Want {
    /// These elements; any NaN for a NaN.
    Bits(Array),
    /// Values, and how many ulp of the element type a result may be off.
    Ulp(Vec<f64>, f64),
    /// Values, and how far off each result may be.
    Bound(Vec<f64>, Vec<f64>),
}

/// An operation with its operands and results.
pub struct Case {
    /// What it is, for messages.
    pub text: String,
    /// The operation.
    pub kind: OpKind,
    /// Words of `prng_seed`, which comes first where there are some.
    pub seed: Vec<u32>,
    /// An array an operand.
    pub inputs: Vec<Array>,
    /// One a result.
    pub wants: Vec<Want>,
    /// Element type and shape of each result.
    pub outputs: Vec<(DType, Vec<usize>)>,
}

impl Case {
    /// Whether each element of the result comes from the same element of each operand.
    fn is_elementwise(&self) -> bool {
        match &self.kind {
            OpKind::Bitcast(to) => to.bits() == self.inputs[0].dtype.bits(),
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select => true,
            kind => matches!(kind, OpKind::Cast(_) | OpKind::StochasticRound(_)),
        }
    }

    /// A kernel of this one operation: over whole arrays, or on scalars with outputs of one element.
    fn kernel(&self, scalar: bool) -> (Kernel, Binding) {
        let mut w = Writer::new("one", "golden.rs");
        let whole = |shape: &[usize]| -> Vec<_> { shape.iter().map(|&n| (SizeExpr::Const(n as i64), blocked(n))).collect() };
        let mut arrays: Vec<Vec<usize>> = vec![];
        let mut operands: Vec<Value> = vec![];
        for (at, input) in self.inputs.iter().enumerate() {
            let name = format!("x{at}");
            if scalar {
                operands.push(w.scalar(&name, input.dtype));
                arrays.push(vec![]);
            } else {
                operands.push(w.input(&name, input.dtype, &whole(&input.shape), &vec![None; input.shape.len()]));
                arrays.push(input.shape.clone());
            }
        }
        let shapes: Vec<Vec<usize>> = self.outputs.iter().map(|(_, shape)| if scalar { vec![1] } else { shape.clone() }).collect();
        let outs: Vec<Value> = std::iter::zip(&self.outputs, &shapes)
            .enumerate()
            .map(|(at, ((dtype, _), shape))| w.output(&format!("o{at}"), *dtype, &whole(shape), &vec![None; shape.len()]))
            .collect();
        arrays.extend(shapes);
        if !scalar {
            operands = operands.into_iter().map(|x| w.load(x)).collect();
        }
        // The amount of a rotation is a scalar.
        if matches!(self.kind, OpKind::Rotate { .. }) {
            operands[1] = w.op(OpKind::Extract(vec![0]), &[operands[1]]);
        }
        if !self.seed.is_empty() {
            let words: Vec<Value> = self.seed.iter().map(|&word| w.constant(word)).collect();
            w.effect(OpKind::PrngSeed, &words);
        }
        let results = w.results(self.kind.clone(), &operands);
        for (&out, mut result) in outs.iter().zip(results) {
            if w.ty(result).is_scalar() {
                result = w.op(OpKind::Broadcast(Shape::new(&[1])), &[result]);
            }
            w.store(out, result);
        }
        let kernel = w.finish();
        tpu_kernel::passes::verify(&kernel).expect("a valid kernel");
        (kernel, Binding { cores: 1, sizes: vec![], grid: vec![], arrays })
    }

    fn check_tiles(&self, executor: Executor, failures: &mut Vec<String>) {
        let (kernel, binding) = self.kernel(false);
        let compiled = (executor.compile)(&kernel).unwrap_or_else(|e| panic!("{}: {}: {e}", executor.name, self.text));
        let outputs = run(&kernel, &compiled, &binding, &self.inputs, &[]).unwrap_or_else(|e| panic!("{}: {e}", self.text));
        for (output, want) in outputs.iter().zip(&self.wants) {
            for (at, got) in output.elements().enumerate() {
                if let Some(what) = wrong(want, at, got) {
                    let given: Vec<String> =
                        self.inputs.iter().filter_map(|x| x.elements().nth(at)).map(|x| format!("{x:?}")).collect();
                    failures.push(format!("{} {}: element {at}, {given:?}: {what}", executor.name, self.text));
                }
            }
        }
    }

    fn check_scalars(&self, executor: Executor, count: usize, failures: &mut Vec<String>) {
        let (kernel, binding) = self.kernel(true);
        let compiled = (executor.compile)(&kernel).unwrap_or_else(|e| panic!("{}: {}: {e}", executor.name, self.text));
        let columns: Vec<Vec<_>> = self.inputs.iter().map(|a| a.elements().collect()).collect();
        let step = (columns[0].len() / count).max(1);
        for at in (0..columns[0].len()).step_by(step) {
            let scalars: Vec<_> = columns.iter().map(|c| c[at]).collect();
            let outputs = run(&kernel, &compiled, &binding, &[], &scalars).unwrap_or_else(|e| panic!("{}: {e}", self.text));
            let got = outputs[0].elements().next().expect("one element");
            if let Some(what) = wrong(&self.wants[0], at, got) {
                failures.push(format!("{} {}: scalars {scalars:?}: {what}", executor.name, self.text));
            }
        }
    }
}

/// Runs all cases; of an elementwise one, about `scalars` elements as scalars, too.
///
/// # Panics
/// Where an element is wrong.
pub fn check(cases: &[Case], scalars: usize) {
    let mut failures = vec![];
    for case in cases {
        for &executor in EXECUTORS {
            case.check_tiles(executor, &mut failures);
            if case.is_elementwise() {
                case.check_scalars(executor, scalars, &mut failures);
            }
        }
    }
    let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} wrong elements:\n{}", failures.len(), shown.join("\n"));
}

/// What is wrong with the element at `at` of a result.
fn wrong(want: &Want, at: usize, got: Literal) -> Option<String> {
    let value = got.as_f32().map_or(0.0, f64::from);
    let both = |want: f64| (want.is_nan() && value.is_nan()) || want == value;
    match want {
        Want::Bits(array) => {
            let want = array.elements().nth(at).expect("as many elements");
            (!same(want, got)).then(|| format!("wanted {want:?}, got {got:?}"))
        }
        Want::Ulp(want, ulp) => {
            let want = want[at];
            let error = (value - want).abs() / spacing(want, got.dtype());
            let overflow = (want as f32).is_infinite() && value == f64::from(want as f32);
            let sign = want != 0.0 || want.is_sign_negative() == value.is_sign_negative();
            let fine = (both(want) && sign) || overflow || (want != 0.0 && error <= *ulp);
            (!fine).then(|| format!("wanted {want:e}, got {got:?}: {error} ulp"))
        }
        Want::Bound(want, bound) => {
            let (want, bound) = (want[at], bound[at]);
            let near = (value - want).abs() <= bound && want.is_finite();
            (!(both(want) || near)).then(|| format!("wanted {want:e} within {bound:e}, got {got:?}"))
        }
    }
}

/// The distance between two values of that type, f32 or bf16, in the binade of `value`.
fn spacing(value: f64, dtype: DType) -> f64 {
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    2f64.powi(exponent - if dtype == DType::Bf16 { 7 } else { 23 })
}
