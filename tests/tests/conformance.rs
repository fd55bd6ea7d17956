//! The telling cases of Pallas' own tests, as kernels of this language, on both executors: blocks and
//! padding (1 to 5), index maps over the grid's extents (16), and how often windows are filled (17).
//! The numbers are those of `docs/semantics.md`'s reference list.

use half::bf16;
use tpu_device::{DType, Device};
use tpu_kernel::launch::LaunchError;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{Counted, devices, expect, made, refused, tensor};

#[tpu_kernel(grid(i: n / B))]
fn step_everywhere<T: Element, B: Dim>(#[block([n] at (i))] o: Out<T, (B,)>) {
    o.fill(i.cast::<T>());
}

#[tpu_kernel(grid(i: m / BM, j: n / BN, k: p / BP))]
fn steps_everywhere<BM: Dim, BN: Dim, BP: Dim>(#[block([m, n, p] at (i, j, k))] o: Out<i32, (BM, BN, BP)>) {
    o.fill(100 * i + 10 * j + k);
}

/// Writes past the end of an array are dropped.
#[test]
fn case_01_block_spec_with_padding() {
    fn all<T: Counted + std::fmt::Debug>(device: &Device) {
        for (n, b) in [(8, 3), (3, 8), (1, 1), (1, 128), (9, 8), (127, 128), (128, 128), (129, 128), (1000, 7)] {
            let o = step_everywhere().t(T::DTYPE).b(b).n(n).allow(Allow::BlockShape).launch(device).unwrap();
            let want: Vec<T> = (0..n).map(|at| T::counted((at / b) as i32)).collect();
            expect(&o, &[n], &want);
        }
    }
    for device in devices() {
        let step = |n, b| step_everywhere().t(DType::I32).b(b).n(n).allow(Allow::BlockShape).launch(&device).unwrap();
        expect(&step(8, 3), &[8], &[0, 0, 0, 1, 1, 1, 2, 2]);
        expect(&step(3, 8), &[3], &[0, 0, 0]);
        all::<f32>(&device);
        all::<bf16>(&device);
        all::<i32>(&device);
        all::<bool>(&device);

        for ([m, n, p], [bm, bn, bp]) in [([5, 7, 9], [2, 3, 4]), ([1, 1, 1], [3, 5, 7]), ([4, 16, 130], [3, 8, 128])] {
            let kernel = steps_everywhere().bm(bm).bn(bn).bp(bp).m(m).n(n).p(p).allow(Allow::BlockShape);
            let index = |at: usize| 100 * (at / (n * p) / bm) + 10 * (at / p % n / bn) + at % p / bp;
            let want: Vec<i32> = (0..m * n * p).map(|at| index(at) as i32).collect();
            expect(&kernel.launch(&device).unwrap(), &[m, n, p], &want);
        }
    }
}

#[tpu_kernel]
fn one_block<T: Element, B: Dim>(#[block([n] at (0))] x: In<T, (B,)>, #[block([m] at (0))] o: Out<T, (B,)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / BM, j: n / BN))]
fn padded<T: Element, BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<T, (BM, BN)>,
    #[block([(m / BM) * BM, (n / BN) * BN] at (i, j))] o: Out<T, (BM, BN)>,
) {
    o.store(x.load());
}

/// What a window holds outside its array, scratch that nothing wrote, an output block that no step or
/// no store filled: all read as poison.
#[test]
fn case_02_block_spec_padding_is_poison() {
    fn all<T: Counted + std::fmt::Debug>(device: &Device) {
        let copy = one_block().b(6).m(6).allow(Allow::BlockShape);
        let values = [1, 2, 3].map(T::counted);
        let o = copy.launch(device, &tensor(device, &values, &[3])).unwrap();
        let [a, b, c] = values;
        expect(&o, &[6], &[a, b, c, T::poison(), T::poison(), T::poison()]);

        for ([m, n], [bm, bn]) in [([3, 5], [8, 8]), ([9, 130], [8, 128]), ([1, 1], [3, 2]), ([16, 128], [8, 128])] {
            let x = made(device, &[m, n], |at| T::counted(at as i32 % 7));
            let o = padded().bm(bm).bn(bn).allow(Allow::BlockShape).launch(device, &x).unwrap();
            let (rows, cols) = (m.next_multiple_of(bm), n.next_multiple_of(bn));
            let at = |row: usize, col: usize| {
                if row < m && col < n { T::counted((row * n + col) as i32 % 7) } else { T::poison() }
            };
            let want: Vec<T> = (0..rows * cols).map(|o| at(o / cols, o % cols)).collect();
            expect(&o, &[rows, cols], &want);
        }

        let [scratch, partly, untouched] = {
            let (a, b, c) = unwritten().t(T::DTYPE).n(16).allow(Allow::BlockShape).launch(device, true).unwrap();
            [a, b, c]
        };
        expect(&scratch, &[8], &[T::poison(); 8]);
        let half = |first: [T; 4]| first.into_iter().chain([T::poison(); 4]).collect::<Vec<T>>();
        let both = [half([T::counted(0); 4]), half([T::counted(1); 4])].concat();
        expect(&partly, &[16], &both);
        expect(&untouched, &[16], &[half([T::counted(1); 4]), vec![T::poison(); 8]].concat());
    }
    for device in devices() {
        all::<f32>(&device);
        all::<bf16>(&device);
        all::<i32>(&device);
        all::<bool>(&device);
    }
}

