//! Memory moved by hand, with values: what kernels of the language compute with each executor.

use tpu_device::Device;
use tpu_kernel::Error;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, kernel_error, made, tensor};

#[tpu_kernel(grid(i: n))]
fn gather_rows<T: Float, B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([m, k] at (ids.read(i), 0))] x: In<T, (One, B)>,
    #[block([n, k] at (i, 0))] o: Out<T, (One, B)>,
) {
    o.store(x.load());
}

#[test]
fn rows_gathered_by_a_list() {
    for device in devices() {
        let x = made(&device, &[6, 128], |at| at as f32);
        let ids = tensor(&device, &[5, 0, 5, 2], &[4]);
        let kernel = gather_rows().b(128).allow(Allow::BlockShape);
        let o = kernel.launch(&device, &ids, &x).unwrap();
        let want: Vec<f32> = [5, 0, 5, 2].iter().flat_map(|row| (0..128).map(move |at| (row * 128 + at) as f32)).collect();
        expect(&o, &[4, 128], &want);
        // A row that the array has not.
        let ids = tensor(&device, &[5, 0, 6, 2], &[4]);
        let error = kernel_error(kernel.launch(&device, &ids, &x));
        assert!(matches!(error, Error::Run(_) | Error::Launch(_)), "{error}");
    }
}

/// A helper of an index map.
fn pick(ids: Prefetch<i32, 1>, at: Scalar<i32>) -> Scalar<i32> {
    ids.read(at)
}

/// A map that reads an array, and the mask of what lies outside.
#[tpu_kernel(grid(i: n))]
fn gather_blocks<B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([m] at (pick(ids, i)))] x: In<f32, (B,)>,
    #[block([n * 128] at (i))] o: Out<f32, (B,)>,
) {
    o.store(x.load_or(-1.0));
}

#[test]
fn a_gathered_block_knows_its_bounds() {
    for device in devices() {
        let x = made(&device, &[200], |at| at as f32);
        let ids = tensor(&device, &[1, 0], &[2]);
        let o = gather_blocks().b(128).allow(Allow::BlockShape).launch(&device, &ids, &x).unwrap();
        let want: Vec<f32> = (128..256).chain(0..128).map(|at| if at < 200 { at as f32 } else { -1.0 }).collect();
        expect(&o, &[256], &want);
    }
}

/// Twice the array, block by block: the next block is on its way while this one is computed.
#[tpu_kernel(grid(i: m / BM))]
fn double_buffered<T: Float, BM: Dim, C: Dim>(
    #[hbm([m, c])] x: Hbm<T, 2>,
    #[hbm([m, c])] o: HbmOut<T, 2>,
    #[scratch] buf: Vmem<T, (D<2>, BM, C)>,
    #[scratch] sems: DmaSemaphore<(D<2>,)>,
) {
    if i == 0 {
        copy(x.view((0, 0)), buf.slot(0)).start(sems.at(0)).leave();
    }
    if i + 1 < num_programs(0) {
        copy(x.view(((i + 1) * BM, 0)), buf.slot((i + 1) % 2)).start(sems.at((i + 1) % 2)).leave();
    }
    let slot = buf.slot(i % 2);
    copy(x.view((i * BM, 0)), slot).finish(sems.at(i % 2));
    scoped(|result: Vmem<T, (BM, C)>| {
        result.store(slot.load() * 2.0);
        copy(result, o.view((i * BM, 0))).now();
    });
}

#[test]
fn a_pipeline_by_hand() {
    for device in devices() {
        for steps in [1, 2, 5] {
            let x = made(&device, &[8 * steps, 128], |at| at as f32);
            let o = double_buffered().bm(8).c(128).launch(&device, &x).unwrap();
            let want: Vec<f32> = (0..8 * steps * 128).map(|at| 2.0 * at as f32).collect();
            expect(&o, &[8 * steps, 128], &want);
        }
        // The last block is not whole: the view leaves the array.
        let x = made(&device, &[12, 128], |at| at as f32);
        let error = kernel_error(double_buffered().bm(8).c(128).launch(&device, &x));
        assert_eq!(error.code(), "R001", "{error}");
    }
}

