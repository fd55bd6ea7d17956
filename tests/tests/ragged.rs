//! Sizes that no block divides, in blocks smaller and larger than the array: copy, matrix products in
//! every form of their operands, softmax of rows, sums along each axis and over the grid.
//!
//! Copies, integers and sums of small integers must be exact. Elsewhere the bound is derived from the
//! number of roundings, each at most `EPS` of the magnitudes that meet: `docs/semantics.md` has the orders.

use half::bf16;
use tpu_device::{Device, Executor, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{Counted, devices, expect, made};
use tpu_tests::transformed::matmul as plain;

const SIZES: [usize; 9] = [1, 7, 8, 9, 127, 128, 129, 175, 1000];

/// Half the distance between 1 and the next f32: the largest relative error of a rounding.
const EPS: f64 = 1.0 / (1 << 24) as f64;

/// Pairs of sizes, each size with several others; for the interpreter, which is slow, the smaller ones.
fn pairs(device: &Device) -> impl Iterator<Item = (usize, usize)> {
    let (apart, most): (&[usize], usize) = match device.executor() {
        Executor::Interpreter => (&[2, 6], 20_000),
        Executor::Cranelift => (&[0, 1, 3, 5], 180_000),
    };
    let all = apart.iter().flat_map(|apart| (0..9).map(move |at| (SIZES[at], SIZES[(at + apart) % 9])));
    all.filter(move |(m, n)| m * n < most)
}

/// Numbers in -1..1 that differ from place to place, exact in bf16.
fn noise(at: usize) -> f32 {
    ((at.wrapping_mul(2_654_435_761) >> 7) % 255) as f32 / 128.0 - 127.0 / 128.0
}

/// A small integer that differs from place to place.
fn small(at: usize) -> i32 {
    ((at.wrapping_mul(2_654_435_761) >> 9) % 3) as i32 - 1
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect()
}

#[tpu_kernel(grid(i: m / BM, j: n / BN), semantics(parallel, parallel))]
fn copy<T: Element, BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<T, (BM, BN)>,
    #[block([m, n] at (i, j))] o: Out<T, (BM, BN)>,
) {
    o.store(x.load());
}

#[test]
fn copies_are_exact() {
    fn all<T: Counted + std::fmt::Debug>(device: &Device, m: usize, n: usize, blocks: &[(usize, usize)]) {
        let values: Vec<T> = (0..m * n).map(|at| T::counted(at as i32 % 200)).collect();
        let x = made(device, &[m, n], |at| values[at]);
        for &(bm, bn) in blocks {
            let o = copy().bm(bm).bn(bn).allow(Allow::BlockShape).launch(device, &x).unwrap();
            expect(&o, &[m, n], &values);
        }
    }
    for device in devices() {
        for (m, n) in pairs(&device) {
            all::<f32>(&device, m, n, &[(8, 128), (512, 512)][..if m * n > 5000 { 2 } else { 1 }]);
            if m * n < 20_000 {
                all::<f32>(&device, m, n, &[(7, 5), (130, 3)]);
                all::<bf16>(&device, m, n, &[(16, 128), (9, 11)]);
                all::<i32>(&device, m, n, &[(8, 128), (100, 200)]);
                all::<bool>(&device, m, n, &[(32, 128), (1, 200)]);
            }
        }
    }
}

/// x · wᵀ
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn right_transposed<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<T, (BM, BK)>,
    #[block([n, k] at (j, kk))] w: In<T, (BN, BK)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load_or(0.0), w.load_or(0.0).t());
    if kk == last(kk) {
        o.store(acc.load());
    }
}

/// xᵀ · w
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn left_transposed<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([k, m] at (kk, i))] x: In<T, (BK, BM)>,
    #[block([k, n] at (kk, j))] w: In<T, (BK, BN)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load_or(0.0).t(), w.load_or(0.0));
    if kk == last(kk) {
        o.store(acc.load());
    }
}

