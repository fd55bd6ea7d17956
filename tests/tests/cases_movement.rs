//! Cases of memory that a kernel moves by hand, and of index maps that read what lies in scalar memory.
//!
//! `case_NN` are the cases of `docs/conformance.md`, `report_NN` what users reported; each runs on both executors.

use tpu_device::Device;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, kernel_error, made, tensor};

/// An array of `blocks` blocks of 8 × 128, each full of its number.
fn numbered(device: &Device, blocks: usize) -> tpu_device::Tensor {
    made(device, &[8 * blocks, 128], |at| (at / 1024) as f32)
}

/// Blocks full of these numbers.
fn full(numbers: &[f32]) -> Vec<f32> {
    numbers.iter().flat_map(|&n| [n; 1024]).collect()
}

// ---- 21, 22, 26: blocks in the order of an array ---------------------------------------------------------------------------

#[tpu_kernel(grid(i: n))]
fn permuted<I: Int>(
    #[prefetch([n])] order: Prefetch<I, 1>,
    #[block([m, 128] at (order.read(i).cast::<i32>(), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[test]
fn case_21_trivial_scalar_prefetch() {
    for device in devices() {
        let order = [5, 0, 3, 1, 4, 2, 7, 6];
        let o = permuted().launch(&device, &tensor(&device, &order, &[8]), &numbered(&device, 8)).unwrap();
        expect(&o, &[64, 128], &full(&order.map(|n| n as f32)));
    }
}

/// The same block in steps that follow one another, and again later.
#[test]
fn case_22_block_gather() {
    for device in devices() {
        let blocks = [0, 0, 1, 1, 1, 3, 0, 2];
        let o = permuted().launch(&device, &tensor(&device, &blocks, &[8]), &numbered(&device, 4)).unwrap();
        expect(&o, &[64, 128], &full(&blocks.map(|n| n as f32)));
        // Sizes: none, one, and an index outside, before the first block and behind the last.
        let x = numbered(&device, 4);
        let one = permuted().launch(&device, &tensor(&device, &[3], &[1]), &x).unwrap();
        expect(&one, &[8, 128], &full(&[3.0]));
        let none = permuted().launch(&device, &tensor::<i32>(&device, &[], &[0]), &x).unwrap();
        expect::<f32>(&none, &[0, 128], &[]);
        for outside in [-1, 4, i32::MAX, i32::MIN] {
            let error = failed(permuted().launch(&device, &tensor(&device, &[0, outside], &[2]), &x));
            let want = format!("block index {outside} along axis 0 of operand `x` is outside the array, which has 4 blocks there");
            assert!(error.to_string().starts_with(&want) && error.to_string().contains("[1]"), "{error}");
        }
    }
}

#[test]
fn case_26_narrow_bitwidth_scalar_prefetch() {
    for device in devices() {
        let x = numbered(&device, 4);
        let want = full(&[3.0, 0.0, 2.0]);
        expect(&permuted().launch(&device, &tensor(&device, &[3i16, 0, 2], &[3]), &x).unwrap(), &[24, 128], &want);
        expect(&permuted().launch(&device, &tensor(&device, &[3i8, 0, 2], &[3]), &x).unwrap(), &[24, 128], &want);
        expect(&permuted().launch(&device, &tensor(&device, &[3u8, 0, 2], &[3]), &x).unwrap(), &[24, 128], &want);
        expect(&permuted().launch(&device, &tensor(&device, &[3u32, 0, 2], &[3]), &x).unwrap(), &[24, 128], &want);
        let halves = [3.0, 0.0, 2.0].map(bf16::from_f32);
        expect(&by_floats().launch(&device, &tensor(&device, &halves, &[3]), &x).unwrap(), &[24, 128], &want);
    }
}

#[tpu_kernel(grid(i: n))]
fn by_floats(
    #[prefetch([n])] order: Prefetch<bf16, 1>,
    #[block([m, 128] at (order.read(i).cast::<i32>(), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

// ---- 23: blocks to the places of an array ----------------------------------------------------------------------------------

#[tpu_kernel(grid(i: n))]
fn scattered(
    #[prefetch([n])] places: Prefetch<i32, 1>,
    #[block([8 * n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * m, 128] at (places.read(i), 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

/// The last step that writes a block wins; a block that none writes is poison, where Pallas' test starts from zeros by an alias.
#[test]
fn case_23_block_scatter() {
    for device in devices() {
        let places = tensor(&device, &[0, 0, 2, 2, 2, 5, 3, 3], &[8]);
        let o = scattered().m(6).allow(Allow::Unwritten).launch(&device, &places, &numbered(&device, 8)).unwrap();
        let nan = f32::NAN;
        expect(&o, &[48, 128], &full(&[1.0, nan, 4.0, 7.0, nan, 5.0]));
    }
}

// ---- 24: a program in scalar memory ----------------------------------------------------------------------------------------

/// Each instruction is an operation (0: add, 1: multiply, else: keep) and the number of its operand.
#[tpu_kernel]
fn machine(
    #[prefetch([n, 2])] program: Prefetch<i32, 2>,
    #[prefetch([k])] numbers: Prefetch<f32, 1>,
    #[block([8, 128] at (0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    let mut acc = x.load();
    for at in 0..n {
        let (operation, with) = (program.read((at, 0)), program.read((at, 1)));
        let number = numbers.read(with);
        if operation == 0 {
            acc = acc + number;
        } else if operation == 1 {
            acc = acc * number;
        }
    }
    o.store(acc);
}

#[test]
fn case_24_scalar_interpreter() {
    for device in devices() {
        let x = made(&device, &[8, 128], |at| at as f32);
        let numbers = tensor(&device, &[2.0f32, 10.0, -1.0], &[3]);
        let run = |program: &[i32]| machine().launch(&device, &tensor(&device, program, &[program.len() / 2, 2]), &numbers, &x);
        let want: Vec<f32> = (0..1024).map(|at| ((at as f32 + 2.0) * 10.0 - 1.0) * 2.0).collect();
        expect(&run(&[0, 0, 1, 1, 0, 2, 7, 1, 1, 0]).unwrap(), &[8, 128], &want);
        expect(&run(&[]).unwrap(), &[8, 128], &(0..1024).map(|at| at as f32).collect::<Vec<_>>());
        let error = failed(run(&[0, 0, 1, 3]));
        assert!(error.to_string().contains("[3, 4) along axis 0 of operand `numbers`, which has 3"), "{error}");
    }
}

// ---- 32: scalar memory has no tiles ----------------------------------------------------------------------------------------

#[tpu_kernel]
fn odd_scratch(#[block([1, 128] at (0, 0))] o: Out<i32, (One, D<128>)>, #[scratch] s: Smem<i32, (D<3>, D<5>)>, at: Scalar<i32>) {
    for row in 0..3 {
        for column in 0..5 {
            s.write((row, column), row * 5 + column);
        }
    }
    o.store(Tile::<i32, (One, D<128>)>::full(s.read((at / 5, at % 5)) + s.read((2, 4))));
}

/// Its last element is the last: one further is outside, where VMEM would have padding.
#[test]
fn case_32_smem_scratch_is_never_padded() {
    for device in devices() {
        for at in [0, 7, 14] {
            expect(&odd_scratch().launch(&device, at).unwrap(), &[1, 128], &[at + 14; 128]);
        }
        let error = failed(odd_scratch().launch(&device, 15));
        assert!(error.to_string().contains("[3, 4) along axis 0 of operand `s`, which has 3"), "{error}");
    }
}

// ---- 40, 41: semaphores and sizes of copies --------------------------------------------------------------------------------

#[tpu_kernel]
fn forgotten(#[hbm([8, 128])] x: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>, #[scratch] sem: DmaSemaphore) {
    let started = copy(x, o).start(sem);
    drop(started);
}

/// A copy that is started and dropped is a fault of the kernel; one that is left to nobody, of the launch. That copies take no
/// regular semaphore and no array of semaphores is rustc's to say: `tests/compile-fail/by-hand`.
#[test]
fn case_40_unused_dma_descriptor() {
    for device in devices() {
        let x = made(&device, &[8, 128], |at| at as f32);
        assert_eq!(kernel_error(forgotten().launch(&device, &x)).code(), "B010");
        let error = failed(left().launch(&device, &x));
        assert_eq!(error.code(), "R012");
        assert!(error.to_string().contains("`sem` ends with 4096 bytes: a copy was started and not waited for"), "{error}");
        let error = failed(awaited().launch(&device, &x));
        assert_eq!(error.code(), "R011");
        assert!(error.to_string().contains("deadlock: waits for 4096 on semaphore `sem`, which has 0"), "{error}");
    }
}

#[tpu_kernel]
fn left(#[hbm([8, 128])] x: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>, #[scratch] sem: DmaSemaphore) {
    copy(x, o).start(sem).leave();
}

#[tpu_kernel]
fn awaited(#[hbm([8, 128])] x: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>, #[scratch] sem: DmaSemaphore) {
    copy(x, o).now();
    copy(x, o).finish(sem);
}

#[tpu_kernel]
fn some_rows(#[prefetch([1])] rows: Prefetch<i32, 1>, #[hbm([m, 128])] x: Hbm<f32, 2>, #[hbm([m, 128])] o: HbmOut<f32, 2>) {
    copy(x, o).rows(rows.read(0)).now();
}

#[test]
fn case_41_simple_dynamic_size_dma() {
    for device in devices() {
        let x = made(&device, &[16, 128], |at| at as f32);
        let run = |rows: i32| some_rows().launch(&device, &tensor(&device, &[rows], &[1]), &x);
        for rows in [0, 1, 5, 16] {
            let want = (0..2048).map(|at| if at < rows * 128 { at as f32 } else { f32::NAN }).collect::<Vec<_>>();
            expect(&run(rows).unwrap(), &[16, 128], &want);
        }
        for rows in [-1, 17, i32::MAX] {
            let error = failed(run(rows));
            assert_eq!(error.code(), "R010", "{error}");
        }
    }
}

// ---- reports 1, 2, 5 -------------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: n))]
fn renamed(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([8 * n, 128] at (ids.read(i), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        for k in 1..n {
            ids.write(k, 3);
        }
    }
    o.store(x.load());
}

/// With two buffers the block of step 1 is on its way before step 0 runs.
#[test]
fn report_01_blocks_are_fetched_a_step_ahead() {
    for device in devices() {
        let ids = tensor(&device, &[0, 1, 2, 3, 4, 5], &[6]);
        let o = renamed().launch(&device, &ids, &numbered(&device, 6)).unwrap();
        expect(&o, &[48, 128], &full(&[0.0, 1.0, 3.0, 3.0, 3.0, 3.0]));
        // The array of the caller is as it was.
        expect(&ids, &[6], &[0, 1, 2, 3, 4, 5]);
    }
}

#[tpu_kernel]
fn beside_another(
    #[hbm([2, 256])] source: Hbm<f32, 2>,
    #[hbm([16, 128])] unused: Hbm<f32, 2>,
    #[hbm([1, 256])] o: HbmOut<f32, 2>,
    #[scratch] row: Vmem<f32, (D<1>, D<256>)>,
) {
    let _ = unused;
    copy(source.view((0, 0)), row).now();
    copy(row, o.view((0, 0))).now();
}

#[test]
fn report_02_operands_that_nothing_uses_change_nothing() {
    for device in devices() {
        let (source, ones) = (made(&device, &[2, 256], |at| at as f32), made(&device, &[16, 128], |_| 1.0f32));
        let o = beside_another().launch(&device, &source, &ones).unwrap();
        expect(&o, &[1, 256], &(0..256).map(|at| at as f32).collect::<Vec<_>>());
    }
}

#[tpu_kernel]
fn nested(#[hbm([1])] x: Hbm<f32, 1>, #[hbm([1])] o: HbmOut<f32, 1>) {
    scoped(|a: Vmem<f32, (One,)>| {
        copy(x.view((0,)), a).now();
        scoped(|b: Vmem<f32, (One, One)>| {
            copy(a, b.slot::<(One,)>(0)).now();
            copy(b.slot::<(One,)>(0), o.view((0,))).now();
        });
    });
}

#[test]
fn report_05_a_copy_between_nested_regions() {
    for device in devices() {
        expect(&nested().launch(&device, &tensor(&device, &[1.0f32], &[1])).unwrap(), &[1], &[1.0f32]);
    }
}

// ---- report 10: grouped products whose k is no multiple of its tile ------------------------------------------------------

/// Rows `starts[g]` to `starts[g + 1]` of `x` with matrix `g` of `w`.
#[tpu_kernel(grid(j: n / BN, g: groups, kk: k / BK))]
fn grouped<M: Dim, BK: Dim, BN: Dim>(
    #[prefetch([groups + 1])] starts: Prefetch<i32, 1>,
    #[block([m, k] at (0, kk))] x: In<f32, (M, BK)>,
    #[block([groups, k, n] at (squeeze g, kk, j))] w: In<f32, (BK, BN)>,
    #[block([m, n] at (0, j))] o: Out<f32, (M, BN)>,
    #[scratch] acc: Vmem<f32, (M, BN)>,
) {
    if g == 0 && kk == 0 {
        acc.fill(0.0);
    }
    // What a block holds behind the end of k is poison, on both sides.
    let rows = iota::<(M, BK)>(Sublanes);
    let inside = (iota::<(M, BK)>(Lanes) + kk * BK).lt(k);
    let mine = rows.ge(starts.read(g)) & rows.lt(starts.read(g + 1)) & inside;
    let w = select((iota::<(BK, BN)>(Sublanes) + kk * BK).lt(k), w.load(), 0.0);
    acc.store(acc.load() + dot(select(mine, x.load(), 0.0), w));
    if g == last(g) && kk == last(kk) {
        o.store(acc.load());
    }
}

/// One row a group, then uneven and empty groups, and rows behind the last group, which are zero.
#[test]
fn report_10_grouped_products_with_a_ragged_k() {
    for device in devices() {
        for (m, k, n, starts) in
            [(32usize, 96usize, 96usize, (0..=32).collect::<Vec<i32>>()), (17, 70, 40, vec![0, 5, 5, 5, 12]), (9, 1, 3, vec![0, 9])]
        {
            let groups = starts.len() - 1;
            let (x, w) = (|at: usize| (at * 7 % 13) as f32 - 6.0, |at: usize| (at * 5 % 11) as f32 - 5.0);
            let kernel = grouped().m(32).bk(64).bn(32).precision(Precision::Highest).allow(Allow::BlockShape);
            let arrays = (tensor(&device, &starts, &[groups + 1]), made(&device, &[m, k], x), made(&device, &[groups, k, n], w));
            let o = kernel.launch(&device, &arrays.0, &arrays.1, &arrays.2).unwrap();
            let element = |at: usize| {
                let (row, col) = (at / n, at % n);
                let group = (0..groups).find(|&g| (starts[g]..starts[g + 1]).contains(&(row as i32)));
                group.map_or(0.0, |g| (0..k).fold(0.0, |sum, i| sum + x(row * k + i) * w((g * k + i) * n + col)))
            };
            // Sums of small integers are exact.
            expect(&o, &[m, n], &(0..m * n).map(element).collect::<Vec<_>>());
        }
    }
}
