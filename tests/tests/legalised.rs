//! Every operation of the IR's table, with every element type that it takes, on every shape, as each chip gets it: the
//! interpreter gives what it gives of the original.
//!
//! A test an operation. What a chip has not is refused by a rule that is listed here; anything else has a form.

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, DotDims, Literal, OpKind, Precision, ReduceOp, ScanOp, UnaryOp};
use tpu_kernel::legalise::{Illegal, Rule};
use tpu_tests::executors::Array;
use tpu_tests::generate::{Words, generate_in};
use tpu_tests::legalised::{Bound, Original, forms};
use tpu_tests::matrix::{Case, Combination, Run, SHAPES, combinations, names};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = names().0.into_iter().map(|name| Trial::test(name, move || operation(name))).collect();
    trials.push(Trial::test("random_kernels", random_kernels));
    libtest_mimic::run(&arguments, trials).exit();
}

/// What the combinations of an operation came to.
#[derive(Default)]
struct Tally {
    /// Forms that ran, one for each kernel, chips with the same one counted once.
    ran: usize,
    wrong: Vec<String>,
    /// Refusals that are not expected.
    missing: Vec<String>,
    /// Refusals by code and element type.
    refused: BTreeMap<String, usize>,
}

fn operation(name: &str) -> Result<(), Failed> {
    let mut tally = Tally::default();
    let all = SHAPES.iter().flat_map(|shape| combinations(name, shape));
    for one in all.filter(kept) {
        check(name, &one.case(), &mut tally);
    }
    if let Some(shortest) = tally.wrong.iter().min_by_key(|what| what.len()) {
        let (wrong, missing) = (tally.wrong.len(), tally.missing.len());
        return Err(format!("{wrong} of {} forms are wrong, {missing} are missing: {shortest}", tally.ran).into());
    }
    if let Some(first) = tally.missing.first() {
        return Err(format!("{} forms are missing, {} are right: {first}", tally.missing.len(), tally.ran).into());
    }
    if tally.ran == 0 { Err(format!("no combination has a form: {:?}", tally.refused).into()) } else { Ok(()) }
}

/// Of products all pairs of element types as matrices; in other forms, and more precisely, those of one type.
fn kept(one: &Combination) -> bool {
    let OpKind::Dot { dims, precision } = &one.kind else { return true };
    let [lhs, rhs] = [0, 1].map(|at| one.operands[at]);
    let matrices = *dims == DotDims::matrices(false, false) && lhs.shape().dims() == [3, 7];
    let f32s = lhs.dtype() == DType::F32 && rhs.dtype() == DType::F32;
    (f32s || *precision == Precision::Default) && (lhs.dtype() == rhs.dtype() || matrices)
}

fn check(name: &str, case: &Case, tally: &mut Tally) {
    let (forms, refusals) = forms(&case.kernel);
    for illegal in &refusals {
        match expected(illegal) {
            true => *tally.refused.entry(format!("{}: {}", illegal.code(), illegal.rule)).or_default() += 1,
            false => tally.missing.push(format!("{}: {illegal}", case.name)),
        }
    }
    if forms.is_empty() {
        return;
    }
    // The last run is of empty arrays. What lies outside an array is the poison of the type that it is stored as: a bitcast of
    // f16 would show the difference, and runs on whole arrays.
    let full = &case.runs[..case.runs.len() - 1];
    for run in if name == "bitcast" { &full[full.len() - 1..] } else { full } {
        let run = if in_any_order(name) { tame(run) } else { Run { binding: run.binding.clone(), inputs: run.inputs.clone() } };
        let original = Original::run(&case.kernel, &run.binding, &run.inputs, &[]);
        let slack = if in_any_order(name) { slack(case, &run) } else { vec![] };
        let bound = bound(name, case.kernel.outputs().next().map_or(DType::I32, |(_, p)| p.ty.dtype()));
        let close = |output: usize, at: usize, want: Literal, got: Literal| {
            bound.holds(want, got) || slack.get(output).is_some_and(|all| near(want, got, all[at]))
        };
        for (legal, chips) in &forms {
            tally.ran += 1;
            if let Err(what) = original.against(legal, &close) {
                tally.wrong.push(format!("{} on {}, arrays {:?}: {what}", case.name, chips.join(", "), run.binding.arrays));
            }
        }
    }
}

