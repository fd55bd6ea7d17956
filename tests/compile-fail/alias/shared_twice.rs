use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] #[alias(x)] o: Out<f32, (B,)>,
    #[block([n] at (i))] #[alias(x)] p: Out<f32, (B,)>,
) {
    o.store(x.load());
    p.store(x.load());
}

fn main() {
    let _ = broken();
}
