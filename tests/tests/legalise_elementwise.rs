//! Elementwise operations as each chip computes them: legalised, they give the interpreter's bits.
//!
//! Rules: every operation on every element type that it takes, tiles and scalars, over special and random values. f16 comes and
//! goes by its bits, and scalars of narrow types as words, so that no other family of operations is in question. Functions that
//! a chip lacks are held to a bound instead, in `legalise_functions.rs`.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BinaryOp, BlockDim, CompareOp, DType, Kernel, Literal, OpKind, ParamKind, Shape, SizeExpr, UnaryOp, Value};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{Rule, check, legalise, stored, word};
use tpu_tests::executors::{Array, INTERPRETER, run, same};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::{Writer, blocked};
use tpu_tests::legalised::{Original, forms};

const SHAPE: [usize; 2] = [16, 32];

fn whole(shape: &[usize]) -> Vec<(SizeExpr, BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), blocked(n))).collect()
}

/// How a type passes through memory here.
fn held(dtype: DType) -> DType {
    if dtype == DType::F16 { DType::U16 } else { dtype }
}

struct Case {
    name: String,
    kernel: Kernel,
    binding: Binding,
    inputs: Vec<Array>,
    scalars: Vec<Literal>,
}

/// Tiles in, one tile out.
fn tiles(name: String, kind: &OpKind, operands: &[DType], result: (DType, &[usize]), seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let elements: usize = SHAPE.iter().product();
    let inputs: Vec<_> = operands.iter().map(|&d| (d, (0..elements).map(|_| rng.literal(d, 60)).collect())).collect();
    of_elements(name, kind, &inputs, &SHAPE, result)
}

/// The same of these elements.
fn of_elements(
    name: String,
    kind: &OpKind,
    operands: &[(DType, Vec<Literal>)],
    shape: &[usize],
    result: (DType, &[usize]),
) -> Case {
    let mut w = Writer::new("one", "elementwise.rs");
    let memories: Vec<Value> = operands
        .iter()
        .enumerate()
        .map(|(at, (d, _))| w.input(&format!("x{at}"), held(*d), &whole(shape), &[None, None]))
        .collect();
    let out = w.output("o", held(result.0), &whole(result.1), &[None, None]);
    let mut inputs = vec![];
    let mut values = vec![];
    for (&memory, (dtype, numbers)) in memories.iter().zip(operands) {
        let dtype = *dtype;
        inputs.push(Array::new(held(dtype), shape, numbers.iter().map(|n| Literal::from_bits(held(dtype), n.bits()))));
        let loaded = w.load(memory);
        values.push(if dtype == DType::F16 { w.op(OpKind::Bitcast(dtype), &[loaded]) } else { loaded });
    }
    let mut value = w.op(kind.clone(), &values);
    if result.0 == DType::F16 {
        value = w.op(OpKind::Bitcast(DType::U16), &[value]);
    }
    w.store(out, value);
    let mut arrays = vec![shape.to_vec(); operands.len()];
    arrays.push(result.1.to_vec());
    Case { name, kernel: w.finish(), binding: Binding { cores: 1, sizes: vec![], grid: vec![], arrays }, inputs, scalars: vec![] }
}

/// Scalars in, one scalar out as a word.
fn scalars(name: String, kind: &OpKind, operands: &[DType], result: DType, numbers: Vec<Literal>) -> Case {
    let mut w = Writer::new("one", "elementwise.rs");
    let values: Vec<Value> = operands.iter().enumerate().map(|(at, &d)| w.scalar(&format!("s{at}"), d)).collect();
    let shown = if result.is_float() { DType::F32 } else { DType::I32 };
    let out = w.output("o", shown, &whole(&[1, 1]), &[None, None]);
    let mut value = w.op(kind.clone(), &values);
    if result != shown {
        value = w.op(OpKind::Cast(shown), &[value]);
    }
    let value = w.op(OpKind::Broadcast(Shape::new(&[1, 1])), &[value]);
    w.store(out, value);
    let mut arrays = vec![vec![]; operands.len()];
    arrays.push(vec![1, 1]);
    Case {
        name,
        kernel: w.finish(),
        binding: Binding { cores: 1, sizes: vec![], grid: vec![], arrays },
        inputs: vec![],
        scalars: numbers,
    }
}

/// A scalar as the legalised kernel takes it.
fn as_word(scalar: Literal) -> Literal {
    match scalar.dtype() {
        DType::Bool => Literal::from(scalar.bits() as i32),
        dtype => match (scalar.as_f32(), scalar.as_int()) {
            (Some(number), _) => Literal::from(number),
            (_, Some(number)) => Literal::from_int(word(dtype), number),
            _ => scalar,
        },
    }
}

fn outcome(kernel: &Kernel, case: &Case, scalars: &[Literal]) -> Vec<Array> {
    let compiled = (INTERPRETER.compile)(kernel).expect("a kernel that the interpreter takes");
    let inputs: Vec<Array> = kernel
        .params
        .iter()
        .filter(|p| matches!(p.kind, ParamKind::In(_)))
        .zip(&case.inputs)
        .map(|(param, array)| Array { dtype: param.ty.dtype(), ..array.clone() })
        .collect();
    run(kernel, &compiled, &case.binding, &inputs, scalars).expect(&case.name)
}

