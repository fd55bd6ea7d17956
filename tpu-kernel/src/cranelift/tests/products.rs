//! Products with batch dimensions, without free ones, along any dimension, and of mixed element types.

use super::ops::whole as whole_text;
use super::ops::{apply, dims};
use super::{Array, Case, Random};
use crate::ir::{DType, DotDims, Literal};

const PRECISIONS: [&str; 3] = ["default", "high", "highest"];

/// Pairs of element types that make a product.
fn pairs() -> Vec<(DType, DType)> {
    let all = DType::ALL.into_iter().flat_map(|left| DType::ALL.map(|right| (left, right)));
    all.filter(|&(left, right)| {
        let small = |d: DType, bits: u32| d.is_integer() && d.bits() <= bits;
        match (left.is_float(), right.is_float()) {
            (true, true) => true,
            (true, false) => small(right, 8),
            (false, true) => small(left, 8),
            (false, false) => (left, right) == (DType::I32, DType::I32) || (small(left, 16) && small(right, 16)),
        }
    })
    .collect()
}

/// Numbers over the range of an integer, small ones of a float.
fn factor(dtype: DType, shape: &[usize], seed: u32) -> Array {
    if dtype.is_float() {
        return Array::small(dtype, shape, seed);
    }
    let mut random = Random(seed);
    Array::new(dtype, shape, |_| random.next())
}

/// Runs both ways; floats are compared with the bound of their sums. `passes`: f32 factors enter in three parts.
fn close(case: &Case, arrays: &[Array], k: usize, passes: bool) {
    let (want, got) = (case.interpreted(arrays, &[]).unwrap(), case.compiled(arrays, &[]).unwrap());
    if want[0].dtype == DType::I32 {
        return case.same(&want[0], &got[0]);
    }
    let value = |l: Literal| l.as_f32().or(l.as_int().map(|v| v as f32)).map_or(0.0, f32::abs);
    let largest = |a: &Array| a.literals().into_iter().map(value).fold(0f32, f32::max);
    // Either sum of k products is off by at most k roundings; what three parts leave out is below 2^-16 of each.
    let each = 2.0 * k as f32 * 2f32.powi(-24) + if passes { 2f32.powi(-16) } else { 0.0 };
    let bound = k as f32 * each * largest(&arrays[0]) * largest(&arrays[1]);
    for (w, g) in want[0].f32s().into_iter().zip(got[0].f32s()) {
        assert!((w - g).abs() <= bound, "{w} {g} {bound}\n{}", case.kernel);
    }
}

fn result(a: &[usize], b: &[usize], dims: &DotDims) -> Vec<usize> {
    let batch = dims.batch.iter().map(|&(l, _)| a[l]);
    let free = [dims.lhs_free(a.len()).map(|d| a[d]), dims.rhs_free(b.len()).map(|d| b[d])];
    batch.chain(free.into_iter().flatten()).collect()
}

fn attributes(dims: &DotDims) -> String {
    let batch: Vec<String> = dims.batch.iter().map(|(l, r)| format!("[{l}, {r}]")).collect();
    let batch = if batch.is_empty() { String::new() } else { format!(" batch [{}]", batch.join(", ")) };
    format!("contract [{}, {}]{batch}", dims.contract.0, dims.contract.1)
}

type Dims<'a> = (&'a [usize], &'a [usize], (usize, usize), &'a [(usize, usize)]);

const CASES: &[Dims<'_>] = &[
    (&[5, 7], &[7], (1, 0), &[]),
    (&[7], &[7, 33], (0, 0), &[]),
    (&[7, 5], &[7, 3], (0, 0), &[]),
    (&[3, 5, 7], &[3, 7, 9], (2, 1), &[(0, 0)]),
    (&[5, 3, 7], &[9, 7, 3], (2, 1), &[(1, 2)]),
    (&[7, 5, 3], &[3, 9, 7], (0, 2), &[(2, 0)]),
    (&[1, 5, 7], &[1, 7, 9], (2, 1), &[(0, 0)]),
    (&[3, 7], &[3, 7, 9], (1, 1), &[(0, 0)]),
    (&[3, 5, 7], &[7, 3], (2, 0), &[(0, 1)]),
    (&[4, 18], &[4, 18], (1, 1), &[(0, 0)]),
    (&[2, 3, 5, 7], &[3, 2, 7, 9], (3, 2), &[(0, 1), (1, 0)]),
    (&[5, 2, 3, 7], &[2, 9, 7, 3], (3, 2), &[(1, 0), (2, 3)]),
    (&[2, 3, 7], &[2, 3, 7], (2, 2), &[(0, 0), (1, 1)]),
    (&[2, 1, 8, 16], &[2, 1, 8, 16], (3, 3), &[(0, 0), (1, 1)]),
];

#[test]
fn general() {
    // Each pair of element types on some shapes, each shape with some pairs.
    for (at, (left, right)) in pairs().into_iter().enumerate() {
        for (_, &(a, b, contract, batch)) in CASES.iter().enumerate().filter(|(case, _)| (case + at) % 7 == 0) {
            let dot = DotDims { contract, batch: batch.to_vec() };
            let shape = result(a, b, &dot);
            let acc = if left.is_integer() && right.is_integer() { DType::I32 } else { DType::F32 };
            for precision in PRECISIONS {
                let body =
                    format!("    %r = dot %xt, %yt {} precision {precision} : tile<{}x{acc}>\n", attributes(&dot), dims(&shape));
                let case = apply(&[("x", left, a), ("y", right, b)], (acc, &shape), &body);
                let passes = precision == "high" && [left, right].contains(&DType::F32);
                close(&case, &[factor(left, a, 51), factor(right, b, 52)], a[contract.0], passes);
            }
        }
    }
}

