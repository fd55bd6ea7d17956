use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / B, j: n / B))]
fn product<B: Dim>(
    #[block([m, n] at (i, j))] x: In<f32, (B, B)>,
    #[block([m, n] at (i, j))] w: In<i32, (B, B)>,
    #[block([m, n] at (i, j))] o: Out<f32, (B, B)>,
) {
    o.store(dot(x.load(), w.load()));
}

fn main() {
    let _ = product();
}
