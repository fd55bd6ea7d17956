//! What users of other systems reported, each as its whole kind: the smallest input, the right answer, and what lies
//! around it. The numbers are those of the project's list of reports; the tests are in their order.

use half::bf16;
use std::time::{Duration, Instant};
use tpu_device::{Chip, DType, Device, Tensor};
use tpu_kernel::diagnose::render;
use tpu_kernel::launch::{Binding, Config, LaunchError, bind};
use tpu_kernel::prelude::*;
use tpu_kernel::{Error, ir::Kernel};
use tpu_tests::devices::{devices, expect, made, refused};

/// What a user reads of a refused launch.
fn message(error: &LaunchError) -> String {
    render(&Error::Launch(error.clone()))
}

/// Asserts each of these parts of a message.
#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
}

// ---- 6: an index map that returns element offsets -------------------------------------------------------------

mod offsets {
    use super::*;

    #[tpu_kernel(grid(i: m / 8))]
    fn read(#[block([m, 16] at (8 * i, 0))] x: In<f32, (D<8>, D<16>)>, #[block([m, 16] at (i, 0))] o: Out<f32, (D<8>, D<16>)>) {
        o.store(x.load() + 1.0);
    }

    #[tpu_kernel(grid(i: m / 8))]
    fn written(#[block([m, 16] at (i, 0))] x: In<f32, (D<8>, D<16>)>, #[block([m, 16] at (8 * i, 0))] o: Out<f32, (D<8>, D<16>)>) {
        o.store(x.load() + 1.0);
    }

    #[tpu_kernel(grid(j: n / 128))]
    fn columns(
        #[block([8, n] at (0, j * 128))] x: In<f32, (D<8>, D<128>)>,
        #[block([8, n] at (0, j))] o: Out<f32, (D<8>, D<128>)>,
    ) {
        o.store(x.load() + 1.0);
    }

    #[tpu_kernel(grid(i: m / 8))]
    fn blocks(
        #[block([m, 16] at (8 * i / 8, 0))] x: In<f32, (D<8>, D<16>)>,
        #[block([m, 16] at (i, 0))] o: Out<f32, (D<8>, D<16>)>,
    ) {
        o.store(x.load() + 1.0);
    }

    #[tpu_kernel(grid(i: m / 8))]
    fn before(#[block([m, 16] at (i - 1, 0))] x: In<f32, (D<8>, D<16>)>, #[block([m, 16] at (i, 0))] o: Out<f32, (D<8>, D<16>)>) {
        o.store(x.load() + 1.0);
    }

    #[test]
    fn report_06_element_offsets_are_refused_and_named() {
        const HINT: &str = "did you return an element offset? an index map returns block indices: divide by 8";
        for device in devices() {
            let x = Tensor::full(&device, 1.0f32, &[32, 16]).unwrap();
            let live = device.stats().live_bytes;
            // Of an input and of an output, where writes would be lost.
            for (operand, error) in [("x", refused(read().launch(&device, &x))), ("o", refused(written().launch(&device, &x)))] {
                let outside = format!("block index 8 along axis 0 of operand `{operand}` is outside the array [32, 16]");
                says(&message(&error), &["error[L008]", &outside, "32 elements in blocks of 8 make 4 blocks", "step [1]", HINT]);
            }
            let wide = Tensor::full(&device, 1.0f32, &[8, 300]).unwrap();
            let error = refused(columns().launch(&device, &wide));
            says(&message(&error), &["block index 128 along axis 1 of operand `x`", "divide by 128"]);
            // What is no element is not called one.
            let error = refused(before().launch(&device, &x));
            says(&message(&error), &["block index -1 along axis 0", "at grid step [0]", "the index map must give 0 to 3"]);
            drop(wide);
            assert_eq!((device.stats().live_bytes, device.stats().launches), (live, 0), "nothing ran");

            // One block has only index 0, which is right both ways; of four, block indices fill every row.
            let one = Tensor::full(&device, 1.0f32, &[8, 16]).unwrap();
            expect(&read().launch(&device, &one).unwrap(), &[8, 16], &[2.0f32; 128]);
            expect(&blocks().launch(&device, &x).unwrap(), &[32, 16], &[2.0f32; 512]);
        }
    }
}

// ---- 33: vector memory that does not suffice, found while compiling ---------------------------------------------

mod memory {
    use super::*;