/// Rows, additions, strides, and arrays of HBM to HBM.
#[tpu_kernel]
fn options(
    #[hbm([8, 128])] x: Hbm<i32, 2>,
    #[hbm([8, 128])] rows: HbmOut<i32, 2>,
    #[hbm([8, 128])] sums: HbmOut<i32, 2>,
    #[hbm([4, 128])] even: HbmOut<i32, 2>,
    #[hbm([8, 128])] whole: HbmOut<i32, 2>,
    #[scratch] buf: Vmem<i32, (D<8>, D<128>)>,
    n: Scalar<i32>,
) {
    buf.fill(-1);
    copy(x.view((0, 0)), buf).rows(n).now();
    copy(buf, rows.view((0, 0))).low_priority().now();
    copy(x.view((0, 0)), buf).add().now();
    copy(buf, sums.view((0, 0))).now();
    copy(x.view_strided((0, 0), [2, 1]), even.view::<(D<4>, D<128>)>((0, 0))).now();
    copy(x, whole).now();
}

#[test]
fn rows_additions_and_strides() {
    for device in devices() {
        let x = made(&device, &[8, 128], |at| at as i32);
        let want: Vec<i32> = (0..1024).collect();
        for n in [0, 3, 8] {
            let (rows, sums, even, whole) = options().launch(&device, &x, n).unwrap();
            let some = |at: i32| if at < n * 128 { at } else { -1 };
            expect(&rows, &[8, 128], &want.iter().map(|&at| some(at)).collect::<Vec<_>>());
            expect(&sums, &[8, 128], &want.iter().map(|&at| some(at) + at).collect::<Vec<_>>());
            expect(&even, &[4, 128], &want.iter().copied().filter(|at| at / 128 % 2 == 0).collect::<Vec<_>>());
            expect(&whole, &[8, 128], &want);
        }
        let error = kernel_error(options().launch(&device, &x, 9));
        assert_eq!(error.code(), "R010", "{error}");
    }
}

/// Counts in scalar memory, over steps and through views.
#[tpu_kernel(grid(i: n))]
fn counted(
    #[prefetch([n])] values: Prefetch<i32, 1>,
    #[block([n, 4] at (i, 0))] o: Out<i32, (One, D<4>)>,
    #[scratch] counts: Smem<i32, (D<4>,)>,
    #[scratch] turns: Semaphore<(D<2>,)>,
) {
    if i == 0 {
        for j in 0..4 {
            counts.write(j, 0);
        }
    }
    let value = values.read(i);
    counts.write(value, counts.read(value) + 1);
    turns.at(1).signal(2);
    turns.at(1).signal(1);
    let three = turns.at(1).read();
    turns.at(1).wait(three);
    let last = counts.view::<(One,)>((3,));
    let lanes = iota::<(One, D<4>)>(Lanes);
    let mut row = select(lanes == 3, last.read(0), three);
    for j in 0..3 {
        row = select(lanes == j, counts.read(j), row);
    }
    o.store(row);
}

#[test]
fn scalars_and_semaphores_keep_what_they_hold() {
    for device in devices() {
        let values = tensor(&device, &[1, 3, 1, 0], &[4]);
        let o = counted().allow(Allow::BlockShape).launch(&device, &values).unwrap();
        expect(&o, &[4, 4], &[0, 1, 0, 0, 0, 1, 0, 1, 0, 2, 0, 1, 1, 2, 0, 1]);
    }
}

/// A helper over any memory of VMEM.
fn add_one<S: Shape>(mut memory: Vmem<f32, S>) {
    memory += 1.0;
}

