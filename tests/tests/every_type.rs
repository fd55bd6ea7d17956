//! Every operation of the table on every element type that it takes, against NumPy, SciPy and JAX.
//!
//! `goldens/every_type.py` wrote the cases and says where each value comes from. Each case becomes a kernel of one operation
//! over whole arrays; elementwise operations run on scalars as well. `goldens.rs` has more shapes of f32, bf16, i32 and bool.

use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::Path;
use tpu_kernel::ir::table::{self, State};
use tpu_kernel::ir::{
    BinaryOp, BlockDim, CompareOp, DType, DotDims, Kernel, Literal, OpKind, Precision, ReduceOp, RotateStride, ScanOp, Shape,
    SizeExpr, Type, UnaryOp, Value, infer,
};
use tpu_kernel::launch::Binding;
use tpu_tests::executors::{Array, EXECUTORS, Executor, run, same};
use tpu_tests::kernels::Writer;

/// Elements of an elementwise case that are tried as scalars too.
const SCALARS: usize = 25;

/// Operations without a golden here, and why.
const WITHOUT: [(&str, &str); 13] = [
    ("const", "nothing is computed"),
    ("cast", "casts.rs has all pairs over all patterns"),
    ("load", "memory, not values: filetests; every case here loads"),
    ("store", "memory, not values: filetests; every case here stores"),
    ("program_id", "the grid: filetests"),
    ("num_programs", "the grid: filetests"),
    ("size", "the launch: filetests"),
    ("if", "control flow: filetests, random kernels"),
    ("for", "control flow: filetests, random kernels"),
    ("while", "control flow: filetests, random kernels"),
    ("prng_seed", "the cases of prng_bits seed"),
    ("print", "text: filetests"),
    ("check", "an error: filetests"),
];

/// What a result is compared with.
enum Want {
    Bits(Array),
    /// Values, and how many ulp of f32 a result may be off.
    Ulp(Vec<f64>, f64),
    /// Values, and how far off each result may be.
    Bound(Vec<f64>, Vec<f64>),
}

struct Case {
    /// The line of the file, for messages.
    text: String,
    kind: OpKind,
    /// Words of `prng_seed`.
    seed: Vec<u32>,
    inputs: Vec<Array>,
    wants: Vec<Want>,
    outputs: Vec<(DType, Vec<usize>)>,
}

struct Goldens {
    cases: Vec<Json>,
    bytes: Vec<u8>,
}

impl Goldens {
    fn read() -> Goldens {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
        let cases = serde_json::from_str(&std::fs::read_to_string(folder.join("every_type.json")).expect("the cases"));
        Goldens { cases: cases.expect("JSON"), bytes: std::fs::read(folder.join("every_type.bin")).expect("the arrays") }
    }

    /// The element type, the shape and the bytes of `type:1x2@offset`.
    fn parts<'a>(&'a self, text: &'a str) -> (&'a str, Vec<usize>, &'a [u8]) {
        let (dtype, rest) = text.split_once(':').expect("a type");
        let (shape, at) = rest.split_once('@').expect("an offset");
        let shape: Vec<usize> = shape.split('x').filter(|n| !n.is_empty()).map(|n| n.parse().expect("a number")).collect();
        let width = DType::from_name(dtype).map_or(8, DType::bytes);
        let at: usize = at.parse().expect("a number");
        let bytes = &self.bytes[at..at + shape.iter().product::<usize>() * width];
        (dtype, shape, bytes)
    }

    fn array(&self, text: &str) -> Array {
        let (dtype, shape, bytes) = self.parts(text);
        Array { dtype: DType::from_name(dtype).expect("an element type"), shape, bytes: bytes.to_vec() }
    }

    fn doubles(&self, text: &str) -> Vec<f64> {
        self.parts(text).2.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
    }

    fn case(&self, json: &Json) -> Case {
        let texts = |key: &str| json[key].as_array().expect("a list").iter().map(|n| n.as_str().expect("text"));
        let inputs: Vec<Array> = texts("in").map(|text| self.array(text)).collect();
        let want = |text: &str| match &json["check"] {
            Json::Null => Want::Bits(self.array(text)),
            Json::Number(ulp) => Want::Ulp(self.doubles(text), ulp.as_f64().expect("a number")),
            Json::String(bound) => Want::Bound(self.doubles(text), self.doubles(bound)),
            other => panic!("no check {other}"),
        };
        let wants = texts("out").map(want).collect();
        let outputs: Vec<(DType, Vec<usize>)> = texts("out")
            .map(|text| {
                let (dtype, shape, _) = self.parts(text);
                (DType::from_name(dtype).unwrap_or(DType::F32), shape)
            })
            .collect();
        let seed =
            json["seed"].as_array().map_or(vec![], |words| words.iter().map(|w| w.as_u64().expect("a word") as u32).collect());
        Case { text: json.to_string(), kind: kind(json, &outputs[0].1), seed, inputs, wants, outputs }
    }
}

