//! Cases of pipelines inside a kernel.
//!
//! `case_NN` are the cases of `docs/conformance.md` that test such pipelines, `report_NN` and `fault_X` what users reported or was
//! found in other interpreters; each runs on both executors, with its exact numbers.

use tpu_device::{Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, made, tensor};
use tpu_tests::generate::Rng;
use tpu_tests::libtpu::compiles;

const WORKER: &str = env!("CARGO_BIN_EXE_worker");

/// An array of `blocks` blocks of 8 × 128, each full of its number.
fn numbered(device: &Device, blocks: usize) -> Tensor {
    made(device, &[8 * blocks, 128], |at| (at / 1024) as f32)
}

/// Blocks full of these numbers.
fn full(numbers: &[f32]) -> Vec<f32> {
    numbers.iter().flat_map(|&n| [n; 1024]).collect()
}

// ---- 9: blocks with bounds -------------------------------------------------------------------------------------------------

/// Parts of up to 16 rows of 8 × 128, each where two lists say.
#[tpu_kernel]
fn bounded(
    #[prefetch([n])] starts: Prefetch<i32, 1>,
    #[prefetch([n])] ends: Prefetch<i32, 1>,
    #[hbm([m, 8, 128])] x: Hbm<i32, 3>,
    #[hbm([m, 8, 128])] o: HbmOut<i32, 3>,
) {
    let part = |i: Scalar<i32>| ((starts.read(i), ends.read(i) - starts.read(i)), 0, 0);
    pipeline((n,))
        .input(x.blocks::<(Bounded<D<16>>, D<8>, D<128>)>(), |[i]| part(i))
        .output(o.blocks::<(Bounded<D<16>>, D<8>, D<128>)>(), |[i]| part(i))
        .run(|[_], ((x, _), (o, _))| o.store(x.load()));
}

#[test]
fn case_09_block_spec_bounded_slice_dynamic() {
    for device in devices() {
        let (starts, ends) = (tensor(&device, &[11, 8, 3, 0], &[4]), tensor(&device, &[16, 11, 8, 3], &[4]));
        let x = made(&device, &[16, 8, 128], |at| at as i32);
        expect(&bounded().launch(&device, &starts, &ends, &x).unwrap(), &[16, 8, 128], &(0..16 * 1024).collect::<Vec<i32>>());
        // A part that is larger than its bound, or leaves the array.
        for (start, end) in [(0, 17), (-1, 3), (14, 17)] {
            let [start, end] = [start, end].map(|n| tensor(&device, &[n], &[1]));
            let x = made(&device, &[16, 8, 128], |at| at as i32);
            assert_eq!(failed(bounded().launch(&device, &start, &end, &x)).code(), "R001");
        }
    }
    let lists = || (DType::I32, vec![4]);
    compiles(WORKER, &bounded(), &[lists(), lists(), (DType::I32, vec![16, 8, 128])]);
}

// ---- 10: a product of any number of rows -----------------------------------------------------------------------------------

#[tpu_kernel]
fn padded_product<T: Float, BM: Dim, K: Dim, N: Dim>(
    #[hbm([m, k])] x: Hbm<T, 2>,
    #[hbm([k, n])] y: Hbm<T, 2>,
    #[hbm([m, n])] o: HbmOut<T, 2>,
) {
    pipeline((m.div_ceil(BM),))
        .input(x.blocks::<(BM, K)>(), |[i]| (i, 0))
        .input(y.blocks::<(K, N)>(), |_| (0, 0))
        .output(o.blocks::<(BM, N)>(), |[i]| (i, 0))
        .run(|[_], (x, y, o)| o.store(dot_with(Precision::Highest, x.load(), y.load()).cast()));
}

#[tpu_kernel]
fn padded_integers<BM: Dim, K: Dim, N: Dim>(
    #[hbm([m, k])] x: Hbm<i8, 2>,
    #[hbm([k, n])] y: Hbm<i8, 2>,
    #[hbm([m, n])] o: HbmOut<i32, 2>,
) {
    pipeline((m.div_ceil(BM),))
        .input(x.blocks::<(BM, K)>(), |[i]| (i, 0))
        .input(y.blocks::<(K, N)>(), |_| (0, 0))
        .output(o.blocks::<(BM, N)>(), |[i]| (i, 0))
        .run(|[_], (x, y, o)| o.store(dot(x.load(), y.load())));
}

