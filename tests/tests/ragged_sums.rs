//! Sums along lanes, along sublanes and over the grid, of sizes that no block divides.
//!
//! Integers and small integers in floats must be exact; elsewhere the bound counts the additions.

use half::bf16;
use tpu_device::{Device, Executor, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{Counted, devices, expect, made};

const SIZES: [usize; 9] = [1, 7, 8, 9, 127, 128, 129, 175, 1000];

/// The largest relative error of a rounding to f32.
const EPS: f64 = 1.0 / (1 << 24) as f64;

/// The sum of each row, in blocks of columns that follow each other in the grid.
#[tpu_kernel(grid(i: m / BM, j: n / BN), semantics(parallel, arbitrary))]
fn over_lanes<T: Number, BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<T, (BM, BN)>,
    #[block([m, 1] at (i, 0))] o: Out<T, (BM, One)>,
    #[scratch] mut acc: Vmem<T, (BM, One)>,
    zero: Scalar<T>,
) {
    if j == 0 {
        acc.fill(zero);
    }
    acc += x.load_or(zero).sum(Lanes);
    if j == last(j) {
        o.store(acc.load());
    }
}

/// The sum of each column, in blocks of rows that follow each other in the grid.
#[tpu_kernel(grid(j: n / BN, i: m / BM), semantics(parallel, arbitrary))]
fn over_sublanes<T: Number, BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<T, (BM, BN)>,
    #[block([1, n] at (0, j))] o: Out<T, (One, BN)>,
    #[scratch] mut acc: Vmem<T, (One, BN)>,
    zero: Scalar<T>,
) {
    if i == 0 {
        acc.fill(zero);
    }
    acc += x.load_or(zero).sum(Sublanes);
    if i == last(i) {
        o.store(acc.load());
    }
}

/// The sum of everything: blocks are added to one tile, which is summed in the last step.
#[tpu_kernel(grid(i: m / BM, j: n / BN))]
fn over_all<T: Number, BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<T, (BM, BN)>,
    #[block([1, 1] at (0, 0))] o: Out<T, (One, One)>,
    #[scratch] mut acc: Vmem<T, (BM, BN)>,
    zero: Scalar<T>,
) {
    if i == 0 && j == 0 {
        acc.fill(zero);
    }
    acc += x.load_or(zero);
    if i == last(i) && j == last(j) {
        o.store(acc.load().sum(Lanes).sum(Sublanes));
    }
}

/// Shapes with blocks: each size with several others; for the interpreter, which is slow, smaller ones.
fn cases(device: &Device) -> impl Iterator<Item = ([usize; 2], [usize; 2])> {
    let (apart, most): (&[usize], usize) = match device.executor() {
        Executor::Interpreter => (&[2, 6], 10_000),
        Executor::Cranelift => (&[1, 5], 180_000),
    };
    let pairs = apart.iter().flat_map(|apart| (0..9).map(move |at| (SIZES[at], SIZES[(at + apart) % 9])));
    pairs.filter(move |(m, n)| m * n < most).flat_map(|(m, n)| {
        let blocks = [([8, 128], 0..200_000), ([32, 512], 5_000..200_000), ([7, 5], 0..2_000), ([3, 256], 0..30_000)];
        blocks.into_iter().filter(move |(_, sizes)| sizes.contains(&(m * n))).map(move |(block, _)| ([m, n], block))
    })
}

/// The three sums of one array.
fn sums<T: Number + tpu_device::Element>(device: &Device, x: &Tensor, [bm, bn]: [usize; 2], zero: T) -> [Tensor; 3] {
    let rows = over_lanes().bm(bm).bn(bn).allow(Allow::BlockShape).launch(device, x, zero).unwrap();
    let columns = over_sublanes().bm(bm).bn(bn).allow(Allow::BlockShape).launch(device, x, zero).unwrap();
    let all = over_all().bm(bm).bn(bn).allow(Allow::BlockShape).launch(device, x, zero).unwrap();
    [rows, columns, all]
}

