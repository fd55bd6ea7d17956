//! The smallest kernel: two vectors added, block by block.
//!
//! `cargo run --release --example quickstart`

use std::process::ExitCode;
use std::time::Instant;
use tpu_device::{Device, Tensor};
use tpu_examples::{Failure, Options, Report, floats, largest_error};
use tpu_kernel::prelude::*;

/// `o = x + y`: each step of the grid adds one block of `B` elements.
#[tpu_kernel(grid(i: n / B), semantics(parallel))]
pub fn add<T: Number, B: Dim>(
    #[block([n] at (i))] x: In<T, (B,)>,
    #[block([n] at (i))] y: In<T, (B,)>,
    #[block([n] at (i))] o: Out<T, (B,)>,
) {
    o.store(x.load() + y.load());
}

fn main() -> ExitCode {
    tpu_examples::run("usage: quickstart [--json] [--chip NAME] [--blocks B]", example)
}

fn example(options: &Options) -> Result<(), Failure> {
    let device = Device::new(options.chip())?;
    let [b] = options.blocks([4096])?;

    // 67,200 numbers: the last of 17 blocks is cut off by the end of the array.
    let data = tpu_examples::load(&device, &tpu_examples::data_file(), &["q", "k"])?;
    let (x, y) = (floats(&data["q"])?, floats(&data["k"])?);
    let n = x.len();
    let (x_on_device, y_on_device) = (Tensor::from_slice(&device, &x, &[n])?, Tensor::from_slice(&device, &y, &[n])?);

    let kernel = add().b(b);
    kernel.launch(&device, &x_on_device, &y_on_device)?;
    let start = Instant::now();
    let o = kernel.launch(&device, &x_on_device, &y_on_device)?;
    let run = start.elapsed();

    let reference = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) + f64::from(y));
    let report = Report {
        kernel: "add",
        about: format!("{n} + {n} elements"),
        grid: format!("i: {}", n.div_ceil(b)),
        blocks: format!("B: {b}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, reference),
        run,
    };
    report.print(&device, options.json)
}
