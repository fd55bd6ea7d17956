use tpu_kernel::prelude::*;

#[tpu_kernel(grid(x: n / B))]
fn broken<B: Dim>(
    #[block([n] at (x))] x: In<f32, (B,)>,
    #[block([n] at (x))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
