use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn vector<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] y: In<f32, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
) {
    o.store(-x);
}

fn main() {
    let _ = vector();
}
