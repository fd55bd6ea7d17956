use tpu_kernel::prelude::*;

struct Sum {
    total: Tile<f32, (D<8>,)>,
}

impl Sum {
    #[tile_fn]
    fn run(&mut self, n: Scalar<i32>) {
        for _ in 0..n {
            self.total += 1.0;
        }
    }
}

fn main() {
    let _ = Sum::run;
}
