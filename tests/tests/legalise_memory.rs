//! Memory and products as each chip has them: the interpreter gives on the legalised kernel what it gives on the
//! kernel itself, bit for bit but for the payload of NaN.
//!
//! `LIBTPU_PATH` names libtpu.so, which then has to accept the same kernels; without it only the numbers are compared.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, DType, DotDims, Kernel, Literal, OpKind, ParamKind, Precision, Semantics, Shape, SizeExpr, Type, Value,
    dot_accumulator,
};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{legalise, stored, word};
use tpu_kernel::mosaic;
use tpu_tests::executors::{Array, INTERPRETER, run, same};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::Writer;
use tpu_tests::libtpu::{accepted, judge, library};

/// A kernel with what it is launched on.
struct Case {
    name: String,
    kernel: Kernel,
    binding: Binding,
    inputs: Vec<Array>,
    scalars: Vec<Literal>,
}

/// Outputs of the kernel, as the user sees them.
fn outputs(kernel: &Kernel, case: &Case, inputs: &[Array], scalars: &[Literal]) -> Vec<Array> {
    let compiled = (INTERPRETER.compile)(kernel).expect("the interpreter takes every kernel");
    run(kernel, &compiled, &case.binding, inputs, scalars).unwrap_or_else(|e| panic!("{}: {e}", case.name))
}

/// The literal of a scalar as the word in which a legalised kernel takes it.
fn as_word(literal: Literal) -> Literal {
    let dtype = match word(literal.dtype()) {
        DType::Bool => DType::I32,
        dtype => dtype,
    };
    match literal.as_f32() {
        Some(number) => Literal::from_f32(dtype, number),
        None => Literal::from_int(dtype, literal.as_int().unwrap_or(i64::from(literal.as_bool() == Some(true)))),
    }
}

/// The case on a chip: the same numbers as without, or `None` where the chip has not its element types.
fn check(case: &Case, chip: &'static Chip) -> Option<Kernel> {
    let legal = match legalise(&case.kernel, chip) {
        Ok(legal) => legal,
        Err(refusal) if ["M001", "M009"].contains(&refusal.code()) => return None,
        Err(refusal) => panic!("{}: {refusal}", case.name),
    };
    tpu_kernel::passes::verify(&legal).unwrap_or_else(|e| panic!("{} on {}: {e:?}", case.name, chip.name));
    let want = outputs(&case.kernel, case, &case.inputs, &case.scalars);
    let retyped = |a: &Array| Array { dtype: stored(a.dtype), shape: a.shape.clone(), bytes: a.bytes.clone() };
    let inputs: Vec<Array> = case.inputs.iter().map(retyped).collect();
    let scalars: Vec<Literal> = case.scalars.iter().map(|&s| as_word(s)).collect();
    let got = outputs(&legal, case, &inputs, &scalars);
    for (want, got) in want.iter().zip(&got) {
        let got = Array { dtype: want.dtype, shape: got.shape.clone(), bytes: got.bytes.clone() };
        let pairs = want.elements().zip(got.elements()).enumerate();
        let wrong: Vec<String> =
            pairs.filter(|(_, (a, b))| !same(*a, *b)).take(5).map(|(at, (a, b))| format!("{at}: {a}, not {b}")).collect();
        assert!(wrong.is_empty(), "{} on {}: {}", case.name, chip.name, wrong.join("; "));
    }
    Some(legal)
}

/// Every case on every chip; libtpu takes what is printed. At least `least` of them have a form.
fn check_all(name: &str, cases: &[Case], least: usize) {
    for chip in Chip::ALL {
        let legal: Vec<&Case> = cases.iter().filter(|case| check(case, chip).is_some()).collect();
        assert!(legal.len() >= least, "{} of {} {name} have a form on {}", legal.len(), cases.len(), chip.name);
        let text = |case: &&Case| mosaic::stablehlo(&case.kernel, &case.binding, chip).expect(&case.name);
        let programs: Vec<String> = legal.iter().map(text).collect();
        let Some(library) = library() else { continue };
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs);
        let refused: Vec<String> = legal
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| !accepted(verdict))
            .map(|(case, verdict)| format!("{}: {verdict:?}", case.name))
            .collect();
        assert!(refused.is_empty(), "{} of {} {name} on {}:\n{}", refused.len(), legal.len(), chip.name, refused.join("\n"));
    }
}