/// The operation of a case, which makes a value of that shape.
fn kind(case: &Json, to: &[usize]) -> OpKind {
    let name = case["name"].as_str().unwrap_or("");
    let flag = |key: &str| case[key].as_bool().expect("true or false");
    let list = |json: &Json| json.as_array().expect("a list").iter().map(|n| n.as_u64().expect("a number") as usize).collect();
    let numbers = |key: &str| -> Vec<usize> { list(&case[key]) };
    let axis = || case["axis"].as_u64().expect("a number") as usize;
    let element = || DType::from_name(case["to"].as_str().unwrap_or("")).expect("an element type");
    match case["op"].as_str().expect("an operation") {
        "unary" => OpKind::Unary(UnaryOp::from_name(name).expect("an operation")),
        "binary" => OpKind::Binary(BinaryOp::from_name(name).expect("an operation")),
        "compare" => OpKind::Compare(CompareOp::from_name(name).expect("an operation")),
        "select" => OpKind::Select,
        "bitcast" => OpKind::Bitcast(element()),
        "stochastic_round" => OpKind::StochasticRound(element()),
        "iota" => OpKind::Iota { shape: Shape::new(to), axis: axis() },
        "broadcast" => OpKind::Broadcast(Shape::new(to)),
        "reshape" => OpKind::Reshape(Shape::new(to)),
        "transpose" => OpKind::Transpose(numbers("perm")),
        "slice" => OpKind::Slice { starts: numbers("starts"), shape: Shape::new(to), strides: numbers("strides") },
        "concat" => OpKind::Concat { axis: axis() },
        "extract" => OpKind::Extract(numbers("indices")),
        "rotate" => {
            let stride = case["stride"].as_i64().map(|by| RotateStride { by: by as i32, axis: numbers("along")[0] });
            OpKind::Rotate { axis: axis(), stride }
        }
        "gather" => OpKind::Gather { axis: axis() },
        "sort" => OpKind::Sort { axis: axis(), descending: flag("descending") },
        "reduce" => OpKind::Reduce { op: ReduceOp::from_name(name).expect("an operation"), axis: axis() },
        "scan" => OpKind::Scan { op: ScanOp::from_name(name).expect("an operation"), axis: axis(), reverse: flag("reverse") },
        "dot" => {
            let contract = numbers("contract");
            let pair = |pair: &Json| -> (usize, usize) {
                let pair: Vec<usize> = list(pair);
                (pair[0], pair[1])
            };
            let batch = case["batch"].as_array().expect("a list").iter().map(pair).collect();
            let precision = Precision::from_name(case["precision"].as_str().unwrap_or("")).expect("a precision");
            OpKind::Dot { dims: DotDims { contract: (contract[0], contract[1]), batch }, precision }
        }
        "prng_bits" => OpKind::PrngBits(Shape::new(to)),
        other => panic!("no operation {other}"),
    }
}

fn is_elementwise(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Bitcast(_)
            | OpKind::StochasticRound(_)
    )
}

