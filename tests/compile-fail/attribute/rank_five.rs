use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[block([n, n, n, n, n] at (i, 0, 0, 0, 0))] x: In<f32, (B, B, B, B, B)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