    /// The memory of flash attention; what it computes is not of interest here.
    #[tpu_kernel(grid(h: heads, i: q / BQ, j: kv / BK))]
    fn flash<BQ: Dim, BK: Dim, C: Dim>(
        #[block([1, heads, q, d] at (squeeze 0, squeeze h, i, 0))] queries: In<bf16, (BQ, C)>,
        #[block([1, heads, kv, d] at (squeeze 0, squeeze h, j, 0))] keys: In<bf16, (BK, C)>,
        #[block([1, heads, kv, d] at (squeeze 0, squeeze h, j, 0))] values: In<bf16, (BK, C)>,
        #[block([1, heads, q, d] at (squeeze 0, squeeze h, i, 0))] o: Out<bf16, (BQ, C)>,
        #[scratch] mut acc: Vmem<f32, (BQ, C)>,
    ) {
        if j == 0 {
            acc.fill(0.0);
        }
        acc += dot(dot(queries.load(), keys.load().t()).cast::<bf16>(), values.load());
        o.store(acc.load().cast::<bf16>());
    }

    fn bound(kernel: &Kernel, chip: &Chip) -> Result<Binding, LaunchError> {
        let shape = || vec![1, 16, 25344, 80];
        bind(kernel, chip, &[(DType::Bf16, shape()), (DType::Bf16, shape()), (DType::Bf16, shape())], &Config::default())
    }

    /// The numbers of a line of the table: padded bytes, buffers, bytes.
    fn numbers(table: &str, operand: &str) -> [u64; 3] {
        let line = table.lines().find(|line| line.split_whitespace().next() == Some(operand)).unwrap();
        let words: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        words.try_into().unwrap()
    }

    #[test]
    fn report_33_every_buffer_is_named_before_anything_is_compiled() {
        let start = Instant::now();
        let blocks = |bk: usize| flash().bq(256).bk(bk).c(80).stage(&[DType::Bf16; 3]).unwrap();
        let kernel = blocks(25344);
        let error = bound(&kernel, &Chip::V5E).unwrap_err();
        let LaunchError::Vmem { chip, need, limit, table, .. } = &error else { panic!("{error}") };
        assert_eq!((chip.as_str(), *limit), ("v5e", Chip::V5E.scoped_vmem_bytes));
        // 80 columns are padded to 128; two buffers a window, one of scratch.
        let rows = [("queries", 256, 2, 2), ("keys", 25344, 2, 2), ("values", 25344, 2, 2), ("o", 256, 2, 2), ("acc", 256, 4, 1)];
        let mut windows = 0;
        for (operand, block, bytes, buffers) in rows {
            let padded = block * 128 * bytes;
            assert_eq!(numbers(table, operand), [padded, buffers, padded * buffers], "{operand}");
            windows += if operand == "acc" { 0 } else { padded * buffers };
        }
        // The windows alone are beyond the limit of what a kernel may ask for.
        assert_eq!(*need, windows);
        assert!(*need > *limit);
        says(&message(&error), &["error[L011]", "25344x80xbf16", "scratch", "buffers", "make the blocks smaller"]);

        // A search over block sizes asks for each: the largest that fits is found at once, without tensors.
        let fits: Vec<usize> =
            [25344, 16896, 12672, 8448, 4224, 1056].into_iter().filter(|&bk| bound(&blocks(bk), &Chip::V5E).is_ok()).collect();
        assert_eq!(fits.first(), Some(&12672));
        assert!(fits.len() == 4, "what is smaller fits as well: {fits:?}");
        assert!(bound(&kernel, &Chip::V6E).is_ok(), "a chip with more memory takes it");
        assert!(start.elapsed() < Duration::from_secs(5), "an estimate is instant");

        // A launch refuses before it allocates or compiles.
        let device = Device::simulated(Chip::V5E);
        let x = Tensor::zeros(&device, DType::Bf16, &[1, 2, 25344, 80]).unwrap();
        let (live, compiled) = (device.stats().live_bytes, device.stats().launches);
        let error = refused(flash().bq(256).bk(25344).c(80).launch(&device, &x, &x, &x));
        assert_eq!(error.code(), "L011");
        assert_eq!((device.stats().live_bytes, device.stats().launches), (live, compiled));
    }
}

// ---- 35: an index map that gives block 1 of 1 ------------------------------------------------------------------

mod one_block {
    use super::*;

    #[tpu_kernel(grid(i: m / 8))]
    fn bias(
        #[block([m, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
        #[block([1, 128] at (1, 0))] b: In<f32, (One, D<128>)>,
        #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    ) {
        o.store(x.load() + b.load());
    }

    #[tpu_kernel(grid(l: layers, j: n / 128))]
    fn layered(
        #[block([1, layers, 1, n] at (squeeze 1, squeeze l, 1, j))] b: In<f32, (One, D<128>)>,
        #[block([layers, 1, n] at (squeeze l, 0, j))] o: Out<f32, (One, D<128>)>,
    ) {
        o.store(b.load());
    }