fn random(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut rng = Rng::new(seed);
    Array::new(dtype, shape, (0..shape.iter().product()).map(|_| rng.literal(dtype, 5)))
}

/// Any bits that are a number of moderate size, so that sums say something.
fn tame(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut rng = Rng::new(seed);
    let mut element = || match dtype {
        _ if !dtype.is_float() => Literal::from_bits(dtype, rng.bits() as u32),
        _ => Literal::from_f32(dtype, (rng.below(4001) as f32 - 2000.0) / 1021.0),
    };
    Array::new(dtype, shape, (0..shape.iter().product()).map(|_| element()))
}

fn whole(shape: &[usize]) -> Vec<(SizeExpr, BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect()
}

/// A kernel in one step on whole arrays.
fn single(
    name: String,
    inputs: Vec<Array>,
    scalars: &[Literal],
    outs: &[(DType, &[usize])],
    f: impl FnOnce(&mut Writer, &[Value], &[Value], &[Value]),
) -> Case {
    let mut w = Writer::new("memory", "memory.rs");
    let given: Vec<Value> = scalars.iter().enumerate().map(|(at, s)| w.scalar(&format!("s{at}"), s.dtype())).collect();
    let ins: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(at, a)| w.input(&format!("x{at}"), a.dtype, &whole(&a.shape), &vec![None; a.shape.len()]))
        .collect();
    let out: Vec<Value> = outs
        .iter()
        .enumerate()
        .map(|(at, (dtype, shape))| w.output(&format!("o{at}"), *dtype, &whole(shape), &vec![None; shape.len()]))
        .collect();
    f(&mut w, &ins, &given, &out);
    let mut arrays = vec![vec![]; scalars.len()];
    arrays.extend(inputs.iter().map(|a| a.shape.clone()));
    arrays.extend(outs.iter().map(|(_, shape)| shape.to_vec()));
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays };
    Case { name, kernel: w.finish(), binding, inputs, scalars: scalars.to_vec() }
}

fn product(a: Array, b: Array, dims: DotDims, precision: Precision) -> Case {
    let kind = OpKind::Dot { dims, precision };
    let name = format!("{kind:?} {}[{:?}] {}[{:?}]", a.dtype, a.shape, b.dtype, b.shape);
    let sum = dot_accumulator(a.dtype, b.dtype).expect("a product");
    let OpKind::Dot { dims, .. } = &kind else { unreachable!("made above") };
    let batch = dims.batch.iter().map(|&(l, _)| a.shape[l]);
    let free = [dims.lhs_free(a.shape.len()).map(|d| a.shape[d]), dims.rhs_free(b.shape.len()).map(|d| b.shape[d])];
    let shape: Vec<usize> = batch.chain(free.into_iter().flatten()).collect();
    single(name, vec![a, b], &[], &[(sum, &shape)], |w, x, _, o| {
        let tiles = [w.load(x[0]), w.load(x[1])];
        let product = w.op(kind.clone(), &tiles);
        w.store(o[0], product);
    })
}

/// Element types with a product, and the precisions that differ on them.
fn pairs() -> Vec<(DType, DType, Precision)> {
    let mut pairs = vec![];
    for a in DType::ALL {
        for b in DType::ALL {
            for &precision in Precision::ALL {
                let rounds = [a, b].contains(&DType::F32);
                if dot_accumulator(a, b).is_some() && (rounds || precision == Precision::Default) {
                    pairs.push((a, b, precision));
                }
            }
        }
    }
    pairs
}

#[test]
fn products_of_all_types() {
    let cases: Vec<Case> = pairs()
        .into_iter()
        .enumerate()
        .map(|(at, (a, b, precision))| {
            let seed = 2 * at as u64;
            product(tame(a, &[16, 40], seed), tame(b, &[40, 24], seed + 1), DotDims::matrices(false, false), precision)
        })
        .collect();
    check_all("products", &cases, 120);
}

/// Infinities and NaN survive where an f32 is cut, and every byte is multiplied.
#[test]
fn products_of_special_numbers() {
    let cases: Vec<Case> = pairs()
        .into_iter()
        .enumerate()
        .map(|(at, (a, b, precision))| {
            let seed = 2 * at as u64;
            product(random(a, &[8, 9], seed), random(b, &[9, 8], seed + 1), DotDims::matrices(false, false), precision)
        })
        .collect();
    check_all("special", &cases, 120);
}

