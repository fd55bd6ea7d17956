use tpu_kernel::prelude::*;

#[tile_fn]
struct Broken;

fn main() {
    let _ = Broken;
}