    #[tpu_kernel(grid(l: layers, j: n / 128))]
    fn right(
        #[block([1, layers, 1, n] at (squeeze 0, squeeze l, 0, j))] b: In<f32, (One, D<128>)>,
        #[block([layers, 1, n] at (squeeze l, 0, j))] o: Out<f32, (One, D<128>)>,
    ) {
        o.store(b.load());
    }

    #[test]
    fn report_35_a_block_that_the_array_does_not_have_is_not_clamped() {
        for device in devices() {
            let (x, b) = (made(&device, &[16, 128], |at| at as f32), made(&device, &[1, 128], |at| at as f32));
            let text = message(&refused(bias().launch(&device, &x, &b)));
            says(
                &text,
                &[
                    "error[L008]: block index 1 along axis 0 of operand `b` is outside the array [1, 128]",
                    "1 element in blocks of 1 make 1 block;",
                    "at grid step [0]",
                    "the index map must give 0 to 0 along this axis",
                    "b: In<f32, (One, D<128>)>",
                    "^^^^^^^^^^^^^^^^^^^^^^^^^",
                ],
            );
            // As reported: a dimension of 1 that is squeezed, and one that is not.
            let b = made(&device, &[1, 3, 1, 256], |at| at as f32);
            let error = refused(layered().launch(&device, &b));
            says(&message(&error), &["block index 1 along axis 0 of operand `b` is outside the array [1, 3, 1, 256]"]);
            let want: Vec<f32> = (0..768).map(|at| at as f32).collect();
            expect(&right().launch(&device, &b).unwrap(), &[3, 1, 256], &want);
        }
    }
}

// 42: not done, because a kernel over the chips of a mesh is another issue.

// ---- 43: blocks of a vector -------------------------------------------------------------------------------------

mod vectors {
    use super::*;

    #[tpu_kernel(grid(i: n / B))]
    fn copy<T: Element, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>) {
        o.store(x.load());
    }

    #[tpu_kernel(grid(i: steps), semantics(parallel))]
    fn counted<B: Dim>(
        #[block([n] at (i))] x: In<f32, (B,)>,
        #[block([steps] at (0))] many: In<f32, (D<128>,)>,
        #[block([n] at (i))] o: Out<f32, (B,)>,
    ) {
        let _ = many;
        o.store(x.load());
    }

    #[test]
    fn report_43_blocks_of_a_vector_and_grids_of_its_blocks() {
        for device in devices() {
            // As many steps as blocks cover the vector, whatever its length.
            for n in [1, 127, 128, 129, 256, 1000] {
                let x = made(&device, &[n], |at| at as f32);
                let want: Vec<f32> = (0..n).map(|at| at as f32).collect();
                for block in [128, 256, 1024] {
                    expect(&copy().b(block).launch(&device, &x).unwrap(), &[n], &want);
                }
            }
            // A block of 100 of 1000 is refused with the rule, and what the message says works does.
            let x = made(&device, &[1000], |at| at as f32);
            let text = message(&refused(copy().b(100).launch(&device, &x)));
            says(
                &text,
                &[
                    "error[L012]: operand `x`: a block of 100 along axis 0 of 1000 elements does not fit v5e's tiles",
                    "the only dimension of a block is a multiple of 128 or the whole axis; 128 works",
                ],
            );
            let want: Vec<f32> = (0..1000).map(|at| at as f32).collect();
            for block in [128, 1000] {
                expect(&copy().b(block).launch(&device, &x).unwrap(), &[1000], &want);
            }
            for block in [1, 64, 127, 192, 999, 1001] {
                assert_eq!(refused(copy().b(block).launch(&device, &x)).code(), "L012", "{block}");
            }
            // Narrow elements are packed: a row of registers holds more of them.
            let narrow = made(&device, &[1000], |at| bf16::from_f32(at as f32));
            says(&message(&refused(copy().b(128).launch(&device, &narrow))), &["a multiple of 256", "256 or 1000 works"]);
            assert_eq!(copy().b(256).launch(&device, &narrow).unwrap().shape(), [1000]);

            // A grid of another size than the vector's blocks is an error, never a wrong shape.
            let x = made(&device, &[256], |at| at as f32);
            let steps = |n: usize| made(&device, &[n], |_| 0.0f32);
            assert_eq!(refused(counted().b(128).launch(&device, &x, &steps(3))).code(), "L008");
            assert_eq!(refused(counted().b(128).launch(&device, &x, &steps(1))).code(), "L017");
            let want: Vec<f32> = (0..256).map(|at| at as f32).collect();
            expect(&counted().b(128).launch(&device, &x, &steps(2)).unwrap(), &[256], &want);
        }
    }
}
