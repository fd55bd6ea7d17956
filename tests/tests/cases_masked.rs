//! Masked loads and stores (cases 33 and 34), on both executors and checked; what `debug_check!` does (fault e); how products
//! round (fault i); what interpreters lack that is here (fault f).

use tpu_device::{Chip, Device};
use tpu_kernel::exec::RunError;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, made};

type Block = (D<8>, D<128>);

/// A device whose launches are all checked.
fn checked(seed: u64) -> Device {
    Device::builder(Chip::V5E).checked(seed).build()
}

/// Both executors, and checked ones.
fn everywhere() -> impl Iterator<Item = Device> {
    devices().into_iter().chain([0, 1, 2].map(checked))
}

#[tpu_kernel]
fn stored_at(
    #[block([16, 256] at (0, 0))] x: In<f32, (D<16>, D<256>)>,
    #[block([16, 256] at (0, 0))] o: Out<f32, (D<16>, D<256>)>,
    row: Scalar<i32>,
    column: Scalar<i32>,
    all: Scalar<bool>,
) {
    o.store(x.load());
    let corner = (iota::<Block>(Sublanes) + iota::<Block>(Lanes)) == 0;
    o.store_at_where((row, column), corner | all, Tile::<f32, Block>::full(-1.0));
}

/// A mask that holds at one place changes one element; a mask that holds outside is an error at the first such index.
#[test]
fn case_33_masked_store() {
    for device in everywhere() {
        let x = made(&device, &[16, 256], |at| at as f32);
        for (row, column) in [(0, 0), (8, 128), (15, 255), (3, 200)] {
            let o = stored_at().launch(&device, &x, row, column, false).unwrap();
            let want = |at: usize| if at == (row * 256 + column) as usize { -1.0 } else { at as f32 };
            expect(&o, &[16, 256], &(0..16 * 256).map(want).collect::<Vec<_>>());
        }
        let whole = stored_at().launch(&device, &x, 8, 128, true).unwrap();
        let want = |at: usize| if at / 256 >= 8 && at % 256 >= 128 { -1.0 } else { at as f32 };
        expect(&whole, &[16, 256], &(0..16 * 256).map(want).collect::<Vec<_>>());
        match failed(stored_at().launch(&device, &x, 9, 128, true)) {
            RunError::OutOfBounds { operand, axis: 0, start: 16, extent: 16, .. } => assert_eq!(operand, "o"),
            other => panic!("{other:?}"),
        }
        for (row, column) in [(16, 0), (-1, 0), (0, 256), (i32::MIN, i32::MAX)] {
            assert_eq!(failed(stored_at().launch(&device, &x, row, column, false)).code(), "R001", "{row} {column}");
        }
    }
}

#[tpu_kernel(grid(i: n / 128))]
fn ends(
    #[block([n] at (i))] x: In<f32, (D<128>,)>,
    #[block([n] at (i))] o: Out<f32, (D<128>,)>,
    length: Scalar<i32>,
    by: Scalar<i32>,
) {
    let lane = iota::<(D<128>,)>(Lanes);
    let mask = (lane + by).lt(128) & (lane + by).ge(0) & (lane + i * 128).lt(length);
    o.store(x.load_at_where((by,), mask, -1.0));
}

/// What a mask switches off may lie anywhere outside, on either side.
#[test]
fn case_34_masked_oob_swap_slice() {
    for device in everywhere() {
        for (n, length, by) in [(128usize, 128i32, 0i32), (256, 200, 5), (256, 256, -7), (128, 0, 127), (128, 128, i32::MAX - 127)]
        {
            let x = made(&device, &[n], |at| at as f32);
            let o = ends().launch(&device, &x, length, by).unwrap();
            let want = |at: usize| {
                let from = (at % 128) as i64 + i64::from(by);
                let on = (0..128).contains(&from) && (at as i64) < i64::from(length);
                if on { (at / 128 * 128) as f32 + from as f32 } else { -1.0 }
            };
            expect(&o, &[n], &(0..n).map(want).collect::<Vec<_>>());
        }
    }
}

