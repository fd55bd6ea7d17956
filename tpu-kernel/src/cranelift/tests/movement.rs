//! Slices, concatenations, rotations, gathers and bitcasts: where elements go, and that no store in between moves them.

use super::ops::{apply, dims, whole, zeros};
use super::{Array, Case, Random};
use crate::exec::RunError;
use crate::ir::{DType, Literal};

/// Element types of every width in memory, and narrower ones of each kind.
const ELEMENTS: &[DType] = &[DType::F32, DType::Bf16, DType::U16, DType::F8E4M3Fn, DType::I4, DType::Bool];

/// Shapes of every rank, ragged, with units.
const SHAPES: &[&[usize]] = &[&[1], &[13], &[1, 6], &[5, 1], &[7, 20], &[3, 4, 9], &[2, 3, 4, 5], &[1, 4, 1, 17]];

fn list(numbers: &[usize]) -> String {
    super::ops::list(numbers)
}

/// The kernel for each element type on special values; the result has that shape.
fn each(shape: &[usize], result: &[usize], body: impl Fn(DType) -> String) {
    for &dtype in ELEMENTS {
        apply(&[("x", dtype, shape)], (dtype, result), &body(dtype)).agree(&[Array::wild(dtype, shape, 21)], &[]).unwrap();
    }
}

#[test]
fn slices() {
    type Slice<'a> = (&'a [usize], &'a [usize], &'a [usize], &'a [usize]);
    let cases: &[Slice<'_>] = &[
        (&[13], &[2], &[5], &[1]),
        (&[13], &[0], &[5], &[3]),
        (&[1], &[0], &[1], &[7]),
        (&[7, 20], &[3, 0], &[1, 20], &[1, 1]),
        (&[7, 20], &[1, 2], &[3, 6], &[2, 3]),
        (&[7, 20], &[0, 19], &[7, 1], &[1, 1]),
        (&[3, 4, 9], &[1, 0, 4], &[2, 2, 5], &[1, 3, 1]),
        (&[2, 3, 4, 17], &[0, 1, 1, 1], &[2, 2, 2, 8], &[1, 1, 2, 2]),
    ];
    for &(shape, starts, size, strides) in cases {
        let slice = format!("starts [{}] strides [{}]", list(starts), list(strides));
        let ty = dims(size);
        each(shape, size, |d| format!("    %r = slice %xt {slice} : tile<{ty}x{d}>\n"));
        // Of what a nest computes, read by several.
        let body = |d: DType| {
            let whole = dims(shape);
            format!(
                "    %c = eq %xt, %xt : tile<{whole}xbool>\n    %q = select %c, %xt, %xt : tile<{whole}x{d}>\n    \
                 %s = slice %q {slice} : tile<{ty}x{d}>\n    %e = eq %s, %s : tile<{ty}xbool>\n    %r = select %e, %s, %s : tile<{ty}x{d}>\n"
            )
        };
        each(shape, size, body);
        // Under a reshape and a transpose, of a slice.
        let (count, rank) = (size.iter().product::<usize>(), shape.len());
        each(shape, &[count], |d| {
            format!("    %s = slice %xt {slice} : tile<{ty}x{d}>\n    %r = reshape %s : tile<{count}x{d}>\n")
        });
        let perm: Vec<usize> = (0..rank).rev().collect();
        let turned: Vec<usize> = perm.iter().map(|&d| size[d]).collect();
        each(shape, &turned, |d| {
            format!(
                "    %s = slice %xt {slice} : tile<{ty}x{d}>\n    %r = transpose %s perm [{}] : tile<{}x{d}>\n",
                list(&perm),
                dims(&turned)
            )
        });
    }
}

#[test]
fn a_slice_of_a_slice_and_of_a_transpose() {
    each(&[20, 30], &[3, 4], |d| {
        format!(
            "    %a = slice %xt starts [2, 1] strides [3, 2] : tile<6x13x{d}>\n    %b = transpose %a perm [1, 0] : tile<13x6x{d}>\n    \
             %c = slice %b starts [1, 0] strides [3, 2] : tile<4x3x{d}>\n    %r = transpose %c perm [1, 0] : tile<3x4x{d}>\n"
        )
    });
}

