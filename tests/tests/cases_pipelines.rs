//! What a launch says about its windows: how many buffers, whether a block may be visited again. Cases 12, 13, 22, 23, report 1
//! and fault f, each as its whole kind.
//!
//! `LIBTPU_PATH` names libtpu.so; without it only the texts are looked at.

use tpu_device::{Device, Tensor};
use tpu_kernel::Error;
use tpu_kernel::ahead::Built;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::DType;
use tpu_kernel::launch::LaunchError;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, made, refused, tensor};
use tpu_tests::libtpu::{accepted, judge, library};

/// An array of `blocks` blocks of 8 × 128, each full of its number.
fn numbered(device: &Device, blocks: usize) -> Tensor {
    made(device, &[8 * blocks, 128], |at| (at / 1024) as f32)
}

/// Blocks full of these numbers.
fn full(numbers: &[f32]) -> Vec<f32> {
    numbers.iter().flat_map(|&n| [n; 1024]).collect()
}

// ---- report 1: a kernel that changes the array that its index maps read -----------------------------------------------------

#[tpu_kernel(grid(i: n))]
fn redirected<NB: Dim>(
    #[prefetch([n])] mut ids: Prefetch<i32, 1>,
    #[block([m, 128] at (ids.read(i), 0), buffered(NB))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        for k in 1..n {
            ids.write(k, 3);
        }
    }
    o.store(x.load());
}

#[tpu_kernel(grid(i: n))]
fn redirected_by_default(
    #[prefetch([n])] mut ids: Prefetch<i32, 1>,
    #[block([m, 128] at (ids.read(i), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        for k in 1..n {
            ids.write(k, 3);
        }
    }
    o.store(x.load());
}

#[tpu_kernel(grid(i: n))]
fn redirected_ahead<NB: Dim>(
    #[prefetch([n])] mut ids: Prefetch<i32, 1>,
    #[block([m, 128] at (ids.read(i), 0), buffered(NB), lookahead)] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        for k in 1..n {
            ids.write(k, 3);
        }
    }
    o.store(x.load());
}

#[test]
fn report_01_the_depth_of_a_pipeline_shows() {
    for device in devices() {
        let ids = tensor(&device, &[0, 1, 2, 3, 4, 5], &[6]);
        let x = numbered(&device, 6);
        let by_depth = |depth: usize| redirected().nb(depth).launch(&device, &ids, &x).unwrap();
        expect(&by_depth(1), &[48, 128], &full(&[0.0, 3.0, 3.0, 3.0, 3.0, 3.0]));
        expect(&by_depth(2), &[48, 128], &full(&[0.0, 1.0, 3.0, 3.0, 3.0, 3.0]));
        expect(&by_depth(3), &[48, 128], &full(&[0.0, 1.0, 2.0, 3.0, 3.0, 3.0]));
        expect(&by_depth(5), &[48, 128], &full(&[0.0, 1.0, 2.0, 3.0, 4.0, 3.0]));
        for depth in [6, 7, 16] {
            expect(&by_depth(depth), &[48, 128], &full(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        }
        let default = redirected_by_default().launch(&device, &ids, &x).unwrap();
        expect(&default, &[48, 128], &full(&[0.0, 1.0, 3.0, 3.0, 3.0, 3.0]));
        // The launch's own array is a copy of what the caller passes.
        expect(&ids, &[6], &[0, 1, 2, 3, 4, 5]);

        // An index outside, written in time or too late to matter.
        let outside = tensor(&device, &[0, 1, 7], &[3]);
        for depth in [1, 2] {
            let o = redirected().nb(depth).launch(&device, &outside, &x).unwrap();
            expect(&o, &[24, 128], &full(&[0.0, if depth == 1 { 3.0 } else { 1.0 }, 3.0]));
        }
        let error = failed(redirected().nb(3).launch(&device, &outside, &x));
        assert!(error.to_string().contains("block index 7") && error.to_string().contains("[2]"), "{error}");

        // What is read only is the same with any depth.
        let few = tensor(&device, &[2], &[1]);
        expect(&redirected().nb(1).launch(&device, &few, &x).unwrap(), &[8, 128], &full(&[2.0]));
    }
}

#[test]
fn lookahead_fetches_the_next_block_that_differs() {
    for device in devices() {
        let ids = tensor(&device, &[0, 0, 0, 5, 5, 4, 1], &[7]);
        let x = numbered(&device, 6);
        let by_depth = |depth: usize| redirected_ahead().nb(depth).launch(&device, &ids, &x).unwrap();
        expect(&by_depth(1), &[56, 128], &full(&[0.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]));
        expect(&by_depth(2), &[56, 128], &full(&[0.0, 0.0, 0.0, 5.0, 3.0, 3.0, 3.0]));
        expect(&by_depth(3), &[56, 128], &full(&[0.0, 0.0, 0.0, 5.0, 5.0, 4.0, 3.0]));
        expect(&by_depth(4), &[56, 128], &full(&[0.0, 0.0, 0.0, 5.0, 5.0, 4.0, 1.0]));
    }
}

// ---- 22: a gather with any pipeline ----------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: n))]
fn gathered<NB: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([m, 128] at (ids.read(i), 0), buffered(NB))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (ids.read(i), 0), lookahead, buffered(NB))] y: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0), buffered(NB))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + y.load());
}

