//! Sizes that no block divides, through copy, sums, softmax and matmul.

use super::{Array, Case};
use crate::ir::DType;

const SIZES: [i32; 9] = [1, 7, 8, 9, 127, 128, 129, 175, 1000];

fn copy(dtype: DType, block: (usize, usize)) -> String {
    let (a, b) = block;
    format!(
        "kernel @copy(m, n) {{
  grid i = ceildiv(m, {a}) arbitrary
  grid j = ceildiv(n, {b}) arbitrary
  in %x: vmem<{a}x{b}x{dtype}> = [m, n] blocks [{a}, {b}] at (%i, %j) -> (%i, %j)
  out %o: vmem<{a}x{b}x{dtype}> = [m, n] blocks [{a}, {b}] at (%i, %j) -> (%i, %j)
  body {{
    %z = const 0 : i32
    %t = load %x[%z, %z] : tile<{a}x{b}x{dtype}>
    store %t, %o[%z, %z]
  }}
}}
"
    )
}

#[test]
fn copies() {
    for dtype in DType::ALL {
        for m in SIZES {
            for (n, block) in [(m, (8, 128)), (175, (8, 128)), (33, (16, 7)), (20, (1, 1000))] {
                if dtype != DType::F32 && m > 200 {
                    continue;
                }
                let case = Case::new(&copy(dtype, block), &[m, n]);
                let x = Array::wild(dtype, &[m as usize, n as usize], 3);
                let got = case.compiled(std::slice::from_ref(&x), &[]).unwrap();
                case.same(&x, &got[0]);
            }
        }
    }
}

/// The row softmax of rows that fit a block of `b`, masked beyond n.
fn softmax(b: usize) -> String {
    format!(
        "kernel @softmax(m, n) {{
  grid i = ceildiv(m, 8) arbitrary
  in %x: vmem<8x{b}xf32> = [m, n] blocks [8, {b}] at (%i) {{ %za = const 0 : i32 yield %i, %za }}
  out %o: vmem<8x{b}xf32> = [m, n] blocks [8, {b}] at (%j) {{ %zb = const 0 : i32 yield %j, %zb }}
  out %s: vmem<8x1xf32> = [m, 1] blocks [8, 1] at (%l) {{ %zc = const 0 : i32 yield %l, %zc }}
  body {{
    %z = const 0 : i32
    %n = size n : i32
    %col = iota axis 1 : tile<8x{b}xi32>
    %ns = broadcast %n : tile<8x{b}xi32>
    %in = lt %col, %ns : tile<8x{b}xbool>
    %t = load %x[%z, %z] : tile<8x{b}xf32>
    %low = const -inf : f32
    %lows = broadcast %low : tile<8x{b}xf32>
    %c = select %in, %t, %lows : tile<8x{b}xf32>
    %m = reduce max %c axis 1 : tile<8x1xf32>
    %mb = broadcast %m : tile<8x{b}xf32>
    %d = sub %c, %mb : tile<8x{b}xf32>
    %e = exp %d : tile<8x{b}xf32>
    %sum = reduce sum %e axis 1 : tile<8x1xf32>
    %sb = broadcast %sum : tile<8x{b}xf32>
    %y = div %e, %sb : tile<8x{b}xf32>
    store %y, %o[%z, %z]
    store %sum, %s[%z, %z]
  }}
}}
"
    )
}

#[test]
fn row_softmax() {
    for n in SIZES {
        for m in [1, 9] {
            for b in [n as usize, 1024] {
                let case = Case::new(&softmax(b), &[m, n]);
                let x = Array::small(DType::F32, &[m as usize, n as usize], 5);
                let got = case.agree(&[x], &[]).unwrap();
                for row in got[0].f32s().chunks(n as usize) {
                    let total: f64 = row.iter().map(|&v| f64::from(v)).sum();
                    assert!((total - 1.0).abs() < 1e-5, "{total}");
                }
            }
        }
    }
}

