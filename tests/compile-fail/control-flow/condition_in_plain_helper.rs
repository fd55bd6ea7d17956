use tpu_kernel::prelude::*;

fn guard(c: Scalar<bool>, x: Tile<f32, (D<8>,)>) -> Tile<f32, (D<8>,)> {
    if c { x } else { x * 2.0 }
}

fn main() {
    let _ = guard;
}
