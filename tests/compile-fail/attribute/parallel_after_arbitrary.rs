use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / B, j: n / B), semantics(arbitrary, parallel))]
fn broken<B: Dim>(
    #[block([m, n] at (i, j))] x: In<f32, (B, B)>,
    #[block([m, n] at (i, j))] o: Out<f32, (B, B)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