/// A slice is read where its operand lies: what is stored there later must not show.
#[test]
fn slices_of_loads_with_later_stores() {
    let text = whole(
        &[("x", DType::F32, &[8, 32]), ("o", DType::F32, &[8, 32])],
        "    %one = const 1 : i32
    %four = const 4 : i32
    %x = load %x[%z, %z] : tile<8x32xf32>
    store %x, %o[%z, %z]
    %t = load %o[%z, %z] : tile<8x32xf32>
    %s = slice %t starts [0, 0] : tile<4x32xf32>
    %u = slice %t starts [4, 0] : tile<4x32xf32>
    %m = slice %t starts [0, 0] strides [2, 2] : tile<4x16xf32>
    store %s, %o[%four, %z]
    store %u, %o[%z, %z]
    %m2 = concat %m, %m axis 1 : tile<4x32xf32>
    %sum = add %m2, %s : tile<4x32xf32>
    store %sum, %o[%four, %z]
",
    );
    let text = text.replace("%x = load %x", "%xt = load %x").replace("store %x, %o", "store %xt, %o");
    Case::new(&text, &[]).agree(&[Array::small(DType::F32, &[8, 32], 5)], &[]).unwrap();
}

/// Stores into what a slice of the same memory reads, shifted by one.
#[test]
fn a_shift_inside_one_memory() {
    let text = whole(
        &[("x", DType::F32, &[4, 40]), ("o", DType::F32, &[4, 40])],
        "    %one = const 1 : i32
    %xt = load %x[%z, %z] : tile<4x40xf32>
    store %xt, %o[%z, %z]
    %t = load %o[%z, %z] : tile<4x40xf32>
    %s = slice %t starts [0, 0] : tile<4x39xf32>
    store %s, %o[%z, %one]
",
    );
    Case::new(&text, &[]).agree(&[Array::small(DType::F32, &[4, 40], 6)], &[]).unwrap();
}

/// A window used where it lies in a larger array, whose rows are apart.
#[test]
fn a_window_in_a_larger_array() {
    let text = "kernel @w(n) {
  grid i = ceildiv(n, 32) arbitrary
  in %x: vmem<8x32xf32> = [8, n] blocks [8, 32] at (%i) { %za = const 0 : i32 yield %za, %i }
  out %o: vmem<8x32xf32> = [8, n] blocks [8, 32] at (%j) { %zb = const 0 : i32 yield %zb, %j }
  body {
    %z = const 0 : i32
    %t = load %x[%z, %z] : tile<8x32xf32>
    %a = slice %t starts [1, 0] strides [2, 1] : tile<4x32xf32>
    %b = slice %t starts [0, 0] strides [2, 1] : tile<4x32xf32>
    %c = concat %a, %b axis 0 : tile<8x32xf32>
    %k = program_id 0 : i32
    %r = rotate %t, %k axis 0 : tile<8x32xf32>
    %p = scan sum %a axis 0 : tile<4x32xf32>
    %q = concat %p, %p axis 0 : tile<8x32xf32>
    %d = add %c, %r : tile<8x32xf32>
    %e = add %d, %q : tile<8x32xf32>
    store %e, %o[%z, %z]
  }
}
";
    for n in [32, 100, 128] {
        Case::new(text, &[n]).agree(&[Array::small(DType::F32, &[8, n as usize], 7)], &[]).unwrap();
    }
}