#[test]
fn case_22_block_gather_with_any_number_of_buffers() {
    for device in devices() {
        let blocks = [0, 0, 1, 1, 1, 3, 0, 2];
        let ids = tensor(&device, &blocks, &[8]);
        for depth in [1, 2, 3, 16] {
            let x = numbered(&device, 4);
            let o = gathered().nb(depth).launch(&device, &ids, &x, &x).unwrap();
            expect(&o, &[64, 128], &full(&blocks.map(|n| 2.0 * n as f32)));
        }
    }
}

// ---- 12, 13, fault f: a block that is visited again ------------------------------------------------------------------------

/// Sums of rows of blocks, the row of blocks slowest: each block of the output is visited once in every row.
#[tpu_kernel(grid(i: m / 8, j: n / 128))]
fn summed_in_rows(
    #[block([m, n] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, n] at (0, j), revisit(any))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        o.store(x.load());
    } else {
        o.store(o.load() + x.load());
    }
}

/// The same where a block is gone when it is left.
#[tpu_kernel(grid(i: m / 8, j: n / 128))]
fn lost_in_rows(
    #[block([m, n] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, n] at (0, j), revisit(immediate))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        o.store(x.load());
    } else {
        o.store(o.load() + x.load());
    }
}

#[test]
fn case_13_fault_f_a_block_is_read_back_when_it_is_visited_again() {
    for device in devices() {
        for (m, n) in [(24, 384), (8, 128), (16, 128), (40, 200)] {
            let x = made(&device, &[m, n], |at| (at % 13) as f32);
            let o = summed_in_rows().launch(&device, &x).unwrap();
            let value = |row: usize, column: usize| ((row * n + column) % 13) as f32;
            let sum = |at: usize| (0..m / 8).map(|i| value(8 * i + at / n, at % n)).sum::<f32>();
            expect(&o, &[8, n], &(0..8 * n).map(sum).collect::<Vec<_>>());
        }
    }
}

/// As documented: without `revisit(any)` a block that is entered is poison, which shows.
#[test]
fn case_12_without_it_the_block_is_poison() {
    for device in devices() {
        let x = made(&device, &[24, 384], |at| at as f32);
        let o = lost_in_rows().launch(&device, &x).unwrap();
        assert!(o.to_vec::<f32>().unwrap().iter().all(|n| n.is_nan()));
        // One block along `j`: its visits are consecutive, and nothing is lost.
        let x = made(&device, &[24, 128], |at| (at / 1024) as f32);
        expect(&lost_in_rows().launch(&device, &x).unwrap(), &[8, 128], &full(&[3.0]));
    }
}

// ---- memory and the chip ---------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: m / 512))]
fn copied<NB: Dim>(
    #[block([m, 1024] at (i, 0), buffered(NB))] x: In<f32, (D<512>, D<1024>)>,
    #[block([m, 1024] at (i, 0), buffered(1))] o: Out<f32, (D<512>, D<1024>)>,
) {
    o.store(x.load());
}

