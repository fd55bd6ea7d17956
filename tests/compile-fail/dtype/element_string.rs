use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<str, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.fill(0.0);
}

fn main() {
    let _ = broken();
}
