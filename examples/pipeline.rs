//! A pipeline inside a kernel, over rows that are no multiple of the block: how much each token of a model attends to each other.
//!
//! `cargo run --release --example pipeline`

use std::process::ExitCode;
use std::time::Instant;
use tpu_device::Device;
use tpu_examples::{Failure, Options, Report, floats, largest_error};
use tpu_kernel::prelude::*;

/// `o[h, i, :] = q[h, i, :] · k[h, :, :]ᵀ`, in blocks of `BM` tokens. The keys of a head are fetched once for all of its blocks, and of
/// the last block only the tokens that there are.
#[tpu_kernel]
pub fn scores<BM: Dim, N: Dim, C: Dim>(
    #[hbm([heads, tokens, channels])] q: Hbm<f32, 3>,
    #[hbm([heads, tokens, channels])] k: Hbm<f32, 3>,
    #[hbm([heads, tokens, tokens])] o: HbmOut<f32, 3>,
) {
    pipeline((heads, tokens.div_ceil(BM)))
        .input(q.blocks::<(Squeezed, BM, C)>(), |[h, i]| (h, i, 0))
        .input(k.blocks::<(Squeezed, N, C)>(), |[h, _]| (h, 0, 0))
        .output(o.blocks::<(Squeezed, BM, N)>(), |[h, i]| (h, i, 0))
        .run(|[_, _], (q, k, o)| o.store(dot_with(Precision::Highest, q.load(), k.load().t())));
}

fn main() -> ExitCode {
    tpu_examples::run("usage: pipeline [--json] [--chip NAME] [--blocks BM]", example)
}

fn example(options: &Options) -> Result<(), Failure> {
    let device = Device::new(options.chip())?;
    let data = tpu_examples::load(&device, &tpu_examples::data_file(), &["q", "k"])?;
    let (q, k) = (&data["q"], &data["k"]);
    let (heads, tokens, channels) = (q.shape()[0], q.shape()[1], q.shape()[2]);
    let [bm] = options.blocks([64])?;
    let kernel = scores().bm(bm).n(tokens).c(channels);
    kernel.launch(&device, q, k)?;
    let start = Instant::now();
    let o = kernel.launch(&device, q, k)?;
    let run = start.elapsed();

    let (q, k) = (floats(q)?, floats(k)?);
    let score = |at: usize| {
        let (head, row, col) = (at / tokens / tokens, at / tokens % tokens, at % tokens);
        let of = |x: &[f32], token: usize, c: usize| f64::from(x[(head * tokens + token) * channels + c]);
        (0..channels).map(|c| of(&q, row, c) * of(&k, col, c)).sum()
    };
    let report = Report {
        kernel: "scores",
        about: format!("{heads} heads of {tokens} tokens of {channels}"),
        grid: format!("in the kernel: {heads} × {}", tokens.div_ceil(bm)),
        blocks: format!("BM: {bm}, N: {tokens}, C: {channels}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, (0..heads * tokens * tokens).map(score)),
        run,
    };
    report.print(&device, options.json)
}
