//! Every product against double precision, over shapes, strides, special values and tiny operands.

use tpu_microkernels::{Mat, MatMut, gemm_bf16, gemm_f32, gemm_f32_default, gemm_f32_high, gemm_i32, raw};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// In (-1, 1), times 2 to a power from -`spread` to 0.
    fn float(&mut self, spread: i32) -> f32 {
        let unit = (self.next() % 0xff_ffff) as f32 / 0x80_0000 as f32 - 1.0;
        let power = if spread == 0 { 0 } else { (self.next() % spread as u64) as i32 };
        unit * 2f32.powi(-power)
    }
}

fn round(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

fn widen(x: u16) -> f32 {
    f32::from_bits(u32::from(x) << 16)
}

const SHAPES: [(usize, usize, usize); 12] = [
    (1, 1, 1),
    (1, 1, 700),
    (2, 3, 5),
    (12, 32, 64),
    (13, 33, 65),
    (128, 128, 128),
    (1, 100, 513),
    (100, 1, 512),
    (24, 64, 1025),
    (50, 70, 2),
    (7, 129, 1000),
    (175, 32, 175),
];

/// A matrix in memory with gaps, by rows or by columns; gaps hold NaN.
struct Stored<T> {
    data: Vec<T>,
    rows: usize,
    cols: usize,
    strides: (usize, usize),
}

impl<T: Copy> Stored<T> {
    fn new(rows: usize, cols: usize, by_rows: bool, gap: usize, filler: T, mut element: impl FnMut(usize, usize) -> T) -> Self {
        let strides = if by_rows { (cols + gap, 1) } else { (1, rows + gap) };
        let mut data = vec![filler; (rows - 1) * strides.0 + (cols - 1) * strides.1 + 1];
        for i in 0..rows {
            for j in 0..cols {
                data[i * strides.0 + j * strides.1] = element(i, j);
            }
        }
        Stored { data, rows, cols, strides }
    }

    fn mat(&self) -> Mat<'_, T> {
        Mat::new(&self.data, self.rows, self.cols, self.strides.0, self.strides.1).unwrap()
    }

    fn at(&self, i: usize, j: usize) -> T {
        self.data[i * self.strides.0 + j * self.strides.1]
    }
}

/// Checks a product whose operands enter as `value` sees them: |error| ≤ 2 k 2^-24 Σ|a||b| and k denormals.
fn check<T: Copy>(
    name: &str,
    (a, b): (&Stored<T>, &Stored<T>),
    extra: f64,
    value: impl Fn(T) -> f64,
    product: impl Fn(MatMut<'_, f32>, Mat<'_, T>, Mat<'_, T>),
) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let pitch = n + 3;
    let mut out = vec![f32::NAN; m * pitch];
    product(MatMut::new(&mut out, m, n, pitch).unwrap(), a.mat(), b.mat());
    for i in 0..m {
        assert!(out[i * pitch + n..(i + 1) * pitch].iter().all(|x| x.is_nan()), "{name}: wrote beside the result");
        for j in 0..n {
            let terms = (0..k).map(|p| value(a.at(i, p)) * value(b.at(p, j)));
            let (want, size): (f64, f64) = (terms.clone().sum(), terms.map(f64::abs).sum());
            let got = f64::from(out[i * pitch + j]);
            let bound = 2.0 * k as f64 * 2f64.powi(-24) * size * (1.0 + extra) + k as f64 * 2f64.powi(-149);
            let same = (want.is_nan() && got.is_nan()) || want == got || (got - want).abs() <= bound;
            assert!(same, "{name} {m}x{n}x{k} ({i}, {j}): {got:e}, want {want:e}, bound {bound:e}");
        }
    }
}

/// What three passes leave out, in units of the bound: rounding to 8 bits leaves at most 2^-8 of an operand in lo and
/// 2^-16 beside it, so lo·lo and the two rests are at most 3 · 2^-16 of each product. Three passes round three times.
fn left_out(k: usize) -> f64 {
    3.0 * 2f64.powi(-16) / (2.0 * k as f64 * 2f64.powi(-24)) + 2.0
}

fn layouts() -> impl Iterator<Item = (bool, bool, usize)> {
    [(true, true, 0), (true, false, 0), (false, true, 5), (false, false, 2)].into_iter()
}

#[test]
fn ordinary_operands() {
    let mut random = Random(1);
    for (m, n, k) in SHAPES {
        for (a_rows, b_rows, gap) in layouts() {
            for spread in [0, 30] {
                let a = Stored::new(m, k, a_rows, gap, f32::NAN, |_, _| random.float(spread));
                let b = Stored::new(k, n, b_rows, gap, f32::NAN, |_, _| random.float(spread));
                check("f32", (&a, &b), 0.0, f64::from, gemm_f32);
                check("default", (&a, &b), 0.0, |x| f64::from(widen(round(x))), gemm_f32_default);
                let left_out = left_out(k);
                check("high", (&a, &b), left_out, f64::from, gemm_f32_high);
                let a16 = Stored::new(m, k, a_rows, gap, 0x7fc0, |i, j| round(a.at(i, j)));
                let b16 = Stored::new(k, n, b_rows, gap, 0x7fc0, |i, j| round(b.at(i, j)));
                check("bf16", (&a16, &b16), 0.0, |x| f64::from(widen(x)), gemm_bf16);
            }
        }
    }
}