/// `scratch` shows scratch before anything wrote it, `partly` has a half of each block stored, of
/// `untouched` only the first block is visited at all.
#[tpu_kernel(grid(i: n / 8))]
fn unwritten<T: Element>(
    #[block([8] at (0))] scratch: Out<T, (D<8>,)>,
    #[block([n] at (i))] partly: Out<T, (D<8>,)>,
    #[block([n] at (0))] untouched: Out<T, (D<8>,)>,
    #[scratch] nothing: Vmem<T, (D<8>,)>,
    store: Scalar<bool>,
) {
    if store {
        scratch.store(nothing.load());
        partly.store_at((0,), Tile::<T, (D<4>,)>::full(i.cast::<T>()));
        untouched.store_at((0,), Tile::<T, (D<4>,)>::full(i.cast::<T>()));
    }
}

#[tpu_kernel(grid(i: m / BM, j: n / BN, k: p / BP), semantics(parallel, parallel, parallel))]
fn plus_one<T: Number, BM: Dim, BN: Dim, BP: Dim>(
    #[block([m, n, p] at (i, j, k))] x: In<T, (BM, BN, BP)>,
    #[block([m, n, p] at (i, j, k))] o: Out<T, (BM, BN, BP)>,
    one: Scalar<T>,
) {
    o.store(x.load() + one);
}

/// A shape that no block divides, whole and exact.
#[test]
fn case_03_not_evenly_divisible_by_block_shape() {
    fn all<T: Counted + std::fmt::Debug>(device: &Device, dims: [usize; 3], blocks: [usize; 3]) {
        // Below 256, so that every type is exact.
        let x = made(device, &dims, |at| T::counted((at % 251) as i32));
        let kernel = plus_one().bm(blocks[0]).bn(blocks[1]).bp(blocks[2]).allow(Allow::BlockShape);
        let o = kernel.launch(device, &x, T::counted(1)).unwrap();
        let want: Vec<T> = (0..dims.iter().product::<usize>()).map(|at| T::counted((at % 251) as i32 + 1)).collect();
        expect(&o, &dims, &want);
    }
    for device in devices() {
        all::<f32>(&device, [7, 768, 640], [2, 512, 256]);
        for blocks in [[2, 64, 32], [7, 96, 80], [8, 128, 128], [1, 8, 128]] {
            all::<f32>(&device, [7, 96, 80], blocks);
            all::<bf16>(&device, [7, 96, 80], blocks);
            all::<i32>(&device, [7, 96, 80], blocks);
        }
    }
}

/// The sum over k is kept in the output window; each factor is masked where it is told to.
#[tpu_kernel(grid(i: m / 32, j: n / 32, kk: k / 32))]
fn product<T: Float>(
    #[block([m, k] at (i, kk))] x: In<T, (D<32>, D<32>)>,
    #[block([k, n] at (kk, j))] y: In<T, (D<32>, D<32>)>,
    #[block([m, n] at (i, j))] mut o: Out<f32, (D<32>, D<32>)>,
    mask_x: Scalar<bool>,
    mask_y: Scalar<bool>,
) {
    let (mut a, mut b) = (x.load(), y.load());
    if mask_x {
        a = x.load_or(0.0);
    }
    if mask_y {
        b = select(y.in_bounds(), b, 0.0);
    }
    if kk == 0 {
        o.fill(0.0);
    }
    o += dot(a, b);
}

