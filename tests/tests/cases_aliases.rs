//! Outputs that share the array of an input: cases 23, 25, 28 and 29, report 4, each as its whole kind.
//!
//! `LIBTPU_PATH` names libtpu.so; without it only the texts are looked at.

use tpu_kernel::Error;
use tpu_kernel::ahead::Built;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::DType;
use tpu_kernel::launch::Allow;
use tpu_kernel::prelude::*;
use tpu_kernel::transform::TransformError;
use tpu_tests::devices::{devices, expect, kernel_error, made, refused, tensor};
use tpu_tests::libtpu::{accepted, judge, library};

/// Every step on one block.
#[tpu_kernel(grid(i: steps))]
fn incremented(
    #[hbm([steps])] _counted: Hbm<i32, 1>,
    #[block([8, 128] at (0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))]
    #[alias(x)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + 1.0);
}

#[test]
fn case_28_a_block_that_stays_is_fetched_once() {
    for device in devices() {
        let x = made(&device, &[8, 128], |at| at as f32);
        for steps in [1, 10, 20] {
            let counted = made(&device, &[steps], |_| 0);
            let o = incremented().launch(&device, &counted, &x).unwrap();
            expect(&o, &[8, 128], &(0..1024).map(|at| at as f32 + 1.0).collect::<Vec<_>>());
        }
        // The caller's tensor is what it was; of no step the output is the input.
        expect(&x, &[8, 128], &(0..1024).map(|at| at as f32).collect::<Vec<_>>());
        let none = tensor::<i32>(&device, &[], &[0]);
        expect(&incremented().launch(&device, &none, &x).unwrap(), &[8, 128], &x.to_vec::<f32>().unwrap());
    }
}

#[tpu_kernel(grid(i: 4, j: 4))]
fn crossed(
    #[block([32, 512] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([32, 512] at (j, i))]
    #[alias(x)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + (i * 4 + j).cast::<f32>());
}

#[test]
fn case_29_what_is_written_is_read_again() {
    let want = [[0, 5, 10, 15], [1, 5, 15, 20], [2, 6, 10, 25], [3, 7, 11, 15]];
    for device in devices() {
        let o = crossed().launch(&device, &made(&device, &[32, 512], |_| 0.0f32)).unwrap();
        let value = |at: usize| want[at / 512 / 8][at % 512 / 128] as f32;
        expect(&o, &[32, 512], &(0..32 * 512).map(value).collect::<Vec<_>>());
    }
}

