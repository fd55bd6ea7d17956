//! Grids whose extents scalars of the launch give: cases 14, 15, 16 and 28, report 40, each as its whole kind.
//!
//! `LIBTPU_PATH` names libtpu.so; without it only the texts are looked at.

use tpu_device::Tensor;
use tpu_kernel::ahead::Built;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::DType;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, made, refused, tensor};
use tpu_tests::libtpu::{accepted, judge, library};

type Block = (D<8>, D<128>);

/// Adds 1 in every step; nothing of an array counts them.
#[tpu_kernel(grid(i: 2 * steps))]
fn counted(steps: Scalar<i32>, #[block([8, 128] at (0, 0))] mut o: Out<f32, Block>) {
    if i == 0 {
        o.fill(0.0);
    }
    o += 1.0;
}

#[test]
fn case_14_dynamic_grid() {
    for device in devices() {
        for steps in [1, 4, 7] {
            expect(&counted().launch(&device, steps).unwrap(), &[8, 128], &[2.0 * steps as f32; 1024]);
        }
        // No step would write the output.
        assert_eq!(refused(counted().launch(&device, 0)).code(), "L009");
        for steps in [-1, i32::MIN] {
            let error = refused(counted().launch(&device, steps));
            assert_eq!(error.code(), "L022");
            assert!(error.to_string().contains(&steps.to_string()), "{error}");
        }
        assert_eq!(refused(counted().launch(&device, i32::MAX)).code(), "L010");
    }
}

#[tpu_kernel(grid(i: a, j: b, k: c))]
fn nested(a: Scalar<i32>, b: Scalar<i32>, c: Scalar<i32>, #[block([8, 128] at (0, 0))] mut o: Out<f32, Block>) {
    if i + j + k == 0 {
        o.fill(0.0);
    }
    o += 1.0;
}

#[test]
fn case_15_dynamic_grid_overflow() {
    for device in devices() {
        expect(&nested().launch(&device, 8, 5, 3).unwrap(), &[8, 128], &[120.0; 1024]);
        expect(&nested().launch(&device, 1, 1, 2).unwrap(), &[8, 128], &[2.0; 1024]);
        // More steps than 64 bits count.
        assert_eq!(refused(nested().launch(&device, i32::MAX, i32::MAX, i32::MAX)).code(), "L016");
        assert_eq!(refused(nested().launch(&device, 3, 0, i32::MAX)).code(), "L009");
        assert_eq!(refused(nested().launch(&device, 3, -7, 2)).code(), "L022");
    }
}

/// The blocks from the last to the first, by an array of rows.
#[tpu_kernel(grid(i: steps, j: n / 128))]
fn backwards(
    steps: Scalar<i32>,
    #[prefetch([p])] rows: Prefetch<i32, 1>,
    #[block([m, n] at (rows.read(num_programs(0) - 1 - i), j))] x: In<f32, Block>,
    #[block([m, n] at (i, j))] o: Out<f32, Block>,
) {
    o.store(x.load() + (steps * 10 + num_programs(0)).cast::<f32>());
}

#[test]
fn case_16_num_programs_is_that_of_the_launch() {
    for device in devices() {
        let x = made(&device, &[32, 256], |at| (at / 2048) as f32);
        let rows = tensor(&device, &[3, 0, 2, 1], &[4]);
        let o = backwards().launch(&device, 4, &rows, &x).unwrap();
        let want = [1.0, 2.0, 0.0, 3.0].map(|row| row + 44.0);
        expect(&o, &[32, 256], &(0..32 * 256).map(|at| want[at / 2048]).collect::<Vec<_>>());
        // Too many steps leave the array; too few leave blocks unwritten.
        assert_eq!(refused(backwards().launch(&device, 5, &rows, &x)).code(), "L008");
        assert_eq!(refused(backwards().launch(&device, 3, &rows, &x)).code(), "L017");
        let part = backwards().allow(Allow::Unwritten).launch(&device, 2, &rows, &x).unwrap().to_vec::<f32>().unwrap();
        assert!(part[0] == 22.0 && part[2048] == 25.0 && part[4096].is_nan(), "{:?}", &part[..1]);
    }
}

/// Every step on one block of an array that the output shares.
#[tpu_kernel(grid(i: steps))]
fn incremented(
    steps: Scalar<i32>,
    #[block([8, 128] at (0, 0))] x: In<f32, Block>,
    #[block([8, 128] at (0, 0))]
    #[alias(x)]
    o: Out<f32, Block>,
) {
    o.store(x.load() + 1.0);
}