/// Views of windows.
#[tpu_kernel]
fn views(
    #[block([2, 8, 128] at (0, 0, 0))] x: In<f32, (D<2>, D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    which: Scalar<i32>,
) {
    let second = x.slot(which);
    o.store(second.load());
    add_one(o.view::<(D<2>, D<128>)>((6, 0)));
    let mut odd = o.view_strided::<(D<4>, D<128>)>((1, 0), [2, 1]);
    odd += 10.0;
    odd.view::<(One, D<128>)>((0, 0)).fill(second.view::<(One, One)>((3, 5)).load().scalar());
}

#[test]
fn views_compose() {
    for device in devices() {
        let x = made(&device, &[2, 8, 128], |at| at as f32);
        let o = views().launch(&device, &x, 1).unwrap();
        let want: Vec<f32> = (0..1024)
            .map(|at| match at / 128 {
                1 => (1024 + 3 * 128 + 5) as f32,
                row => (1024 + at) as f32 + if row >= 6 { 1.0 } else { 0.0 } + if row % 2 == 1 { 10.0 } else { 0.0 },
            })
            .collect();
        expect(&o, &[8, 128], &want);
    }
}

/// A part of memory that changes in a loop is not carried.
#[tpu_kernel]
fn added(
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buf: Vmem<f32, (D<2>, D<8>, D<128>)>,
    n: Scalar<i32>,
) {
    let mut slot = buf.slot(1);
    slot.fill(0.0);
    for j in 0..n {
        if j != 1 {
            slot += j.cast::<f32>();
        }
        let mut row = slot.view::<(One, D<128>)>((j, 0));
        row += 100.0;
    }
    o.store(slot.load());
}

#[test]
fn a_part_grows_in_a_loop() {
    for device in devices() {
        let o = added().launch(&device, 4).unwrap();
        let want: Vec<f32> = (0..1024).map(|at| if at / 128 < 4 { 105.0 } else { 5.0 }).collect();
        expect(&o, &[8, 128], &want);
    }
}

/// Values leave a region, also through control flow.
#[tpu_kernel]
fn regions(#[block([8] at (0))] x: In<f32, (D<8>,)>, #[block([8] at (0))] o: Out<f32, (D<8>,)>, n: Scalar<i32>) {
    let mut total = x.load() * 0.0;
    for j in 0..n {
        let (part, k) = scoped(|mut mine: Vmem<f32, (D<8>,)>, last: Smem<i32, (D<1>,)>| {
            mine.store(x.load());
            last.write(0, j);
            if j > 0 {
                mine += 1.0;
                last.write(0, j * 10);
            }
            (mine.load(), last.read(0))
        });
        total = total + part + k.cast::<f32>();
    }
    o.store(total);
}

#[test]
fn regions_return_values() {
    for device in devices() {
        let x = made(&device, &[8], |at| at as f32);
        let o = regions().launch(&device, &x, 3).unwrap();
        let want: Vec<f32> = (0..8).map(|at| 3.0 * at as f32 + 2.0 + 30.0).collect();
        expect(&o, &[8], &want);
    }
}

#[tpu_kernel]
fn left(#[hbm([8, 128])] x: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>, #[scratch] sem: DmaSemaphore, n: Scalar<i32>) {
    copy(x, o).start(sem).leave();
    if n == 0 {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view((0, 0))).finish(sem);
    }
    if n == 2 {
        copy(x, o).finish(sem);
        copy(x, o).finish(sem);
    }
}

#[test]
fn what_is_left_and_what_never_comes() {
    let launched = |device: &Device, n: i32| left().launch(device, &made(device, &[8, 128], |at| at as f32), n);
    for device in devices() {
        expect(&launched(&device, 0).unwrap(), &[8, 128], &(0..1024).map(|at| at as f32).collect::<Vec<_>>());
        let error = kernel_error(launched(&device, 1));
        assert_eq!(error.code(), "R012", "{error}");
        let error = kernel_error(launched(&device, 2));
        assert_eq!(error.code(), "R011", "{error}");
    }
}
