//! Kernels that are transformed, and their results slice by slice.

use crate::devices::tensor;
use half::bf16;
use tpu_device::{DType, Tensor};
use tpu_kernel::prelude::*;

/// `o = x · w`
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
pub fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<T, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<T, (BK, BN)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load_or(0.0), w.load_or(0.0));
    if kk == last(kk) {
        o.store(acc.load());
    }
}

/// Small blocks, full f32.
pub fn small() -> matmul {
    matmul().bm(4).bn(16).bk(32).precision(Precision::Highest).allow(Allow::BlockShape)
}

/// Softmax over rows that fit one block.
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
pub fn softmax<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (R, C)>,
) {
    let x = x.load_or(f32::NEG_INFINITY);
    let e = (x - x.max(Lanes)).exp();
    o.store(e / e.sum(Lanes));
}

/// Values without pattern, in -2 to 2.
pub fn wild(at: usize) -> f32 {
    (at.wrapping_mul(2_654_435_761) >> 7 & 0xffff) as f32 / 16384.0 - 2.0
}

/// Slice `at` of a tensor along its first dimension.
///
/// # Panics
/// Where there is none, or of an element type that no test has.
pub fn slice(x: &Tensor, at: usize) -> Tensor {
    let dims = &x.shape()[1..];
    let count: usize = dims.iter().product();
    match x.dtype() {
        DType::F32 => tensor(x.device(), &x.to_vec::<f32>().unwrap()[at * count..][..count], dims),
        DType::I32 => tensor(x.device(), &x.to_vec::<i32>().unwrap()[at * count..][..count], dims),
        DType::Bf16 => tensor(x.device(), &x.to_vec::<bf16>().unwrap()[at * count..][..count], dims),
        other => panic!("no test has {other}"),
    }
}

/// The tensors one after the other along a new first dimension.
fn stacked(parts: &[Tensor]) -> (Vec<usize>, Vec<u8>) {
    let dims = [&[parts.len()], parts[0].shape()].concat();
    (dims, parts.iter().flat_map(|p| p.bytes().to_vec()).collect())
}

/// Asserts that a batched result has these slices, bit for bit.
///
/// # Panics
/// Where it has not.
#[track_caller]
pub fn same_slices(got: &Tensor, want: &[Tensor]) {
    let (dims, bytes) = stacked(want);
    assert_eq!(got.shape(), dims);
    assert_eq!(got.dtype(), want[0].dtype());
    assert!(got.bytes() == bytes, "by {:?}: {got:?} against {want:?}", got.device().executor());
}
