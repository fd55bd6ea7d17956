use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / BM, j: n / BN))]
fn matrix<BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<f32, (BM, BN)>,
    #[block([n, m] at (j, i))] w: In<f32, (BN, BM)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    acc += w.load();
    o.store(acc.load());
}

fn main() {
    let _ = matrix();
}
