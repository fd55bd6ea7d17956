//! Every operation on f32, bf16, i32 and bool, against NumPy and JAX. Those on other element types, and those that came
//! later, are filetests with results from there, which `filetests/generate/` writes.
//!
//! `goldens/generate.py` wrote the cases and says where each value comes from. Each case becomes a
//! kernel of one operation over whole arrays; elementwise operations run on scalars as well.

use safetensors::{Dtype, SafeTensors};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::Path;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DType, DotDims, Kernel, Loc, OpKind, ParamKind, Precision, ReduceOp, Region, ScanOp,
    Shape, SizeExpr, Type, UnaryOp, Window, dot_accumulator, parse,
};
use tpu_kernel::launch::Binding;
use tpu_tests::executors::{Array, EXECUTORS, Executor, run, same};
use tpu_tests::filetest::corpus;

/// Elements of an elementwise case that are tried as scalars too.
const SCALARS: usize = 120;

/// What a result is compared with.
enum Want {
    Bits(Array),
    /// Values, and how many ulp a result may be off.
    Ulp(Vec<f64>, f64),
    /// Values, and how far off each result may be.
    Bound(Vec<f64>, Vec<f64>),
}

struct Case {
    /// The line of `cases.json`, for messages.
    text: String,
    kind: OpKind,
    inputs: Vec<Array>,
    dtype: DType,
    shape: Vec<usize>,
    want: Want,
}

fn dtype(stored: Dtype) -> DType {
    match stored {
        Dtype::F32 => DType::F32,
        Dtype::BF16 => DType::Bf16,
        Dtype::I32 => DType::I32,
        Dtype::BOOL => DType::Bool,
        other => panic!("no element type {other:?}"),
    }
}

fn array(tensors: &SafeTensors<'_>, name: &str) -> Array {
    let view = tensors.tensor(name).expect("a tensor of that name");
    Array { dtype: dtype(view.dtype()), shape: view.shape().to_vec(), bytes: view.data().to_vec() }
}