#[test]
fn case_28_dynamic_grid_and_aliasing() {
    for device in devices() {
        let x = made(&device, &[8, 128], |at| at as f32);
        for steps in [10, 20, 1] {
            let o = incremented().launch(&device, steps, &x).unwrap();
            expect(&o, &[8, 128], &(0..1024).map(|at| at as f32 + 1.0).collect::<Vec<_>>());
        }
        expect(&incremented().launch(&device, 0, &x).unwrap(), &[8, 128], &x.to_vec::<f32>().unwrap());
    }
}

#[tpu_kernel(grid(i: m, j: n, k: l))]
fn product(
    m: Scalar<i32>,
    n: Scalar<i32>,
    l: Scalar<i32>,
    #[block([rows, inner] at (i, k))] x: In<f32, (D<8>, D<128>)>,
    #[block([inner, columns] at (k, j))] w: In<f32, (D<128>, D<128>)>,
    #[block([rows, columns] at (i, j))] mut o: Out<f32, (D<8>, D<128>)>,
) {
    if k == 0 {
        o.fill(0.0);
    }
    o += dot(x.load(), w.load());
}

/// One compilation for every grid and every size.
#[test]
fn report_40_no_recompilation_when_the_grid_changes() {
    for device in devices() {
        let before = device.stats().compilations;
        for (m, n, l) in [(1, 1, 1), (2, 3, 1), (1, 2, 4), (3, 1, 2)] {
            let x: Tensor = made(&device, &[8 * m, 128 * l], |_| 1.0f32);
            let w = made(&device, &[128 * l, 128 * n], |at| (at % 3) as f32);
            let o = product().launch(&device, m as i32, n as i32, l as i32, &x, &w).unwrap();
            let (columns, inner) = (128 * n, 128 * l);
            let sum = |column: usize| (0..inner).map(|row| ((row * columns + column) % 3) as f32).sum::<f32>();
            expect(&o, &[8 * m, columns], &(0..8 * m * columns).map(|at| sum(at % columns)).collect::<Vec<_>>());
        }
        assert_eq!(device.stats().compilations, before + 1);
    }
}

#[test]
fn checked_launches_count_the_same_steps() {
    let [_, device] = devices();
    for seed in 0..20 {
        expect(&counted().checked(seed).launch(&device, 3).unwrap(), &[8, 128], &[6.0; 1024]);
    }
}

// ---- the chip --------------------------------------------------------------------------------------------------------------

fn programs(chip: &'static Chip) -> Vec<(String, String)> {
    let f32s = |shape: &[usize]| (DType::F32, shape.to_vec());
    let counted = Built::new(&counted().steps(4), &[]).unwrap();
    let nested = Built::new(&nested().a(8).b(5).c(3), &[]).unwrap();
    let backwards = Built::new(&backwards().steps(4), &[DType::I32, DType::F32]).unwrap();
    let bound = [
        counted.bind(chip, &[]).unwrap(),
        nested.bind(chip, &[]).unwrap(),
        backwards.bind(chip, &[(DType::I32, vec![4]), f32s(&[32, 256])]).unwrap(),
    ];
    bound.map(|bound| (bound.mosaic().unwrap(), bound.stablehlo().unwrap())).to_vec()
}

#[test]
fn the_text_leaves_extents_to_the_call() {
    let [counted, nested, backwards] = programs(&Chip::V6E).try_into().unwrap();
    let dynamic = i64::MIN;
    assert!(counted.0.contains(&format!("iteration_bounds = array<i64: {dynamic}>")), "{}", counted.0);
    // The extent is computed before the call, and is its first operand.
    assert!(counted.1.contains("\"stablehlo.multiply\"(") && counted.1.matches("tensor<i32>").count() > 2, "{}", counted.1);
    assert!(nested.0.contains(&format!("iteration_bounds = array<i64: {dynamic}, {dynamic}, {dynamic}>")), "{}", nested.0);
    assert!(backwards.0.contains(&format!("iteration_bounds = array<i64: {dynamic}, 2>")), "{}", backwards.0);
    // In the index map and in the body.
    assert_eq!(backwards.0.matches("\"tpu.iteration_bound\"() <{dim = 0 : i32}>").count(), 2, "{}", backwards.0);
}

#[test]
fn libtpu_takes_extents_of_the_call() {
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let programs: Vec<String> = programs(chip).into_iter().map(|(_, program)| program).collect();
        for (verdict, program) in judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs.clone()).iter().zip(&programs) {
            assert!(accepted(verdict), "{}: {verdict:?}\n{program}", chip.name);
        }
    }
}
