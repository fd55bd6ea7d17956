//! Canonicalising keeps every value: each operation on the result of each other, beside each constant and beside itself, on
//! every element type, over special values (of narrow types over all). NaN compares as NaN.

use tpu_kernel::ir::{BinaryOp, BlockDim, CompareOp, DType, Literal, OpKind, ReduceOp, ScanOp, Shape, SizeExpr, UnaryOp, Value};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::executors::{Array, INTERPRETER, run, same};
use tpu_tests::kernels::Writer;

/// Numbers of every kind.
const FLOATS: [f32; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    3.0,
    -7.0,
    256.0,
    65504.0,
    1e-45,
    -1e-40,
    1e-7,
    3.4e38,
    -3.4e38,
    2147483648.0,
    4294967296.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Special values; of a type of at most 8 bits all.
fn values(dtype: DType) -> Vec<Literal> {
    if dtype == DType::Bool {
        return [false, true].map(Literal::from).to_vec();
    }
    if dtype.bits() <= 8 {
        return (0..1 << dtype.bits()).map(|bits| Literal::from_bits(dtype, bits)).collect();
    }
    if dtype.is_float() {
        return FLOATS.iter().map(|&v| Literal::from_f32(dtype, v)).collect();
    }
    let (low, high) = dtype.range();
    let near = [0, 1, -1, 2, -2, 3, 7, -7, 15, 16, 31, 32, 33, 255, 256, low, low + 1, high - 1, high, high / 2 + 1];
    near.iter().map(|&v| Literal::from_int(dtype, v)).collect()
}

/// What may stand beside an operand.
fn constants(dtype: DType) -> Vec<Literal> {
    let mut all = [0.0, -0.0, 1.0, -1.0, 2.0].map(|v| Literal::from_f64(dtype, v)).to_vec();
    all.extend([Literal::from_int(dtype, -1), Literal::poison(dtype)]);
    if dtype.is_integer() {
        let (low, high) = dtype.range();
        all.extend([low, high, i64::from(dtype.bits())].map(|v| Literal::from_int(dtype, v)));
    }
    all.sort_by_key(|l| l.bits());
    all.dedup();
    all
}

/// A kernel whose input has these values, with an output for each result.
struct Trial {
    w: Writer,
    input: Array,
    /// The input, loaded.
    x: Value,
    dtype: DType,
    names: Vec<String>,
    outputs: Vec<Vec<usize>>,
}

fn whole(shape: &[usize]) -> Vec<(SizeExpr, BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect()
}

impl Trial {
    fn new(dtype: DType) -> Trial {
        let elements = values(dtype);
        let shape = [1, elements.len()];
        let mut w = Writer::new("rewrites", "rewrites.rs");
        let memory = w.input("x", dtype, &whole(&shape), &[None, None]);
        let x = w.load(memory);
        Trial { w, input: Array::new(dtype, &shape, elements), x, dtype, names: vec![], outputs: vec![] }
    }

    /// The tile, or one of its elements.
    fn operand(&mut self, element: Option<usize>) -> Value {
        match element {
            None => self.x,
            Some(at) => self.w.op(OpKind::Extract(vec![0, at % self.input.shape[1]]), &[self.x]),
        }
    }

    /// A constant in the shape of that value.
    fn like(&mut self, literal: Literal, value: Value) -> Value {
        let scalar = self.w.constant(literal);
        if self.w.ty(value).is_scalar() {
            return scalar;
        }
        let shape = self.w.ty(value).shape();
        self.w.op(OpKind::Broadcast(shape), &[scalar])
    }

    fn observe(&mut self, name: String, value: Value) {
        let value = if self.w.ty(value).is_scalar() { self.w.op(OpKind::Broadcast(Shape::new(&[1])), &[value]) } else { value };
        let ty = self.w.ty(value);
        let shape = ty.shape().dims().to_vec();
        let memory = self.w.output(&format!("o{}", self.names.len()), ty.dtype(), &whole(&shape), &vec![None; shape.len()]);
        self.w.store(memory, value);
        self.names.push(name);
        self.outputs.push(shape);
    }

    /// What differs between the kernel and its canonical form.
    fn differences(self, failures: &mut Vec<String>) {
        let Trial { w, input, dtype, names, outputs, .. } = self;
        let kernel = w.finish();
        verify(&kernel).expect("a valid kernel");
        let mut canonical = kernel.clone();
        canonicalise(&mut canonical);
        verify(&canonical).expect("still valid");
        let arrays = [vec![input.shape.clone()], outputs].concat();
        let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays };
        let [wanted, got] = [&kernel, &canonical].map(|kernel| {
            let compiled = (INTERPRETER.compile)(kernel).expect("the interpreter takes every kernel");
            run(kernel, &compiled, &binding, std::slice::from_ref(&input), &[]).expect("nothing here fails")
        });
        for ((name, want), got) in names.iter().zip(&wanted).zip(&got) {
            let differs = want.elements().zip(got.elements()).find(|&(want, got)| !same(want, got));
            if let Some((want, got)) = differs {
                failures.push(format!("{name} of {dtype}: {want} became {got}"));
            }
        }
    }
}