/// Sums that f32 would round, of the largest magnitudes.
#[test]
fn long_products_of_integers_are_exact() {
    let cases: Vec<Case> = [
        (DType::I8, DType::I8, 2100),
        (DType::U8, DType::U8, 700),
        (DType::U8, DType::I8, 1300),
        (DType::I8, DType::U4, 3000),
        (DType::U16, DType::U16, 600),
        (DType::I16, DType::U8, 600),
        (DType::I32, DType::I32, 1100),
    ]
    .into_iter()
    .flat_map(|(a, b, k)| {
        let extreme = |d: DType| Literal::from_int(d, if d.is_signed() { -(1 << (d.bits() - 1)) } else { (1 << d.bits()) - 1 });
        let dims = DotDims::matrices(false, true);
        [
            product(Array::filled(&[8, k], extreme(a)), Array::filled(&[8, k], extreme(b)), dims.clone(), Precision::Default),
            product(tame(a, &[8, k], 1), tame(b, &[8, k], 2), dims, Precision::Default),
        ]
    })
    .collect();
    check_all("long", &cases, cases.len());
}

/// Transposed, batched, in odd orders, without dimensions of their own.
#[test]
fn products_of_all_dimensions() {
    let batch = |pairs: &[(usize, usize)], contract| DotDims { contract, batch: pairs.to_vec() };
    let forms: Vec<(&[usize], &[usize], DotDims)> = vec![
        (&[16, 40], &[24, 40], DotDims::matrices(false, true)),
        (&[40, 16], &[40, 24], DotDims::matrices(true, false)),
        (&[40, 16], &[24, 40], DotDims::matrices(true, true)),
        (&[40], &[40, 24], batch(&[], (0, 0))),
        (&[40], &[24, 40], batch(&[], (0, 1))),
        (&[16, 40], &[40], batch(&[], (1, 0))),
        (&[40, 16], &[40], batch(&[], (0, 0))),
        (&[3, 16, 40], &[3, 40, 24], batch(&[(0, 0)], (2, 1))),
        (&[3, 16, 40], &[3, 24, 40], batch(&[(0, 0)], (2, 2))),
        (&[3, 40, 16], &[3, 40, 24], batch(&[(0, 0)], (1, 1))),
        (&[16, 3, 40], &[40, 24, 3], batch(&[(1, 2)], (2, 0))),
        (&[3, 40], &[3, 40], batch(&[(0, 0)], (1, 1))),
        (&[3, 16, 40], &[3, 40], batch(&[(0, 0)], (2, 1))),
        (&[3, 40], &[40, 3, 24], batch(&[(0, 1)], (1, 0))),
        (&[2, 3, 16, 40], &[2, 3, 40, 24], batch(&[(0, 0), (1, 1)], (3, 2))),
        (&[2, 16, 3, 40], &[3, 24, 2, 40], batch(&[(0, 2), (2, 0)], (3, 3))),
    ];
    let types = [
        (DType::F32, DType::F32),
        (DType::Bf16, DType::Bf16),
        (DType::F32, DType::Bf16),
        (DType::I8, DType::I8),
        (DType::U8, DType::I16),
        (DType::I32, DType::I32),
        (DType::F8E4M3Fn, DType::F8E5M2),
        (DType::Bf16, DType::I4),
    ];
    let mut cases = vec![];
    for (lhs, rhs, dims) in forms {
        for (a, b) in types {
            let seed = cases.len() as u64;
            cases.push(product(tame(a, lhs, seed), tame(b, rhs, seed + 1), dims.clone(), Precision::Default));
        }
    }
    check_all("dimensions", &cases, cases.len());
}

const PLACES: [DType; 6] = [DType::F32, DType::Bf16, DType::I8, DType::U32, DType::F8E5M2, DType::Bool];