/// Matmul with an accumulator in scratch, operands masked along k.
fn matmul(dtype: DType, b: (usize, usize, usize)) -> String {
    let (m, n, k) = b;
    let acc = if dtype == DType::I32 { DType::I32 } else { DType::F32 };
    format!(
        "kernel @matmul(m, n, k) {{
  grid i = ceildiv(m, {m}) arbitrary
  grid j = ceildiv(n, {n}) arbitrary
  grid kk = ceildiv(k, {k}) arbitrary
  in %x: vmem<{m}x{k}x{dtype}> = [m, k] blocks [{m}, {k}] at (%i, %j, %kk) -> (%i, %kk)
  in %w: vmem<{k}x{n}x{dtype}> = [k, n] blocks [{k}, {n}] at (%i, %j, %kk) -> (%kk, %j)
  out %o: vmem<{m}x{n}x{acc}> = [m, n] blocks [{m}, {n}] at (%i, %j, %kk) -> (%i, %j)
  scratch %acc: vmem<{m}x{n}x{acc}>
  body {{
    %z = const 0 : i32
    %one = const 1 : i32
    %step = program_id 2 : i32
    %first = eq %step, %z : bool
    if %first {{
      %f = const 0 : {acc}
      %empty = broadcast %f : tile<{m}x{n}x{acc}>
      store %empty, %acc[%z, %z]
    }}
    %k = size k : i32
    %bk = const {k} : i32
    %done = mul %step, %bk : i32
    %left = sub %k, %done : i32
    %zd = const 0 : {dtype}
    %ca = iota axis 1 : tile<{m}x{k}xi32>
    %la = broadcast %left : tile<{m}x{k}xi32>
    %ia = lt %ca, %la : tile<{m}x{k}xbool>
    %xa = load %x[%z, %z] : tile<{m}x{k}x{dtype}>
    %za = broadcast %zd : tile<{m}x{k}x{dtype}>
    %a = select %ia, %xa, %za : tile<{m}x{k}x{dtype}>
    %cb = iota axis 0 : tile<{k}x{n}xi32>
    %lb = broadcast %left : tile<{k}x{n}xi32>
    %ib = lt %cb, %lb : tile<{k}x{n}xbool>
    %xb = load %w[%z, %z] : tile<{k}x{n}x{dtype}>
    %zb = broadcast %zd : tile<{k}x{n}x{dtype}>
    %b = select %ib, %xb, %zb : tile<{k}x{n}x{dtype}>
    %product = dot %a, %b precision highest : tile<{m}x{n}x{acc}>
    %old = load %acc[%z, %z] : tile<{m}x{n}x{acc}>
    %new = add %old, %product : tile<{m}x{n}x{acc}>
    store %new, %acc[%z, %z]
    %count = num_programs 2 : i32
    %end = sub %count, %one : i32
    %last = eq %step, %end : bool
    if %last {{
      %all = load %acc[%z, %z] : tile<{m}x{n}x{acc}>
      store %all, %o[%z, %z]
    }}
  }}
}}
"
    )
}

#[test]
fn matmuls() {
    for dtype in [DType::F32, DType::Bf16, DType::I32] {
        for (at, size) in SIZES.into_iter().enumerate() {
            let (m, n, k) = (size.min(200), SIZES[(at + 3) % 9].min(200), SIZES[(at + 5) % 9]);
            for block in [(8, 16, 32), (128, 128, 128), (64, 7, 33)] {
                let case = Case::new(&matmul(dtype, block), &[m, n, k]);
                let a = Array::small(dtype, &[m as usize, k as usize], 6);
                let b = Array::small(dtype, &[k as usize, n as usize], 7);
                let got = &case.compiled(&[a.clone(), b.clone()], &[]).unwrap()[0];
                check_product(&a, &b, got);
            }
        }
    }
}

/// Against a product in double precision.
fn check_product(a: &Array, b: &Array, got: &Array) {
    let numbers = |x: &Array| -> Vec<f64> {
        x.literals().iter().map(|l| l.as_f32().map_or_else(|| f64::from(l.as_i32().unwrap()), f64::from)).collect()
    };
    let (k, n) = (a.shape[1], b.shape[1]);
    let (av, bv, gv) = (numbers(a), numbers(b), numbers(got));
    for (at, g) in gv.into_iter().enumerate() {
        let (i, j) = (at / n, at % n);
        let terms = (0..k).map(|p| av[i * k + p] * bv[p * n + j]);
        let (want, size): (f64, f64) = (terms.clone().sum(), terms.map(f64::abs).sum());
        let bound = if a.dtype == DType::I32 { 0.0 } else { 2.0 * k as f64 * 2f64.powi(-24) * size };
        assert!((g - want).abs() <= bound, "({i}, {j}) of {:?}·{:?}: {g} {want} {bound}", a.shape, b.shape);
    }
}