/// Runs trials of each element type: of the tile, and of scalars that are elements of it.
fn every_type(mut fill: impl FnMut(&mut Trial, DType, Value)) {
    let mut failures = vec![];
    let mut observed = 0;
    for dtype in DType::ALL {
        for element in [None, Some(0), Some(5), Some(usize::MAX)] {
            let mut trial = Trial::new(dtype);
            let x = trial.operand(element);
            fill(&mut trial, dtype, x);
            observed += trial.names.len();
            if !trial.names.is_empty() {
                trial.differences(&mut failures);
            }
        }
    }
    assert!(observed > DType::ALL.len());
    assert!(failures.is_empty(), "{} results differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn one_operation_after_another() {
    every_type(|t, dtype, x| {
        for &inner in UnaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
            let y = t.w.op(OpKind::Unary(inner), &[x]);
            let middle = t.w.ty(y).dtype();
            for &outer in UnaryOp::ALL.iter().filter(|op| op.takes(middle)) {
                let z = t.w.op(OpKind::Unary(outer), &[y]);
                t.observe(format!("{outer} of {inner}"), z);
            }
        }
    });
}

#[test]
fn constants_beside_an_operand() {
    every_type(|t, dtype, x| {
        for literal in constants(dtype) {
            let c = t.like(literal, x);
            let pairs = [(x, c, "x, c"), (c, x, "c, x"), (c, c, "c, c"), (x, x, "x, x")];
            for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
                for (a, b, name) in pairs {
                    let y = t.w.binary(op, a, b);
                    t.observe(format!("{op} {name} with c = {literal}"), y);
                }
            }
            for &op in CompareOp::ALL.iter().filter(|op| op.takes(dtype)) {
                for (a, b, name) in pairs {
                    let y = t.w.op(OpKind::Compare(op), &[a, b]);
                    t.observe(format!("{op} {name} with c = {literal}"), y);
                }
            }
            let other = t.like(Literal::from_f64(dtype, 1.0), x);
            let condition = t.w.op(OpKind::Compare(CompareOp::Ne), &[x, other]);
            for (a, b, name) in [(x, c, "x, c"), (c, x, "c, x"), (c, other, "c, 1"), (other, c, "1, c")] {
                let y = t.w.op(OpKind::Select, &[condition, a, b]);
                t.observe(format!("select {name} with c = {literal}"), y);
            }
        }
    });
}

#[test]
fn constants_alone() {
    every_type(|t, dtype, x| {
        for literal in constants(dtype) {
            let c = t.like(literal, x);
            for &op in UnaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
                let y = t.w.op(OpKind::Unary(op), &[c]);
                t.observe(format!("{op} of {literal}"), y);
            }
            for to in DType::ALL {
                let y = t.w.op(OpKind::Cast(to), &[c]);
                t.observe(format!("cast of {literal} to {to},"), y);
                if dtype.is_number() && to.is_number() && to.bits() == dtype.bits() {
                    let y = t.w.op(OpKind::Bitcast(to), &[c]);
                    t.observe(format!("bitcast of {literal} to {to},"), y);
                }
            }
        }
    });
}

#[test]
fn chains_of_casts() {
    every_type(|t, _, x| {
        for middle in DType::ALL {
            let y = t.w.op(OpKind::Cast(middle), &[x]);
            for to in DType::ALL {
                let z = t.w.op(OpKind::Cast(to), &[y]);
                t.observe(format!("cast to {middle}, then to {to},"), z);
            }
        }
    });
}

#[test]
fn reductions_of_one_element() {
    every_type(|t, dtype, _| {
        for &op in ReduceOp::ALL.iter().filter(|op| op.takes(dtype)) {
            let y = t.w.reduce(op, t.x, 0);
            t.observe(format!("reduce {op}"), y);
        }
        for &op in ScanOp::ALL.iter().filter(|_| dtype.is_number()) {
            for reverse in [false, true] {
                let y = t.w.op(OpKind::Scan { op, axis: 0, reverse }, &[t.x]);
                t.observe(format!("scan {op}"), y);
            }
        }
    });
}
