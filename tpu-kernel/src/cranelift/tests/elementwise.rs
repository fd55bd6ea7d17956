//! Every elementwise operation for every element type that it takes: scalars, vectors of every remainder, rows that end
//! beside a vector, and columns, over special values.

use super::{Array, Case, Executable, Random, wild};
use crate::cranelift::code::Features;
use crate::cranelift::jit::features;
use crate::ir::{BinaryOp, CompareOp, DType, Literal, UnaryOp};

/// Sizes of vectors: less than four lanes, exactly, and with one left, of one vector and of four.
const SIZES: [usize; 7] = [1, 3, 4, 5, 16, 17, 33];
const ROWS: usize = 3;
const COLUMNS: usize = 19;

/// A kernel that applies an operation to parts of its operands, to scalars, to rows and to columns. `op` is the operation's
/// text from the operands' names on, without the type.
fn case(inputs: &[DType], result: DType, op: &dyn Fn(&[String]) -> String) -> Case {
    let total: usize = SIZES.iter().sum();
    let mut text = String::from("kernel @k() {\n");
    for (at, dtype) in inputs.iter().enumerate() {
        text += &window("in", &format!("x{at}"), *dtype, &[total]);
        text += &window("in", &format!("y{at}"), *dtype, &[ROWS, COLUMNS]);
        text += &format!("  scalar %s{at}: {dtype}\n");
    }
    text += &window("out", "o", result, &[total + 1]);
    text += &window("out", "p", result, &[ROWS, COLUMNS]);
    text += &window("out", "q", result, &[COLUMNS, ROWS]);
    text += "  body {\n    %z = const 0 : i32\n";
    let names = |prefix: &str| (0..inputs.len()).map(|at| format!("%{prefix}{at}")).collect::<Vec<_>>();

    text += &format!("    %sr = {} : {result}\n", op(&names("s")));
    text += &format!("    %st = broadcast %sr : tile<1x{result}>\n    %end = const {total} : i32\n    store %st, %o[%end]\n");
    let mut start = 0;
    for n in SIZES {
        text += &format!("    %from{n} = const {start} : i32\n");
        for (at, dtype) in inputs.iter().enumerate() {
            text += &format!("    %t{n}_{at} = load %x{at}[%from{n}] : tile<{n}x{dtype}>\n");
        }
        text += &format!("    %r{n} = {} : tile<{n}x{result}>\n", op(&names(&format!("t{n}_"))));
        text += &format!("    store %r{n}, %o[%from{n}]\n");
        start += n;
    }
    for (at, dtype) in inputs.iter().enumerate() {
        text += &format!("    %u{at} = load %y{at}[%z, %z] : tile<{ROWS}x{COLUMNS}x{dtype}>\n");
        text += &format!("    %v{at} = transpose %u{at} perm [1, 0] : tile<{COLUMNS}x{ROWS}x{dtype}>\n");
    }
    text += &format!("    %ur = {} : tile<{ROWS}x{COLUMNS}x{result}>\n    store %ur, %p[%z, %z]\n", op(&names("u")));
    text += &format!("    %vr = {} : tile<{COLUMNS}x{ROWS}x{result}>\n    store %vr, %q[%z, %z]\n", op(&names("v")));
    Case::new(&(text + "  }\n}\n"), &[])
}

fn window(kind: &str, name: &str, dtype: DType, shape: &[usize]) -> String {
    let join = |by: &str| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(by);
    let zeros = vec![format!("%z{name}"); shape.len()].join(", ");
    let (dims, list) = (join("x"), join(", "));
    format!(
        "  {kind} %{name}: vmem<{dims}x{dtype}> = [{list}] blocks [{list}] at () {{\n    %z{name} = const 0 : i32\n    yield {zeros}\n  }}\n"
    )
}

/// All must be what the interpreter gives, on this processor.
fn agree(inputs: &[DType], result: DType, op: &dyn Fn(&[String]) -> String) {
    agree_with(features(), inputs, result, op);
}

