use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / BM))]
fn broken<BM: Dim>(
    #[block([m] at (i))] x: In<f32, (BN,)>,
    #[block([m] at (i))] o: Out<f32, (BM,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
