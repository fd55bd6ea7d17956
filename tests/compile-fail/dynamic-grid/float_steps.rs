use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: steps))]
fn broken<B: Dim>(
    steps: Scalar<f32>,
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