/// The same of plain numbers.
fn reference<N: Copy>([m, n]: [usize; 2], values: &[N], zero: N, add: impl Fn(N, N) -> N) -> [Vec<N>; 3] {
    let fold = |items: &mut dyn Iterator<Item = N>| items.fold(zero, &add);
    let rows = (0..m).map(|i| fold(&mut values[i * n..][..n].iter().copied())).collect();
    let columns = (0..n).map(|j| fold(&mut values[j..].iter().step_by(n).copied())).collect();
    [rows, columns, vec![fold(&mut values.iter().copied())]]
}

fn shapes([m, n]: [usize; 2]) -> [[usize; 2]; 3] {
    [[m, 1], [1, n], [1, 1]]
}

#[test]
fn sums_of_integers_wrap() {
    for device in devices() {
        for (dims, block) in cases(&device) {
            let values: Vec<i32> = (0..dims[0] * dims[1]).map(|at| (at as i32).wrapping_mul(1_640_531_527)).collect();
            let got = sums(&device, &made(&device, &dims, |at| values[at]), block, 0);
            for ((got, want), dims) in got.iter().zip(reference(dims, &values, 0, i32::wrapping_add)).zip(shapes(dims)) {
                expect(got, &dims, &want);
            }
        }
    }
}

#[test]
fn sums_of_small_integers_are_exact() {
    fn all<T: Counted + Number + std::fmt::Debug>(
        device: &Device,
        dims: [usize; 2],
        block: [usize; 2],
        value: impl Fn(usize) -> i32,
    ) {
        let values: Vec<i32> = (0..dims[0] * dims[1]).map(value).collect();
        let got = sums(device, &made(device, &dims, |at| T::counted(values[at])), block, T::counted(0));
        for ((got, want), dims) in got.iter().zip(reference(dims, &values, 0, |a, b| a + b)).zip(shapes(dims)) {
            expect(got, &dims, &want.into_iter().map(T::counted).collect::<Vec<T>>());
        }
    }
    for device in devices() {
        for (dims, block) in cases(&device) {
            all::<f32>(&device, dims, block, |at| (at.wrapping_mul(2_654_435_761) >> 9) as i32 % 9);
            // Every partial sum in bf16 stays below 256: 1 and -1 take turns along rows and columns.
            let n = dims[1];
            all::<bf16>(&device, dims, block, |at| if (at / n + at % n) % 2 == 0 { 1 } else { -1 });
        }
    }
}

#[test]
fn sums_of_f32_are_within_the_bound() {
    for device in devices() {
        for (dims, block) in cases(&device) {
            let values: Vec<f32> =
                (0..dims[0] * dims[1]).map(|at| ((at.wrapping_mul(2_654_435_761) >> 5) % 4096) as f32 / 1000.0 - 1.7).collect();
            let got = sums(&device, &made(&device, &dims, |at| values[at]), block, 0.0f32);
            let wide: Vec<f64> = values.iter().map(|&v| v.into()).collect();
            let want = reference(dims, &wide, 0.0, |a, b| a + b);
            let size = reference(dims, &wide, 0.0, |a, b| a + b.abs());
            // Additions on the way of one element: within a block (16 partial sums along lanes), then over the grid.
            let [m, n] = dims;
            let [bm, bn] = block;
            let (grid_m, grid_n) = (m.div_ceil(bm), n.div_ceil(bn));
            let lanes = bn.div_ceil(16) + 4;
            let additions = [lanes + grid_n, bm + grid_m, grid_m * grid_n + lanes + bm];
            for (((got, want), size), additions) in got.iter().zip(want).zip(size).zip(additions) {
                for ((got, want), size) in got.to_vec::<f32>().unwrap().into_iter().zip(want).zip(size) {
                    let bound = 1.001 * additions as f64 * EPS * size;
                    assert!((f64::from(got) - want).abs() <= bound, "{dims:?} in {block:?}: {got} for {want} ± {bound}");
                }
            }
        }
    }
}
