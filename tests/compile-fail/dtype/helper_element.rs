use tpu_kernel::prelude::*;

fn gelu<T: Float, S: Shape>(x: Tile<T, S>) -> Tile<T, S> {
    x * x.tanh()
}

#[tpu_kernel(grid(i: n / B))]
fn helped<B: Dim>(#[block([n] at (i))] x: In<i32, (B,)>, #[block([n] at (i))] o: Out<i32, (B,)>) {
    o.store(gelu(x.load()));
}

fn main() {
    let _ = helped();
}
