//! Operations on shapes, and products.

use super::{Array, Case};
use crate::ir::DType;

/// Shapes that meet the loops' cases: single vectors, tails, columns, units, merged and unmerged dimensions.
const SHAPES: &[&[usize]] = &[&[1], &[7], &[37], &[5, 1], &[3, 19], &[8, 128], &[1, 4, 1, 5], &[2, 3, 4, 17]];

pub(super) fn list(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn dims(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// A kernel over whole arrays: operands `(name, dtype, shape)`, the last is the output; `%z` is 0.
pub(super) fn whole(operands: &[(&str, DType, &[usize])], body: &str) -> String {
    let mut text = String::from("kernel @k() {\n");
    for (at, (name, dtype, shape)) in operands.iter().enumerate() {
        let kind = if at + 1 == operands.len() { "out" } else { "in" };
        let zeros = vec![format!("%z{at}"); shape.len()].join(", ");
        text += &format!(
            "  {kind} %{name}: vmem<{}x{dtype}> = [{}] blocks [{}] at () {{\n    %z{at} = const 0 : i32\n    yield {zeros}\n  }}\n",
            dims(shape),
            list(shape),
            list(shape)
        );
    }
    text + "  body {\n    %z = const 0 : i32\n" + body + "  }\n}\n"
}

pub(super) fn zeros(shape: &[usize]) -> String {
    vec!["%z"; shape.len()].join(", ")
}

/// Loads `%x` (and `%y`, …), applies `apply`, stores `%r`.
pub(super) fn apply(inputs: &[(&str, DType, &[usize])], result: (DType, &[usize]), body: &str) -> Case {
    let mut text = String::new();
    for (name, dtype, shape) in inputs {
        text += &format!("    %{name}t = load %{name}[{}] : tile<{}x{dtype}>\n", zeros(shape), dims(shape));
    }
    text += body;
    text += &format!("    store %r, %o[{}]\n", zeros(result.1));
    let mut operands = inputs.to_vec();
    operands.push(("o", result.0, result.1));
    Case::new(&whole(&operands, &text), &[])
}

#[test]
fn minus_zero_survives_a_sum() {
    for n in [1, 3, 16, 40] {
        let body = format!("    %r = reduce sum %xt axis 0 : tile<{}xf32>\n", 1);
        let case = apply(&[("x", DType::F32, &[n])], (DType::F32, &[1]), &body);
        let x = Array::new(DType::F32, &[n], |_| (-0f32).to_bits());
        assert_eq!(case.agree(&[x], &[]).unwrap()[0].f32s()[0].to_bits(), (-0f32).to_bits());
    }
}

#[test]
fn shapes() {
    for dtype in DType::ALL {
        let cases: &[(&[usize], &[usize], &str)] = &[
            (&[6, 20], &[20, 6], "transpose %xt perm [1, 0]"),
            (&[3, 4, 5], &[5, 3, 4], "transpose %xt perm [2, 0, 1]"),
            (&[2, 3, 4, 17], &[3, 2, 4, 17], "transpose %xt perm [1, 0, 2, 3]"),
            (&[6, 20], &[120], "reshape %xt"),
            (&[6, 20], &[5, 24], "reshape %xt"),
            (&[6, 20], &[1, 6, 1, 20], "reshape %xt"),
            (&[6, 1], &[6, 20], "broadcast %xt"),
            (&[1, 20], &[6, 20], "broadcast %xt"),
            (&[1, 1], &[6, 20], "broadcast %xt"),
            (&[2, 1, 4, 1], &[2, 3, 4, 5], "broadcast %xt"),
        ];
        for &(from, to, op) in cases {
            let body = format!("    %r = {op} : tile<{}x{dtype}>\n", dims(to));
            apply(&[("x", dtype, from)], (dtype, to), &body).agree(&[Array::wild(dtype, from, 9)], &[]).unwrap();
        }
    }
    for &shape in SHAPES {
        for axis in 0..shape.len() {
            let body = format!("    %r = iota axis {axis} : tile<{}xi32>\n", dims(shape));
            apply(&[], (DType::I32, shape), &body).agree(&[], &[]).unwrap();
        }
    }
}

#[test]
fn dot() {
    for (dtype, precision) in
        [(DType::F32, "default"), (DType::F32, "high"), (DType::F32, "highest"), (DType::Bf16, "default"), (DType::I32, "default")]
    {
        let acc = if dtype == DType::I32 { DType::I32 } else { DType::F32 };
        for (m, n, k) in [(1, 1, 1), (7, 5, 3), (16, 32, 8), (33, 1, 70), (1, 65, 9), (40, 48, 130)] {
            for (left, right) in [(false, false), (true, false), (false, true), (true, true)] {
                let a = if left { [k, m] } else { [m, k] };
                let b = if right { [n, k] } else { [k, n] };
                let flags = format!("{}{}", if left { " lhs_transposed" } else { "" }, if right { " rhs_transposed" } else { "" });
                let body = format!("    %r = dot %xt, %yt{flags} precision {precision} : tile<{m}x{n}x{acc}>\n");
                let case = apply(&[("x", dtype, &a), ("y", dtype, &b)], (acc, &[m, n]), &body);
                let arrays = [Array::small(dtype, &a, 10), Array::small(dtype, &b, 11)];
                if dtype == DType::I32 {
                    case.agree(&arrays, &[]).unwrap();
                    continue;
                }
                let (want, got) = (case.interpreted(&arrays, &[]).unwrap(), case.compiled(&arrays, &[]).unwrap());
                // Σ|a||b| ≤ 4 k for these operands; both sides are within the bound of the exact value.
                let bound = 2.0 * 2.0 * k as f32 * 2f32.powi(-24) * 4.0 * k as f32;
                for (w, g) in want[0].f32s().into_iter().zip(got[0].f32s()) {
                    assert!((w - g).abs() <= bound, "{w} {g} {bound}");
                }
            }
        }
    }
}
