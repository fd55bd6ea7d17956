use tpu_kernel::prelude::*;

#[tile_fn(inline)]
fn double<S: Shape>(x: Tile<f32, S>) -> Tile<f32, S> {
    x + x
}

fn main() {
    let _ = double::<(D<8>,)>;
}