#[test]
fn concatenations() {
    for &shape in SHAPES {
        for axis in 0..shape.len() {
            let mut result = shape.to_vec();
            result[axis] = 3 * shape[axis];
            let (ty, to) = (dims(shape), dims(&result));
            each(shape, &result, |d| {
                format!(
                    "    %c = ne %xt, %xt : tile<{ty}xbool>\n    %y = select %c, %xt, %xt : tile<{ty}x{d}>\n    \
                     %r = concat %xt, %y, %xt axis {axis} : tile<{to}x{d}>\n"
                )
            });
            each(shape, shape, |d| format!("    %r = concat %xt axis {axis} : tile<{ty}x{d}>\n"));
        }
    }
    // Of slices of itself, along either dimension, with several readers.
    each(&[6, 40], &[6, 40], |d| {
        format!(
            "    %a = slice %xt starts [0, 25] : tile<6x15x{d}>\n    %b = slice %xt starts [0, 0] : tile<6x25x{d}>\n    \
             %c = concat %a, %b axis 1 : tile<6x40x{d}>\n    %d = slice %c starts [4, 0] : tile<2x40x{d}>\n    \
             %e = slice %c starts [0, 0] : tile<4x40x{d}>\n    %f = concat %d, %e axis 0 : tile<6x40x{d}>\n    \
             %m = eq %f, %c : tile<6x40xbool>\n    %r = select %m, %xt, %f : tile<6x40x{d}>\n"
        )
    });
}

#[test]
fn rotations() {
    for &shape in SHAPES {
        let ty = dims(shape);
        for axis in 0..shape.len() {
            each(shape, shape, |d| format!("    %a = const -3 : i32\n    %r = rotate %xt, %a axis {axis} : tile<{ty}x{d}>\n"));
            let strides = (0..shape.len()).filter(|&d| d != axis).flat_map(|d| [(3, d), (i32::MIN, d)]);
            let strides = strides.map(|(by, along)| format!(" stride {by} along {along}"));
            for stride in std::iter::once(String::new()).chain(strides) {
                for amount in [0, 1, 100, -12345, i32::MAX, i32::MIN] {
                    let body =
                        format!("    %a = const {amount} : i32\n    %r = rotate %xt, %a axis {axis}{stride} : tile<{ty}xbf16>\n");
                    let case = apply(&[("x", DType::Bf16, shape)], (DType::Bf16, shape), &body);
                    case.agree(&[Array::wild(DType::Bf16, shape, 22)], &[]).unwrap();
                }
            }
        }
    }
}

/// By the index of a loop, the tile carried, and by what a branch gives.
#[test]
fn rotations_in_control_flow() {
    let body = "    %lo = const -3 : i32
    %hi = const 9 : i32
    %two = const 2 : i32
    %u = for %i = %lo to %hi step %two carry(%c = %xt, %s = %lo) : tile<4x20xf32>, i32 {
      %a = rotate %c, %i axis 1 : tile<4x20xf32>
      %b = rotate %c, %s axis 0 : tile<4x20xf32>
      %odd = lt %i, %two : bool
      %n = if %odd : tile<4x20xf32> {
        %m = concat %a axis 0 : tile<4x20xf32>
        yield %m
      } else {
        %k = slice %b starts [0, 0] : tile<4x10xf32>
        %l = slice %a starts [0, 10] : tile<4x10xf32>
        %j = concat %k, %l axis 1 : tile<4x20xf32>
        yield %j
      }
      %t = add %s, %i : i32
      yield %n, %t
    }
";
    let body = body.replace("%u = for", "%u, %v = for");
    let text = format!("{body}    %r = add %u, %xt : tile<4x20xf32>\n");
    apply(&[("x", DType::F32, &[4, 20])], (DType::F32, &[4, 20]), &text)
        .agree(&[Array::small(DType::F32, &[4, 20], 8)], &[])
        .unwrap();
}

fn indices(shape: &[usize], n: usize, seed: u32) -> Array {
    let mut random = Random(seed);
    Array::new(DType::I32, shape, |_| (random.next() % (2 * n as u32)).wrapping_sub(n as u32))
}

