use tpu_kernel::prelude::*;

#[tile_fn]
fn double<B: Dim>(mut from: Vmem<f32, (B,)>, to: &mut Vmem<f32, (B,)>) {
    for _ in 0..4 {
        to.store(from.load() * 2.0);
        std::mem::swap(&mut from, to);
    }
}

fn main() {
    let _ = double::<One>;
}
