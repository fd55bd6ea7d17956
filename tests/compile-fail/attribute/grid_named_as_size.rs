use tpu_kernel::prelude::*;

#[tpu_kernel(grid(n: n / B))]
fn broken<B: Dim>(
    #[block([n] at (n))] x: In<f32, (B,)>,
    #[block([n] at (n))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
