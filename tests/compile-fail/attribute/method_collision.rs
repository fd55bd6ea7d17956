use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / BM))]
fn broken<BM: Dim, Bm: Dim>(
    #[block([n] at (i))] x: In<f32, (BM,)>,
    #[block([n] at (i))] o: Out<f32, (BM,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
