use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / Launch))]
fn broken<Launch: Dim>(
    #[block([n] at (i))] x: In<f32, (Launch,)>,
    #[block([n] at (i))] o: Out<f32, (Launch,)>,
) {
    o.store(x.load());
}

fn main() {
    let _ = broken();
}
