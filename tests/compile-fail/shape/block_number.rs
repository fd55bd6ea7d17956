use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / 128))]
fn broken(
    #[block([n] at (i))] x: In<f32, (128,)>,
    #[block([n] at (i))] o: Out<f32, (D<128>,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
