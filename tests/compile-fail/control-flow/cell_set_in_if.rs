use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    let last = std::cell::Cell::new(x.load());
    let doubled = x.load() * 2.0;
    if i == 0 {
        last.set(doubled);
    }
    o.store(last.get());
}

fn main() {}