/// xᵀ · wᵀ
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn both_transposed<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([k, m] at (kk, i))] x: In<T, (BK, BM)>,
    #[block([n, k] at (j, kk))] w: In<T, (BN, BK)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load_or(0.0).t(), w.load_or(0.0).t());
    if kk == last(kk) {
        o.store(acc.load());
    }
}

/// Integers, with the sum in the output window.
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn integers<BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<i32, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<i32, (BK, BN)>,
    #[block([m, n] at (i, j))] mut o: Out<i32, (BM, BN)>,
) {
    if kk == 0 {
        o.fill(0);
    }
    o += dot(x.load_or(0), w.load_or(0));
}

/// Row-major matrices, either one transposed.
struct Product {
    m: usize,
    n: usize,
    k: usize,
}

impl Product {
    fn x(&self, transposed: bool, at: usize) -> usize {
        if transposed { at % self.m * self.k + at / self.m } else { at }
    }

    fn w(&self, transposed: bool, at: usize) -> usize {
        if transposed { at % self.k * self.n + at / self.k } else { at }
    }

    /// The sum over k of `of` for every element.
    fn sums<N: Copy>(&self, zero: N, x: &[N], w: &[N], of: impl Fn(N, N, N) -> N) -> Vec<N> {
        let columns: Vec<N> = (0..self.k * self.n).map(|at| w[self.w(true, at)]).collect();
        let element = |at: usize| {
            let (row, column) = (&x[at / self.n * self.k..][..self.k], &columns[at % self.n * self.k..][..self.k]);
            row.iter().zip(column).fold(zero, |sum, (&a, &b)| of(sum, a, b))
        };
        (0..self.m * self.n).map(element).collect()
    }
}

/// Every size at every place, none with two large partners.
fn triples() -> impl Iterator<Item = Product> {
    (0..9).map(|i| Product { m: SIZES[i], n: SIZES[(i + 3) % 9], k: SIZES[(i + 6) % 9] })
}

/// The forms and blocks of a product that an executor is tried with: all of the one that compiles, in
/// blocks larger and smaller than the arrays; of the interpreter one, in small blocks.
fn variants(executor: Executor, number: usize, work: usize) -> Vec<(usize, [usize; 3])> {
    match executor {
        Executor::Interpreter if work < 200_000 => vec![(number % 4, [16, 128, 32]), (number % 4, [9, 7, 5])],
        Executor::Interpreter => vec![],
        Executor::Cranelift => {
            let blocks = [[128, 128, 128], [8, 256, 128], [256, 128, 512]][number % 3];
            let small = if work < 40_000 { vec![[9, 7, 5]] } else { vec![] };
            small.into_iter().chain([blocks]).flat_map(|blocks| (0..4).map(move |form| (form, blocks))).collect()
        }
    }
}

fn products<T: Float + tpu_device::Element>(round: impl Fn(f32) -> T, value: impl Fn(usize) -> f32, exact: bool) {
    for (number, product) in triples().enumerate() {
        let Product { m, n, k } = product;
        let x: Vec<f64> = (0..m * k).map(|at| f64::from(value(at))).collect();
        let w: Vec<f64> = (0..k * n).map(|at| f64::from(value(at + 77))).collect();
        let want = product.sums(0.0, &x, &w, |sum, a, b| sum + a * b);
        let size = product.sums(0.0, &x, &w, |sum, a, b| sum + (a * b).abs());
        for device in devices() {
            for (form, [bm, bn, bk]) in variants(device.executor(), number, m * n * k) {
                let (xt, wt) = (form & 1 == 1, form & 2 == 2);
                let a = made(&device, &if xt { [k, m] } else { [m, k] }, |at| round(x[product.x(xt, at)] as f32));
                let b = made(&device, &if wt { [n, k] } else { [k, n] }, |at| round(w[product.w(wt, at)] as f32));
                macro_rules! launch {
                    ($kernel:ident) => {{
                        let kernel = $kernel().bm(bm).bn(bn).bk(bk).precision(Precision::Highest);
                        kernel.allow(Allow::BlockShape).launch(&device, &a, &b).unwrap()
                    }};
                }
                let o = match form {
                    0 => launch!(plain),
                    1 => launch!(left_transposed),
                    2 => launch!(right_transposed),
                    _ => launch!(both_transposed),
                };
                assert_eq!(o.shape(), [m, n]);
                for (at, ((got, want), size)) in floats(&o).into_iter().zip(&want).zip(&size).enumerate() {
                    let bound = if exact { 0.0 } else { 2.0 * k as f64 * EPS * size };
                    assert!(
                        (got - want).abs() <= bound,
                        "{at} of {m}×{n}×{k}, blocks {bm}, {bn}, {bk}, form {form}, {:?}: {got} for {want} ± {bound}",
                        device.executor()
                    );
                }
            }
        }
    }
}