fn built(depth: usize) -> Built {
    Built::new(&copied().nb(depth), &[DType::F32]).unwrap()
}

#[test]
fn each_buffer_counts_against_vector_memory() {
    let shape = [(DType::F32, vec![4096, 1024])];
    let of = |depth: usize, chip| built(depth).bind(chip, &shape).map(|_| ());
    // 2 MiB a buffer: 16 MiB of windows are the limit of v5e, 32 that of v6e.
    of(7, &Chip::V5E).unwrap();
    let Err(Error::Launch(LaunchError::Vmem { need, table, .. })) = of(8, &Chip::V5E) else { panic!("9 buffers of 2 MiB fit") };
    assert_eq!(need, 18 << 20);
    let row = table.lines().find(|line| line.trim_start().starts_with("x ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["x", "in", "512x1024xf32", "2097152", "8", "16777216"]);
    of(15, &Chip::V6E).unwrap();
    of(16, &Chip::V6E).unwrap_err();
    // A block that never changes has one buffer whatever is said.
    built(16).bind(&Chip::V5E, &[(DType::F32, vec![512, 1024])]).unwrap();
    let [device, _] = devices();
    let error = refused(copied().nb(16).launch(&device, &made(&device, &[1024, 1024], |_| 0.0f32)));
    assert_eq!(error.code(), "L011");
}

#[test]
fn one_buffer_overlaps_nothing() {
    let shape = [(DType::F32, vec![16_384, 1024])];
    for chip in [&Chip::V5E, &Chip::V5P, &Chip::V6E] {
        let cycles = |depth: usize| built(depth).bind(chip, &shape).unwrap().predict().unwrap().cycles;
        let (one, two) = (cycles(1), cycles(2));
        // The copies of inputs and outputs take about as long as each other: one after the other, or at once.
        assert!(one as f64 > 1.3 * two as f64, "{}: {one} against {two}", chip.name);
    }
}

#[test]
fn the_chip_has_one_or_two_buffers() {
    let shape = [(DType::F32, vec![4096, 1024])];
    let mosaic = |depth: usize| built(depth).bind(&Chip::V6E, &shape).unwrap().mosaic();
    let modes = |text: &str| text.matches("#tpu.pipeline_mode<").count();
    let one = mosaic(1).unwrap();
    assert_eq!((one.matches("pipeline_mode<synchronous>").count(), modes(&one)), (2, 2), "{one}");
    let two = mosaic(2).unwrap();
    assert_eq!((two.matches("pipeline_mode<double_buffered>").count(), modes(&two)), (1, 2), "{two}");
    let error = mosaic(3).unwrap_err();
    assert_eq!(error.code(), "M019");
    let ahead = Built::new(&redirected_ahead().nb(2), &[DType::I32, DType::F32]).unwrap();
    assert_eq!(ahead.legalised(&Chip::V6E).unwrap_err().code(), "M019");

    let sums = Built::new(&summed_in_rows(), &[DType::F32]).unwrap();
    let text = sums.bind(&Chip::V6E, &[(DType::F32, vec![24, 384])]).unwrap().mosaic().unwrap();
    assert!(text.contains("pipeline_mode = #tpu.pipeline_mode<synchronous>, revisit_mode = #tpu.revisit_mode<any>"), "{text}");
}

#[test]
fn libtpu_takes_pipelines() {
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let copies = [1, 2].map(|depth| built(depth).bind(chip, &[(DType::F32, vec![4096, 1024])]).unwrap().stablehlo().unwrap());
        let sums = Built::new(&summed_in_rows(), &[DType::F32]).unwrap();
        let sums = sums.bind(chip, &[(DType::F32, vec![24, 384])]).unwrap().stablehlo().unwrap();
        let programs = [copies.to_vec(), vec![sums]].concat();
        for (verdict, program) in judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs.clone()).iter().zip(&programs) {
            assert!(accepted(verdict), "{}: {verdict:?}\n{program}", chip.name);
        }
    }
}