/// Numbers of which products and sums are exact: small integers.
#[test]
fn case_10_padded_matmul_in_a_pipeline() {
    let mut rng = Rng::new(10);
    for device in devices() {
        for bm in [32, 128] {
            let m = bm + rng.below(100);
            let (k, n) = (1 + rng.below(40), 1 + rng.below(40));
            let small = |seed: usize, at: usize| ((at * 31 + seed * 17) % 9) as i32 - 4;
            let product = |row: usize, col: usize| (0..k).map(|l| small(1, row * k + l) * small(2, l * n + col)).sum::<i32>();
            let want: Vec<i32> = (0..m * n).map(|at| product(at / n, at % n)).collect();
            let floats = |seed| move |at| small(seed, at) as f32;
            let (x, y) = (made(&device, &[m, k], floats(1)), made(&device, &[k, n], floats(2)));
            let o = padded_product().bm(bm).k(k).n(n).launch(&device, &x, &y).unwrap();
            expect(&o, &[m, n], &want.iter().map(|&w| w as f32).collect::<Vec<_>>());
            let bytes = |seed| move |at| small(seed, at) as i8;
            // Rows of bytes are copied by eights.
            let whole = m.next_multiple_of(8);
            let (x, y) = (made(&device, &[whole, k], bytes(1)), made(&device, &[k, n], bytes(2)));
            let o = padded_integers().bm(bm).k(k).n(n).launch(&device, &x, &y).unwrap().to_vec::<i32>().unwrap();
            assert_eq!(o[..m * n], want);
        }
    }
    compiles(WORKER, &padded_product().bm(32).k(128).n(128), &[(DType::F32, vec![41, 128]), (DType::F32, vec![128, 128])]);
    compiles(WORKER, &padded_product().bm(32).k(256).n(256), &[(DType::Bf16, vec![48, 256]), (DType::Bf16, vec![256, 256])]);
}

// ---- 13: a sum whose blocks come again -------------------------------------------------------------------------------------

#[tpu_kernel]
fn reduced(#[hbm([24, 384])] x: Hbm<f32, 2>, #[hbm([8, 384])] o: HbmOut<f32, 2>) {
    pipeline((3, 3))
        .input(x.blocks::<(D<8>, D<128>)>(), |[i, j]| (i, j))
        .update(o.blocks::<(D<8>, D<128>)>(), |[_, j]| (0, j))
        .run(|[i, _], (x, mut o)| {
            if i == 0 {
                o.fill(0.0);
            }
            o += x.load();
        });
}

#[test]
fn case_13_block_reduction_with_non_immediate_revisit() {
    for device in devices() {
        let o = reduced().launch(&device, &made(&device, &[24, 384], |at| at as f32)).unwrap();
        let sum = |at: usize| (0..3).map(|block| (block * 8 * 384 + at) as f32).sum();
        expect(&o, &[8, 384], &(0..8 * 384).map(sum).collect::<Vec<f32>>());
    }
    compiles(WORKER, &reduced(), &[(DType::F32, vec![24, 384])]);
}

// ---- 14: a grid that data give ---------------------------------------------------------------------------------------------

#[tpu_kernel]
fn stepped(#[prefetch([1])] steps: Prefetch<i32, 1>, #[hbm([8, 128])] o: HbmOut<f32, 2>) {
    pipeline((2 * steps.read(0),)).output(o.blocks::<(D<8>, D<128>)>(), |_| (0, 0)).run(|[i], (mut o,)| {
        if i == 0 {
            o.fill(0.0);
        }
        o += 1.0;
    });
}