/// Blocks that no step visits stay as the input has them; the array of indices comes before it.
#[tpu_kernel(grid(i: n))]
fn scattered(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[hbm([m, 128])] zeros: Hbm<f32, 2>,
    #[block([8 * n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (ids.read(i), 0))]
    #[alias(zeros)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[test]
fn case_23_25_untouched_blocks_keep_what_they_had() {
    for device in devices() {
        let ids = tensor(&device, &[0, 0, 2, 2, 2, 5, 3, 3], &[8]);
        let x = made(&device, &[64, 128], |at| (10 + at / 1024) as f32);
        let full = |blocks: [f32; 7]| (0..7 * 1024).map(|at| blocks[at / 1024]).collect::<Vec<_>>();
        let kept = tensor(&device, &full([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]), &[56, 128]);
        let o = scattered().launch(&device, &ids, &kept, &x).unwrap();
        expect(&o, &[56, 128], &full([11.0, 0.25, 14.0, 17.0, 1.0, 15.0, 1.5]));
        expect(&kept, &[56, 128], &full([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]));
    }
}

#[tpu_kernel]
fn moved_along(
    #[hbm([n, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([n, 8, 128])]
    #[alias(x)]
    o: HbmOut<f32, 3>,
    to: Scalar<i32>,
) {
    copy(x.view::<(D<3>, D<8>, D<128>)>((1 - to, 0, 0)), o.view::<(D<3>, D<8>, D<128>)>((to, 0, 0))).now();
}

/// Both are one array: where source and target overlap, what is written was read before.
#[test]
fn a_copy_within_a_shared_array_reads_before_it_writes() {
    for device in devices() {
        let x = made(&device, &[4, 8, 128], |at| (at / 1024) as f32);
        for (to, want) in [(0, [1.0, 2.0, 3.0, 3.0]), (1, [0.0, 0.0, 1.0, 2.0])] {
            let o = moved_along().launch(&device, &x, to).unwrap();
            expect(&o, &[4, 8, 128], &(0..4096).map(|at| want[at / 1024]).collect::<Vec<f32>>());
        }
    }
}

// ---- report 4: outputs that nothing is written to ---------------------------------------------------------------------------

#[tpu_kernel]
fn nothing_copied(
    #[hbm([n])] x: Hbm<f32, 1>,
    #[hbm([n])] y: Hbm<f32, 1>,
    #[hbm([n])]
    #[alias(x)]
    a: HbmOut<f32, 1>,
    #[hbm([n])]
    #[alias(y)]
    b: HbmOut<f32, 1>,
) {
}

#[tpu_kernel]
fn nothing_stored(
    #[block([n] at (0))] x: In<f32, (D<2>,)>,
    #[block([n] at (0))]
    #[alias(x)]
    a: Out<f32, (D<2>,)>,
) {
}

#[tpu_kernel]
fn half_stored(
    #[block([n] at (0))] x: In<f32, (D<2>,)>,
    #[block([n] at (0))]
    #[alias(x)]
    a: Out<f32, (D<2>,)>,
) {
    a.store_at((0,), x.load_at::<(One,)>((1,)));
}

#[test]
fn report_04_what_nothing_is_written_to() {
    for device in devices() {
        // Arrays stay; a window that no path stores to is refused, and what a step leaves alone in its block is poison.
        let [x, y] = [1.0f32, 2.0].map(|n| tensor(&device, &[n; 2], &[2]));
        let (a, b) = nothing_copied().launch(&device, &x, &y).unwrap();
        expect(&a, &[2], &[1.0f32; 2]);
        expect(&b, &[2], &[2.0f32; 2]);
        let Error::Build { faults, .. } = kernel_error(nothing_stored().launch(&device, &x)) else { panic!("a rule") };
        assert_eq!(faults[0].code(), "V028");
        let x = tensor(&device, &[3.0f32, 4.0], &[2]);
        let half = half_stored().allow(Allow::BlockShape).launch(&device, &x).unwrap().to_vec::<f32>().unwrap();
        assert!(half[0] == 4.0 && half[1].is_nan(), "{half:?}");
    }
}

// ---- what an input shows after its array was written ------------------------------------------------------------------------

#[tpu_kernel(grid(i: n / 8 - 1))]
fn chained<NB: Dim>(
    #[block([n, 128] at (i, 0), buffered(NB))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i + 1, 0))]
    #[alias(x)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + 1.0);
}

#[test]
fn an_input_shows_what_its_array_held_when_the_block_was_fetched() {
    for device in devices() {
        let x = made(&device, &[48, 128], |at| 10.0 * (at / 1024) as f32);
        let rows = |want: [f32; 6]| (0..48 * 128).map(|at| want[at / 1024]).collect::<Vec<_>>();
        let o = chained().nb(1).launch(&device, &x).unwrap();
        expect(&o, &[48, 128], &rows([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        for nb in [2, 3, 8] {
            let o = chained().nb(nb).launch(&device, &x).unwrap();
            expect(&o, &[48, 128], &rows([0.0, 1.0, 11.0, 21.0, 31.0, 41.0]));
        }
    }
}

#[test]
fn checked_launches_see_the_same() {
    let [_, device] = devices();
    let x = made(&device, &[48, 128], |at| 10.0 * (at / 1024) as f32);
    let wide = made(&device, &[32, 512], |_| 0.0f32);
    let (ids, kept) = (tensor(&device, &[3, 0, 2, 5], &[4]), made(&device, &[56, 128], |at| at as f32));
    let (counted, block) = (made(&device, &[10], |_| 0), made(&device, &[8, 128], |at| at as f32));
    let ones = made(&device, &[5], |_| 1.0f32);
    for seed in 0..20 {
        for nb in [1, 2, 3] {
            let want = chained().nb(nb).launch(&device, &x).unwrap().to_vec::<f32>().unwrap();
            let got = chained().nb(nb).checked(seed).launch(&device, &x).unwrap();
            expect(&got, &[48, 128], &want);
        }
        let want = crossed().launch(&device, &wide).unwrap().to_vec::<f32>().unwrap();
        expect(&crossed().checked(seed).launch(&device, &wide).unwrap(), &[32, 512], &want);
        let rows = made(&device, &[32, 128], |at| at as f32);
        let want = scattered().launch(&device, &ids, &kept, &rows).unwrap().to_vec::<f32>().unwrap();
        expect(&scattered().checked(seed).launch(&device, &ids, &kept, &rows).unwrap(), &[56, 128], &want);
        let got = incremented().checked(seed).launch(&device, &counted, &block).unwrap();
        expect(&got, &[8, 128], &(0..1024).map(|at| at as f32 + 1.0).collect::<Vec<_>>());
        let (a, b) = nothing_copied().checked(seed).launch(&device, &ones, &ones).unwrap();
        expect(&a, &[5], &[1.0f32; 5]);
        expect(&b, &[5], &[1.0f32; 5]);
        let none = tensor::<i32>(&device, &[], &[0]);
        expect(&incremented().checked(seed).launch(&device, &none, &block).unwrap(), &[8, 128], &block.to_vec::<f32>().unwrap());
        // What a step leaves alone in its block is lost, which is no false alarm.
        let pair = tensor(&device, &[3.0f32, 4.0], &[2]);
        let error = half_stored().allow(Allow::BlockShape).checked(seed).launch(&device, &pair).unwrap_err();
        assert_eq!(error.code(), "R017");
    }
}

// ---- what is refused -------------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: n / 8))]
fn longer(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n + 8, 128] at (i, 0))]
    #[alias(x)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: n / 8))]
fn narrower(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i, 0))]
    #[alias(x)]
    o: Out<bf16, (D<8>, D<128>)>,
) {
    o.store(x.load().cast::<bf16>());
}

