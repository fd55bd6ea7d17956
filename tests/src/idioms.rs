//! Small kernels of several operations that a compiler is tempted to merge into one it does not have.

use crate::kernels::Writer;
use crate::one_op::{Case, tiles};
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, OpKind, Precision, ReduceOp, Shape, Type, UnaryOp, Value};

const SQUARE: &[usize] = &[128, 128];

/// Element type and shape of an array.
type At<'a> = (DType, &'a [usize]);

/// Every case.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![];
    comparisons(&mut cases);
    conversions(&mut cases);
    shapes(&mut cases);
    products(&mut cases);
    nested(&mut cases);
    cases
}

fn compare(w: &mut Writer, op: CompareOp, a: Value, b: Value) -> Value {
    w.op(OpKind::Compare(op), &[a, b])
}

fn not(w: &mut Writer, x: Value) -> Value {
    w.op(OpKind::Unary(UnaryOp::Not), &[x])
}

fn comparisons(cases: &mut Vec<Case>) {
    for dtype in [DType::F32, DType::Bf16, DType::I32] {
        let at = (dtype, SQUARE);
        for &op in CompareOp::ALL {
            cases.push(tiles(format!("extremum by {op} {dtype}"), &[at, at], at, |w, x| {
                let c = compare(w, op, x[0], x[1]);
                w.op(OpKind::Select, &[c, x[0], x[1]])
            }));
            cases.push(tiles(format!("select by not {op} {dtype}"), &[at, at], at, |w, x| {
                let c = compare(w, op, x[0], x[1]);
                let c = not(w, c);
                w.op(OpKind::Select, &[c, x[0], x[1]])
            }));
        }
        cases.push(tiles(format!("not a number {dtype}"), &[at, at], at, |w, x| {
            let c = compare(w, CompareOp::Ne, x[0], x[0]);
            w.op(OpKind::Select, &[c, x[1], x[0]])
        }));
        cases.push(tiles(format!("masks combined {dtype}"), &[at, at], at, |w, x| {
            let (a, b) = (compare(w, CompareOp::Lt, x[0], x[1]), compare(w, CompareOp::Ne, x[0], x[1]));
            let (both, either) = (w.binary(BinaryOp::And, a, b), w.binary(BinaryOp::Or, a, b));
            let one = w.op(OpKind::Compare(CompareOp::Eq), &[both, either]);
            let c = w.op(OpKind::Select, &[one, a, b]);
            let c = not(w, c);
            w.op(OpKind::Select, &[c, x[0], x[1]])
        }));
        cases.push(tiles(format!("sign {dtype}"), &[at, at], at, |w, x| {
            let zero = w.filled(tpu_kernel::ir::Literal::from_f64(dtype, 0.0), SQUARE);
            let c = compare(w, CompareOp::Lt, x[0], zero);
            let minus = w.op(OpKind::Unary(UnaryOp::Neg), &[x[0]]);
            w.op(OpKind::Select, &[c, minus, x[0]])
        }));
    }
}

fn conversions(cases: &mut Vec<Case>) {
    for (from, through) in [
        (DType::F32, DType::Bf16),
        (DType::Bf16, DType::F32),
        (DType::F32, DType::I32),
        (DType::Bf16, DType::I32),
        (DType::I32, DType::F32),
        (DType::I32, DType::Bf16),
        (DType::F32, DType::Bool),
        (DType::I32, DType::Bool),
    ] {
        let at = (from, SQUARE);
        cases.push(tiles(format!("{from} through {through}"), &[at], at, |w, x| {
            let other = w.op(OpKind::Cast(through), x);
            w.op(OpKind::Cast(from), &[other])
        }));
        if through != DType::Bool {
            cases.push(tiles(format!("largest {from} through {through}"), &[at, at], at, |w, x| {
                let (a, b) = (w.op(OpKind::Cast(through), &[x[0]]), w.op(OpKind::Cast(through), &[x[1]]));
                let most = w.binary(BinaryOp::Max, a, b);
                w.op(OpKind::Cast(from), &[most])
            }));
        }
    }
}

fn shapes(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        let reshape = |w: &mut Writer, x: Value, to: &[usize]| w.op(OpKind::Reshape(Shape::new(to)), &[x]);
        let (from, to): (At<'_>, At<'_>) = ((dtype, &[24, 96]), (dtype, &[18, 128]));
        cases.push(tiles(format!("reshape by a row {dtype}"), &[from], to, |w, x| {
            let row = reshape(w, x[0], &[1, 2304]);
            reshape(w, row, &[18, 128])
        }));
        let (from, to): (At<'_>, At<'_>) = ((dtype, &[128, 1]), (dtype, SQUARE));
        cases.push(tiles(format!("column as row {dtype}"), &[from], to, |w, x| {
            let row = w.op(OpKind::Transpose(vec![1, 0]), x);
            w.op(OpKind::Broadcast(Shape::new(SQUARE)), &[row])
        }));
        if dtype.is_number() {
            let (from, to): (At<'_>, At<'_>) = ((dtype, &[8, 128]), (dtype, &[1, 1]));
            cases.push(tiles(format!("total {dtype}"), &[from], to, |w, x| {
                let rows = w.reduce(ReduceOp::Sum, x[0], 1);
                w.reduce(ReduceOp::Sum, rows, 0)
            }));
            cases.push(tiles(format!("row of column sums {dtype}"), &[from], (dtype, &[128, 1]), |w, x| {
                let columns = w.reduce(ReduceOp::Max, x[0], 0);
                reshape(w, columns, &[128, 1])
            }));
        }
    }
}

