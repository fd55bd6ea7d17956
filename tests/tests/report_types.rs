//! Faults that users of other systems reported around element types, each as its whole kind, with the right values:
//! `report_NN_…` is number NN of the list that the tests of reports share.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BinaryOp, DType, Literal, OpKind, Precision, ReduceOp, dot_accumulator};
use tpu_kernel::launch::{Allow, Binding, Config, LaunchError, bind};
use tpu_kernel::legalise::legalise;
use tpu_kernel::{Error, diagnose};
use tpu_tests::executors::{Array, EXECUTORS, run, same};
use tpu_tests::one_op::{Case, tiles};

/// Runs the case on every executor, which must give these elements.
fn gives(case: &Case, inputs: &[Array], shape: &[usize], want: &[Literal]) {
    let mut arrays: Vec<Vec<usize>> = inputs.iter().map(|a| a.shape.clone()).collect();
    arrays.push(shape.to_vec());
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays };
    for executor in EXECUTORS {
        let compiled = (executor.compile)(&case.kernel).unwrap_or_else(|e| panic!("{} {}: {e}", executor.name, case.name));
        let outputs =
            run(&case.kernel, &compiled, &binding, inputs, &[]).unwrap_or_else(|e| panic!("{} {}: {e}", executor.name, case.name));
        let got: Vec<Literal> = outputs[0].elements().collect();
        let wrong = got.iter().zip(want).position(|(&a, &b)| !same(a, b));
        assert_eq!(
            (wrong, got.len()),
            (None, want.len()),
            "{} {}: {:?}",
            executor.name,
            case.name,
            wrong.map(|at| (got[at], want[at]))
        );
    }
}

fn array(dtype: DType, shape: &[usize], values: impl IntoIterator<Item = i64>) -> Array {
    Array::new(dtype, shape, values.into_iter().map(|v| Literal::from_int(dtype, v)))
}

fn integers() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|d| d.is_integer())
}

/// An index reduction of any number type gives the first of equal elements, along any axis.
#[test]
fn report_14_argmax_of_every_type_first_on_ties() {
    let shape = [8, 128];
    for dtype in DType::ALL.into_iter().filter(|d| d.is_number()) {
        // Two equal extremes in each row and column; every type has 0 and 1.
        let one = |r: usize, c: usize| r == 3 || r == 6 || c == 5 || c == 77;
        let at = || (0..8).flat_map(|r| (0..128).map(move |c| (r, c)));
        for (op, flip) in [(ReduceOp::ArgMax, false), (ReduceOp::ArgMin, true)] {
            let x = array(dtype, &shape, at().map(|(r, c)| i64::from(one(r, c) != flip)));
            for (axis, out) in [(0, [1, 128]), (1, [8, 1])] {
                let case =
                    tiles(format!("{op} {dtype} {axis}"), &[(dtype, &shape)], (DType::I32, &out), |w, x| w.reduce(op, x[0], axis));
                let first = |n: usize| match axis {
                    0 => {
                        if n == 5 || n == 77 {
                            0
                        } else {
                            3
                        }
                    }
                    _ => {
                        if n == 3 || n == 6 {
                            0
                        } else {
                            5
                        }
                    }
                };
                let want: Vec<Literal> = (0..out[0] * out[1]).map(|n| Literal::from(first(n))).collect();
                gives(&case, std::slice::from_ref(&x), &out, &want);
            }
        }
    }
}

/// Sums of narrow integers: exact in i32, wrapping in their own type.
#[test]
fn report_15_sums_of_narrow_integers() {
    for dtype in integers() {
        let (low, high) = dtype.range();
        let values = [low, high, 1, high - 1, high, low, 0, 1];
        let others = [low, high, 1, 1, low, 1, high, high];
        let inputs = [array(dtype, &[8], values), array(dtype, &[8], others)];
        let case = tiles(format!("add {dtype}"), &[(dtype, &[8]), (dtype, &[8])], (dtype, &[8]), |w, x| {
            w.binary(BinaryOp::Add, x[0], x[1])
        });
        let sums = || values.iter().zip(others).map(|(a, b)| a + b);
        gives(&case, &inputs, &[8], &sums().map(|v| Literal::from_int(dtype, v)).collect::<Vec<_>>());
        if dtype.bits() < 32 {
            let case = tiles(format!("add {dtype} in i32"), &[(dtype, &[8]), (dtype, &[8])], (DType::I32, &[8]), |w, x| {
                let wide = [0, 1].map(|at| w.op(OpKind::Cast(DType::I32), &[x[at]]));
                w.binary(BinaryOp::Add, wide[0], wide[1])
            });
            gives(&case, &inputs, &[8], &sums().map(|v| Literal::from_int(DType::I32, v)).collect::<Vec<_>>());
        }
    }
}

