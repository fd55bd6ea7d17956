use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B, j: n / B))]
fn broken<B: Dim>(
    #[block([n, n] at (i j))] x: In<f32, (B, B)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
