use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: x / B))]
fn broken<B: Dim>(
    #[block([x] at (i))] x: In<f32, (B,)>,
    #[block([x] at (i))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
