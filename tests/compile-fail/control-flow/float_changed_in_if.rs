use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
    count: Scalar<i32>,
    flag: Scalar<bool>,
) {
    let mut scale = 1.0;
    if flag {
        scale = 2.0;
    }
    o.store(x.load() * scale);
}

fn main() {
    let _ = steps();
}
