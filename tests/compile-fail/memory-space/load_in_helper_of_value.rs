use tpu_kernel::prelude::*;

#[tile_fn]
fn double<S: Shape>(t: Tile<f32, S>) -> Tile<f32, S> {
    t.load() + t
}

fn main() {
    let _ = double::<(D<8>,)>;
}
