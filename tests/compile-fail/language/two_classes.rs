use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<T: Int + Float, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
