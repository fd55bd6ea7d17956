use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<bf16, (B,)>, #[block([n] at (i))] o: Out<bf16, (B,)>) {
    o.store(x.load() * bf16::from_f32(0.5));
}

fn main() {
    let _ = broken();
}
