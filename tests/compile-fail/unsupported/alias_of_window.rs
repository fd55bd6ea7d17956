use tpu_kernel::prelude::*;

type Input<S> = In<f32, S>;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: Input<(B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
