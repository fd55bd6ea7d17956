use tpu_kernel::prelude::*;

#[tile_fn]
fn helper<S: Shape>(x: Tile<f32, S>) -> Tile<f32, S> {
    let t = async { x };
    x
}

fn main() {
    let _ = helper::<(One,)>;
}