/// What a loop over products does with its carried value.
fn accumulated(name: &str, dtype: DType, step: impl FnOnce(&mut Writer, Value, Value) -> Value) -> Case {
    let at = (dtype, SQUARE);
    tiles(format!("{name} {dtype}"), &[at, at], (DType::F32, SQUARE), |w, x| {
        let init = w.filled(0.0f32, SQUARE);
        let ty = w.ty(init);
        let bounds = [w.constant(0), w.constant(4), w.constant(1)];
        let args = w.open(&[Type::Scalar(DType::I32), ty]);
        let product = w.dot(x[0], x[1], false, Precision::Default);
        let next = step(w, product, args[1]);
        let body = w.close(&[next]);
        w.control(OpKind::For, &[bounds[0], bounds[1], bounds[2], init], vec![body], &[ty])[0]
    })
}

fn products(cases: &mut Vec<Case>) {
    for dtype in [DType::F32, DType::Bf16] {
        cases.push(accumulated("product less carry", dtype, |w, p, c| w.binary(BinaryOp::Sub, p, c)));
        cases.push(accumulated("largest of product and carry", dtype, |w, p, c| w.binary(BinaryOp::Max, p, c)));
        cases.push(accumulated("product and scaled carry", dtype, |w, p, c| {
            let half = w.constant(0.5f32);
            let scaled = w.stretched(BinaryOp::Mul, c, half);
            w.binary(BinaryOp::Add, p, scaled)
        }));
        cases.push(accumulated("two products and carry", dtype, |w, p, c| {
            let square = w.dot(p, p, false, Precision::Default);
            let both = w.binary(BinaryOp::Add, p, square);
            w.binary(BinaryOp::Add, both, c)
        }));
        cases.push(accumulated("product and carry and product", dtype, |w, p, c| {
            let square = w.dot(p, p, true, Precision::Default);
            let sum = w.binary(BinaryOp::Add, c, square);
            w.binary(BinaryOp::Add, p, sum)
        }));
        cases.push(accumulated("product of a transpose", dtype, |w, p, c| {
            let turned = w.op(OpKind::Transpose(vec![1, 0]), &[p]);
            let square = w.dot(turned, c, false, Precision::Default);
            w.binary(BinaryOp::Add, square, c)
        }));
    }
}

fn nested(cases: &mut Vec<Case>) {
    let at = (DType::F32, SQUARE);
    cases.push(tiles("mask carried through a loop of branches".into(), &[at, at], at, |w, x| {
        let first = compare(w, CompareOp::Lt, x[0], x[1]);
        let ty = w.ty(first);
        let bounds = [w.constant(0), w.constant(4), w.constant(1)];
        let args = w.open(&[Type::Scalar(DType::I32), ty]);
        let two = w.constant(2);
        let late = compare(w, CompareOp::Ge, args[0], two);
        w.open(&[]);
        let turned = not(w, args[1]);
        let yes = w.close(&[turned]);
        w.open(&[]);
        let no = w.close(&[args[1]]);
        let next = w.control(OpKind::If, &[late], vec![yes, no], &[ty])[0];
        let body = w.close(&[next]);
        let mask = w.control(OpKind::For, &[bounds[0], bounds[1], bounds[2], first], vec![body], &[ty])[0];
        w.op(OpKind::Select, &[mask, x[0], x[1]])
    }));
    cases.push(tiles("a loop from below zero".into(), &[at, at], at, |w, x| {
        let ty = w.ty(x[0]);
        let bounds = [w.constant(-3), w.constant(4), w.constant(2)];
        let args = w.open(&[Type::Scalar(DType::I32), ty]);
        let next = {
            let index = w.op(OpKind::Cast(DType::F32), &[args[0]]);
            w.stretched(BinaryOp::Add, args[1], index)
        };
        let body = w.close(&[next]);
        w.control(OpKind::For, &[bounds[0], bounds[1], bounds[2], x[0]], vec![body], &[ty])[0]
    }));
    cases.push(tiles("a loop that does nothing".into(), &[at, at], at, |w, x| {
        let bounds = [w.constant(0), w.constant(4), w.constant(1)];
        w.open(&[Type::Scalar(DType::I32)]);
        w.binary(BinaryOp::Mul, x[0], x[1]);
        let body = w.close(&[]);
        w.control(OpKind::For, &bounds, vec![body], &[]);
        w.binary(BinaryOp::Add, x[0], x[1])
    }));
    cases.push(tiles("a loop in a loop".into(), &[at, at], at, |w, x| {
        let ty = w.ty(x[0]);
        let bounds = [w.constant(0), w.constant(3), w.constant(1)];
        let outer = w.open(&[Type::Scalar(DType::I32), ty]);
        let inner = w.open(&[Type::Scalar(DType::I32), ty]);
        let both = w.binary(BinaryOp::Add, outer[0], inner[0]);
        let both = w.op(OpKind::Cast(DType::F32), &[both]);
        let sum = w.stretched(BinaryOp::Add, inner[1], both);
        let body = w.close(&[sum]);
        let once = w.control(OpKind::For, &[bounds[0], outer[0], bounds[2], outer[1]], vec![body], &[ty])[0];
        let next = w.binary(BinaryOp::Mul, once, x[1]);
        let body = w.close(&[next]);
        w.control(OpKind::For, &[bounds[0], bounds[1], bounds[2], x[0]], vec![body], &[ty])[0]
    }));
}
