use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
    count: Scalar<i32>,
    flag: Scalar<bool>,
) {
    let mut left = 3;
    let mut c = count;
    while c > 0 {
        c -= 1;
        left -= 1;
    }
    o.store(x.load() * left as f32);
}

fn main() {
    let _ = steps();
}
