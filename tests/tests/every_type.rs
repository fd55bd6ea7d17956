//! Every operation of the table on every element type that it takes, against NumPy, SciPy and JAX.
//!
//! `goldens/every_type.py` wrote the cases and says where each value comes from. Each case becomes a kernel of one operation
//! over whole arrays; elementwise operations run on scalars as well. `goldens.rs` has more shapes of f32, bf16, i32 and bool.

use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::Path;
use tpu_kernel::ir::table::{self, State};
use tpu_kernel::ir::{
    BinaryOp, CompareOp, DType, DotDims, OpKind, Precision, ReduceOp, RotateStride, ScanOp, Shape, Type, UnaryOp, infer,
};
use tpu_tests::executors::Array;
use tpu_tests::golden::{self, Case, Want};

/// Elements of an elementwise case that are tried as scalars too.
const SCALARS: usize = 25;

/// Operations without a golden here, and why.
const WITHOUT: [(&str, &str); 33] = [
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
    ("defined", "an error: filetests"),
    ("load_scalar", "memory, not values: filetests"),
    ("store_scalar", "memory, not values: filetests"),
    ("view", "memory, not values: filetests, random programs"),
    ("view_squeezed", "memory, not values: filetests, random programs"),
    ("view_reshaped", "memory, not values: filetests, random views"),
    ("view_transposed", "memory, not values: filetests, random views"),
    ("view_bitcast", "memory, not values: filetests, random views"),
    ("load_masked", "memory, not values: filetests, random_masked"),
    ("store_masked", "memory, not values: filetests, random_masked"),
    ("remote_dma_start", "memory, not values: filetests, mesh"),
    ("device_id", "the launch: filetests, mesh"),
    ("dma_start", "memory, not values: filetests, random programs"),
    ("dma_wait", "memory, not values: filetests, random programs"),
    ("semaphore_at", "counts: filetests"),
    ("semaphore_signal", "counts: filetests"),
    ("core_signal", "counts: filetests"),
    ("semaphore_wait", "counts: filetests"),
    ("semaphore_read", "counts: filetests"),
    ("scoped", "memory, not values: filetests, random programs"),
];

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

/// Runs a group of cases; there must be some.
fn check(group: &str) {
    let goldens = Goldens::read();
    let cases: Vec<Case> = goldens.cases.iter().filter(|case| case["op"] == group).map(|case| goldens.case(case)).collect();
    assert!(!cases.is_empty());
    golden::check(&cases, SCALARS);
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

#[test]
fn every_row_of_the_table_has_a_golden_on_every_type() {
    let goldens = Goldens::read();
    let cases: Vec<Case> = goldens.cases.iter().map(|case| goldens.case(case)).collect();
    let seen: BTreeSet<(String, Option<DType>)> =
        cases.iter().map(|case| (table::row_of(&case.kind), case.inputs.last().map(|x| x.dtype))).collect();
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
            if takes && !seen.contains(&(table::row_of(&case.kind), Some(dtype))) {
                missing.push(format!("{} on {dtype}", table::row_of(&case.kind)));
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "no golden of {missing:?}");
}
