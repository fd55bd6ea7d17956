//! Memory moved by hand, as the language records it: arrays in HBM, prefetched arrays, scalar memory, views, copies, semaphores and
//! regions of their own.

use tpu_kernel::prelude::*;

/// The text of the kernel that is recorded.
fn text(kernel: &impl Launchable, inputs: &[DType]) -> String {
    kernel.stage(inputs).unwrap_or_else(|error| panic!("{error:?}")).to_string()
}

#[tpu_kernel(grid(i: n))]
fn gather_rows<T: Float, B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([m, k] at (ids.read(i), 0))] x: In<T, (One, B)>,
    #[block([n, k] at (i, 0))] o: Out<T, (One, B)>,
) {
    o.store(x.load());
}

#[test]
fn gathered() {
    println!("{}", text(&gather_rows().b(8), &[DType::I32, DType::F32]));
}

#[tpu_kernel(grid(i: m / BM))]
fn by_hand<T: Float, BM: Dim, C: Dim>(
    #[hbm([m, c])] x: Hbm<T, 2>,
    #[hbm([m, c])] o: HbmOut<T, 2>,
    #[scratch] buf: Vmem<T, (D<2>, BM, C)>,
    #[scratch] counts: Smem<i32, (D<4>,)>,
    #[scratch] sems: DmaSemaphore<(D<2>,)>,
    #[scratch] flag: Semaphore,
) {
    let slot = buf.slot(i % 2);
    let from = x.view::<(BM, C)>((i * BM, 0));
    let started = copy(from, slot).start(sems.at(i % 2));
    started.wait();
    slot.store(slot.load() * 2.0);
    copy(slot, o.view((i * BM, 0))).now();
    counts.write((0,), 1);
    counts.write(1, counts.read((0,)) + 1);
    flag.signal(counts.read(1));
    flag.wait(2);
    copy(from, slot).rows(3).low_priority().add().start(sems.at(0)).leave();
    copy(from, slot).rows(3).finish(sems.at(0));
    let sum = scoped(|mut tmp: Vmem<T, (BM, C)>, sem: DmaSemaphore| {
        copy(slot, tmp).start(sem).wait();
        tmp += slot.load();
        for j in 0..2 {
            tmp += 1.0;
            counts.write(j, flag.read());
        }
        tmp.load()
    });
    slot.store(sum);
}

#[test]
fn moved() {
    println!("{}", text(&by_hand().bm(8).c(128), &[DType::F32]));
}