#[tpu_kernel]
fn beside(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[block([8, 128] at (0, 0))] o: Out<f32, Block>,
    #[scratch] buffer: Vmem<f32, (D<16>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    first: Scalar<i32>,
) {
    buffer.fill(1.0);
    let arriving = copy(x.view::<Block>((0, 0)), buffer.view::<Block>((0, 0))).start(done);
    // Rows from `first` on are read, those before it are off.
    let rows = iota::<(D<16>, D<128>)>(Sublanes).ge(first);
    let read = buffer.load_where(rows, 0.0);
    arriving.wait();
    o.store(read.slice::<Block>([8, 0]));
}

/// Of a masked access only what is on races with a copy, and padding that is off is no poison.
#[test]
fn masked_accesses_are_checked_lane_by_lane() {
    for seed in 0..20 {
        let device = checked(seed);
        let x = made(&device, &[8, 128], |at| at as f32);
        expect(&beside().launch(&device, &x, 8).unwrap(), &[8, 128], &[1.0; 1024]);
        let error = failed(beside().launch(&device, &x, 7));
        assert!(
            matches!(&error, RunError::Race { memory, index, .. } if memory == "operand `buffer`" && index == &[7, 0]),
            "{error}"
        );
    }
}

#[tpu_kernel(grid(i: n / 128))]
fn watched(#[block([n] at (i))] x: In<f32, (D<128>,)>, #[block([n] at (i))] o: Out<f32, (D<128>,)>) {
    debug_check!(x.load().lt(200.0), "all are below 200");
    o.store(x.load());
}

/// A `debug_check!` fires in every launch, at its step.
#[test]
fn fault_e_debug_checks_fire() {
    for device in everywhere() {
        let launch = |n: usize| watched().launch(&device, &made(&device, &[n], |at| at as f32));
        assert!(launch(128).is_ok());
        match failed(launch(256)) {
            RunError::Check { message, step, .. } => assert_eq!((message.as_str(), step), ("all are below 200", vec![1])),
            other => panic!("{other:?}"),
        }
    }
}

#[tpu_kernel]
fn product(#[block([8, 128] at (0, 0))] x: In<f32, Block>, #[block([8, 8] at (0, 0))] o: Out<f32, (D<8>, D<8>)>) {
    o.store(dot(x.load(), x.load().t()));
}

/// A product of f32 has the error of the matrix units' passes, and none at `Highest`.
#[test]
fn fault_i_products_round_as_the_matrix_units_do() {
    for device in devices() {
        // 1 + 2^-9 is 1 in bf16.
        let x = made(&device, &[8, 128], |_| 1.0f32 + 1.0 / 512.0);
        let at = |precision| product().precision(precision).launch(&device, &x).unwrap().to_vec::<f32>().unwrap()[0];
        let exact = 128.0 * (1.0f32 + 1.0 / 512.0).powi(2);
        assert_eq!(at(Precision::Default), 128.0);
        assert!((at(Precision::Highest) - exact).abs() < 1e-5 * exact);
        assert!((at(Precision::High) - exact).abs() < 1e-3 * exact);
    }
}

#[tpu_kernel]
fn bits(#[block([8, 128] at (0, 0))] o: Out<u32, Block>) {
    prng_seed(7u32);
    o.store(prng_bits::<Block>());
}

/// Random bits are not all zeros, in any mode. Revisits and ragged slices, which the same fault names, have tests of their own.
#[test]
fn fault_f_random_bits_are_random() {
    let all: Vec<Vec<u32>> = everywhere().map(|device| bits().launch(&device).unwrap().to_vec::<u32>().unwrap()).collect();
    assert!(all[0].iter().filter(|&&n| n == 0).count() < 3);
    assert!(all.iter().all(|one| *one == all[0]), "the same in every mode");
}