#[test]
fn products_of_f32_are_within_the_bound() {
    products(|v| v, |at| noise(at) * 1.000_123, false);
}

#[test]
fn products_of_bf16_are_within_the_bound() {
    products(bf16::from_f32, noise, false);
}

#[test]
fn products_of_small_integers_are_exact() {
    products(|v| v, |at| small(at) as f32, true);
    products(bf16::from_f32, |at| small(at) as f32, true);
}

#[test]
fn products_of_integers_wrap() {
    for product in triples() {
        let Product { m, n, k } = product;
        let value = |at: usize| (at as i32).wrapping_mul(1_640_531_527);
        let (x, w): (Vec<i32>, Vec<i32>) = ((0..m * k).map(value).collect(), (0..k * n).map(|at| value(at + 7)).collect());
        let want = product.sums(0, &x, &w, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)));
        for device in devices() {
            if device.executor() == Executor::Interpreter && m * n * k > 200_000 {
                continue;
            }
            let kernel = integers().bm(16).bn(128).bk(64).allow(Allow::BlockShape);
            let o = kernel.launch(&device, &made(&device, &[m, k], |at| x[at]), &made(&device, &[k, n], |at| w[at])).unwrap();
            expect(&o, &[m, n], &want);
        }
    }
}

fn softmax_rows<R: Dim, C: Dim>(x: Tile<f32, (R, C)>) -> Tile<f32, (R, C)> {
    let e = (x - x.max(Lanes)).exp();
    e / e.sum(Lanes)
}

#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
fn softmax<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (R, C)>,
) {
    o.store(softmax_rows(x.load_or(f32::NEG_INFINITY)));
}

#[test]
fn softmax_of_rows_is_within_the_bound() {
    for device in devices() {
        for (rows, cols) in pairs(&device).filter(|(rows, cols)| rows * cols < 100_000) {
            let x = made(&device, &[rows, cols], |at| 8.0 * noise(at));
            let values = floats(&x);
            for (r, c) in [(8, cols.next_multiple_of(128)), (256, 1024), (7, cols), (3, cols + 5)] {
                if r == 256 && (rows < 100 || device.executor() == Executor::Interpreter) {
                    continue;
                }
                let o = softmax().r(r).c(c).allow(Allow::BlockShape).launch(&device, &x).unwrap();
                for (got, row) in floats(&o).chunks(cols).zip(values.chunks(cols)) {
                    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let deepest = row.iter().fold(0.0, |d: f64, x| d.max(top - x));
                    let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
                    // Subtraction and exponential, above and below the line; additions; the division.
                    let additions = cols.div_ceil(16) as f64 + 4.0;
                    let bound = 1.001 * EPS * (2.0 * (deepest + 2.0) + additions + 1.0);
                    for (got, x) in got.iter().zip(row) {
                        let want = (x - top).exp() / sum;
                        assert!((got - want).abs() <= bound * want, "{rows}×{cols} in {r}×{c}: {got} for {want}");
                    }
                }
            }
        }
    }
}
