use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    let t: Tile<f32, (D<8>,)> = x.load().like(0.0);
    o.store(x.load() + t.sum(Lanes));
}

fn main() {
    let _ = broken();
}
