//! The command line for the kernels of the examples: run, look at, print, check and measure them.
//!
//! `cargo run --release --bin tpuk -- list`

// Each example is a program of its own; here its kernel counts.
#[allow(dead_code)]
mod attention;
#[allow(dead_code)]
mod gather;
#[allow(dead_code)]
mod matmul;
#[allow(dead_code)]
mod quickstart;
mod references;
#[allow(dead_code)]
mod softmax;
mod steps;

use std::process::ExitCode;
use tpu_device::DType;
use tpu_device::tpuk::{Catalogue, Entry};
use tpu_kernel::prelude::*;

fn main() -> ExitCode {
    tpu_device::tpuk::main(catalogue())
}

fn catalogue() -> Catalogue {
    let add = Entry::new(quickstart::add().b(4096))
        .dtypes("T", [DType::F32, DType::Bf16, DType::I32])
        .config([("b", 1024)])
        .sizes([("n", 10_000)])
        .reference(references::add)
        .tolerance(0.0)
        .bench("add_f32_16m", [("n", 1 << 24), ("b", 1 << 16)]);

    let matmul = Entry::new(matmul::matmul().bm(128).bn(128).bk(128))
        .dtypes("T", [DType::F32, DType::Bf16])
        .config([("bm", "256"), ("bn", "256"), ("bk", "128")])
        .config([("precision", "highest")])
        .sizes([("m", 200), ("n", 160), ("k", 150)])
        .reference(references::matmul)
        .tolerance(1e-6)
        .tolerance_at(Precision::High, 1e-5)
        .bench("matmul_f32_1024", square("f32", "highest"))
        .bench("matmul_bf16_1024", square("bf16", "default"));

    let softmax = Entry::new(softmax::softmax().r(256).c(128))
        .config([("r", 64), ("c", 512), ("cols", 500)])
        .sizes([("rows", 300), ("cols", 100)])
        .reference(references::softmax)
        .tolerance(1e-6)
        .bench("softmax_f32_4096", [("r", 128), ("c", 4096), ("rows", 4096), ("cols", 4096)]);

    let attention = Entry::new(attention::attention().bq(128).bk(128).bd(128).precision(Precision::Highest))
        .config([("causal", "true")])
        .config([("bq", "256"), ("bk", "256"), ("causal", "true")])
        .sizes([("heads", 2), ("tq", 175), ("tk", 175), ("d", 32)])
        .scalar("causal", false)
        .reference(references::attention)
        .tolerance(2e-6)
        .tolerance_at(Precision::High, 1e-4)
        .tolerance_at(Precision::Default, 3e-2)
        .bench("attention_f32_2048", [("heads", "8"), ("tq", "2048"), ("tk", "2048"), ("d", "128"), ("causal", "true")]);

    let increment = Entry::new(steps::increment().r(8).c(128))
        .sizes([("rows", 100), ("cols", 200)])
        .reference(|call| Ok(vec![call.array("x")?.values.iter().map(|x| f64::from(*x as f32 + 1.0)).collect()]))
        .tolerance(0.0)
        .bench("steps_f32_128", [("rows", 1 << 10), ("cols", 128)])
        .bench("steps_f32_100000", [("rows", 800_000), ("cols", 128)])
        .bench_checked("steps_checked_16", [("rows", 128), ("cols", 128)])
        .bench_checked("steps_checked_1024", [("rows", 8 << 10), ("cols", 128)])
        .bench_checked("steps_checked_100000", [("rows", 800_000), ("cols", 128)]);

    // Memory moved by hand: without references of their own they are compared with the interpreter.
    let gather_rows = Entry::new(gather::gather_rows().c(128))
        .dtypes("T", [DType::F32, DType::Bf16])
        .sizes([("n", 24), ("rows", 60), ("cols", 128)])
        .range("ids", 0.0, 60.0)
        .tolerance(0.0);

    let sum_rows = Entry::new(gather::sum_rows().r(64).c(128)).sizes([("rows", 512), ("cols", 128)]).tolerance(0.0);

    let kernels = [add, matmul, softmax, attention, increment, gather_rows, sum_rows];
    kernels.into_iter().fold(Catalogue::new(), Catalogue::kernel)
}

/// A product of square matrices of 1024.
fn square(dtype: &'static str, precision: &'static str) -> [(&'static str, &'static str); 8] {
    let ([m, n, k], [bm, bn, bk]) = (["1024"; 3], ["256", "256", "512"]);
    [("t", dtype), ("precision", precision), ("m", m), ("n", n), ("k", k), ("bm", bm), ("bn", bn), ("bk", bk)]
}