#[test]
fn case_14_dynamic_grid_in_a_pipeline() {
    for device in devices() {
        let run = |steps: i32| stepped().launch(&device, &tensor(&device, &[steps], &[1])).unwrap();
        expect(&run(4), &[8, 128], &[8.0f32; 1024]);
        expect(&run(1), &[8, 128], &[2.0f32; 1024]);
        expect(&run(0), &[8, 128], &[f32::NAN; 1024]);
    }
    compiles(WORKER, &stepped(), &[(DType::I32, vec![1])]);
}

// ---- 15: a grid of three dimensions whose product is no i32 ----------------------------------------------------------------

#[tpu_kernel]
fn three_dimensions(a: Scalar<i32>, b: Scalar<i32>, c: Scalar<i32>, #[hbm([8, 128])] o: HbmOut<f32, 2>) {
    scoped(|mut sum: Vmem<f32, (D<8>, D<128>)>| {
        sum.fill(0.0);
        pipeline((a, b, c)).run(|[_, _, _], ()| sum += 1.0);
        copy(sum, o.view((0, 0))).now();
    });
}

#[test]
fn case_15_dynamic_grid_overflow_in_a_pipeline() {
    for device in devices() {
        let run = |a: i32, b: i32, c: i32| three_dimensions().launch(&device, a, b, c).unwrap();
        expect(&run(8, 5, 3), &[8, 128], &[120.0f32; 1024]);
        // 2^40 steps of nothing.
        expect(&run(1 << 20, 1 << 20, 0), &[8, 128], &[0.0f32; 1024]);
        expect(&run(0, i32::MAX, i32::MAX), &[8, 128], &[0.0f32; 1024]);
    }
}

// ---- 17: how often a block is copied ---------------------------------------------------------------------------------------

/// Counts on the semaphores of others do not show; a block that is overwritten in the array after it was fetched does.
#[tpu_kernel]
fn fetched_once(
    #[hbm([16, 128])] o: HbmOut<f32, 2>,
    #[hbm([32, 128])] seen: HbmOut<f32, 2>,
    #[scratch] row: Vmem<f32, (D<8>, D<128>)>,
) {
    row.fill(1.0);
    copy(row, o.view((0, 0))).now();
    row.fill(5.0);
    copy(row, o.view((8, 0))).now();
    row.fill(-1.0);
    pipeline((2, 2))
        .input(o.blocks::<(D<8>, D<128>)>(), |[i, _]| (i, 0))
        .buffers(1)
        .output(seen.blocks::<(D<8>, D<128>)>(), |[i, j]| (i * 2 + j, 0))
        .run(|[i, _], (x, seen)| {
            seen.store(x.load());
            // The next step of the row has the block already.
            copy(row, o.view((i * 8, 0))).now();
        });
}

#[test]
fn case_17_correct_number_of_copies() {
    for device in devices() {
        let (_, seen) = fetched_once().launch(&device).unwrap();
        expect(&seen, &[32, 128], &full(&[1.0, 1.0, 5.0, 5.0]));
    }
}

// ---- 22, 23: blocks from and to the places of an array ---------------------------------------------------------------------

fn gather<const N: usize>(blocks: Prefetch<i32, 1>, x: Hbm<f32, 2>, o: HbmOut<f32, 2>, n: Scalar<i32>) {
    pipeline((n,))
        .input(x.blocks::<(D<8>, D<128>)>(), |[i]| (blocks.read(i), 0))
        .buffers(N)
        .output(o.blocks::<(D<8>, D<128>)>(), |[i]| (i, 0))
        .run(|[_], (x, o)| o.store(x.load()));
}

#[tpu_kernel]
fn gather_2(#[prefetch([n])] blocks: Prefetch<i32, 1>, #[hbm([m, 128])] x: Hbm<f32, 2>, #[hbm([8 * n, 128])] o: HbmOut<f32, 2>) {
    gather::<2>(blocks, x, o, n);
}

#[tpu_kernel]
fn gather_3(#[prefetch([n])] blocks: Prefetch<i32, 1>, #[hbm([m, 128])] x: Hbm<f32, 2>, #[hbm([8 * n, 128])] o: HbmOut<f32, 2>) {
    gather::<3>(blocks, x, o, n);
}

