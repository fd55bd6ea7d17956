use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
    count: Scalar<i32>,
    flag: Scalar<bool>,
) {
    let mut t = x.load();
    for k in 0..count {
        if k == 3 {
            return;
        }
        t += t;
    }
    o.store(t);
}

fn main() {
    let _ = steps();
}
