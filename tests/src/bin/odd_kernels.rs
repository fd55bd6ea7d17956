//! A command line for kernels that are out of the ordinary, for the tests of `tpuk`.

use std::process::ExitCode;
use tpu_device::DType;
use tpu_device::tpuk::{Call, Catalogue, Entry};
use tpu_kernel::prelude::*;

/// `o = x · by`.
#[tpu_kernel(grid(i: n / B), semantics(parallel))]
fn scale<T: Float, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>, by: Scalar<T>) {
    o.store(x.load() * by);
}

/// Numbers from `first` on; no input binds the size.
#[tpu_kernel(grid(i: n / B))]
fn count<T: Number, B: Dim>(#[block([1, n] at (0, i))] o: Out<T, (One, B)>, first: Scalar<i32>) {
    o.store((iota::<(One, B)>(Lanes) + (i * B + first)).cast::<T>());
}

/// Ends with an error of the run.
#[tpu_kernel(grid(i: n / B))]
fn check<B: Dim>(#[block([n] at (i))] x: In<i32, (B,)>, #[block([n] at (i))] o: Out<i32, (B,)>) {
    debug_check!(i < 1, "one step is enough");
    o.store(x.load());
}

/// A sum of squares, in the elements of a file of integers of 4 bits.
#[tpu_kernel(grid(i: n / B))]
fn narrow<B: Dim>(#[block([n] at (i))] x: In<I2, (B,)>, #[block([n] at (i))] o: Out<I2, (B,)>) {
    o.store(x.load());
}

/// A block size and an array size of one name but for the letter case.
#[tpu_kernel(grid(i: n / N))]
fn cases<N: Dim>(#[block([n] at (i))] x: In<i32, (N,)>, #[block([n] at (i))] o: Out<i32, (N,)>) {
    o.store(x.load());
}

/// A block size and an array size that no letter case but their own tells apart.
#[allow(non_snake_case)]
#[tpu_kernel(grid(i: nX / Nx))]
fn letters<Nx: Dim>(#[block([nX] at (i))] x: In<i32, (Nx,)>, #[block([nX] at (i))] o: Out<i32, (Nx,)>) {
    o.store(x.load());
}

fn doubled(call: &Call) -> Result<Vec<Vec<f64>>, String> {
    Ok(vec![call.array("x")?.values.iter().map(|x| x * 2.0).collect()])
}

fn scaled_by(call: &Call) -> Result<Vec<Vec<f64>>, String> {
    let by = call.scalar("by")?;
    Ok(vec![call.array("x")?.values.iter().map(|x| x * by).collect()])
}

fn main() -> ExitCode {
    let scaled = || Entry::new(scale().b(128)).dtypes("T", [DType::F32, DType::F16]).sizes([("n", 300)]).scalar("by", 2.0);
    let batch = || {
        let kernel = scale().b(128).batched(["x", "o"]).allow(Allow::BlockShape);
        Entry::new(kernel).dtypes("T", [DType::F32]).sizes([("n", 300)]).scalar("by", 2.0)
    };
    let catalogue = Catalogue::new()
        .kernel(scaled())
        .kernel(scaled().named("right").reference(doubled))
        .kernel(scaled().named("wrong").scalar("by", 2.5).reference(doubled))
        .kernel(scaled().named("panics").reference(|_| panic!("out of order")))
        .kernel(scaled().named("short").reference(|_| Ok(vec![vec![1.0]])))
        .kernel(scaled().named("misnamed").reference(|call| Ok(vec![call.array("y")?.values.clone()])))
        .kernel(scaled().named("unknown").config([("c", 1)]))
        .kernel(scaled().named("sized").sizes([("N", 3)]))
        .kernel(scaled().named("ranged_wrong").range("y", 0.0, 1.0))
        .kernel(scaled().named("typeless").dtypes("T", []))
        .kernel(scaled().named("ranged").range("x", 3.0, 3.5).reference(|call| {
            let x = &call.array("x")?.values;
            x.iter().all(|x| (3.0..=3.5).contains(x)).then_some(()).ok_or("out of range")?;
            doubled(call)
        }))
        .kernel(Entry::new(scale().b(128)).named("open"))
        .kernel(batch().named("batch").sizes([("batch", 3)]))
        .kernel(batch().named("unnamed_batch"))
        .kernel(Entry::new(count().b(128)).dtypes("T", [DType::I32, DType::F32]).scalar("first", -3))
        .kernel(Entry::new(cases().n(128)).sizes([("n", 300)]))
        .kernel(Entry::new(letters().nx(128)).sizes([("nX", 300)]))
        .kernel(
            Entry::new(scale().b(512))
                .named("Letters")
                .dtypes("T", [DType::F32, DType::Bf16])
                .sizes([("n", 300)])
                .scalar("by", 2)
                .reference(scaled_by)
                .tolerance(0.0)
                .tolerance_of(DType::F16, 5e-4)
                .tolerance_of(DType::Bf16, 4e-3)
                .tolerance_at(Precision::High, 1e-3),
        )
        .kernel(Entry::new(check().b(128)).sizes([("n", 300)]))
        .kernel(Entry::new(narrow().b(2048)).sizes([("n", 3000)]));
    tpu_device::tpuk::main(catalogue)
}