/// A sum over padding is poison, unless both factors are masked: 0 · NaN is NaN.
#[test]
fn case_04_padding_reaches_a_product_unless_masked() {
    fn all<T: Counted + Float + std::fmt::Debug>(device: &Device) {
        let value = |at: usize| (at * 7 % 11) as i32 - 5;
        let (x, y) = (made(device, &[32, 33], |at| T::counted(value(at))), made(device, &[33, 32], |at| T::counted(value(at + 3))));
        for precision in [Precision::Default, Precision::High, Precision::Highest] {
            let kernel = product().precision(precision).allow(Allow::BlockShape);
            for (mask_x, mask_y) in [(false, false), (true, false), (false, true)] {
                let o = kernel.launch(device, &x, &y, mask_x, mask_y).unwrap();
                expect(&o, &[32, 32], &[f32::NAN; 32 * 32]);
            }
            let o = kernel.launch(device, &x, &y, true, true).unwrap();
            let element = |o: usize| (0..33).map(|k| value(o / 32 * 33 + k) * value(k * 32 + o % 32 + 3)).sum::<i32>();
            expect(&o, &[32, 32], &(0..32 * 32).map(|o| element(o) as f32).collect::<Vec<_>>());
        }
    }
    for device in devices() {
        all::<f32>(&device);
        all::<bf16>(&device);
    }
}