#[test]
fn arrays_of_other_sizes_and_types_are_not_shared() {
    for device in devices() {
        let x = made(&device, &[16, 128], |at| at as f32);
        let error = refused(longer().launch(&device, &x));
        assert_eq!(error.code(), "L021");
        assert!(error.to_string().contains("[24, 128]") && error.to_string().contains("[16, 128]"), "{error}");
        let Error::Build { faults, .. } = kernel_error(narrower().launch(&device, &x)) else { panic!("a rule") };
        assert_eq!(faults[0].code(), "V050");
    }
}

#[test]
fn transformations_leave_shared_arrays_alone() {
    for device in devices() {
        let x = made(&device, &[3, 48, 128], |at| (at % 999) as f32);
        let both = chained().nb(2).batched(["x", "o"]).launch(&device, &x).unwrap();
        for slice in 0..3 {
            let part = made(&device, &[48, 128], |at| ((slice * 48 * 128 + at) % 999) as f32);
            let want = chained().nb(2).launch(&device, &part).unwrap().to_vec::<f32>().unwrap();
            assert_eq!(both.to_vec::<f32>().unwrap()[slice * 48 * 128..][..48 * 128], want);
        }
        let alone = kernel_error(scattered().batched(["x", "o"]).launch(
            &device,
            &tensor(&device, &[0], &[1]),
            &made(&device, &[56, 128], |_| 0.0f32),
            &made(&device, &[2, 8, 128], |_| 0.0f32),
        ));
        assert!(matches!(alone, Error::Transform(TransformError::SharedNotBatched { .. })), "{alone:?}");
        let part = made(&device, &[48, 128], |_| 1.0f32);
        let mapped = kernel_error(chained().nb(2).map_input("x", |x: Each<f32>| x + 1.0).launch(&device, &part));
        assert_eq!(mapped.code(), "T020");
        let mapped = kernel_error(chained().nb(2).map_output("o", |x: Each<f32>| x + 1.0).launch(&device, &part));
        assert_eq!(mapped.code(), "T020");
    }
}

// ---- the chip --------------------------------------------------------------------------------------------------------------

fn programs(chip: &'static Chip) -> Vec<String> {
    let f32s = |shape: &[usize]| (DType::F32, shape.to_vec());
    let chained = Built::new(&chained().nb(1), &[DType::F32]).unwrap();
    let scattered = Built::new(&scattered(), &[DType::I32, DType::F32, DType::F32]).unwrap();
    let copied = Built::new(&nothing_copied(), &[DType::F32, DType::F32]).unwrap();
    vec![
        chained.bind(chip, &[f32s(&[48, 128])]).unwrap().stablehlo().unwrap(),
        scattered.bind(chip, &[(DType::I32, vec![8]), f32s(&[56, 128]), f32s(&[64, 128])]).unwrap().stablehlo().unwrap(),
        copied.bind(chip, &[f32s(&[1024]), f32s(&[1024])]).unwrap().stablehlo().unwrap(),
    ]
}

#[test]
fn the_module_says_which_operand_is_shared() {
    let [chained, scattered, copied] = programs(&Chip::V6E).try_into().unwrap();
    let alias = |tuple: &str, operand: usize| {
        format!(
            "#stablehlo.output_operand_alias<output_tuple_indices = [{tuple}], operand_index = {operand}, operand_tuple_indices = []>"
        )
    };
    assert!(chained.contains(&alias("", 0)), "{chained}");
    // The array of indices is an operand, too.
    assert!(scattered.contains(&alias("", 1)), "{scattered}");
    assert!(copied.contains(&format!("[{}, {}]", alias("0", 0), alias("1", 1))), "{copied}");
}

#[test]
fn libtpu_takes_shared_arrays() {
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let programs = programs(chip);
        for (verdict, program) in judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs.clone()).iter().zip(&programs) {
            assert!(accepted(verdict), "{}: {verdict:?}\n{program}", chip.name);
        }
    }
}
