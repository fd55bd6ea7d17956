use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    let mut best = None;
    for _ in 0..4 {
        best = Some(x.load());
    }
    o.store(best.unwrap_or(x.load()));
}

fn main() {
    let _ = broken();
}
