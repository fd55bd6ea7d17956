use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, count: Scalar<i32>) {
    let total = std::sync::Mutex::new(x.load());
    for _ in 0..count {
        *total.lock().unwrap() += 1.0;
    }
    o.store(x.load());
}

fn main() {
    let _ = steps();
}
