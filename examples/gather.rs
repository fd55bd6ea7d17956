//! Memory moved by hand: rows gathered by a list that index maps read, and a sum whose blocks are fetched ahead.
//!
//! `cargo run --release --example gather`

use std::process::ExitCode;
use std::time::Instant;
use tpu_device::{Device, Tensor};
use tpu_examples::{Failure, Options, Report, floats, largest_error};
use tpu_kernel::prelude::*;

/// `o[i, :] = x[ids[i], :]`. The list lies in scalar memory before the first step, so that each step's row is known in time.
#[tpu_kernel(grid(i: n))]
pub fn gather_rows<T: Float, C: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([rows, 1, cols] at (squeeze ids.read(i), 0, 0))] x: In<T, (One, C)>,
    #[block([n, 1, cols] at (squeeze i, 0, 0))] o: Out<T, (One, C)>,
) {
    o.store(x.load());
}

/// `o[0, :] = Σ x[r, :]`, in blocks of `R` rows: while one is added up, the next is on its way to the other half of the buffer.
#[tpu_kernel(grid(i: rows / R))]
pub fn sum_rows<R: Dim, C: Dim>(
    #[hbm([rows, cols])] x: Hbm<f32, 2>,
    #[block([1, cols] at (0, 0))] mut o: Out<f32, (One, C)>,
    #[scratch] buffer: Vmem<f32, (D<2>, R, C)>,
    #[scratch] arrived: DmaSemaphore<(D<2>,)>,
) {
    if i == 0 {
        o.fill(0.0);
        copy(x.view((0, 0)), buffer.slot(0)).start(arrived.at(0)).leave();
    }
    if i < last(i) {
        let next = i + 1;
        copy(x.view((next * R, 0)), buffer.slot(next % 2)).start(arrived.at(next % 2)).leave();
    }
    let slot = buffer.slot(i % 2);
    copy(x.view((i * R, 0)), slot).finish(arrived.at(i % 2));
    o += slot.load().sum(Sublanes);
}

fn main() -> ExitCode {
    tpu_examples::run("usage: gather [--json] [--chip NAME] [--blocks R]", example)
}

/// The values of a model's attention: a row for each head and token.
fn example(options: &Options) -> Result<(), Failure> {
    let device = Device::new(options.chip())?;
    let data = tpu_examples::load(&device, &tpu_examples::data_file(), &["v"])?;
    let v = &data["v"];
    let values = floats(v)?;
    let (tokens, cols) = (v.shape()[1], v.shape()[2]);
    let rows = values.len() / cols;
    let row = |r: usize| &values[r * cols..(r + 1) * cols];

    // The first and the last token of each head, and all of head 3 backwards.
    let heads = (0..rows / tokens).flat_map(|head| [head * tokens, (head + 1) * tokens - 1]);
    let ids: Vec<usize> = heads.chain((3 * tokens..4 * tokens).rev()).collect();
    let list = Tensor::from_slice(&device, &ids.iter().map(|&id| id as i32).collect::<Vec<_>>(), &[ids.len()])?;
    let x = Tensor::from_slice(&device, &values, &[rows, 1, cols])?;
    let kernel = gather_rows().c(cols);
    kernel.launch(&device, &list, &x)?;
    let start = Instant::now();
    let o = kernel.launch(&device, &list, &x)?;
    let run = start.elapsed();
    let want = ids.iter().flat_map(|&id| row(id)).map(|&x| f64::from(x));
    let report = Report {
        kernel: "gather_rows",
        about: format!("{} of {rows} rows of {cols}", ids.len()),
        grid: format!("i: {}", ids.len()),
        blocks: format!("C: {cols}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, want),
        run,
    };
    report.print(&device, options.json)?;

    let [r] = options.blocks([84])?;
    let x = Tensor::from_slice(&device, &values, &[rows, cols])?;
    let kernel = sum_rows().r(r).c(cols);
    kernel.launch(&device, &x)?;
    let start = Instant::now();
    let o = kernel.launch(&device, &x)?;
    let run = start.elapsed();
    let want = (0..cols).map(|c| (0..rows).map(|r| f64::from(row(r)[c])).sum());
    let report = Report {
        kernel: "sum_rows",
        about: format!("{rows} rows of {cols}"),
        grid: format!("i: {}", rows.div_ceil(r)),
        blocks: format!("R: {r}, C: {cols}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, want),
        run,
    };
    report.print(&device, options.json)
}
