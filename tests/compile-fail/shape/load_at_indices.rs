use tpu_kernel::prelude::*;

#[tpu_kernel]
fn indexed(#[block([4, 2] at (0, 0))] x: In<i32, (D<4>, D<2>)>, #[block([4, 2] at (0, 0))] o: Out<i32, (D<4>, D<2>)>) {
    let rows = iota::<(D<4>, D<2>)>(Sublanes);
    o.store(x.load_at::<(D<4>, D<2>)>((rows, 0)));
}

fn main() {
    let _ = indexed();
}
