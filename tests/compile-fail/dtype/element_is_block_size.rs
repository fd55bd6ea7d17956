use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / BM, j: n / BN))]
fn broken<BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<BM, BN>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
