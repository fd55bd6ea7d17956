use tpu_kernel::prelude::*;

fn scale<R: Dim, C: Dim>(x: Tile<f32, (R, C)>, by: Tile<f32, (R, One)>) -> Tile<f32, (R, C)> {
    x * by
}

#[tpu_kernel(grid(i: m / BM, j: n / BN))]
fn helped<BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<f32, (BM, BN)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
) {
    o.store(scale(x.load(), x.load().sum(Sublanes)));
}

fn main() {
    let _ = helped();
}