#[test]
fn tiny_operands_are_not_flushed() {
    // Operands or products near and below the smallest normal number: the instruction would read zeros.
    let mut random = Random(2);
    for (m, n, k) in [(5, 7, 9), (13, 40, 600)] {
        for (left, right) in [(-130, 0), (0, -130), (-63, -63), (-50, -60), (-126, 3), (-140, 40)] {
            let a = Stored::new(m, k, true, 0, 0, |_, _| round(random.float(8) * 2f32.powi(left)));
            let b = Stored::new(k, n, true, 0, 0, |_, _| round(random.float(8) * 2f32.powi(right)));
            check("tiny bf16", (&a, &b), 0.0, |x| f64::from(widen(x)), gemm_bf16);
        }
    }
}

#[test]
fn infinity_and_nan_propagate() {
    let mut random = Random(3);
    for (m, n, k) in [(3, 4, 5), (14, 40, 70)] {
        let special = |random: &mut Random| match random.next() % 40 {
            0 => f32::INFINITY,
            1 => f32::NEG_INFINITY,
            2 => f32::NAN,
            3..8 => 0.0,
            _ => random.float(0),
        };
        for (a_rows, b_rows, gap) in layouts() {
            let a = Stored::new(m, k, a_rows, gap, 0.0, |_, _| special(&mut random));
            let b = Stored::new(k, n, b_rows, gap, 0.0, |_, _| special(&mut random));
            check("f32", (&a, &b), 0.0, f64::from, gemm_f32);
            check("default", (&a, &b), 0.0, |x| f64::from(widen(round(x))), gemm_f32_default);
            let left_out = left_out(k);
            check("high", (&a, &b), left_out, f64::from, gemm_f32_high);
            let a16 = Stored::new(m, k, a_rows, gap, 0, |i, j| round(a.at(i, j)));
            let b16 = Stored::new(k, n, b_rows, gap, 0, |i, j| round(b.at(i, j)));
            check("bf16", (&a16, &b16), 0.0, |x| f64::from(widen(x)), gemm_bf16);
        }
    }
}

#[test]
fn integers_wrap() {
    let mut random = Random(4);
    for (m, n, k) in SHAPES {
        for (a_rows, b_rows, gap) in layouts() {
            let a = Stored::new(m, k, a_rows, gap, 1, |_, _| random.next() as i32);
            let b = Stored::new(k, n, b_rows, gap, 1, |_, _| (random.next() << 1) as i32);
            let mut out = vec![7; m * n];
            gemm_i32(MatMut::new(&mut out, m, n, n).unwrap(), a.mat(), b.mat());
            for (at, &got) in out.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let want = (0..k).fold(0i32, |sum, p| sum.wrapping_add(a.at(i, p).wrapping_mul(b.at(p, j))));
                assert_eq!(got, want);
            }
        }
    }
}

#[test]
fn matrices_are_checked() {
    let data = [0f32; 12];
    assert!(Mat::new(&data, 3, 4, 4, 1).is_some());
    assert!(Mat::new(&data, 3, 4, 5, 1).is_none());
    assert!(Mat::new(&data, 3, 4, usize::MAX, 1).is_none());
    let mut out = [0f32; 12];
    assert!(MatMut::new(&mut out, 3, 4, 3).is_none());
    assert!(MatMut::new(&mut out, 3, 4, 4).is_some());
}

/// `dst += a · b` rounds as the product alone and one addition, to the bit; beside large numbers nothing small is lost.
#[test]
fn accumulation_is_one_addition_of_the_whole_product() {
    fn sum<T>(f: raw::Gemm, dst: &[f32], (a, b): (&Stored<T>, &Stored<T>), accumulate: bool) -> Vec<f32> {
        let (m, n, k) = (a.rows, b.cols, a.cols);
        let mut out = dst.to_vec();
        let (to, left, right) = (out.as_mut_ptr().cast(), a.data.as_ptr().cast(), b.data.as_ptr().cast());
        // SAFETY: `out` is a dense m × n; the operands have these strides over their own elements.
        unsafe { f(to, left, right, m, n, k, n, a.strides.0, a.strides.1, b.strides.0, b.strides.1, accumulate.into()) };
        out
    }
    fn check<T>(name: &str, f: raw::Gemm, dst: &[f32], ab: (&Stored<T>, &Stored<T>)) {
        let want: Vec<u32> = sum(f, dst, ab, false).iter().zip(dst).map(|(product, x)| (x + product).to_bits()).collect();
        let got: Vec<u32> = sum(f, dst, ab, true).iter().map(|x| x.to_bits()).collect();
        assert!(got == want, "{name} {}x{}x{}", ab.0.rows, ab.1.cols, ab.0.cols);
    }
    let mut random = Random(5);
    let more = [(8, 128, 4096), (1, 128, 4096), (300, 70, 600), (1, 5, 3), (5, 1, 3), (70, 80, 1), (70, 80, 2), (3, 3, 1500)];
    for (m, n, k) in SHAPES.into_iter().chain(more) {
        for (a_rows, b_rows, gap) in layouts() {
            for large in [1.0, 1e3, 268_435_456.0] {
                let dst: Vec<f32> = (0..m * n).map(|_| random.float(0) * large).collect();
                // Of one sign, so that what is lost in small pieces shows.
                let a = Stored::new(m, k, a_rows, gap, f32::NAN, |_, _| random.float(8).abs());
                let b = Stored::new(k, n, b_rows, gap, f32::NAN, |_, _| random.float(8).abs());
                check("highest", raw::f32_highest, &dst, (&a, &b));
                check("high", raw::f32_high, &dst, (&a, &b));
                check("default", raw::f32_default, &dst, (&a, &b));
                let a = Stored::new(m, k, a_rows, gap, 0x7fc0, |i, j| round(a.at(i, j)));
                let b = Stored::new(k, n, b_rows, gap, 0x7fc0, |i, j| round(b.at(i, j)));
                check("bf16", raw::bf16, &dst, (&a, &b));
            }
        }
    }
}
