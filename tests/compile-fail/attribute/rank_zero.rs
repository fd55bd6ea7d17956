use tpu_kernel::prelude::*;

#[tpu_kernel]
fn broken<B: Dim>(
    #[block([] at ())] x: In<f32, ()>,
    #[block([n] at (0))] o: Out<f32, (B,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
