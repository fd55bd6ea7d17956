use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, s: Scalar<f32>) {
    o.store(x.load() * (i + s));
}

fn main() {
    let _ = broken();
}