/// Products of strided rows of one operand with each other.
#[test]
fn vectors_side_by_side() {
    let body = "    %y = slice %xt starts [0, 1] strides [1, 2] : tile<6x8xf32>
    %w = slice %xt starts [0, 0] strides [1, 2] : tile<6x8xf32>
    %d = dot %y, %w contract [1, 1] batch [[0, 0]] precision highest : tile<6xf32>
    %r = reshape %d : tile<6x1xf32>
";
    let case = apply(&[("x", DType::F32, &[6, 16])], (DType::F32, &[6, 1]), body);
    let x = [Array::small(DType::F32, &[6, 16], 53)];
    let (want, got) = (case.interpreted(&x, &[]).unwrap(), case.compiled(&x, &[]).unwrap());
    for (w, g) in want[0].f32s().into_iter().zip(got[0].f32s()) {
        assert!((w - g).abs() <= 1e-5, "{w} {g}");
    }
}

/// Products of slices and transposes, stored or added straight to a part of the output.
#[test]
fn to_and_from_parts() {
    let text = whole_text(
        &[("x", DType::F32, &[3, 8, 40]), ("o", DType::F32, &[3, 8, 24])],
        "    %xt = load %x[%z, %z, %z] : tile<3x8x40xf32>
    %a = slice %xt starts [0, 0, 0] : tile<3x8x16xf32>
    %b = slice %xt starts [0, 0, 16] : tile<3x8x24xf32>
    %c = transpose %a perm [0, 2, 1] : tile<3x16x8xf32>
    %d = dot %c, %b contract [2, 1] batch [[0, 0]] precision highest : tile<3x16x24xf32>
    %e = slice %d starts [0, 0, 0] strides [1, 2, 1] : tile<3x8x24xf32>
    store %e, %o[%z, %z, %z]
    %old = load %o[%z, %z, %z] : tile<3x8x24xf32>
    %f = dot %c, %b contract [2, 1] batch [[0, 0]] precision highest : tile<3x16x24xf32>
    %g = slice %f starts [0, 8, 0] : tile<3x8x24xf32>
    %h = dot %g, %b contract [1, 1] batch [[0, 0]] precision highest : tile<3x24x24xf32>
    %i = slice %h starts [0, 3, 0] : tile<3x8x24xf32>
    %s = add %old, %i : tile<3x8x24xf32>
    store %s, %o[%z, %z, %z]
",
    );
    let case = Case::new(&text, &[]);
    let x = [Array::small(DType::F32, &[3, 8, 40], 54)];
    let (want, got) = (case.interpreted(&x, &[]).unwrap(), case.compiled(&x, &[]).unwrap());
    for (w, g) in want[0].f32s().into_iter().zip(got[0].f32s()) {
        assert!((w - g).abs() <= 1e-3, "{w} {g}");
    }
}

/// A product with batch dimensions that a store takes straight to its place, whole or added.
#[test]
fn in_place() {
    for add in [false, true] {
        let stored = if add {
            "    %old = load %o[%z, %z, %z] : tile<3x5x20xf32>\n    %s = add %old, %d : tile<3x5x20xf32>\n"
        } else {
            "    %s = neg %d : tile<3x5x20xf32>\n"
        };
        let text = whole_text(
            &[("x", DType::F32, &[3, 5, 7]), ("y", DType::F32, &[3, 7, 20]), ("o", DType::F32, &[3, 5, 20])],
            &format!(
                "    %xt = load %x[%z, %z, %z] : tile<3x5x7xf32>
    %yt = load %y[%z, %z, %z] : tile<3x7x20xf32>
    %one = const 1.0 : f32
    %ones = broadcast %one : tile<3x5x20xf32>
    store %ones, %o[%z, %z, %z]
    %d = dot %xt, %yt contract [2, 1] batch [[0, 0]] precision highest : tile<3x5x20xf32>
{stored}    store %s, %o[%z, %z, %z]
"
            ),
        );
        let case = Case::new(&text, &[]);
        let arrays = [Array::small(DType::F32, &[3, 5, 7], 55), Array::small(DType::F32, &[3, 7, 20], 56)];
        let (want, got) = (case.interpreted(&arrays, &[]).unwrap(), case.compiled(&arrays, &[]).unwrap());
        for (w, g) in want[0].f32s().into_iter().zip(got[0].f32s()) {
            assert!((w - g).abs() <= 1e-4, "{w} {g}");
        }
    }
}

/// A product that is stored over what its factors are slices of.
#[test]
fn over_its_own_factors() {
    let text = whole_text(
        &[("x", DType::F32, &[16, 16]), ("o", DType::F32, &[16, 16])],
        "    %eight = const 8 : i32
    %xt = load %x[%z, %z] : tile<16x16xf32>
    store %xt, %o[%z, %z]
    %t = load %o[%z, %z] : tile<16x16xf32>
    %a = slice %t starts [0, 0] strides [2, 1] : tile<8x16xf32>
    %d = dot %t, %a contract [1, 1] precision highest : tile<16x8xf32>
    store %d, %o[%z, %eight]
    %e = dot %a, %t contract [1, 0] precision highest : tile<8x16xf32>
    store %e, %o[%eight, %z]
",
    );
    let case = Case::new(&text, &[]);
    let x = [Array::small(DType::F32, &[16, 16], 57)];
    let (want, got) = (case.interpreted(&x, &[]).unwrap(), case.compiled(&x, &[]).unwrap());
    for (w, g) in want[0].f32s().into_iter().zip(got[0].f32s()) {
        assert!((w - g).abs() <= 1e-3, "{w} {g}");
    }
}
