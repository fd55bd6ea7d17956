use tpu_kernel::prelude::*;

fn relu<S: Shape>(x: Tile<f32, S>) -> Tile<f32, S> {
    select(x > 0.0, x, 0.0)
}

fn main() {
    let _ = relu::<(D<8>,)>;
}