/// The high half of the bits, by an arithmetic and by a logical shift.
#[test]
fn report_17_shifts_of_narrow_integers() {
    let i8s = array(DType::I8, &[4], [-128, -96, -64, -32]);
    let high = |op: BinaryOp| {
        tiles(format!("{op} and"), &[(DType::I8, &[4])], (DType::I8, &[4]), move |w, x| {
            let four = w.filled(4i8, &[4]);
            let shifted = w.binary(op, x[0], four);
            let low = w.filled(0xfi8, &[4]);
            w.binary(BinaryOp::And, shifted, low)
        })
    };
    let nibbles = [8i8, 10, 12, 14].map(Literal::from);
    gives(&high(BinaryOp::Shr), std::slice::from_ref(&i8s), &[4], &nibbles);
    gives(&high(BinaryOp::ShrLogical), &[i8s], &[4], &nibbles);
    for dtype in integers() {
        let (low, top) = dtype.range();
        let by = i64::from(dtype.bits() / 2);
        let values = [low, top, -1, 1];
        for (op, arithmetic) in [(BinaryOp::Shr, dtype.is_signed()), (BinaryOp::ShrLogical, false)] {
            let shape = [values.len()];
            let case = tiles(format!("{op} {dtype}"), &[(dtype, &shape)], (dtype, &shape), |w, x| {
                let by = w.filled(Literal::from_int(dtype, by), &shape);
                w.binary(op, x[0], by)
            });
            let x = array(dtype, &shape, values);
            let shifted = x.elements().map(|v| match arithmetic {
                true => v.as_int().expect("an integer") >> by,
                false => i64::from(v.bits()) >> by,
            });
            let want: Vec<Literal> = shifted.map(|v| Literal::from_int(dtype, v)).collect();
            gives(&case, std::slice::from_ref(&x), &shape, &want);
        }
    }
}

fn product(lhs: DType, rhs: DType, out: DType) -> Case {
    let shape = [128, 128];
    let inputs: [(DType, &[usize]); 2] = [(lhs, &shape), (rhs, &shape)];
    tiles(format!("dot {lhs} {rhs}"), &inputs, (out, &shape), |w, x| w.dot(x[0], x[1], true, Precision::Default))
}

/// Products of narrow integers are exact in i32.
#[test]
fn report_20_products_of_narrow_integers() {
    for (lhs, rhs) in [
        (DType::I8, DType::I8),
        (DType::I4, DType::I4),
        (DType::I8, DType::I4),
        (DType::U8, DType::U8),
        (DType::U8, DType::I8),
        (DType::U4, DType::I2),
        (DType::I16, DType::I16),
        (DType::U16, DType::I16),
    ] {
        let element = |dtype: DType, n: i64| {
            let (low, high) = dtype.range();
            low + (n * 7919).rem_euclid(high - low + 1)
        };
        // Of 16 bits, sums of products beyond i32 wrap.
        let (a, b) = (|r: i64, k: i64| element(lhs, r * 131 + k * k), |c: i64, k: i64| element(rhs, c * 17 + k * 3 + 1));
        let every = |f: &dyn Fn(i64, i64) -> i64| -> Vec<i64> {
            (0..128).flat_map(|r| (0..128).map(move |k| (r, k))).map(|(r, k)| f(r, k)).collect()
        };
        let sum = |r: i64, c: i64| (0..128).map(|k| a(r, k) * b(c, k)).sum::<i64>();
        let inputs = [array(lhs, &[128, 128], every(&a)), array(rhs, &[128, 128], every(&b))];
        let want: Vec<Literal> = every(&sum).into_iter().map(|v| Literal::from_int(DType::I32, v)).collect();
        gives(&product(lhs, rhs, DType::I32), &inputs, &[128, 128], &want);
    }
}

/// A chip without the product of the report computes it another way: the same sums, and no launch is refused.
#[test]
fn report_20_a_product_that_matrix_units_lack_is_exact() {
    for (lhs, rhs) in [(DType::I8, DType::I8), (DType::I4, DType::U8)] {
        let case = product(lhs, rhs, DType::I32);
        bind(&case.kernel, &Chip::V4, &case.inputs, &Config::default()).expect("a launch that may run");
        let kernel = legalise(&case.kernel, &Chip::V4).expect("a product that v4 has");
        let (a, b) = (|r: i64, k: i64| (r * 3 + k * k) % 16 - 8, |c: i64, k: i64| (c * 5 + k) % 8);
        let every = |f: &dyn Fn(i64, i64) -> i64| -> Vec<i64> {
            (0..128).flat_map(|r| (0..128).map(move |k| (r, k))).map(|(r, k)| f(r, k)).collect()
        };
        let inputs = [array(lhs, &[128, 128], every(&a)), array(rhs, &[128, 128], every(&b))];
        let sum = |r: i64, c: i64| (0..128).map(|k| a(r, k) * b(c, k)).sum::<i64>();
        let want: Vec<Literal> = every(&sum).into_iter().map(|v| Literal::from_int(DType::I32, v)).collect();
        gives(&Case { kernel, ..case }, &inputs, &[128, 128], &want);
    }
}

