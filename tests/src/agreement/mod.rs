//! The matrix in which libtpu is asked whether it takes what we print: every operation of the language, with every element
//! type that it takes, on every class of shapes.
//!
//! Rules: arrays are whole blocks; operands come from memory or the launch, and what a kernel computes is stored, so that no
//! compiler can leave the operation out. Of directions, permutations and pairs of types that differ in nothing that a compiler
//! sees, a part stands for all, as `kept` says.

mod launch;
mod memory;
mod random;

pub use random::random_program;

use crate::kernels::{Writer, blocked};
use crate::matrix::{self, Combination};
use crate::one_op::{self, Case};
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BinaryOp, DType, DotDims, Literal, OpKind, Precision, Shape, SizeExpr, Type, Value, infer};
use tpu_kernel::launch::{Allow, Config, bind};
use tpu_kernel::mosaic;

/// The classes of shapes by name. The aligned one is a whole tile of the element type.
const CLASSES: [(&str, &[usize]); 9] = [
    ("aligned", &[]),
    ("small", &[1, 1]),
    ("column", &[128, 1]),
    ("row", &[1, 128]),
    ("ragged", &[7, 100]),
    ("vector", &[1000]),
    ("aligned vector", &[1024]),
    ("rank 3", &[3, 5, 64]),
    ("rank 4", &[2, 3, 4, 64]),
];

/// A tile of the chip: of 32 bits, 16 bits, and fewer.
const ALIGNED: [&[usize]; 3] = [&[8, 128], &[16, 256], &[32, 128]];

/// Every kernel of the matrix.
pub fn cases() -> Vec<Case> {
    let (sampled, _) = matrix::names();
    let mut cases = vec![];
    for name in &sampled {
        for (class, shape) in CLASSES {
            let shapes: &[&[usize]] = if shape.is_empty() { &ALIGNED } else { &[shape] };
            for (at, shape) in shapes.iter().enumerate() {
                let all = matrix::combinations(name, shape).into_iter();
                let fitting = all.filter(|one| shape_fits(one, at, shapes.len()) && kept(one, class));
                cases.extend(fitting.map(|one| tile_case(name, class, &one)));
            }
        }
        cases.extend(scalar_combinations(name).into_iter().map(|one| scalar_case(name, &one)));
    }
    memory::cases(&mut cases);
    launch::cases(&mut cases);
    cases.extend(one_op::cases().into_iter().filter(|case| {
        ["if ", "for ", "while ", "const ", "numbers", "carried dot"].iter().any(|start| case.name.starts_with(start))
    }));
    cases.extend(crate::idioms::cases());
    cases
}

/// Whether an aligned shape is that of the operation's widest element type.
fn shape_fits(one: &Combination, at: usize, shapes: usize) -> bool {
    let widest = one.operands.first().or(one.results.first()).map_or(32, |ty| ty.dtype().bits());
    let own = match widest {
        32 => 0,
        16 => 1,
        _ => 2,
    };
    shapes == 1 || at == own
}

/// Whether a combination is asked about: of products of different types one form; a precision of f32 alone; of sorts and scans
/// both directions along the last axis; of permutations of four dimensions every fourth.
fn kept(one: &Combination, class: &str) -> bool {
    let last = one.operands.first().map_or(0, |ty| ty.shape().rank().saturating_sub(1));
    match &one.kind {
        OpKind::Dot { dims, precision } => {
            let [lhs, rhs] = [0, 1].map(|at| one.operands[at].dtype());
            let plain = *precision == Precision::Default;
            let form = class == "aligned" && *dims == DotDims::matrices(false, false);
            (plain || lhs == DType::F32 && rhs == DType::F32) && (lhs == rhs || form)
        }
        OpKind::Sort { axis, descending } => !descending || *axis == last,
        OpKind::Scan { axis, reverse, .. } => !reverse || *axis == last,
        OpKind::Transpose(perm) if perm.len() == 4 => perm.iter().enumerate().map(|(at, d)| at * d).sum::<usize>() % 4 == 0,
        _ => true,
    }
}

fn name_of(name: &str, class: &str, one: &Combination) -> String {
    let types: Vec<String> = one.operands.iter().map(ToString::to_string).collect();
    format!("{name} | {class} | {:?} | {}", one.kind, types.join(", "))
}