/// Loads and stores that start anywhere, in one dimension and in two, with all extents.
#[test]
fn accesses_start_anywhere() {
    let mut cases = vec![];
    let accesses: [(&[usize], &[usize], &[i32]); 9] = [
        (&[64, 256], &[8, 256], &[13, 0]),
        (&[64, 256], &[8, 256], &[56, 0]),
        (&[64, 256], &[3, 100], &[61, 99]),
        (&[64, 256], &[1, 256], &[17, 0]),
        (&[64, 128], &[8, 128], &[5, 0]),
        (&[40, 60], &[40, 7], &[0, 53]),
        (&[5, 16, 128], &[2, 9, 128], &[3, 7, 0]),
        (&[5, 16, 128], &[1, 16, 28], &[4, 0, 100]),
        (&[2048], &[1024], &[77]),
    ];
    for dtype in PLACES {
        for (memory, part, start) in accesses {
            let seed = cases.len() as u64;
            let scalars: Vec<Literal> = start.iter().map(|&n| Literal::from(n)).collect();
            let name = format!("load {dtype} {part:?} of {memory:?} at {start:?}");
            cases.push(single(name, vec![random(dtype, memory, seed)], &scalars, &[(dtype, part)], |w, x, at, o| {
                let tile = w.load_at(x[0], part, at);
                w.store(o[0], tile);
            }));
            let inputs = vec![random(dtype, memory, seed), random(dtype, part, seed + 1)];
            let name = format!("store {dtype} {part:?} to {memory:?} at {start:?}");
            cases.push(single(name, inputs, &scalars, &[(dtype, memory)], |w, x, at, o| {
                let (before, tile) = (w.load(x[0]), w.load(x[1]));
                w.store(o[0], before);
                w.store_at(o[0], tile, at);
            }));
        }
    }
    check_all("anywhere", &cases, cases.len() - 4);
}

