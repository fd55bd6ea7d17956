use tpu_kernel::prelude::*;

#[tpu_kernel(grid(squeeze: n / B))]
fn broken<B: Dim>(
    #[block([n] at (squeeze))] x: In<f32, (B,)>,
    #[block([n] at (squeeze))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
