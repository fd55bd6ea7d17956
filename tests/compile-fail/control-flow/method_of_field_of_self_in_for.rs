use tpu_kernel::prelude::*;

trait Grow {
    fn grow(&mut self);
}
impl Grow for Tile<f32, (D<8>,)> {
    fn grow(&mut self) {
        *self += 1.0;
    }
}

struct Sum {
    total: Tile<f32, (D<8>,)>,
}

impl Sum {
    #[tile_fn]
    fn run(&mut self, n: Scalar<i32>) {
        for _ in 0..n {
            self.total.grow();
        }
    }
}

fn main() {
    let _ = Sum::run;
}
