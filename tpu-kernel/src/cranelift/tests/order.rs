//! Running reductions, sorting and arguments of extremes.

use super::ops::{apply, dims, whole};
use super::{Array, Case};
use crate::ir::{DType, Literal, ScanOp};

/// Those that are widened, and those that are not.
const ELEMENTS: &[DType] =
    &[DType::F32, DType::Bf16, DType::F8E5M2, DType::F4E2M1Fn, DType::I32, DType::I16, DType::I4, DType::U32, DType::U8];

const SHAPES: &[&[usize]] = &[&[1], &[37], &[1, 6], &[5, 1], &[9, 20], &[3, 4, 9], &[2, 3, 4, 5], &[1, 4, 1, 17]];

fn reverse(reverse: bool, word: &'static str) -> &'static str {
    if reverse { word } else { "" }
}

#[test]
fn scans() {
    for &op in ScanOp::ALL {
        for &dtype in ELEMENTS {
            for &shape in SHAPES {
                for (axis, back) in (0..shape.len()).flat_map(|axis| [(axis, false), (axis, true)]) {
                    let back = reverse(back, " reverse");
                    let body = format!("    %r = scan {op} %xt axis {axis}{back} : tile<{}x{dtype}>\n", dims(shape));
                    let case = apply(&[("x", dtype, shape)], (dtype, shape), &body);
                    case.agree(&[Array::small(dtype, shape, 41)], &[]).unwrap();
                    case.agree(&[Array::wild(dtype, shape, 42)], &[]).unwrap();
                }
            }
        }
    }
}

/// Numbers with many ties, zeros of both signs and NaN.
fn ties(dtype: DType, shape: &[usize]) -> Array {
    let mut random = super::Random(43);
    let values = [0.0, -0.0, 1.0, -1.0, f64::NAN, 2.0, f64::INFINITY, f64::NEG_INFINITY];
    Array::new(dtype, shape, |_| Literal::from_f64(dtype, values[random.next() as usize % values.len()]).bits())
}

#[test]
fn sorts() {
    for &dtype in ELEMENTS {
        for &shape in SHAPES {
            for (axis, down) in (0..shape.len()).flat_map(|axis| [(axis, false), (axis, true)]) {
                let (ty, down) = (dims(shape), reverse(down, " descending"));
                let body = format!("    %r = sort %xt axis {axis}{down} : tile<{ty}x{dtype}>\n");
                let case = apply(&[("x", dtype, shape)], (dtype, shape), &body);
                let places = format!(
                    "    %i = iota axis {axis} : tile<{ty}xi32>\n    %k, %r, %q = sort %xt, %i, %xt axis {axis}{down} : \
                     tile<{ty}x{dtype}>, tile<{ty}xi32>, tile<{ty}x{dtype}>\n"
                );
                let stable = apply(&[("x", dtype, shape)], (DType::I32, shape), &places);
                for x in [Array::small(dtype, shape, 44), Array::wild(dtype, shape, 45), ties(dtype, shape)] {
                    case.agree(std::slice::from_ref(&x), &[]).unwrap();
                    stable.agree(&[x], &[]).unwrap();
                }
            }
        }
    }
}

/// All results are read, in a loop that carries them.
#[test]
fn sorts_in_a_loop() {
    let text = whole(
        &[("x", DType::F32, &[6, 10]), ("o", DType::F32, &[6, 10])],
        "    %n = const 3 : i32
    %one = const 1 : i32
    %xt = load %x[%z, %z] : tile<6x10xf32>
    %i = iota axis 1 : tile<6x10xi32>
    %a, %b = for %k = %z to %n step %one carry(%u = %xt, %v = %i) : tile<6x10xf32>, tile<6x10xi32> {
      %s, %t = sort %u, %v axis 0 : tile<6x10xf32>, tile<6x10xi32>
      %p, %q = sort %t, %s axis 1 descending : tile<6x10xi32>, tile<6x10xf32>
      %w = rotate %q, %k axis 1 : tile<6x10xf32>
      yield %w, %p
    }
    %f = cast %b : tile<6x10xf32>
    %r = add %a, %f : tile<6x10xf32>
    store %r, %o[%z, %z]
",
    );
    Case::new(&text, &[]).agree(&[Array::small(DType::F32, &[6, 10], 46)], &[]).unwrap();
}

#[test]
fn arguments() {
    for op in ["argmax", "argmin"] {
        for &dtype in ELEMENTS {
            for &shape in SHAPES {
                for axis in 0..shape.len() {
                    let mut result = shape.to_vec();
                    result[axis] = 1;
                    let body = format!("    %r = reduce {op} %xt axis {axis} : tile<{}xi32>\n", dims(&result));
                    let case = apply(&[("x", dtype, shape)], (DType::I32, &result), &body);
                    let nan = Array::new(dtype, shape, |_| Literal::poison(dtype).bits());
                    for x in [Array::small(dtype, shape, 47), Array::wild(dtype, shape, 48), ties(dtype, shape), nan] {
                        case.agree(&[x], &[]).unwrap();
                    }
                }
            }
        }
    }
}

/// A strided view of a product, a reduction beside an argument of the same tile, and what follows from both.
#[test]
fn several_consumers() {
    let body = "    %e = add %xt, %xt : tile<8x24xf32>
    %s = slice %e starts [1, 2] strides [2, 3] : tile<4x8xf32>
    %m = reduce max %s axis 1 : tile<4x1xf32>
    %a = reduce argmax %s axis 1 : tile<4x1xi32>
    %g = gather %s, %a axis 1 : tile<4x1xf32>
    %same = eq %g, %m : tile<4x1xbool>
    %c = scan sum %s axis 0 reverse : tile<4x8xf32>
    %w = broadcast %same : tile<4x8xbool>
    %r = select %w, %c, %s : tile<4x8xf32>
";
    let case = apply(&[("x", DType::F32, &[8, 24])], (DType::F32, &[4, 8]), body);
    case.agree(&[Array::small(DType::F32, &[8, 24], 49)], &[]).unwrap();
}
