use tpu_kernel::prelude::*;

struct State<B> {
    total: Tile<f32, (B,)>,
}

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, flag: Scalar<bool>) {
    let mut state = State { total: x.load() };
    if flag {
        state.total = x.load() * 2.0;
    }
    o.store(state.total);
}

fn main() {
    let _ = broken();
}
