use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / C))]
fn first<C: Dim>(#[block([n] at (i))] x: In<f32, (C,)>, #[block([n] at (i))] o: Out<f32, (C,)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: n / C))]
fn second<C: Dim>(#[block([n] at (i))] x: In<f32, (C,)>, #[block([n] at (i))] o: Out<f32, (C,)>) {
    let mut t = x.load();
    t = t.max(Lanes);
    o.store(t);
}

fn main() {
    let _ = (first(), second());
}
