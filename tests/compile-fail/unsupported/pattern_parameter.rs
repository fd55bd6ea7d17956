use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>((a, b): (Scalar<i32>, Scalar<i32>), #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.fill(0.0);
}

fn main() {
    let _ = broken();
}
