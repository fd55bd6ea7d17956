use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
    #[scratch] kept: Vmem<f32, ()>,
) {
    kept.fill(0.0);
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
