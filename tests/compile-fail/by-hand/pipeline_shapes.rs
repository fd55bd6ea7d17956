use tpu_kernel::prelude::*;

#[tpu_kernel]
fn by_hand<B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[hbm([m, 128])] x: Hbm<f32, 2>,
    #[hbm([m, 128])] o: HbmOut<f32, 2>,
) {
    let first = ids.read(0);
    pipeline((m / B,))
        .input(x.blocks::<(B, D<128>)>(), |[i]| (i + first, 0))
        .output(o.blocks::<(D<8>, D<128>)>(), |[i]| (i, 0))
        .run(|[_], (x, o)| o.store(x.load()));
}

fn main() {
    let _ = by_hand();
}