#[test]
fn case_22_block_gather_in_a_pipeline() {
    for device in devices() {
        let blocks = [0, 0, 1, 1, 1, 3, 0, 2];
        let (list, x) = (tensor(&device, &blocks, &[8]), numbered(&device, 4));
        let want = full(&blocks.map(|n| n as f32));
        expect(&gather_2().launch(&device, &list, &x).unwrap(), &[64, 128], &want);
        expect(&gather_3().launch(&device, &list, &x).unwrap(), &[64, 128], &want);
        for outside in [-1, 4, i32::MAX / 8] {
            let error = failed(gather_2().launch(&device, &tensor(&device, &[0, outside], &[2]), &x));
            assert_eq!(error.code(), "R001");
            assert!(error.to_string().contains("along axis 0 of operand `x`, which has 32 elements there"), "{error}");
        }
    }
    compiles(WORKER, &gather_3(), &[(DType::I32, vec![8]), (DType::F32, vec![32, 128])]);
}

#[tpu_kernel]
fn scatter(
    #[prefetch([n])] places: Prefetch<i32, 1>,
    #[hbm([8 * n, 128])] x: Hbm<f32, 2>,
    #[hbm([m, 128])] zeros: Hbm<f32, 2>,
    #[hbm([m, 128])] o: HbmOut<f32, 2>,
) {
    copy(zeros, o).now();
    pipeline((n,))
        .input(x.blocks::<(D<8>, D<128>)>(), |[i]| (i, 0))
        .output(o.blocks::<(D<8>, D<128>)>(), |[i]| (places.read(i), 0))
        .run(|[_], (x, o)| o.store(x.load()));
}

/// The last step that writes a block wins; a block that none writes keeps its zeros.
#[test]
fn case_23_block_scatter_in_a_pipeline() {
    for device in devices() {
        let places = tensor(&device, &[0, 0, 2, 2, 2, 5, 3, 3], &[8]);
        let zeros = made(&device, &[48, 128], |_| 0.0f32);
        let o = scatter().launch(&device, &places, &numbered(&device, 8), &zeros).unwrap();
        expect(&o, &[48, 128], &full(&[1.0, 0.0, 4.0, 7.0, 0.0, 5.0]));
        // Blocks that come again after others: the last step still wins.
        let places = tensor(&device, &[0, 1, 0, 1, 2, 0], &[6]);
        let o = scatter().launch(&device, &places, &numbered(&device, 6), &zeros).unwrap();
        expect(&o, &[48, 128], &full(&[5.0, 3.0, 4.0, 0.0, 0.0, 0.0]));
    }
    let f32s = |rows| (DType::F32, vec![rows, 128]);
    compiles(WORKER, &scatter(), &[(DType::I32, vec![8]), f32s(64), f32s(48)]);
}

// ---- fault g: rows that are no multiple of the block -----------------------------------------------------------------------

#[tpu_kernel]
fn plus_one<BM: Dim, C: Dim>(#[hbm([m, c])] x: Hbm<f32, 2>, #[hbm([m, c])] o: HbmOut<f32, 2>) {
    pipeline((m.div_ceil(BM),))
        .input(x.blocks::<(BM, C)>(), |[i]| (i, 0))
        .output(o.blocks::<(BM, C)>(), |[i]| (i, 0))
        .run(|[_], (x, o)| o.store(x.load() + 1.0));
}

#[test]
fn fault_g_28_rows_in_blocks_of_8() {
    for device in devices() {
        let o = plus_one().bm(8).c(128).launch(&device, &made(&device, &[28, 128], |at| at as f32)).unwrap();
        expect(&o, &[28, 128], &(0..28 * 128).map(|at| at as f32 + 1.0).collect::<Vec<_>>());
    }
    compiles(WORKER, &plus_one().bm(8).c(128), &[(DType::F32, vec![28, 128])]);
    compiles(WORKER, &plus_one().bm(8).c(512), &[(DType::F32, vec![28, 512])]);
}
