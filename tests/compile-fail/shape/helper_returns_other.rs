use tpu_kernel::prelude::*;

fn widen<R: Dim, C: Dim>(x: Tile<f32, (R, C)>) -> Tile<f32, (C, R)> {
    x * 2.0
}

fn main() {
    let _ = widen::<D<8>, One>;
}
