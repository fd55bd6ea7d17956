use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / BM, kk: k / BK))]
fn broken<BM: Dim, BK: Dim>(
    #[block([m, k] at (j, 0))] x: In<f32, (BM, BK)>,
    #[block([m, k] at (i, kk))] o: Out<f32, (BM, BK)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
