use tpu_kernel::prelude::*;

fn note(count: &mut i32) {
    *count += 1;
}

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, count: Scalar<i32>) {
    let mut times = 0;
    let counter = &mut times;
    for _ in 0..count {
        note(counter);
    }
    o.store(x.load());
}

fn main() {
    let _ = steps();
}
