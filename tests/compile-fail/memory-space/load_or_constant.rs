use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f16, (B,)>, #[block([n] at (i))] o: Out<f16, (B,)>) {
    o.store(x.load_or(f16::NEG_INFINITY));
}

fn main() {
    let _ = broken();
}
