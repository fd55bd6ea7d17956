use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn by_hand<B: Dim>(
    #[hbm([n, 128])] x: Hbm<f32, 2>,
    #[hbm([n, 128])] o: HbmOut<f32, 2>,
    #[scratch] buffer: Vmem<f32, (D<2>, B, D<128>)>,
    #[scratch] semaphores: DmaSemaphore<(D<2>,)>,
) {
    let slot = buffer.slot(i % 2);
    copy(x.view((i * B, 0)), i).now();
    copy(slot, o.view((i * B, 0))).now();
}

fn main() {
    let _ = by_hand();
}
