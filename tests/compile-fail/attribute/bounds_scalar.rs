use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B, s: steps), bounds(steps: 1..=8))]
fn copied<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, steps: Scalar<i32>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.store(x.load());
}

fn main() {}