fn doubles(tensors: &SafeTensors<'_>, name: &str) -> Vec<f64> {
    let view = tensors.tensor(name).expect("a tensor of that name");
    assert_eq!(view.dtype(), Dtype::F64, "{name}");
    view.data().as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

/// The operation of a case, which makes a value of that shape.
fn kind(case: &Json, to: &[usize]) -> OpKind {
    let name = case["name"].as_str().unwrap_or("");
    let number = |key: &str| case[key].as_u64().expect("a number") as usize;
    let flag = |key: &str| case[key].as_bool().expect("true or false");
    match case["op"].as_str().expect("an operation") {
        "unary" => OpKind::Unary(UnaryOp::from_name(name).expect("an operation")),
        "binary" => OpKind::Binary(BinaryOp::from_name(name).expect("an operation")),
        "compare" => OpKind::Compare(CompareOp::from_name(name).expect("an operation")),
        "select" => OpKind::Select,
        "cast" => OpKind::Cast(DType::from_name(case["to"].as_str().unwrap_or("")).expect("an element type")),
        "iota" => OpKind::Iota { shape: Shape::new(to), axis: number("axis") },
        "broadcast" => OpKind::Broadcast(Shape::new(to)),
        "reshape" => OpKind::Reshape(Shape::new(to)),
        "transpose" => {
            let perm = case["perm"].as_array().expect("a list");
            OpKind::Transpose(perm.iter().map(|d| d.as_u64().expect("a number") as usize).collect())
        }
        "reduce" => OpKind::Reduce { op: ReduceOp::from_name(name).expect("an operation"), axis: number("axis") },
        "dot" => OpKind::Dot {
            dims: DotDims::matrices(flag("lhs_transposed"), flag("rhs_transposed")),
            precision: Precision::from_name(case["precision"].as_str().unwrap_or("")).expect("a precision"),
        },
        other => panic!("no operation {other}"),
    }
}

fn load(group: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
    let data = std::fs::read(folder.join("tensors.safetensors")).expect("the tensors");
    let tensors = SafeTensors::deserialize(&data).expect("safetensors");
    let cases: Vec<Json> =
        serde_json::from_str(&std::fs::read_to_string(folder.join("cases.json")).expect("the cases")).expect("JSON");
    let cases = cases.iter().filter(|case| case["op"] == group).map(|case| {
        let inputs: Vec<Array> =
            case["in"].as_array().expect("a list").iter().map(|n| array(&tensors, n.as_str().expect("a name"))).collect();
        let out = case["out"].as_str().expect("a name");
        let stored = tensors.tensor(out).expect("a tensor of that name");
        let shape = stored.shape().to_vec();
        let (dtype, want) = match (&case["check"], stored.dtype()) {
            (Json::Number(ulp), _) => (inputs[0].dtype, Want::Ulp(doubles(&tensors, out), ulp.as_f64().expect("a number"))),
            (Json::String(bits), stored) if bits == "bits" => (dtype(stored), Want::Bits(array(&tensors, out))),
            (Json::String(bound), _) => (DType::F32, Want::Bound(doubles(&tensors, out), doubles(&tensors, bound))),
            (other, _) => panic!("no check {other}"),
        };
        Case { text: case.to_string(), kind: kind(case, &shape), inputs, dtype, shape, want }
    });
    cases.collect()
}

/// A kernel of this one operation: over whole arrays, or on scalars with an output of one element.
fn kernel(case: &Case, scalar: bool) -> (Kernel, Binding) {
    let mut b = Builder::new("one", Loc::UNKNOWN);
    let zero_map = |b: &mut Builder, rank: usize| {
        b.map(|b, _| Ok::<_, ()>((0..rank).map(|_| b.constant(0, Loc::UNKNOWN)).collect())).expect("constants")
    };
    let window = |b: &mut Builder, dtype: DType, shape: &[usize]| {
        let block: Vec<BlockDim> = shape.iter().map(|&n| BlockDim::Blocked(n)).collect();
        let array = shape.iter().map(|&n| SizeExpr::Const(n as i64)).collect();
        let ty = Builder::window_type(dtype, &block).expect("rank 1 to 4");
        (ty, Window { array, block, map: zero_map(b, shape.len()) })
    };
    let mut arrays = vec![];
    let mut operands = vec![];
    for (at, input) in case.inputs.iter().enumerate() {
        let name = format!("x{at}");
        if scalar {
            operands.push(b.param(&name, Type::Scalar(input.dtype), ParamKind::Scalar, Loc::UNKNOWN));
            arrays.push(vec![]);
        } else {
            let (ty, window) = window(&mut b, input.dtype, &input.shape);
            operands.push(b.param(&name, ty, ParamKind::In(window), Loc::UNKNOWN));
            arrays.push(input.shape.clone());
        }
    }
    let shape = if scalar { vec![1] } else { case.shape.clone() };
    let (ty, window) = window(&mut b, case.dtype, &shape);
    let out = b.param("out", ty, ParamKind::Out(window), Loc::UNKNOWN);
    arrays.push(shape.clone());

    let zero = b.constant(0, Loc::UNKNOWN);
    if !scalar {
        for (operand, input) in operands.iter_mut().zip(&case.inputs) {
            let starts = vec![zero; input.shape.len()];
            let load = OpKind::Load(Shape::new(&input.shape));
            *operand = b.value(load, &[&[*operand], &starts[..]].concat(), Loc::UNKNOWN).expect("a valid load");
        }
    }
    let mut result = b.value(case.kind.clone(), &operands, Loc::UNKNOWN).expect("a valid operation");
    if scalar {
        result = b.value(OpKind::Broadcast(Shape::new(&[1])), &[result], Loc::UNKNOWN).expect("a valid broadcast");
    }
    let starts = vec![zero; shape.len()];
    b.op(OpKind::Store, &[&[out, result], &starts[..]].concat(), Loc::UNKNOWN).expect("a valid store");
    let kernel = b.finish().expect("no region is open");
    tpu_kernel::passes::verify(&kernel).expect("a valid kernel");
    (kernel, Binding { sizes: vec![], grid: vec![], arrays })
}

/// What is wrong with the element at `at` of a result.
fn wrong(case: &Case, at: usize, got: tpu_kernel::ir::Literal) -> Option<String> {
    let value = got.as_f32().map_or(0.0, f64::from);
    let both = |want: f64| (want.is_nan() && value.is_nan()) || want == value;
    match &case.want {
        Want::Bits(array) => {
            let want = array.elements().nth(at).expect("as many elements");
            (!same(want, got)).then(|| format!("wanted {want:?}, got {got:?}"))
        }
        Want::Ulp(want, ulp) => {
            let want = want[at];
            let error = (value - want).abs() / spacing(want, case.dtype);
            let overflow = (want as f32).is_infinite() && value == f64::from(want as f32);
            (!(both(want) || overflow || error <= *ulp)).then(|| format!("wanted {want:e}, got {got:?}: {error} ulp"))
        }
        Want::Bound(want, bound) => {
            let (want, bound) = (want[at], bound[at]);
            let near = (value - want).abs() <= bound && want.is_finite();
            (!(both(want) || near)).then(|| format!("wanted {want:e} within {bound:e}, got {got:?}"))
        }
    }
}

/// The distance between two values of that type in the binade of `value`.
fn spacing(value: f64, dtype: DType) -> f64 {
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    2f64.powi(exponent - if dtype == DType::Bf16 { 7 } else { 23 })
}

fn check_tiles(case: &Case, executor: Executor, failures: &mut Vec<String>) {
    let (kernel, binding) = kernel(case, false);
    let compiled = (executor.compile)(&kernel).unwrap_or_else(|e| panic!("{}: {}: {e}", executor.name, case.text));
    let outputs = run(&kernel, &compiled, &binding, &case.inputs, &[]).unwrap_or_else(|e| panic!("{}: {e}", case.text));
    for (at, got) in outputs[0].elements().enumerate() {
        if let Some(what) = wrong(case, at, got) {
            failures.push(format!("{} {}: element {at}: {what}", executor.name, case.text));
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
        if let Some(what) = wrong(case, at, got) {
            failures.push(format!("{} {}: scalars {scalars:?}: {what}", executor.name, case.text));
        }
    }
}

/// Runs a group of cases; there must be as many as were generated.
fn check(group: &str, count: usize, elementwise: bool) {
    let cases = load(group);
    assert_eq!(cases.len(), count, "cases of `{group}`");
    let mut failures = vec![];
    for case in &cases {
        for &executor in EXECUTORS {
            check_tiles(case, executor, &mut failures);
            if elementwise {
                check_scalars(case, executor, &mut failures);
            }
        }
    }
    let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} wrong elements:\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn unary() {
    check("unary", 16, true);
}
#[test]
fn binary() {
    check("binary", 27, true);
}
#[test]
fn compare() {
    check("compare", 20, true);
}
#[test]
fn select() {
    check("select", 4, true);
}
#[test]
fn cast() {
    check("cast", 16, true);
}
#[test]
fn iota() {
    check("iota", 11, false);
}
#[test]
fn broadcast() {
    check("broadcast", 32, false);
}
#[test]
fn reshape() {
    check("reshape", 28, false);
}
#[test]
fn transpose() {
    check("transpose", 140, false);
}
#[test]
fn reduce() {
    check("reduce", 189, false);
}
#[test]
fn dot() {
    check("dot", 168, false);
}

/// The operations of a region, each with the element type of its last operand.
fn operations(kernel: &Kernel, region: &Region, seen: &mut BTreeSet<(String, DType)>) {
    for op in &region.ops {
        if let Some(&last) = op.operands.last() {
            seen.insert((name(&op.kind), kernel.ty(last).dtype()));
        }
        op.regions.iter().for_each(|inner| operations(kernel, inner, seen));
    }
}

/// The name of an operation with what it is tried for each of.
fn name(kind: &OpKind) -> String {
    match kind {
        OpKind::Cast(to) => format!("cast {to}"),
        OpKind::Reduce { op, .. } => format!("reduce {op}"),
        OpKind::Scan { op, .. } => format!("scan {op}"),
        OpKind::Dot { precision, .. } => format!("dot {precision}"),
        kind => kind.mnemonic().to_string(),
    }
}

#[test]
fn nothing_is_left_out() {
    // Every operation of the tables occurs with every element type that it takes: here, or in a filetest that runs.
    let mut seen = BTreeSet::new();
    for group in ["unary", "binary", "compare", "cast", "reduce", "dot", "select", "broadcast", "reshape", "transpose"] {
        for case in load(group) {
            seen.insert((name(&case.kind), case.inputs.last().expect("an input").dtype));
        }
    }
    for text in corpus::texts().iter().filter(|text| text.starts_with("; test: run")) {
        let kernel = parse(text).expect("a kernel");
        operations(&kernel, &kernel.body, &mut seen);
    }
    let expect = |name: String, takes: &dyn Fn(DType) -> bool| {
        for dtype in DType::ALL.into_iter().filter(|&d| takes(d)) {
            assert!(seen.contains(&(name.clone(), dtype)), "no golden and no filetest of `{name}` on {dtype}");
        }
    };
    UnaryOp::ALL.iter().for_each(|op| expect(op.to_string(), &|d| op.takes(d)));
    BinaryOp::ALL.iter().for_each(|op| expect(op.to_string(), &|d| op.takes(d)));
    CompareOp::ALL.iter().for_each(|op| expect(op.to_string(), &|d| op.takes(d)));
    ReduceOp::ALL.iter().for_each(|op| expect(format!("reduce {op}"), &|d| op.takes(d)));
    ScanOp::ALL.iter().for_each(|op| expect(format!("scan {op}"), &DType::is_number));
    expect("sort".into(), &DType::is_number);
    Precision::ALL.iter().for_each(|p| expect(format!("dot {p}"), &|d| matches!(d, DType::F32 | DType::Bf16 | DType::I32)));
    expect("dot default".into(), &|d| dot_accumulator(d, d).is_some());
    DType::ALL.iter().for_each(|to| expect(format!("cast {to}"), &|d| d != *to));
    for name in ["select", "broadcast", "reshape", "transpose"] {
        expect(name.into(), &|_| true);
    }
}
