use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn scale<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, by: Scalar<f32>) {
    o.store(x.load() * by);
}

pub fn launch<R: tpu_kernel::launch::Target>(target: &R, x: &R::Tensor) {
    let _ = scale().b(128).launch(target, x, x);
}

fn main() {}