/// A start that is a multiple by what it is computed from needs nothing more than the access.
#[test]
fn what_is_proven_stays_one_access() {
    type Multiple = (&'static str, fn(&mut Writer, Value) -> Value);
    let multiples: [Multiple; 6] = [
        ("mul", |w, i| {
            let n = w.constant(8);
            w.binary(BinaryOp::Mul, i, n)
        }),
        ("shift", |w, i| {
            let n = w.constant(3);
            w.binary(BinaryOp::Shl, i, n)
        }),
        ("and", |w, i| {
            let n = w.constant(-8);
            w.binary(BinaryOp::And, i, n)
        }),
        ("sum", |w, i| {
            let (n, m) = (w.constant(16), w.constant(40));
            let many = w.binary(BinaryOp::Mul, i, n);
            w.binary(BinaryOp::Add, many, m)
        }),
        ("min", |w, i| {
            let (n, m) = (w.constant(16), w.constant(40));
            let many = w.binary(BinaryOp::Mul, i, n);
            w.binary(BinaryOp::Min, many, m)
        }),
        ("rem", |w, i| {
            let (n, m) = (w.constant(8), w.constant(24));
            let many = w.binary(BinaryOp::Mul, i, n);
            w.binary(BinaryOp::Rem, many, m)
        }),
    ];
    for (name, multiple) in multiples {
        let case = single(
            format!("start by {name}"),
            vec![random(DType::F32, &[64, 256], 1)],
            &[Literal::from(1)],
            &[(DType::F32, &[8, 256])],
            |w, x, at, o| {
                let (start, zero) = (multiple(w, at[0]), w.constant(0));
                let tile = w.load_at(x[0], &[8, 256], &[start, zero]);
                w.store(o[0], tile);
            },
        );
        let legal = check(&case, &Chip::V5E).expect("a form");
        assert!(!legal.body.ops.iter().any(|op| matches!(op.kind, OpKind::Rotate { .. })), "{name}");
    }
}

/// A loop from a multiple by a multiple; and one that is not.
#[test]
fn loops_prove_their_index() {
    for (step, proven) in [(8, true), (4, false)] {
        let case = single(
            format!("loop by {step}"),
            vec![random(DType::Bf16, &[64, 128], 1)],
            &[],
            &[(DType::Bf16, &[64, 128])],
            |w, x, _, o| {
                let bounds = [w.constant(16), w.constant(56), w.constant(step)];
                let zero = w.constant(0);
                let args = w.open(&[Type::Scalar(DType::I32)]);
                let tile = w.load_at(x[0], &[8, 128], &[args[0], zero]);
                w.store_at(o[0], tile, &[args[0], zero]);
                let body = w.close(&[]);
                w.control(OpKind::For, &bounds, vec![body], &[]);
            },
        );
        let legal = check(&case, &Chip::V6E).expect("a form");
        let body = legal.body.ops.iter().find(|op| op.kind == OpKind::For).map(|op| &op.regions[0]).expect("the loop");
        let rotates = body.ops.iter().any(|op| matches!(op.kind, OpKind::Rotate { .. }));
        assert_eq!(rotates, !proven, "by {step}");
    }
}

/// What is too large to be rotated is refused, with what the start should be.
#[test]
fn large_blocks_start_at_multiples() {
    let case = single(
        "large".into(),
        vec![Array::filled(&[1024, 1024], Literal::from(0f32))],
        &[Literal::from(1)],
        &[(DType::F32, &[8, 1024])],
        |w, x, at, o| {
            let zero = w.constant(0);
            let tile = w.load_at(x[0], &[8, 1024], &[at[0], zero]);
            w.store(o[0], tile);
        },
    );
    let refusal = legalise(&case.kernel, &Chip::V5E).expect_err("a refusal");
    assert_eq!(refusal.code(), "M004");
    assert!(refusal.to_string().contains("axis 0 of [1024x1024] must be a multiple of 8"), "{refusal}");
}

/// Windows with squeezed dimensions in every place, of every element type: read, and written back.
#[test]
fn squeezed_dimensions() {
    use BlockDim::{Blocked, Squeezed};
    let blocks: [(&[usize], &[BlockDim]); 5] = [
        (&[3, 16, 128], &[Squeezed, Blocked(16), Blocked(128)]),
        (&[16, 1, 128], &[Blocked(16), Squeezed, Blocked(128)]),
        (&[16, 128, 1], &[Blocked(16), Blocked(128), Squeezed]),
        (&[3, 1, 128], &[Squeezed, Squeezed, Blocked(128)]),
        (&[2, 16, 1, 128], &[Squeezed, Blocked(16), Squeezed, Blocked(128)]),
    ];
    let mut cases = vec![];
    for dtype in DType::ALL.into_iter().filter(|d| ![DType::I2, DType::F16].contains(d)) {
        for (array, block) in blocks {
            let mut w = Writer::new("squeezed", "squeezed.rs");
            let steps = block.iter().zip(array).position(|(b, &n)| *b == Squeezed && n > 1);
            let extent = steps.map_or(1, |axis| array[axis]);
            w.grid("i", SizeExpr::Const(extent as i64), Semantics::Arbitrary);
            let dims: Vec<_> = array.iter().zip(block).map(|(&n, &b)| (SizeExpr::Const(n as i64), b)).collect();
            let map: Vec<_> = (0..array.len()).map(|axis| (Some(axis) == steps).then_some(0)).collect();
            let x = w.input("x", dtype, &dims, &map);
            let o = w.output("o", dtype, &dims, &map);
            let tile = w.load(x);
            w.store(o, tile);
            let binding = Binding { cores: 1, sizes: vec![], grid: vec![extent as i32], arrays: vec![array.to_vec(); 2] };
            let name = format!("squeezed {dtype} {array:?} {block:?}");
            let inputs = vec![random(dtype, array, cases.len() as u64)];
            cases.push(Case { name, kernel: w.finish(), binding, inputs, scalars: vec![] });
        }
    }
    check_all("squeezed", &cases, cases.len() - 17);
}

/// Scalars of every type come as words.
#[test]
fn scalars_are_words() {
    let cases: Vec<Case> = DType::ALL
        .into_iter()
        .filter(|&d| d != DType::I2)
        .map(|dtype| {
            let mut rng = Rng::new(7);
            let scalar = rng.literal(dtype, 0);
            single(format!("scalar {dtype}"), vec![], &[scalar], &[(DType::I32, &[8, 128])], |w, _, s, o| {
                let word = w.op(OpKind::Cast(DType::I32), s);
                let tile = w.op(OpKind::Broadcast(Shape::new(&[8, 128])), &[word]);
                w.store(o[0], tile);
            })
        })
        .collect();
    check_all("scalars", &cases, 13);
    let params = legalise(&cases[0].kernel, &Chip::V5E).expect("a form").params;
    assert!(params.iter().any(|p| p.kind == ParamKind::Scalar));
}
