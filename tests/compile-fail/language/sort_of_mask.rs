use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: m / 8))]
fn broken(
    #[block([m, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] n: In<i32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] u: In<u32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    let (x, n, u) = (x.load(), n.load(), u.load());
    o.store(x);
    let _ = (x > 0.0).sorted(Lanes);
}

fn main() {
    let _ = broken();
}
