use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<i32, (B,)>, #[block([n] at (i))] o: Out<i32, (B,)>) {
    o.store(x.load() / 0);
}

fn main() {
    let _ = broken();
}
