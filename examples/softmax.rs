//! Softmax over rows, with a plain Rust function over tiles doing the work.
//!
//! `cargo run --release --example softmax`

use std::process::ExitCode;
use std::time::Instant;
use tpu_device::{Device, Tensor};
use tpu_examples::{Failure, Options, Report, floats, largest_error};
use tpu_kernel::prelude::*;

/// Softmax of each row of a tile. A helper is a plain function: shapes and types are checked by rustc.
fn softmax_rows<R: Dim, C: Dim>(x: Tile<f32, (R, C)>) -> Tile<f32, (R, C)> {
    let e = (x - x.max(Lanes)).exp();
    e / e.sum(Lanes)
}

/// `o[r, :] = softmax(x[r, :])`: one block holds whole rows, so `C` is at least `cols`.
///
/// What lies outside the array is -∞ here, whose exponential adds nothing to a sum.
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
pub fn softmax<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (R, C)>,
) {
    o.store(softmax_rows(x.load_or(f32::NEG_INFINITY)));
}

fn main() -> ExitCode {
    tpu_examples::run("usage: softmax [--json] [--chip NAME] [--blocks R,C]", example)
}

fn example(options: &Options) -> Result<(), Failure> {
    let device = Device::new(options.chip())?;
    let data = tpu_examples::load(&device, &tpu_examples::data_file(), &["q"])?;
    let q = &data["q"];
    let cols = *q.shape().last().ok_or("q has no dimension")?;
    let rows = q.elements() / cols.max(1);
    let values = floats(q)?;
    let x = Tensor::from_slice(&device, &values, &[rows, cols])?;
    let [r, c] = options.blocks([256, cols.next_multiple_of(128)])?;

    let kernel = softmax().r(r).c(c);
    kernel.launch(&device, &x)?;
    let start = Instant::now();
    let o = kernel.launch(&device, &x)?;
    let run = start.elapsed();

    let report = Report {
        kernel: "softmax",
        about: format!("{rows} rows of {cols}"),
        grid: format!("i: {}", rows.div_ceil(r)),
        blocks: format!("R: {r}, C: {c}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, values.chunks(cols).flat_map(reference)),
        run,
    };
    report.print(&device, options.json)
}

fn reference(row: &[f32]) -> Vec<f64> {
    let max = row.iter().fold(f64::NEG_INFINITY, |max, &x| max.max(f64::from(x)));
    let e: Vec<f64> = row.iter().map(|&x| (f64::from(x) - max).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}
