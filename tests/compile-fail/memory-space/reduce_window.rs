use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / BM))]
fn broken<BM: Dim, BN: Dim>(
    #[block([m, n] at (i, 0))] x: In<f32, (BM, BN)>,
    #[block([m, 1] at (i, 0))] o: Out<f32, (BM, One)>,
) {
    o.store(x.sum(Lanes));
}

fn main() {}
