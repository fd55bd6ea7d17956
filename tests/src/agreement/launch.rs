//! What needs a launch around it: grids, windows, messages and checks.

use super::whole;
use crate::kernels::{Writer, blocked};
use crate::one_op::Case;
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Semantics, Shape, SizeExpr};

pub(super) fn cases(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        for (array, block) in [
            (&[300, 300][..], &[32, 128][..]),
            (&[100, 100], &[64, 128]),
            (&[5, 40, 256], &[1, 8, 128]),
            (&[5, 7, 100], &[2, 7, 100]),
            (&[5000], &[1024]),
            (&[100], &[100]),
        ] {
            cases.push(windows(dtype, array, block));
        }
        for shape in [None, Some([8, 128]), Some([7, 100])] {
            cases.push(message(dtype, shape));
        }
    }
    for seeds in [1, 2] {
        cases.push(random(seeds));
    }
    cases.push(check());
}

fn windows(dtype: DType, array: &[usize], block: &[usize]) -> Case {
    let mut w = Writer::new("windows", "agreement.rs");
    let dims: Vec<_> = array.iter().zip(block).map(|(&n, &b)| (SizeExpr::Const(n as i64), blocked(b))).collect();
    for (axis, (&n, &b)) in array.iter().zip(block).enumerate() {
        w.grid(&format!("i{axis}"), SizeExpr::Const(n.div_ceil(b) as i64), Semantics::Arbitrary);
    }
    let map: Vec<Option<usize>> = (0..array.len()).map(Some).collect();
    let x = w.input("x", dtype, &dims, &map);
    let o = w.output("o", dtype, &dims, &map);
    let tile = w.load(x);
    w.store(o, tile);
    let name = format!("windows | {array:?} in {block:?} | {dtype}");
    Case { name, kernel: w.finish(), inputs: vec![(dtype, array.to_vec())] }
}

/// A message with a scalar or a tile.
fn message(dtype: DType, shape: Option<[usize; 2]>) -> Case {
    let mut w = Writer::new("message", "agreement.rs");
    let at = shape.unwrap_or([8, 128]);
    let x = w.input("x", dtype, &whole(&at), &[None, None]);
    let n = w.scalar("n", dtype);
    let o = w.output("o", dtype, &whole(&at), &[None, None]);
    let tile = w.load(x);
    w.effect(OpKind::Print("x is {}".into()), &[if shape.is_some() { tile } else { n }]);
    w.store(o, tile);
    let name = format!("print | {} | {dtype}", shape.map_or("scalar".into(), |s| format!("{s:?}")));
    Case { name, kernel: w.finish(), inputs: vec![(dtype, at.to_vec())] }
}

fn random(seeds: usize) -> Case {
    let mut w = Writer::new("random", "agreement.rs");
    let seeds: Vec<_> = (0..seeds).map(|at| w.scalar(&format!("s{at}"), DType::U32)).collect();
    let o = w.output("o", DType::U32, &whole(&[8, 128]), &[None, None]);
    w.effect(OpKind::PrngSeed, &seeds);
    let bits = w.op(OpKind::PrngBits(Shape::new(&[8, 128])), &[]);
    w.store(o, bits);
    Case { name: format!("prng_seed | {} seeds", seeds.len()), kernel: w.finish(), inputs: vec![] }
}

fn check() -> Case {
    let mut w = Writer::new("check", "agreement.rs");
    let n = w.scalar("n", DType::I32);
    let o = w.output("o", DType::I32, &whole(&[8, 128]), &[None, None]);
    let zero = w.constant(Literal::from(0));
    let positive = w.op(OpKind::Compare(CompareOp::Gt), &[n, zero]);
    w.effect(OpKind::Check("n is positive".into()), &[positive]);
    let more = w.binary(BinaryOp::Add, n, n);
    let tile = w.op(OpKind::Broadcast(Shape::new(&[8, 128])), &[more]);
    w.store(o, tile);
    Case { name: "check".into(), kernel: w.finish(), inputs: vec![] }
}
