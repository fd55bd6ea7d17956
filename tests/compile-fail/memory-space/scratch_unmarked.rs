use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[block([n] at (i))] o: Out<f32, (B,)>,
    acc: Vmem<f32, (B,)>,
) {
    acc.fill(0.0);
    o.store(acc.load());
}

fn main() {
    let _ = broken();
}
