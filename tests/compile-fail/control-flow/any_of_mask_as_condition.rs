use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    let x = x.load();
    if (x > 0.0).any(AllAxes) {
        o.store(x);
    } else {
        o.store(-x);
    }
}

fn main() {
    let _ = broken();
}