/// A chip that lacks a product says so before anything runs: with the chip, the pair, what it has, the line and the way out.
/// It lacks those, and those alone, that have no lowering.
#[test]
fn report_20_a_chip_without_the_product_says_so() {
    let go = |case: &Case, chip: &Chip, allow: &[Allow]| {
        bind(&case.kernel, chip, &case.inputs, &Config { allow: allow.to_vec(), ..Config::default() })
    };
    let pairs = DType::ALL.into_iter().flat_map(|lhs| DType::ALL.into_iter().map(move |rhs| (lhs, rhs)));
    let cases: Vec<_> = pairs.filter_map(|(lhs, rhs)| Some((lhs, rhs, product(lhs, rhs, dot_accumulator(lhs, rhs)?)))).collect();
    for chip in Chip::ALL {
        let mut refused = 0;
        for (lhs, rhs, case) in &cases {
            let verdict = go(case, chip, &[]);
            assert_eq!(verdict.is_err(), legalise(&case.kernel, chip).is_err(), "{} {}", chip.name, case.name);
            assert!(go(case, chip, &[Allow::DotTypes]).is_ok(), "{} {}", chip.name, case.name);
            let Err(error) = verdict else { continue };
            refused += 1;
            match &error {
                LaunchError::DotTypes { chip: c, lhs: l, rhs: r, missing, loc, .. } => {
                    assert_eq!((c.as_str(), l, r), (chip.name, lhs, rhs));
                    assert!([lhs, rhs].contains(&missing) && loc.is_known());
                }
                other => panic!("{other}"),
            }
            assert_eq!(error.code(), "L018");
            let text = diagnose::render(&Error::from(error));
            assert!(text.contains(&format!("{} does not multiply {lhs} by {rhs}: it has no ", chip.name)), "{text}");
            assert!(text.contains("which holds all its values") && text.contains(".allow(Allow::DotTypes)"), "{text}");
        }
        assert!(0 < refused && refused < cases.len() / 2, "{}: {refused} of {}", chip.name, cases.len());
    }
    for (lhs, rhs, out, lacking) in [
        (DType::I8, DType::I8, DType::I32, &[][..]),
        (DType::F8E4M3Fn, DType::F8E5M2, DType::F32, &[]),
        (DType::F8E4M3B11Fnuz, DType::Bf16, DType::F32, &["v4", "tpu7x"]),
        (DType::F4E2M1Fn, DType::F4E2M1Fn, DType::F32, &["v4", "v5e", "v5p", "v6e"]),
        (DType::I2, DType::I8, DType::I32, &["v4", "v5e", "v5p", "v6e", "tpu7x"]),
    ] {
        let refusing = Chip::ALL.iter().filter(|chip| go(&product(lhs, rhs, out), chip, &[]).is_err());
        assert_eq!(refusing.map(|chip| chip.name).collect::<Vec<_>>(), lacking, "{lhs} {rhs}");
    }
    let error = go(&product(DType::F4E2M1Fn, DType::F4E2M1Fn, DType::F32), &Chip::V4, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "v4 does not multiply f4e2m1fn by f4e2m1fn: it has no f4e2m1fn; it multiplies f32, bf16, f16, f8e4m3fn, f8e5m2 with each other \
         and with i8, i4, u8, u4; i16, i8, i4, u16, u8, u4 with each other; and i32 with i32"
    );
}

/// The bits of memory that narrow elements leave unused mean nothing.
#[test]
fn unused_bits_of_memory_mean_nothing() {
    for dtype in DType::ALL.into_iter().filter(|d| d.bits() < 8) {
        let count = 1usize << dtype.bits();
        let shape = [count];
        for (to, f) in [
            (DType::F32, OpKind::Cast(DType::F32)),
            (DType::Bool, OpKind::Cast(DType::Bool)),
            (dtype, OpKind::Unary(tpu_kernel::ir::UnaryOp::Neg)),
        ] {
            if let OpKind::Unary(op) = f
                && !op.takes(dtype)
            {
                continue;
            }
            let case =
                tiles(format!("{} {dtype} to {to}", f.mnemonic()), &[(dtype, &shape)], (to, &shape), |w, x| w.op(f.clone(), x));
            let elements: Vec<Literal> = (0..count as u32).map(|bits| Literal::from_bits(dtype, bits)).collect();
            let want: Vec<Literal> = elements
                .iter()
                .map(|&x| match &f {
                    OpKind::Unary(op) => tpu_kernel::ir::eval::unary(*op, x).expect("an operation of the type"),
                    _ => tpu_kernel::ir::eval::cast(to, x),
                })
                .collect();
            let mut x = Array::new(dtype, &shape, elements);
            for (at, byte) in x.bytes.iter_mut().enumerate() {
                let unused = !(dtype.mask() as u8);
                *byte ^= unused & [0xff, 0x5a, 0xa5, 0x10][at % 4];
            }
            gives(&case, &[x], &shape, &want);
        }
    }
}
