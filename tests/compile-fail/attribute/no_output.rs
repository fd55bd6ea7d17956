use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
) {
    let _ = x;
}

fn main() {
    let _ = broken();
}
