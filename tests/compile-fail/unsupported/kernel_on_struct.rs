use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
struct Broken;

fn main() {
    let _ = Broken;
}
