//! Loads and stores from starts that are known, aligned, and neither; scratch.

use super::whole;
use crate::kernels::Writer;
use crate::one_op::Case;
use tpu_kernel::ir::{BinaryOp, DType, OpKind, Shape, Value};

/// An array, a part of it, and what the scalar of the launch is multiplied by to be its start, dimension by dimension; 0: the
/// part starts at 1 where it can, else at 0.
type Part = (&'static str, &'static [usize], &'static [usize], &'static [i32]);

const PARTS: [Part; 12] = [
    ("known start", &[64, 256], &[5, 100], &[0, 0]),
    ("any row", &[64, 256], &[8, 256], &[1, 0]),
    ("any row of one tile", &[64, 128], &[1, 128], &[1, 0]),
    ("rows of 8", &[64, 256], &[8, 256], &[8, 0]),
    ("rows of 32", &[64, 256], &[32, 256], &[32, 0]),
    ("rows of 64", &[128, 128], &[64, 128], &[64, 0]),
    ("any column", &[16, 512], &[16, 100], &[0, 1]),
    ("columns of 128", &[16, 512], &[16, 128], &[0, 128]),
    ("a leading index", &[6, 7, 100], &[1, 7, 100], &[1, 0, 0]),
    ("an index in the middle", &[2, 3, 16, 128], &[1, 1, 16, 128], &[1, 1, 0, 0]),
    ("any element", &[4096], &[1000], &[1]),
    ("elements of 1024", &[4096], &[1024], &[1024]),
];

pub(super) fn cases(cases: &mut Vec<Case>) {
    for dtype in DType::ALL {
        for part in PARTS {
            cases.push(load(dtype, part));
            cases.push(store(dtype, part));
        }
        cases.push(scratch(dtype));
    }
}

fn starts(w: &mut Writer, n: Value, (_, array, part, by): Part) -> Vec<Value> {
    let mut all = vec![];
    for (axis, &by) in by.iter().enumerate() {
        all.push(match by {
            0 => w.constant(i32::from(array[axis] > part[axis])),
            1 => n,
            _ => {
                let by = w.constant(by);
                w.binary(BinaryOp::Mul, n, by)
            }
        });
    }
    all
}

fn load(dtype: DType, what: Part) -> Case {
    let (name, array, part, _) = what;
    let mut w = Writer::new("load", "agreement.rs");
    let x = w.input("x", dtype, &whole(array), &vec![None; array.len()]);
    let n = w.scalar("n", DType::I32);
    let o = w.output("o", dtype, &whole(part), &vec![None; part.len()]);
    let starts = starts(&mut w, n, what);
    let tile = w.load_at(x, part, &starts);
    w.store(o, tile);
    Case { name: format!("load | {name} | {dtype}"), kernel: w.finish(), inputs: vec![(dtype, array.to_vec())] }
}

/// The rest of the output is stored before.
fn store(dtype: DType, what: Part) -> Case {
    let (name, array, part, _) = what;
    let mut w = Writer::new("store", "agreement.rs");
    let x = w.input("x", dtype, &whole(array), &vec![None; array.len()]);
    let y = w.input("y", dtype, &whole(part), &vec![None; part.len()]);
    let n = w.scalar("n", DType::I32);
    let o = w.output("o", dtype, &whole(array), &vec![None; array.len()]);
    let tile = w.load(x);
    w.store(o, tile);
    let tile = w.load(y);
    let starts = starts(&mut w, n, what);
    w.effect(OpKind::Store, &[&[o, tile], &starts[..]].concat());
    let inputs = vec![(dtype, array.to_vec()), (dtype, part.to_vec())];
    Case { name: format!("store | {name} | {dtype}"), kernel: w.finish(), inputs }
}

fn scratch(dtype: DType) -> Case {
    let shape = [16, 128];
    let mut w = Writer::new("scratch", "agreement.rs");
    let x = w.input("x", dtype, &whole(&shape), &[None, None]);
    let o = w.output("o", dtype, &whole(&shape), &[None, None]);
    let kept = w.scratch("kept", dtype, Shape::new(&shape));
    let tile = w.load(x);
    w.store(kept, tile);
    let tile = w.load(kept);
    w.store(o, tile);
    Case { name: format!("scratch | {dtype}"), kernel: w.finish(), inputs: vec![(dtype, shape.to_vec())] }
}