fn whole(shape: &[usize]) -> Vec<(SizeExpr, tpu_kernel::ir::BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), blocked(n))).collect()
}

/// A kernel of that operation on whole arrays; its scalars are the launch's.
fn tile_case(name: &str, class: &str, one: &Combination) -> Case {
    kernel_of(name_of(name, class, one), one)
}

fn scalar_case(name: &str, one: &Combination) -> Case {
    kernel_of(name_of(name, "scalar", one), one)
}

fn kernel_of(name: String, one: &Combination) -> Case {
    let mut w = Writer::new("one", "agreement.rs");
    let mut inputs = vec![];
    let mut sources = vec![];
    for (at, ty) in one.operands.iter().enumerate() {
        let shape = ty.shape();
        sources.push(if ty.is_tile() {
            inputs.push((ty.dtype(), shape.dims().to_vec()));
            w.input(&format!("x{at}"), ty.dtype(), &whole(shape.dims()), &vec![None; shape.rank()])
        } else {
            w.scalar(&format!("s{at}"), ty.dtype())
        });
    }
    let outs: Vec<Value> = one
        .results
        .iter()
        .enumerate()
        .map(|(at, ty)| {
            let shape = if ty.is_tile() { ty.shape() } else { Shape::new(&[8, 128]) };
            w.output(&format!("o{at}"), ty.dtype(), &whole(shape.dims()), &vec![None; shape.rank()])
        })
        .collect();
    let mut values: Vec<Value> =
        one.operands.iter().zip(sources).map(|(ty, source)| if ty.is_tile() { w.load(source) } else { source }).collect();
    if let OpKind::Gather { axis } = one.kind {
        let extent = w.filled(one.operands[0].shape().dim(axis) as i32, one.operands[1].shape().dims());
        values[1] = w.binary(BinaryOp::Rem, values[1], extent);
    }
    if let OpKind::PrngBits(_) = one.kind {
        let seed = w.constant(Literal::from(7u32));
        w.effect(OpKind::PrngSeed, &[seed]);
    }
    for (out, mut value) in outs.into_iter().zip(w.results(one.kind.clone(), &values)) {
        if w.ty(value).is_scalar() {
            value = w.op(OpKind::Broadcast(Shape::new(&[8, 128])), &[value]);
        }
        w.store(out, value);
    }
    Case { name, kernel: w.finish(), inputs }
}

/// The elementwise operations on scalars.
fn scalar_combinations(name: &str) -> Vec<Combination> {
    let tiles = matrix::combinations(name, &[2]).into_iter();
    let elementwise = tiles.filter(|one| {
        matches!(
            one.kind,
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::Cast(_) | OpKind::Bitcast(_)
        )
    });
    elementwise
        .filter_map(|one| {
            let operands: Vec<Type> = one.operands.iter().map(|ty| Type::Scalar(ty.dtype())).collect();
            let results = infer(&one.kind, &operands).ok()?;
            Some(Combination { kind: one.kind, operands, results })
        })
        .collect()
}

/// What we say of a case on a chip: its program, or the code and the words of the rule that it breaks.
pub fn program(case: &Case, chip: &Chip) -> Result<String, (&'static str, String)> {
    let config = Config { allow: vec![Allow::DotTypes, Allow::Unwritten], ..Config::default() };
    let binding = bind(&case.kernel, chip, &case.inputs, &config).map_err(|error| (error.code(), error.to_string()))?;
    mosaic::stablehlo(&case.kernel, &binding, chip).map_err(|illegal| (illegal.code(), illegal.rule.to_string()))
}

/// A part of the cases, the same every time, of every kind about as many as it has: `count` of them, or all.
pub fn sample(cases: Vec<Case>, count: usize) -> Vec<Case> {
    if count >= cases.len() {
        return cases;
    }
    let total = cases.len();
    // The cases whose share of the count passes a whole number.
    let picked = |at: usize| (at + 1) * count / total > at * count / total;
    cases.into_iter().enumerate().filter(|(at, _)| picked(*at)).map(|(_, case)| case).collect()
}