#[test]
fn gathers() {
    for &shape in SHAPES {
        for axis in 0..shape.len() {
            for size in [1, shape[axis], 2 * shape[axis] + 1] {
                let mut result = shape.to_vec();
                result[axis] = size;
                for &dtype in ELEMENTS {
                    let body = format!("    %r = gather %xt, %yt axis {axis} : tile<{}x{dtype}>\n", dims(&result));
                    let inputs = [("x", dtype, shape), ("y", DType::I32, result.as_slice())];
                    let arrays = [Array::wild(dtype, shape, 23), indices(&result, shape[axis], 24)];
                    apply(&inputs, (dtype, &result), &body).agree(&arrays, &[]).unwrap();
                }
            }
        }
    }
}

#[test]
fn the_first_index_outside_is_an_error() {
    let shape: &[usize] = &[3, 10];
    for used in [true, false] {
        let read = if used { "%g" } else { "%xt" };
        let body = format!("    %g = gather %xt, %yt axis 1 : tile<3x10xf32> loc(7:9)\n    %r = neg {read} : tile<3x10xf32>\n");
        let case = apply(&[("x", DType::F32, shape), ("y", DType::I32, shape)], (DType::F32, shape), &body);
        for (at, wrong) in [(29, 10), (0, -11), (14, i32::MIN), (14, i32::MAX)] {
            let mut y = indices(shape, 10, 25);
            for (at, wrong) in [(at, wrong), (29, 77)] {
                y.bytes[4 * at..4 * at + 4].copy_from_slice(&i32::to_le_bytes(wrong));
            }
            let expect = if at == 29 { 77 } else { wrong };
            match case.agree(&[Array::small(DType::F32, shape, 9), y], &[]) {
                Err(RunError::GatherIndex { axis: 1, index, extent: 10, step, loc }) => {
                    assert_eq!((index, step.len(), loc.line, loc.column), (expect, 0, 7, 9));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn bitcasts_between_widths() {
    let numbers = || DType::ALL.into_iter().filter(|d| d.is_number());
    for from in numbers() {
        for to in numbers().filter(|to| to.bits() != from.bits()) {
            for shape in [&[16, 7][..], &[32, 1], &[2, 16, 3], &[1, 2, 48, 17]] {
                let axis = shape.len() - 2;
                let mut result = shape.to_vec();
                result[axis] = shape[axis] * from.bits() as usize / to.bits() as usize;
                let body = format!("    %r = bitcast %xt : tile<{}x{to}>\n", dims(&result));
                apply(&[("x", from, shape)], (to, &result), &body).agree(&[Array::wild(from, shape, 26)], &[]).unwrap();
            }
        }
    }
}

#[test]
fn extracts() {
    for &dtype in ELEMENTS {
        let body = "    %s = slice %xt starts [1, 1] strides [2, 3] : tile<2x4xTY>
    %a = extract %s [1, 2] : TY
    %b = extract %xt [0, 0] : TY
    %c = eq %a, %a : bool
    %v = select %c, %b, %a : TY
    %f = broadcast %v : tile<5x20xTY>
    %e = eq %f, %xt : tile<5x20xbool>
    %g = broadcast %a : tile<5x20xTY>
    %r = select %e, %f, %g : tile<5x20xTY>
";
        let case = apply(&[("x", dtype, &[5, 20])], (dtype, &[5, 20]), &body.replace("TY", dtype.name()));
        for seed in 30..34 {
            case.agree(&[Array::wild(dtype, &[5, 20], seed)], &[]).unwrap();
        }
    }
}

/// What is extracted is that of its place in the program, whatever is stored later.
#[test]
fn an_extract_before_a_store() {
    let text = whole(
        &[("x", DType::F32, &[4, 16]), ("o", DType::F32, &[4, 16])],
        &format!(
            "    %xt = load %x[{z}] : tile<4x16xf32>
    store %xt, %o[{z}]
    %t = load %o[{z}] : tile<4x16xf32>
    %a = extract %t [2, 3] : f32
    %n = neg %t : tile<4x16xf32>
    store %n, %o[{z}]
    %u = load %o[{z}] : tile<4x16xf32>
    %b = extract %u [2, 3] : f32
    %two = const 2.0 : f32
    %c = mul %a, %two : f32
    %d = add %c, %b : f32
    %r = broadcast %d : tile<4x16xf32>
    store %r, %o[{z}]
",
            z = zeros(&[4, 16])
        ),
    );
    let x = Array::small(DType::F32, &[4, 16], 12);
    let want = x.f32s()[2 * 16 + 3];
    let got = Case::new(&text, &[]).agree(&[x], &[]).unwrap();
    assert_eq!(got[0].literals(), vec![Literal::from(want); 64]);
}

/// What a function compiled ahead reads is what was loaded, whatever was stored since: in line, and in a loop.
#[test]
fn calls_after_stores() {
    let text = whole(
        &[("x", DType::F32, &[4, 24]), ("o", DType::F32, &[4, 24])],
        "    %one = const 1 : i32
    %four = const 4 : i32
    %xt = load %x[%z, %z] : tile<4x24xf32>
    store %xt, %o[%z, %z]
    %t = load %o[%z, %z] : tile<4x24xf32>
    %s = slice %t starts [0, 3] : tile<4x21xf32>
    %zero = const 0.0 : f32
    %zeros = broadcast %zero : tile<4x24xf32>
    store %zeros, %o[%z, %z]
    %r = rotate %s, %one axis 1 : tile<4x21xf32>
    store %r, %o[%z, %one]
    %u = load %o[%z, %z] : tile<4x24xf32>
    for %i = %z to %four step %one {
      %v = rotate %u, %i axis 0 : tile<4x24xf32>
      %w = slice %v starts [1, 0] : tile<1x24xf32>
      %c = scan sum %w axis 1 : tile<1x24xf32>
      store %c, %o[%i, %z]
    }
",
    );
    Case::new(&text, &[]).agree(&[Array::small(DType::F32, &[4, 24], 13)], &[]).unwrap();
}

/// Results of a branch that are slices of memory which the branch then overwrites.
#[test]
fn a_branch_that_yields_a_slice() {
    let text = whole(
        &[("x", DType::F32, &[4, 24]), ("o", DType::F32, &[4, 24])],
        "    %one = const 1 : i32
    %xt = load %x[%z, %z] : tile<4x24xf32>
    store %xt, %o[%z, %z]
    %first = extract %xt [0, 0] : f32
    %second = extract %xt [0, 1] : f32
    %less = lt %first, %second : bool
    %s = if %less : tile<2x24xf32> {
      %t = load %o[%z, %z] : tile<4x24xf32>
      %a = slice %t starts [0, 0] strides [2, 1] : tile<2x24xf32>
      %n = neg %t : tile<4x24xf32>
      store %n, %o[%z, %z]
      yield %a
    } else {
      %q = load %o[%z, %z] : tile<4x24xf32>
      %b = slice %q starts [1, 0] strides [2, 1] : tile<2x24xf32>
      store %xt, %o[%z, %z]
      yield %b
    }
    store %s, %o[%one, %z]
",
    );
    for seed in 14..18 {
        Case::new(&text, &[]).agree(&[Array::small(DType::F32, &[4, 24], seed)], &[]).unwrap();
    }
}

/// Many slices of slices, and a concatenation of many parts, are compiled in reasonable time and memory.
#[test]
fn long_chains() {
    let n = 1000;
    let mut body = String::from("    %s0 = slice %xt starts [0] : tile<4000xf32>\n");
    for i in 1..n {
        body += &format!("    %s{i} = slice %s{} starts [1] : tile<{}xf32>\n", i - 1, 4000 - i);
    }
    let parts: Vec<String> = (0..n).map(|i| format!("%p{i}")).collect();
    for i in 0..n {
        body += &format!("    %p{i} = slice %s{} starts [{}] : tile<1xf32>\n", n - 1, (i * 7) % n);
    }
    body += &format!("    %r = concat {} axis 0 : tile<{n}xf32>\n", parts.join(", "));
    let case = apply(&[("x", DType::F32, &[4000])], (DType::F32, &[n]), &body);
    case.agree(&[Array::small(DType::F32, &[4000], 19)], &[]).unwrap();
}
