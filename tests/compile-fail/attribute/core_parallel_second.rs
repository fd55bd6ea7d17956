use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B, c: 2), semantics(parallel, core_parallel))]
fn copied<B: Dim>(#[block([n, 2] at (i, c))] x: In<f32, (B, One)>, #[block([n, 2] at (i, c))] o: Out<f32, (B, One)>) {
    o.store(x.load());
}

fn main() {}