/// Kernels of the generator, without what rounds as it is composed: the same bits. `LEGALISED_KERNELS=N` tries N seeds instead
/// of 200, `LEGALISED_KERNELS_FROM=S` starts at seed S.
fn random_kernels() -> Result<(), Failed> {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (first, count) = (number("LEGALISED_KERNELS_FROM", 0), number("LEGALISED_KERNELS", 200));
    let (mut ran, mut wrong) = (0, vec![]);
    for seed in first..first + count {
        // The element types of two chips; a kernel with one that another lacks is refused there.
        let case = generate_in(Words::exact(if seed % 2 == 0 { &Chip::V5E } else { &Chip::TPU7X }), seed);
        let (forms, refusals) = forms(&case.kernel);
        wrong.extend(refusals.iter().filter(|illegal| !expected(illegal)).map(|illegal| format!("seed {seed}: {illegal}")));
        let original = Original::run(&case.kernel, &case.binding, &case.inputs, &case.scalars);
        ran += usize::from(original.outputs().is_ok() && !forms.is_empty());
        for (legal, chips) in &forms {
            if let Err(what) = original.against(legal, &|_, _, want, got| Bound::Exact.holds(want, got)) {
                wrong.push(format!("seed {seed} on {}: {what}\n{}", chips.join(", "), case.kernel));
            }
        }
    }
    if let Some(shortest) = wrong.iter().min_by_key(|what| what.len()) {
        return Err(format!("{} wrong: {shortest}", wrong.len()).into());
    }
    // Some end in an error, some have an operation that no chip has.
    if ran as u64 * 2 < count { Err(format!("only {ran} of {count} kernels run").into()) } else { Ok(()) }
}

/// What may have no form: an element type that a chip has not, a reshape in too many pieces, a vector of narrow elements that is no
/// whole number of registers, a message with a tile.
fn expected(illegal: &Illegal) -> bool {
    matches!(illegal.rule, Rule::ElementType(_) | Rule::Reshape { .. } | Rule::Vector { .. } | Rule::PrintedTile(_))
}

/// How close a lowering must be. Exact are integers, comparisons, conversions, moves, selections and what the chip has itself;
/// a function that is composed of others is within a few numbers of f32, which is at most one of a narrower format.
fn bound(name: &str, dtype: DType) -> Bound {
    let composed = UnaryOp::from_name(name).is_some_and(is_function) || matches!(name, "pow" | "atan2" | "hypot");
    match composed && dtype.is_float() {
        true if dtype == DType::F32 => Bound::Ulps(8),
        true => Bound::Ulps(1),
        false => Bound::Exact,
    }
}

fn is_function(op: UnaryOp) -> bool {
    use UnaryOp::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cos, Cosh, Erf, ErfInv, Erfc, Exp, Exp2, Expm1, Log, Log1p, Log2};
    use UnaryOp::{Logistic, Recip, RecipApprox, Rsqrt, Sin, Sinh, Sqrt, Tan, Tanh};
    match op {
        Exp | Exp2 | Expm1 | Log | Log2 | Log1p | Rsqrt | Cbrt | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh | Tanh
        | Asinh | Acosh | Atanh | Erf | Erfc | ErfInv | Logistic => true,
        Sqrt | Recip | RecipApprox => false,
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not | UnaryOp::Sign | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven => false,
        UnaryOp::Round | UnaryOp::Trunc | UnaryOp::IsNan | UnaryOp::IsFinite | UnaryOp::Popcount | UnaryOp::Clz => false,
    }
}

/// Sums and products whose order a lowering may change.
fn in_any_order(name: &str) -> bool {
    let reduce = name.strip_prefix("reduce ").and_then(ReduceOp::from_name);
    let scan = name.strip_prefix("scan ").and_then(ScanOp::from_name);
    matches!(reduce, Some(ReduceOp::Sum | ReduceOp::Prod)) || matches!(scan, Some(ScanOp::Sum | ScanOp::Prod))
}

/// The run with floats whose sums and products do not leave f32, whatever their order: what is finite is moderate.
fn tame(run: &Run) -> Run {
    let inputs = run.inputs.iter().map(|array| {
        let tame = |x: Literal| match x.as_f32() {
            Some(v) if v.is_finite() && v != 0.0 && !(0.05..=9.0).contains(&v.abs()) => Literal::from_f32(x.dtype(), 1.5),
            _ => x,
        };
        Array::new(array.dtype, &array.shape, array.elements().map(tame))
    });
    Run { binding: run.binding.clone(), inputs: inputs.collect() }
}

/// How far each element may be off: the same sum or product of absolute values, times its number of roundings in f32.
fn slack(case: &Case, run: &Run) -> Vec<Vec<f64>> {
    let absolute = |x: Literal| x.as_f32().map_or(x, |v| Literal::from_f32(x.dtype(), v.abs()));
    let inputs: Vec<Array> = run.inputs.iter().map(|a| Array::new(a.dtype, &a.shape, a.elements().map(absolute))).collect();
    let longest = case.kernel.params.iter().flat_map(|p| p.ty.shape().dims().to_vec()).max().unwrap_or(1) as f64;
    let original = Original::run(&case.kernel, &run.binding, &inputs, &[]);
    let size = |x: Literal| f64::from(x.as_f32().unwrap_or(0.0)) * 2.0 * longest * f64::from(f32::EPSILON);
    original.outputs().map_or(vec![], |arrays| arrays.iter().map(|a| a.elements().map(size).collect()).collect())
}

/// Within that slack and one number of the format.
fn near(want: Literal, got: Literal, slack: f64) -> bool {
    let (Some(w), Some(g)) = (want.as_f32(), got.as_f32()) else { return false };
    if Bound::Ulps(u32::from(want.dtype() != DType::F32)).holds(want, got) {
        return true;
    }
    w.is_finite() && g.is_finite() && (f64::from(w) - f64::from(g)).abs() <= slack
}
