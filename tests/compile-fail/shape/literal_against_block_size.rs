use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[block([n] at (i))] x: In<f32, (D<128>,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
) {
    o.store(x.load() + 1.0);
}

fn main() {
    let _ = broken();
}
