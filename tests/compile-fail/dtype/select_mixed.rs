use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn mixed<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] h: In<bf16, (B,)>,
    #[block([n] at (i))] c: In<i32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
) {
    o.store(select(x.load() < 0.0, x.load(), h.load()));
}

fn main() {
    let _ = mixed();
}
