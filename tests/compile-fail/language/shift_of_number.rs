use tpu_kernel::prelude::*;

fn halved<T: Number, S: Shape>(x: Tile<T, S>) -> Tile<T, S> {
    x >> 1
}

fn main() {
    let _ = halved::<i32, (D<8>,)>;
}