/// The kernel in native operations, on every chip that has the types.
fn legal(case: &Case) -> Vec<(&'static Chip, Kernel)> {
    let mut kernels = vec![];
    for chip in Chip::ALL {
        let legal = match legalise(&case.kernel, chip) {
            Ok(legal) => legal,
            Err(refusal) if matches!(refusal.rule, Rule::ElementType(_)) => continue,
            Err(refusal) => panic!("{}: {refusal}", case.name),
        };
        if let Err(illegal) = check(&legal, chip) {
            panic!("{} is not legal: {illegal}\n{legal}", case.name);
        }
        kernels.push((chip, legal));
    }
    kernels
}

/// The same bits on every chip that has the types; how many chips have.
fn hold(case: &Case) -> usize {
    let want = outcome(&case.kernel, case, &case.scalars);
    let words: Vec<Literal> = case.scalars.iter().map(|&s| as_word(s)).collect();
    let mut seen: Vec<Kernel> = vec![];
    let kernels = legal(case);
    let chips = kernels.len();
    for (chip, legal) in kernels {
        if seen.contains(&legal) {
            continue;
        }
        let got = outcome(&legal, case, &words);
        for (want, got) in want.iter().zip(&got) {
            assert_eq!(stored(want.dtype), got.dtype, "{}", case.name);
            for (at, (want, got)) in want.elements().zip(got.elements()).enumerate() {
                let bits = Literal::from_bits(want.dtype(), got.bits());
                let operands = || case.inputs.iter().map(|a| a.elements().nth(at).unwrap_or(want)).collect::<Vec<_>>();
                assert!(
                    same(want, bits) || both_nan_halves(case, want, bits),
                    "{} on {}: {:?} {:?} gives {bits:?}, not {want:?}\n{legal}",
                    case.name,
                    chip.name,
                    operands(),
                    case.scalars
                );
            }
        }
        seen.push(legal);
    }
    chips
}

/// NaN of f16, which is here by its bits.
fn both_nan_halves(case: &Case, a: Literal, b: Literal) -> bool {
    let nan = |x: Literal| x.dtype() == DType::U16 && x.bits() & 0x7fff > 0x7c00;
    case.name.contains("f16") && nan(a) && nan(b)
}

/// Functions that a chip lacks in f32, and so in every float: approximated, and held elsewhere.
fn approximated(kind: &OpKind) -> bool {
    use UnaryOp::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cosh, ErfInv, Erfc, Expm1, Sinh};
    matches!(kind, OpKind::Unary(Expm1 | Cbrt | Asin | Acos | Atan | Sinh | Cosh | Asinh | Acosh | Atanh | Erfc | ErfInv))
        || matches!(kind, OpKind::Binary(BinaryOp::Hypot))
}

/// The operation on tiles and, of some numbers, on scalars.
fn everywhere(kind: &OpKind, operands: &[DType], result: DType) {
    let types: Vec<&str> = operands.iter().map(|d| d.name()).collect();
    let name = format!("{kind:?} {}", types.join(" "));
    // A number of chips.
    let hold = |case: &Case, exact: bool| if exact { hold(case) } else { legal(case).len() };
    let mut chips = hold(&tiles(name.clone(), kind, operands, (result, &SHAPE), 1), !approximated(kind));
    let mut rng = Rng::new(2);
    for _ in 0..4 {
        let numbers = operands.iter().map(|&d| rng.literal(d, 60)).collect();
        // The scalar unit has no logistic function: one more rounding.
        let exact = !approximated(kind) && *kind != OpKind::Unary(UnaryOp::Logistic);
        chips += hold(&scalars(name.clone(), kind, operands, result, numbers), exact);
    }
    // No chip has the first, and none both of the others.
    let types = [operands, &[result]].concat();
    let has = |d: DType| types.contains(&d);
    let missing = has(DType::I2) || (has(DType::F4E2M1Fn) && has(DType::F8E4M3B11Fnuz));
    assert!(chips > 0 || missing, "{name} runs on no chip");
}

#[test]
fn of_one_operand() {
    for dtype in DType::ALL {
        for &op in UnaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
            everywhere(&OpKind::Unary(op), &[dtype], op.result(dtype));
        }
    }
}

#[test]
fn of_two_operands() {
    for dtype in DType::ALL {
        for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
            everywhere(&OpKind::Binary(op), &[dtype; 2], dtype);
        }
    }
}

#[test]
fn comparisons_and_selections() {
    for dtype in DType::ALL {
        for &op in CompareOp::ALL.iter().filter(|op| op.takes(dtype)) {
            everywhere(&OpKind::Compare(op), &[dtype; 2], DType::Bool);
        }
        everywhere(&OpKind::Select, &[DType::Bool, dtype, dtype], dtype);
    }
}

#[test]
fn conversions() {
    for from in DType::ALL {
        for to in DType::ALL {
            everywhere(&OpKind::Cast(to), &[from], to);
        }
    }
}

