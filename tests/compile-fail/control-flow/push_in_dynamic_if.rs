use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    let mut parts = vec![x.load()];
    if i == 0 {
        parts.push(x.load());
    }
    o.store(parts[0]);
}

fn main() {}
