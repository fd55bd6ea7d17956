use tpu_kernel::prelude::*;

trait Grow {
    fn grow(&mut self);
}
impl Grow for Tile<f32, (D<8>,)> {
    fn grow(&mut self) {
        *self += 1.0;
    }
}

#[tile_fn]
fn run(x: Tile<f32, (D<8>,)>, n: Scalar<i32>) -> Tile<f32, (D<8>,)> {
    let mut total = x;
    let place = (&mut total, 0);
    for _ in 0..n {
        place.0.grow();
    }
    total
}

fn main() {
    let _ = run;
}
