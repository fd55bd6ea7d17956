use tpu_kernel::prelude::*;

fn double<S: Shape>(t: Tile<f32, S>) -> Tile<f32, S> {
    t + t
}

#[tpu_kernel(grid(i: n / B))]
fn helped<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.store(double(x));
}

fn main() {
    let _ = helped();
}
