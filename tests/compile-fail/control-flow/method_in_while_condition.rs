use tpu_kernel::prelude::*;

trait Double {
    fn double(&mut self) -> Self;
}
impl<S: Shape> Double for Tile<f32, S> {
    fn double(&mut self) -> Self {
        *self *= 2.0;
        *self
    }
}

#[tpu_kernel(grid(i: n / B))]
fn steps<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, count: Scalar<i32>) {
    let mut t = x.load();
    while count > 0 && t.double().max(Lanes).scalar() < 100.0 {
        o.store(t);
    }
    o.store(t + count.cast::<f32>());
}

fn main() {
    let _ = steps();
}
