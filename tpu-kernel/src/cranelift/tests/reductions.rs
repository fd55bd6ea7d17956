//! Every reduction for every element type that it takes, along every axis.

use super::{Array, Case};
use crate::ir::{DType, ReduceOp};

const SHAPES: [&[usize]; 11] =
    [&[1], &[5], &[16], &[23], &[100], &[3, 1], &[9, 129], &[33, 6], &[2, 5, 18], &[4, 3, 1, 2], &[8, 128, 1]];

/// A kernel that reduces an array of each shape along each axis.
fn case(op: ReduceOp, dtype: DType) -> Case {
    let result = op.result(dtype);
    let (mut params, mut body) = (String::new(), String::new());
    for (at, shape) in SHAPES.iter().enumerate() {
        let join = |shape: &[usize], by: &str| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(by);
        let window = |kind: &str, name: &str, dtype: DType, shape: &[usize]| {
            let zeros = vec![format!("%z{name}"); shape.len()].join(", ");
            let (dims, list) = (join(shape, "x"), join(shape, ", "));
            format!(
                "  {kind} %{name}: vmem<{dims}x{dtype}> = [{list}] blocks [{list}] at () {{\n    %z{name} = const 0 : i32\n    yield {zeros}\n  }}\n"
            )
        };
        let zeros = vec!["%z"; shape.len()].join(", ");
        params += &window("in", &format!("x{at}"), dtype, shape);
        body += &format!("    %t{at} = load %x{at}[{zeros}] : tile<{}x{dtype}>\n", join(shape, "x"));
        for axis in 0..shape.len() {
            let mut reduced = shape.to_vec();
            reduced[axis] = 1;
            params += &window("out", &format!("o{at}_{axis}"), result, &reduced);
            let ty = join(&reduced, "x");
            body += &format!("    %r{at}_{axis} = reduce {op} %t{at} axis {axis} : tile<{ty}x{result}>\n");
            body += &format!("    store %r{at}_{axis}, %o{at}_{axis}[{zeros}]\n");
        }
    }
    Case::new(&format!("kernel @k() {{\n{params}  body {{\n    %z = const 0 : i32\n{body}  }}\n}}\n"), &[])
}

#[test]
fn reduce() {
    for &op in ReduceOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|&d| op.takes(d)) {
            let case = case(op, dtype);
            let exe = case.compile();
            let arrays =
                |make: fn(DType, &[usize], u32) -> Array| SHAPES.iter().enumerate().map(move |(at, s)| make(dtype, s, at as u32));
            for arrays in [arrays(Array::wild).collect::<Vec<_>>(), arrays(Array::small).collect()] {
                let want = case.interpreted(&arrays, &[]).unwrap();
                let got = case.run(&|binding, args| exe.run(binding, args), &arrays, &[]).unwrap();
                want.iter().zip(&got).for_each(|(want, got)| case.same(want, got));
            }
        }
    }
}