/// A kernel of this one operation: over whole arrays, or on scalars with an output of one element.
fn kernel(case: &Case, scalar: bool) -> (Kernel, Binding) {
    let mut w = Writer::new("one", "every_type.rs");
    let whole = |shape: &[usize]| -> Vec<_> { shape.iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect() };
    let mut arrays: Vec<Vec<usize>> = vec![];
    let mut ins: Vec<Value> = vec![];
    for (at, input) in case.inputs.iter().enumerate() {
        let name = format!("x{at}");
        if scalar {
            ins.push(w.scalar(&name, input.dtype));
            arrays.push(vec![]);
        } else {
            ins.push(w.input(&name, input.dtype, &whole(&input.shape), &vec![None; input.shape.len()]));
            arrays.push(input.shape.clone());
        }
    }
    let shapes: Vec<Vec<usize>> = case.outputs.iter().map(|(_, shape)| if scalar { vec![1] } else { shape.clone() }).collect();
    let outs: Vec<Value> = std::iter::zip(&case.outputs, &shapes)
        .enumerate()
        .map(|(at, ((dtype, _), shape))| w.output(&format!("o{at}"), *dtype, &whole(shape), &vec![None; shape.len()]))
        .collect();
    arrays.extend(shapes);
    let mut operands = ins;
    if !scalar {
        operands = operands.into_iter().map(|x| w.load(x)).collect();
    }
    // The amount of a rotation is a scalar.
    if matches!(case.kind, OpKind::Rotate { .. }) {
        operands[1] = w.op(OpKind::Extract(vec![0]), &[operands[1]]);
    }
    if !case.seed.is_empty() {
        let words: Vec<Value> = case.seed.iter().map(|&word| w.constant(word)).collect();
        w.effect(OpKind::PrngSeed, &words);
    }
    let results = w.results(case.kind.clone(), &operands);
    for (&out, mut result) in outs.iter().zip(results) {
        if w.ty(result).is_scalar() {
            result = w.op(OpKind::Broadcast(Shape::new(&[1])), &[result]);
        }
        w.store(out, result);
    }
    let kernel = w.finish();
    tpu_kernel::passes::verify(&kernel).expect("a valid kernel");
    (kernel, Binding { sizes: vec![], grid: vec![], arrays })
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
            let exponent = ((want.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
            let error = (value - want).abs() / 2f64.powi(exponent - 23);
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

fn check_tiles(case: &Case, executor: Executor, failures: &mut Vec<String>) {
    let (kernel, binding) = kernel(case, false);
    let compiled = (executor.compile)(&kernel).unwrap_or_else(|e| panic!("{}: {}: {e}", executor.name, case.text));
    let outputs = run(&kernel, &compiled, &binding, &case.inputs, &[]).unwrap_or_else(|e| panic!("{}: {e}", case.text));
    for (output, want) in outputs.iter().zip(&case.wants) {
        for (at, got) in output.elements().enumerate() {
            if let Some(what) = wrong(want, at, got) {
                let given: Vec<String> =
                    case.inputs.iter().filter_map(|x| x.elements().nth(at)).map(|x| format!("{x:?}")).collect();
                failures.push(format!("{} {}: element {at}, {given:?}: {what}", executor.name, case.text));
            }
        }
    }
}

fn check_scalars(case: &Case, executor: Executor, failures: &mut Vec<String>) {
    let (kernel, binding) = kernel(case, true);
    let compiled = (executor.compile)(&kernel).unwrap_or_else(|e| panic!("{}: {}: {e}", executor.name, case.text));
    let columns: Vec<Vec<_>> = case.inputs.iter().map(|a| a.elements().collect()).collect();
    let step = (columns[0].len() / SCALARS).max(1);
    for at in (0..columns[0].len()).step_by(step) {
        let scalars: Vec<_> = columns.iter().map(|c| c[at]).collect();
        let outputs = run(&kernel, &compiled, &binding, &[], &scalars).unwrap_or_else(|e| panic!("{}: {e}", case.text));
        let got = outputs[0].elements().next().expect("one element");
        if let Some(what) = wrong(&case.wants[0], at, got) {
            failures.push(format!("{} {}: scalars {scalars:?}: {what}", executor.name, case.text));
        }
    }
}

/// Runs a group of cases; there must be some.
fn check(group: &str) {
    let goldens = Goldens::read();
    let mut failures = vec![];
    let cases: Vec<Case> = goldens.cases.iter().filter(|case| case["op"] == group).map(|case| goldens.case(case)).collect();
    assert!(!cases.is_empty());
    for case in &cases {
        for &executor in EXECUTORS {
            check_tiles(case, executor, &mut failures);
            let narrower = matches!(case.kind, OpKind::Bitcast(to) if to.bits() != case.inputs[0].dtype.bits());
            if is_elementwise(&case.kind) && !narrower {
                check_scalars(case, executor, &mut failures);
            }
        }
    }
    let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} wrong elements:\n{}", failures.len(), shown.join("\n"));
}

macro_rules! groups {
    ($($group:ident)+) => { $(
        #[test]
        fn $group() {
            check(stringify!($group));
        }
    )+ };
}

groups! {
    unary binary compare select bitcast stochastic_round iota broadcast reshape transpose slice concat extract rotate gather sort
    reduce scan dot prng_bits
}

/// The row of the table that an operation belongs to.
fn row(kind: &OpKind) -> String {
    match kind {
        OpKind::Reduce { op, .. } => format!("reduce {op}"),
        OpKind::Scan { op, .. } => format!("scan {op}"),
        kind => kind.mnemonic().to_string(),
    }
}

#[test]
fn every_row_of_the_table_has_a_golden_on_every_type() {
    let goldens = Goldens::read();
    let cases: Vec<Case> = goldens.cases.iter().map(|case| goldens.case(case)).collect();
    let seen: BTreeSet<(String, Option<DType>)> =
        cases.iter().map(|case| (row(&case.kind), case.inputs.last().map(|x| x.dtype))).collect();
    for mnemonic in table::operations().filter(|row| row.state == State::Implemented).map(|row| row.mnemonic) {
        let found = seen.iter().any(|(name, _)| name == mnemonic);
        let without = WITHOUT.iter().any(|(name, _)| *name == mnemonic);
        assert!(found != without, "`{mnemonic}` needs a golden, or a reason why it has none");
    }
    // Of the operations whose operands have one type, each with each type that it takes.
    let mut missing = vec![];
    for case in &cases {
        let alike = case.inputs.iter().all(|x| x.dtype == case.inputs[0].dtype);
        for dtype in DType::ALL {
            let types: Vec<Type> = case.inputs.iter().map(|x| Type::Tile(dtype, Shape::new(&x.shape))).collect();
            let takes = alike && !types.is_empty() && infer(&case.kind, &types).is_ok();
            if takes && !seen.contains(&(row(&case.kind), Some(dtype))) {
                missing.push(format!("{} on {dtype}", row(&case.kind)));
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "no golden of {missing:?}");
}