#[test]
fn bits_as_another_type() {
    for from in DType::ALL.into_iter().filter(|d| d.is_number()) {
        for to in DType::ALL.into_iter().filter(|d| d.is_number()) {
            let kind = OpKind::Bitcast(to);
            let name = format!("{kind:?} {from}");
            let rows = SHAPE[0] * from.bits() as usize / to.bits() as usize;
            hold(&tiles(name.clone(), &kind, &[from], (to, &[rows, SHAPE[1]]), 3));
            if from.bits() == to.bits() {
                let mut rng = Rng::new(4);
                for _ in 0..4 {
                    // A word of NaN has no more to say.
                    let number = rng.literal(from, 60);
                    if number.as_f32().is_none_or(|x| !x.is_nan()) {
                        hold(&scalars(name.clone(), &kind, &[from], to, vec![number]));
                    }
                }
            }
        }
    }
}

/// Every f16, to f32, to bits and through arithmetic; and from f32 every f16, its neighbours and what lies between.
#[test]
fn every_half() {
    let half = |bits: u32| Literal::from_bits(DType::F16, bits);
    let all: Vec<Literal> = (0..1 << 16).map(half).collect();
    let shape = [256, 256];
    let kinds = [OpKind::Cast(DType::F32), OpKind::Bitcast(DType::U16), OpKind::Cast(DType::I16), OpKind::Unary(UnaryOp::Sqrt)];
    for kind in kinds {
        let result = match kind {
            OpKind::Cast(to) | OpKind::Bitcast(to) => to,
            _ => DType::F16,
        };
        hold(&of_elements(format!("{kind:?} f16"), &kind, &[(DType::F16, all.clone())], &shape, (result, &shape)));
    }
    // Of every f16 one of the f32 from half a step below to half a step above.
    let around =
        |offset: i32| all.iter().map(move |x| Literal::from_bits(DType::F32, wide(*x).wrapping_add_signed(offset))).collect();
    for offset in [-0x1000, -0xfff, 0, 0xfff, 0x1000, 0x1001] {
        let inputs = [(DType::F32, around(offset))];
        hold(&of_elements("cast f32 to f16".to_string(), &OpKind::Cast(DType::F16), &inputs, &shape, (DType::F16, &shape)));
    }
}

/// The bits of an f16 as f32.
fn wide(x: Literal) -> u32 {
    x.as_f32().map_or(0, f32::to_bits)
}

#[test]
fn rounding_by_random_bits() {
    for to in DType::ALL.into_iter().filter(|d| d.is_float() && *d != DType::F32) {
        everywhere(&OpKind::StochasticRound(to), &[DType::F32, DType::U32], to);
    }
}

/// `copysign` from a NaN of a scalar, and the bits of a neighbour of NaN: all but the sign and the payload of the NaN is kept.
#[test]
fn of_a_nan_only_that_it_is_one_is_kept() {
    for (dtype, nan) in [(DType::F32, 0xffc0_1234), (DType::Bf16, 0xffc1), (DType::F16, 0xfe01)] {
        let mut w = Writer::new("nan", "nan.rs");
        let scalar = w.scalar("s", dtype);
        let dims = whole(&[16, 128]);
        let (x, o) = (w.input("x", dtype, &dims, &[None; 2]), w.output("o", dtype, &dims, &[None; 2]));
        let p = w.output("p", if dtype == DType::F32 { DType::U32 } else { DType::U16 }, &dims, &[None; 2]);
        let tile = w.load(x);
        let signs = w.op(OpKind::Broadcast(Shape::new(&[16, 128])), &[scalar]);
        let signed = w.op(OpKind::Binary(BinaryOp::Copysign), &[tile, signs]);
        w.store(o, signed);
        let next = w.op(OpKind::Binary(BinaryOp::NextAfter), &[tile, signs]);
        let bits = w.op(OpKind::Bitcast(if dtype == DType::F32 { DType::U32 } else { DType::U16 }), &[next]);
        w.store(p, bits);
        let kernel = w.finish();
        let binding =
            Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![], vec![16, 128], vec![16, 128], vec![16, 128]] };
        let mut rng = Rng::new(1);
        let elements: Vec<Literal> = (0..16 * 128).map(|_| rng.literal(dtype, 10)).collect();
        let (inputs, scalars) = ([Array::new(dtype, &[16, 128], elements)], [Literal::from_bits(dtype, nan)]);
        let original = Original::run(&kernel, &binding, &inputs, &scalars);
        let (forms, _) = forms(&kernel);
        assert!(!forms.is_empty(), "{dtype}");
        let magnitude = |x: Literal| x.bits() & ((1 << (dtype.bits() - 1)) - 1);
        let is_nan = |x: Literal| Literal::from_bits(dtype, x.bits()).as_f32().is_some_and(f32::is_nan);
        for (legal, names) in &forms {
            let right =
                original.against(legal, &|_, _, want, got| magnitude(want) == magnitude(got) || (is_nan(want) && is_nan(got)));
            right.unwrap_or_else(|error| panic!("{dtype} on {names:?}: {error}"));
        }
    }
}
