use tpu_kernel::prelude::*;

#[tpu_kernel]
fn by_hand<B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[hbm([m, 128])] x: Hbm<f32, 2>,
    #[hbm([m, 128])] o: HbmOut<f32, 2>,
) {
    let first = ids.read(0);
    pipeline((m / B,))
        .input(x.blocks::<(B,)>(), |[i]| (i + first,))
        .output(o.blocks::<(B, D<128>)>(), |[i]| (i, 0))
        .run(|[_], (_, o)| o.fill(1.0));
}

fn main() {
    let _ = by_hand();
}
