use tpu_kernel::prelude::*;

#[tile_fn]
fn repeat<S: Shape>(x: Tile<f32, S>, n: Scalar<i32>) -> Tile<f32, S> {
    let mut t = x;
    for k in 0..n {
        if k == 3 {
            break;
        }
        t += x;
    }
    t
}

#[tpu_kernel(grid(i: n / B))]
fn helped<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, count: Scalar<i32>) {
    o.store(repeat(x.load(), count));
}

fn main() {
    let _ = helped();
}