#[test]
fn column_sums() {
    let text = "kernel @sums(m, n) {
  grid j = ceildiv(n, 128) arbitrary
  grid i = ceildiv(m, 8) arbitrary
  in %x: vmem<8x128xf32> = [m, n] blocks [8, 128] at (%j, %i) -> (%i, %j)
  out %o: vmem<1x128xf32> = [1, n] blocks [1, 128] at (%a, %b) { %za = const 0 : i32 yield %za, %a }
  body {
    %z = const 0 : i32
    %step = program_id 1 : i32
    %eight = const 8 : i32
    %m = size m : i32
    %done = mul %step, %eight : i32
    %left = sub %m, %done : i32
    %row = iota axis 0 : tile<8x128xi32>
    %ls = broadcast %left : tile<8x128xi32>
    %in = lt %row, %ls : tile<8x128xbool>
    %t = load %x[%z, %z] : tile<8x128xf32>
    %f = const 0.0 : f32
    %fs = broadcast %f : tile<8x128xf32>
    %c = select %in, %t, %fs : tile<8x128xf32>
    %s = reduce sum %c axis 0 : tile<1x128xf32>
    %first = eq %step, %z : bool
    %old = if %first : tile<1x128xf32> {
      %g = broadcast %f : tile<1x128xf32>
      yield %g
    } else {
      %h = load %o[%z, %z] : tile<1x128xf32>
      yield %h
    }
    %new = add %old, %s : tile<1x128xf32>
    store %new, %o[%z, %z]
  }
}
";
    for m in SIZES {
        for n in [1, 129, 175] {
            let case = Case::new(text, &[m, n]);
            case.agree(&[Array::small(DType::F32, &[m as usize, n as usize], 8)], &[]).unwrap();
        }
    }
}

#[test]
fn squeezed_dimensions() {
    let text = "kernel @pick(b, m, n, h) {
  grid i = b arbitrary
  grid j = h arbitrary
  grid l = ceildiv(m, 8) arbitrary
  in %x: vmem<8x64xf32> = [b, m, h, n] blocks [squeezed, 8, squeezed, 64] at (%i, %j, %l) { %za = const 0 : i32 yield %i, %l, %j, %za }
  in %y: vmem<8x3xbf16> = [m, b, 3, h] blocks [8, squeezed, 3, squeezed] at (%a, %c, %d) { %zb = const 0 : i32 yield %d, %a, %zb, %c }
  out %o: vmem<1x8x64xf32> = [b, m, h, n] blocks [1, 8, squeezed, 64] at (%p, %q, %r) { %zc = const 0 : i32 yield %p, %r, %q, %zc }
  body {
    %z = const 0 : i32
    %t = load %x[%z, %z] : tile<8x64xf32>
    %u = load %y[%z, %z] : tile<8x3xbf16>
    %v = cast %u : tile<8x3xf32>
    %w = reduce sum %v axis 1 : tile<8x1xf32>
    %ws = broadcast %w : tile<8x64xf32>
    %r0 = mul %t, %ws : tile<8x64xf32>
    %r1 = reshape %r0 : tile<1x8x64xf32>
    store %r1, %o[%z, %z, %z]
  }
}
";
    for (b, m, n, h) in [(2, 8, 64, 3), (1, 13, 50, 2), (3, 20, 64, 1)] {
        let case = Case::new(text, &[b, m, n, h]);
        let [b, m, n, h] = [b, m, n, h].map(|x| x as usize);
        case.agree(&[Array::small(DType::F32, &[b, m, h, n], 9), Array::small(DType::Bf16, &[m, b, 3, h], 10)], &[]).unwrap();
    }
}
