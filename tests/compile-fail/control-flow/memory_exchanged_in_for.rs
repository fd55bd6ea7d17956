use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
    #[scratch] mut from: Vmem<f32, (B,)>,
    #[scratch] to: Vmem<f32, (B,)>,
) {
    from.store(x.load());
    for _ in 0..4 {
        to.store(from.load() * 2.0);
        from = to;
    }
    o.store(from.load());
}

fn main() {
    let _ = steps();
}