#[tpu_kernel(grid(i: m / 4))]
fn next_rows(#[block([m, 4] at (i + 1, 0))] x: In<f32, (D<4>, D<4>)>, #[block([m, 4] at (i, 0))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn x_down(#[block([m, n] at (i + 1, j))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (i, j))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn x_right(#[block([m, n] at (i, j + i))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (i, j))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn x_negative(#[block([m, n] at (i, j - 1))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (i, j))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn o_down(#[block([m, n] at (i, j))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (2 * i, j))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn o_right(#[block([m, n] at (i, j))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (i, j + 100))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn o_negative(#[block([m, n] at (i, j))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (i - j, j))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m, j: n / 4))]
fn squeezed_row(
    #[block([m, n] at (squeeze i * 3, j))] x: In<f32, (D<4>,)>,
    #[block([m, n] at (squeeze i, j))] o: Out<f32, (D<4>,)>,
) {
    o.store(x.load());
}

/// Both windows leave the array; `o` does so at an earlier step.
#[tpu_kernel(grid(i: m / 4, j: n / 4))]
fn both(#[block([m, n] at (i + 1, j))] x: In<f32, (D<4>, D<4>)>, #[block([m, n] at (i, j + 1))] o: Out<f32, (D<4>, D<4>)>) {
    o.store(x.load());
}

/// A block index outside the array is refused before anything runs, at the first step that has it.
#[test]
fn case_05_out_of_bounds_block_spec_raises() {
    for device in devices() {
        let x = made(&device, &[16, 4], |at| at as f32);
        let error = refused(next_rows().allow(Allow::BlockShape).launch(&device, &x));
        assert!(error.to_string().starts_with("block index 4 along axis 0 of operand `x` is outside the array"), "{error}");

        let x = made(&device, &[14, 15], |at| at as f32);
        type Case<'a> = (&'a dyn Fn() -> LaunchError, (&'a str, usize, i64, [i32; 2]));
        macro_rules! launch {
            ($kernel:ident) => {
                &|| refused($kernel().allow(Allow::BlockShape).launch(&device, &x))
            };
        }
        let cases: [Case<'_>; 7] = [
            (launch!(x_down), ("x", 0, 4, [3, 0])),
            (launch!(x_right), ("x", 1, 4, [1, 3])),
            (launch!(x_negative), ("x", 1, -1, [0, 0])),
            (launch!(o_down), ("o", 0, 4, [2, 0])),
            (launch!(o_right), ("o", 1, 100, [0, 0])),
            (launch!(o_negative), ("o", 0, -1, [0, 1])),
            (launch!(both), ("o", 1, 4, [0, 3])),
        ];
        for (launch, (operand, axis, index, step)) in cases {
            match launch() {
                LaunchError::BlockIndex { operand: o, axis: a, index: i, extent, block, blocks, step: s, .. } => {
                    assert_eq!((o.as_str(), a, i, s.as_slice()), (operand, axis, index, step.as_slice()));
                    assert_eq!((extent, block, blocks), ([14, 15][axis], 4, 4));
                }
                other => panic!("{other}"),
            }
        }
        match refused(squeezed_row().allow(Allow::BlockShape).launch(&device, &x)) {
            LaunchError::BlockIndex { operand, axis, index, extent, block, blocks, step, .. } => {
                assert_eq!((operand.as_str(), axis, index, step.as_slice()), ("x", 0, 15, [5, 0].as_slice()));
                assert_eq!((extent, block, blocks), (14, 1, 14));
            }
            other => panic!("{other}"),
        }
        let stats = device.stats();
        assert_eq!((stats.launches, stats.compilations), (0, 0), "nothing ran");
        assert_eq!(stats.peak_bytes, 4 * (16 * 4 + 14 * 15), "nothing was allocated");
    }
}

#[tpu_kernel(grid(i: m / 8 * 2))]
fn from_the_count(
    #[block([m, 128] at (1 + 8 - num_programs(0), 0))] x: In<i32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<i32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 8, j: n / 128))]
fn reversed(
    #[block([m, n] at (last(i) - i, num_programs(1) - 1 - j))] x: In<i32, (D<8>, D<128>)>,
    #[block([m, n] at (i, j))] o: Out<i32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 8, j: n / 128))]
fn rotated(
    #[block([m, n] at (i, j))] x: In<i32, (D<8>, D<128>)>,
    #[block([m, n] at ((i + 1) % num_programs(0), (j * (last(j) + 2)) % num_programs(1)))] o: Out<i32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

/// Index maps may use the number of grid steps, of inputs and of outputs.
#[test]
fn case_16_num_programs_block_spec() {
    for device in devices() {
        let x = made(&device, &[32, 128], |at| at as i32);
        let o = from_the_count().launch(&device, &x).unwrap();
        expect(&o, &[8, 128], &(1024..2048).collect::<Vec<i32>>());

        for [blocks_m, blocks_n] in [[1, 1], [2, 3], [4, 2]] {
            let (m, n) = (8 * blocks_m, 128 * blocks_n);
            let x = made(&device, &[m, n], |at| at as i32);
            let block = |at: usize| ((at / n / 8, at / n % 8), (at % n / 128, at % 128));
            let element = |row: (usize, usize), col: (usize, usize)| ((row.0 * 8 + row.1) * n + col.0 * 128 + col.1) as i32;
            let want =
                (0..m * n).map(block).map(|(row, col)| element((blocks_m - 1 - row.0, row.1), (blocks_n - 1 - col.0, col.1)));
            expect(&reversed().launch(&device, &x).unwrap(), &[m, n], &want.collect::<Vec<_>>());
            // j · (N + 1) mod N is j: rows move, columns stay.
            let want = (0..m * n).map(block).map(|(row, col)| element(((row.0 + blocks_m - 1) % blocks_m, row.1), col));
            expect(&rotated().launch(&device, &x).unwrap(), &[m, n], &want.collect::<Vec<_>>());
        }
    }
}

/// An input block that is constant over `j`, an output window that is revisited, and a counter in scratch.
#[tpu_kernel(grid(i: m / 8, j: 2))]
fn counted_steps(
    #[block([m, 256] at (i, 0))] x: In<f32, (D<8>, D<256>)>,
    #[block([m, 256] at (i, 0))] mut o: Out<f32, (D<8>, D<256>)>,
    #[scratch] mut s: Vmem<i32, (One, One)>,
) {
    if i == 0 && j == 0 {
        s.fill(0);
    }
    if j == 0 {
        o.store(x.load());
    }
    o += s.load().cast::<f32>();
    s += 1;
}

/// Two output windows: one whose block comes back after another's, one that records what it held then.
#[tpu_kernel(grid(i: n / 8))]
fn comes_back(#[block([16] at (choose(i == 2, 1, 0)))] o: Out<i32, (D<8>,)>, #[block([n] at (i))] seen: Out<i32, (D<8>,)>) {
    seen.store(o.load());
    o.fill(i);
}

/// A window keeps its contents while its block does not change, scratch keeps them over the whole grid.
#[test]
fn case_17_correct_number_of_stores() {
    for device in devices() {
        let zeros = made(&device, &[16, 256], |_| 0.0f32);
        let o = counted_steps().launch(&device, &zeros).unwrap();
        // Steps count 0, 1 in the first rows and 2, 3 in the others.
        let want: Vec<f32> = (0..16 * 256).map(|at| if at < 8 * 256 { 1.0 } else { 5.0 }).collect();
        expect(&o, &[16, 256], &want);

        let x = made(&device, &[40, 256], |at| (at % 64) as f32);
        let o = counted_steps().launch(&device, &x).unwrap();
        let want: Vec<f32> = (0..40 * 256).map(|at| (at % 64 + 4 * (at / (8 * 256)) + 1) as f32).collect();
        expect(&o, &[40, 256], &want);

        // Steps 0 and 1 share a block, step 2 has its own, step 3 is back at the first, which is poison again.
        let (o, seen) = comes_back().n(32).allow(Allow::BlockShape).launch(&device).unwrap();
        let rows = |values: &[i32]| values.iter().flat_map(|&v| [v; 8]).collect::<Vec<i32>>();
        expect(&seen, &[32], &rows(&[i32::MIN, 0, i32::MIN, i32::MIN]));
        expect(&o, &[16], &rows(&[3, 2]));
    }
}
