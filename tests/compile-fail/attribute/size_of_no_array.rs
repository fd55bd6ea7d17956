use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (B, D<128>)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (B, D<128>)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
