use tpu_kernel::prelude::*;

#[tile_fn]
fn repeat<S: Shape>(x: Tile<f32, S>, n: Scalar<i32>) -> Tile<f32, S> {
    for _ in 0..n {
        return x;
    }
    x
}

fn main() {
    let _ = repeat::<(D<8>,)>;
}
