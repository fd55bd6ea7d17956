use tpu_kernel::prelude::*;

fn helper<S: Shape>(x: Tile<f32, S>, n: Scalar<i32>) -> Tile<f32, S> {
    if n == 0 { x } else { x * 2.0 }
}

#[tpu_kernel(grid(i: n / B))]
fn helped<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, s: Scalar<i32>) {
    o.store(helper(x.load(), s));
}

fn main() {
    let _ = helped();
}