/// Compiles once and runs a few times on other numbers.
fn agree_with(features: Features, inputs: &[DType], result: DType, op: &dyn Fn(&[String]) -> String) {
    let case = case(inputs, result, op);
    let exe = Executable::compile_for(&case.kernel, features).unwrap();
    for round in 0..2 {
        let mut arrays = vec![];
        let mut scalars = vec![];
        for (at, &dtype) in inputs.iter().enumerate() {
            let seed = 100 * round + 10 * at as u32;
            arrays.push(Array::wild(dtype, &[SIZES.iter().sum()], seed));
            arrays.push(Array::wild(dtype, &[ROWS, COLUMNS], seed + 1));
            scalars.push(Literal::from_bits(dtype, wild(dtype, &mut Random(seed + 2))));
        }
        let want = case.interpreted(&arrays, &scalars).unwrap();
        let got = case.run(&|binding, args| exe.run(binding, args), &arrays, &scalars).unwrap();
        want.iter().zip(&got).for_each(|(want, got)| case.same(want, got));
    }
}

#[test]
fn unary() {
    for &op in UnaryOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|&d| op.takes(d)) {
            agree(&[dtype], op.result(dtype), &|x| format!("{op} {}", x[0]));
        }
    }
}

/// A processor without fused multiply-add and rounding to integers gives the same bits.
#[test]
fn without_optional_instructions() {
    let features = Features { fused: false, rounds: false };
    for op in [UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::RoundEven, UnaryOp::Round, UnaryOp::Trunc, UnaryOp::Exp, UnaryOp::Tanh] {
        for dtype in [DType::F32, DType::Bf16, DType::F8E4M3B11Fnuz] {
            agree_with(features, &[dtype], dtype, &|x| format!("{op} {}", x[0]));
        }
    }
}

#[test]
fn binary() {
    for &op in BinaryOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|&d| op.takes(d)) {
            agree(&[dtype, dtype], dtype, &|x| format!("{op} {}, {}", x[0], x[1]));
        }
    }
}

#[test]
fn compare() {
    for &op in CompareOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|&d| op.takes(d)) {
            agree(&[dtype, dtype], DType::Bool, &|x| format!("{op} {}, {}", x[0], x[1]));
        }
    }
}

#[test]
fn select() {
    for dtype in DType::ALL {
        agree(&[DType::Bool, dtype, dtype], dtype, &|x| format!("select {}, {}, {}", x[0], x[1], x[2]));
    }
}

#[test]
fn cast() {
    for from in DType::ALL {
        for to in DType::ALL {
            agree(&[from], to, &|x| format!("cast {}", x[0]));
        }
    }
}

#[test]
fn bitcast() {
    for from in DType::ALL.into_iter().filter(|&d| d != DType::Bool) {
        for to in DType::ALL.into_iter().filter(|&d| d != DType::Bool && d.bits() == from.bits()) {
            agree(&[from], to, &|x| format!("bitcast {}", x[0]));
        }
    }
}

#[test]
fn stochastic_round() {
    for to in DType::ALL.into_iter().filter(|&d| d.is_float() && d != DType::F32) {
        agree(&[DType::F32, DType::U32], to, &|x| format!("stochastic_round {}, {}", x[0], x[1]));
    }
}

/// Shifts by a constant, and by a scalar that is known only when the kernel runs.
#[test]
fn shifts_by_one_amount() {
    for op in ["shl", "shr", "shr_logical"] {
        for dtype in DType::ALL.into_iter().filter(|&d| d.is_integer()) {
            let (low, high) = dtype.range();
            for amount in [0, 1, i64::from(dtype.bits()) - 1, i64::from(dtype.bits()), 31, 32, 40, -1] {
                let amount = amount.clamp(low, high);
                for known in [true, false] {
                    let mut text = String::from("kernel @k() {\n") + &window("in", "x", dtype, &[37]);
                    text += if known { "" } else { "  scalar %a: T\n" };
                    text += &(window("out", "o", dtype, &[37])
                        + "  body {\n    %z = const 0 : i32\n    %t = load %x[%z] : tile<37xT>\n");
                    text += &if known { format!("    %a = const {amount} : T\n") } else { String::new() };
                    text += &format!(
                        "    %b = broadcast %a : tile<37xT>\n    %r = {op} %t, %b : tile<37xT>\n    store %r, %o[%z]\n  }}\n}}\n"
                    );
                    let case = Case::new(&text.replace('T', dtype.name()), &[]);
                    let scalars = if known { vec![] } else { vec![Literal::from_int(dtype, amount)] };
                    case.agree(&[Array::wild(dtype, &[37], 1)], &scalars).unwrap();
                }
            }
        }
    }
}
