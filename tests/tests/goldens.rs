//! Every operation on f32, bf16, i32 and bool, against NumPy and JAX. Those on other element types, and those that came
//! later, are filetests with results from there, which `filetests/generate/` writes.
//!
//! `goldens/generate.py` wrote the cases and says where each value comes from. Each case becomes a
//! kernel of one operation over whole arrays; elementwise operations run on scalars as well.

use safetensors::{Dtype, SafeTensors};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::Path;
use tpu_kernel::ir::table::row_of;
use tpu_kernel::ir::{
    BinaryOp, CompareOp, DType, DotDims, Kernel, OpKind, Precision, ReduceOp, Region, ScanOp, Shape, UnaryOp, dot_accumulator,
    parse,
};
use tpu_tests::executors::Array;
use tpu_tests::filetest::corpus;
use tpu_tests::golden::{self, Case, Want};

/// Elements of an elementwise case that are tried as scalars too.
const SCALARS: usize = 120;

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
        let (text, kind) = (case.to_string(), kind(case, &shape));
        Case { text, kind, seed: vec![], inputs, wants: vec![want], outputs: vec![(dtype, shape)] }
    });
    cases.collect()
}

/// Runs a group of cases; there must be as many as were generated.
fn check(group: &str, count: usize) {
    let cases = load(group);
    assert_eq!(cases.len(), count, "cases of `{group}`");
    golden::check(&cases, SCALARS);
}

#[test]
fn unary() {
    check("unary", 16);
}
#[test]
fn binary() {
    check("binary", 27);
}
#[test]
fn compare() {
    check("compare", 20);
}
#[test]
fn select() {
    check("select", 4);
}
#[test]
fn cast() {
    check("cast", 16);
}
#[test]
fn iota() {
    check("iota", 11);
}
#[test]
fn broadcast() {
    check("broadcast", 32);
}
#[test]
fn reshape() {
    check("reshape", 28);
}
#[test]
fn transpose() {
    check("transpose", 140);
}
#[test]
fn reduce() {
    check("reduce", 189);
}
#[test]
fn dot() {
    check("dot", 168);
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
        OpKind::Dot { precision, .. } => format!("dot {precision}"),
        kind => row_of(kind),
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
