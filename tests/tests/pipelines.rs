//! Pipelines inside kernels, against plain Rust: each on both executors.

use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, made};
use tpu_tests::libtpu::compiles;

#[tpu_kernel]
fn doubled<T: Float, BM: Dim, BK: Dim>(#[hbm([m, k])] x: Hbm<T, 2>, #[hbm([m, k])] o: HbmOut<T, 2>) {
    pipeline(((m + BM - 1) / BM, k / BK))
        .input(x.blocks::<(BM, BK)>(), |[i, kk]| (i, kk))
        .output(o.blocks::<(BM, BK)>(), |[i, kk]| (i, kk))
        .run(|[_i, _kk], (x, o)| o.store(x.load() * 2.0));
}

#[test]
fn blocks_go_in_and_out() {
    for device in devices() {
        for (m, k) in [(32, 256), (8, 128), (8, 512), (64, 128)] {
            let x = made(&device, &[m, k], |at| at as f32);
            let want: Vec<f32> = (0..m * k).map(|at| 2.0 * at as f32).collect();
            expect(&doubled().bm(8).bk(128).launch(&device, &x).unwrap(), &[m, k], &want);
        }
    }
}

/// Rows that are no multiple of the block: the last block copies only what exists.
#[test]
fn uneven_rows() {
    for device in devices() {
        for m in [28, 1, 7, 8, 9, 15, 20, 31] {
            for bm in [1, 2, 8, 16, 24] {
                let x = made(&device, &[m, 128], |at| at as f32);
                let want: Vec<f32> = (0..m * 128).map(|at| 2.0 * at as f32).collect();
                expect(&doubled().bm(bm).bk(128).launch(&device, &x).unwrap(), &[m, 128], &want);
            }
        }
    }
}

// ---- what libtpu says ------------------------------------------------------------------------------------------------------

/// Kernels of each kind on every chip.
#[test]
fn libtpu_takes_them() {
    let worker = env!("CARGO_BIN_EXE_worker");
    let x = |m, k| [(DType::F32, vec![m, k])];
    compiles(worker, &doubled().bm(8).bk(128), &x(64, 256));
    compiles(worker, &doubled().bm(8).bk(128), &x(28, 128));
    compiles(worker, &doubled().bm(16).bk(256), &x(28, 512));
    compiles(worker, &doubled().bm(16).bk(256), &[(DType::Bf16, vec![24, 512])]);
}
