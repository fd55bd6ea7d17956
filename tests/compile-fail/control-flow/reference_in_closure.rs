use tpu_kernel::prelude::*;

fn double<B: Dim>(t: &mut Tile<f32, (B,)>) {
    *t *= 2.0;
}

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, count: Scalar<i32>) {
    let mut t = x.load();
    let r = &mut t;
    let mut twice = || double(r);
    for _ in 0..count {
        twice();
    }
    o.store(t);
}

fn main() {
    let _ = steps();
}
