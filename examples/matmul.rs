//! Matrix product in blocks: bf16 in, accumulated in f32 over k, ragged in m, n and k.
//!
//! `cargo run --release --example matmul`

use half::bf16;
use std::process::ExitCode;
use std::time::Instant;
use tpu_device::{Device, Tensor};
use tpu_examples::{Failure, Options, Report, floats, largest_error};
use tpu_kernel::prelude::*;

/// `o = x · w`, accumulated in f32 over the k blocks.
///
/// Where the last block of k reaches past the arrays, both factors are zero there.
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

fn main() -> ExitCode {
    tpu_examples::run("usage: matmul [--json] [--chip NAME] [--blocks BM,BN,BK]", example)
}

fn example(options: &Options) -> Result<(), Failure> {
    let device = Device::new(options.chip())?;
    let [bm, bn, bk] = options.blocks([256, 256, 128])?;

    // The queries of all heads against the transposed keys of all heads: 2100×32 · 32×2100.
    let data = tpu_examples::load(&device, &tpu_examples::data_file(), &["q", "k"])?;
    let k = *data["q"].shape().last().ok_or("q has no dimension")?;
    let (m, n) = (data["q"].elements() / k.max(1), data["k"].elements() / k.max(1));
    let x: Vec<bf16> = floats(&data["q"])?.into_iter().map(bf16::from_f32).collect();
    let keys: Vec<bf16> = floats(&data["k"])?.into_iter().map(bf16::from_f32).collect();
    let w: Vec<bf16> = (0..k * n).map(|at| keys[at % n * k + at / n]).collect();
    let (x_on_device, w_on_device) = (Tensor::from_slice(&device, &x, &[m, k])?, Tensor::from_slice(&device, &w, &[k, n])?);

    let kernel = matmul().bm(bm).bn(bn).bk(bk);
    kernel.launch(&device, &x_on_device, &w_on_device)?;
    let start = Instant::now();
    let o = kernel.launch(&device, &x_on_device, &w_on_device)?;
    let run = start.elapsed();

    let reference = (0..m * n).map(|at| {
        let (row, column) = (&x[at / n * k..][..k], &keys[at % n * k..][..k]);
        row.iter().zip(column).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()
    });
    let report = Report {
        kernel: "matmul",
        about: format!("bf16 {m}×{k} · {k}×{n}"),
        grid: format!("i: {}, j: {}, kk: {}", m.div_ceil(bm), n.div_ceil(bn), k.div_ceil(bk)),
        blocks: format!("BM: {bm}, BN: {bn}, BK: {bk}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, reference),
        run,
    };
    report.print(&device, options.json)
}
