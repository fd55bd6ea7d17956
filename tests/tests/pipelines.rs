//! Pipelines inside kernels, against plain Rust: each on both executors, and some of each kind before libtpu.

use tpu_device::Device;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{Counted, array, counted, devices, expect, made, of};
use tpu_tests::libtpu::compiles;

// ---- blocks in, blocks out -------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn doubled<T: Float, BM: Dim, BK: Dim>(#[hbm([m, k])] x: Hbm<T, 2>, #[hbm([m, k])] o: HbmOut<T, 2>) {
    pipeline((m.div_ceil(BM), k / BK))
        .input(x.blocks::<(BM, BK)>(), |[i, kk]| (i, kk))
        .output(o.blocks::<(BM, BK)>(), |[i, kk]| (i, kk))
        .run(|[_i, _kk], (x, o)| o.store(x.load() * 2.0));
}

#[test]
fn blocks_go_in_and_out() {
    for device in devices() {
        for (m, k) in [(32, 256), (8, 128), (8, 512), (64, 128)] {
            let o = doubled().bm(8).bk(128).launch(&device, &array(&device, &[m, k])).unwrap();
            expect(&o, &[m, k], &of(&counted(&[m, k]), |x| 2.0 * x));
        }
    }
}

/// Rows that are no multiple of the block: the last block copies only what exists.
#[test]
fn uneven_rows() {
    for device in devices() {
        for m in [28, 1, 7, 8, 9, 15, 20, 31] {
            for bm in [1, 2, 8, 16, 24] {
                let o = doubled().bm(bm).bk(128).launch(&device, &array(&device, &[m, 128])).unwrap();
                expect(&o, &[m, 128], &of(&counted(&[m, 128]), |x| 2.0 * x));
            }
        }
    }
}

/// `steps` of them, in blocks of 8 rows, with so many buffers.
fn buffered<const N: usize>(x: Hbm<f32, 2>, o: HbmOut<f32, 2>, steps: (Scalar<i32>, Scalar<i32>)) {
    pipeline(steps)
        .input(x.blocks::<(D<8>, D<128>)>(), |[i, j]| (i, j))
        .buffers(N)
        .output(o.blocks::<(D<8>, D<128>)>(), |[i, j]| (i, j))
        .buffers(N)
        .run(|[i, j], (x, o)| o.store(x.load() + (i * 100 + j).cast::<f32>()));
}

#[tpu_kernel]
fn one(#[hbm([m, k])] x: Hbm<f32, 2>, a: Scalar<i32>, b: Scalar<i32>, #[hbm([m, k])] o: HbmOut<f32, 2>) {
    buffered::<1>(x, o, (a, b));
}
#[tpu_kernel]
fn two(#[hbm([m, k])] x: Hbm<f32, 2>, a: Scalar<i32>, b: Scalar<i32>, #[hbm([m, k])] o: HbmOut<f32, 2>) {
    buffered::<2>(x, o, (a, b));
}
#[tpu_kernel]
fn three(#[hbm([m, k])] x: Hbm<f32, 2>, a: Scalar<i32>, b: Scalar<i32>, #[hbm([m, k])] o: HbmOut<f32, 2>) {
    buffered::<3>(x, o, (a, b));
}
#[tpu_kernel]
fn seven(#[hbm([m, k])] x: Hbm<f32, 2>, a: Scalar<i32>, b: Scalar<i32>, #[hbm([m, k])] o: HbmOut<f32, 2>) {
    buffered::<7>(x, o, (a, b));
}

/// A grid that the launch gives: none, one and few steps, also fewer than there are buffers. What no step writes stays poison.
#[test]
fn dynamic_grids_and_any_number_of_buffers() {
    for device in devices() {
        let x = array(&device, &[24, 384]);
        for (a, b) in [(0, 0), (0, 3), (3, 0), (1, 1), (1, 2), (2, 1), (3, 3), (-1, 2), (-1, -1), (1, 3)] {
            let written = |row: usize, col: usize| ((row / 8) as i32) < a && ((col / 128) as i32) < b;
            let value = |at: usize| match (at / 384, at % 384) {
                (row, col) if written(row, col) => (at + 100 * (row / 8) + col / 128) as f32,
                _ => f32::NAN,
            };
            let want: Vec<f32> = (0..24 * 384).map(value).collect();
            expect(&one().launch(&device, &x, a, b).unwrap(), &[24, 384], &want);
            expect(&two().launch(&device, &x, a, b).unwrap(), &[24, 384], &want);
            expect(&three().launch(&device, &x, a, b).unwrap(), &[24, 384], &want);
            expect(&seven().launch(&device, &x, a, b).unwrap(), &[24, 384], &want);
        }
    }
}

/// An index map that turns the blocks, and two outputs.
#[tpu_kernel]
fn turned<BM: Dim, BK: Dim>(#[hbm([m, k])] x: Hbm<f32, 2>, #[hbm([k, m])] o: HbmOut<f32, 2>, #[hbm([m, k])] p: HbmOut<f32, 2>) {
    pipeline((k / BK, m / BM))
        .input(x.blocks::<(BM, BK)>(), |[j, i]| (i, j))
        .output(o.blocks::<(BK, BM)>(), |[j, i]| (j, i))
        .output(p.blocks::<(BM, BK)>(), |[j, i]| (i, j))
        .run(|[_j, _i], (x, o, p)| {
            o.store(x.load().t());
            p.store(-x.load());
        });
}

#[test]
fn transposed_maps_and_two_outputs() {
    for device in devices() {
        let (o, p) = turned().bm(128).bk(256).launch(&device, &array(&device, &[384, 512])).unwrap();
        let turned: Vec<f32> = (0..512 * 384).map(|at| ((at % 384) * 512 + at / 384) as f32).collect();
        expect(&o, &[512, 384], &turned);
        expect(&p, &[384, 512], &of(&counted(&[384, 512]), |x| -x));
    }
}

// ---- blocks that stay, and come again --------------------------------------------------------------------------------------

/// The output's block stays while `l` runs, and is accumulated; the bias is one block of all steps.
#[tpu_kernel]
fn product<BM: Dim, BN: Dim, BK: Dim>(
    #[hbm([m, k])] x: Hbm<f32, 2>,
    #[hbm([k, n])] w: Hbm<f32, 2>,
    #[hbm([1, n])] bias: Hbm<f32, 2>,
    #[hbm([m, n])] o: HbmOut<f32, 2>,
) {
    pipeline((m.div_ceil(BM), n / BN, k / BK))
        .input(x.blocks::<(BM, BK)>(), |[i, _, l]| (i, l))
        .input(w.blocks::<(BK, BN)>(), |[_, j, l]| (l, j))
        .input(bias.blocks::<(One, BN)>(), |[_, j, _]| (0, j))
        .output(o.blocks::<(BM, BN)>(), |[i, j, _]| (i, j))
        .run(|[_i, _j, l], (x, w, bias, mut o)| {
            if l == 0 {
                o.store(bias.load());
            }
            o += dot(x.load(), w.load());
        });
}

#[test]
fn outputs_keep_their_contents_while_the_block_stays() {
    for device in devices() {
        for m in [16, 8, 21] {
            let small = |at: usize| (at % 7) as f32 - 3.0;
            let (k, n) = (256, 256);
            let (x, w) = (made(&device, &[m, k], small), made(&device, &[k, n], small));
            let o = product().bm(8).bn(128).bk(128).launch(&device, &x, &w, &array(&device, &[1, n])).unwrap();
            let sum = |i: usize, j: usize| (0..k).map(|l| small(i * k + l) * small(l * n + j)).sum::<f32>();
            let want: Vec<f32> = (0..m * n).map(|at| sum(at / n, at % n) + (at % n) as f32).collect();
            expect(&o, &[m, n], &want);
        }
    }
}

/// A sum over blocks whose turn comes again later: the output is read back.
#[tpu_kernel]
fn column_sums<BM: Dim, BN: Dim>(#[hbm([m, n])] x: Hbm<f32, 2>, #[hbm([8, n])] o: HbmOut<f32, 2>) {
    pipeline((m / BM, n / BN))
        .input(x.blocks::<(BM, BN)>(), |[i, j]| (i, j))
        .update(o.blocks::<(D<8>, BN)>(), |[_, j]| (0, j))
        .run(|[i, _j], (x, mut o)| {
            if i == 0 {
                o.fill(0.0);
            }
            o += x.load().sum(Sublanes);
        });
}

#[test]
fn outputs_that_are_read_back() {
    for device in devices() {
        for n in [128, 384] {
            let o = column_sums().bm(8).bn(128).launch(&device, &array(&device, &[24, n])).unwrap();
            let sum = |col: usize| (0..24).map(|row| (row * n + col) as f32).sum::<f32>();
            expect(&o, &[8, n], &(0..8 * n).map(|at| sum(at % n)).collect::<Vec<_>>());
        }
    }
}

/// Scratch lasts from step to step, and what stands before and after the pipeline runs once.
#[tpu_kernel]
fn running<BM: Dim, C: Dim>(
    #[hbm([m, c])] x: Hbm<f32, 2>,
    #[hbm([m, c])] o: HbmOut<f32, 2>,
    #[block([1, c] at (0, 0))] total: Out<f32, (One, C)>,
    #[scratch] sum: Vmem<f32, (One, C)>,
) {
    sum.fill(1.0);
    pipeline((m / BM,)).input(x.blocks::<(BM, C)>(), |[i]| (i, 0)).output(o.blocks::<(BM, C)>(), |[i]| (i, 0)).run(
        |[_i], (x, o)| {
            o.store(x.load() + sum.load());
            sum.store(sum.load() + x.load().sum(Sublanes));
        },
    );
    total.store(sum.load());
}

#[test]
fn scratch_lasts_and_there_is_a_before_and_an_after() {
    for device in devices() {
        let x = made(&device, &[24, 128], |at| (at / 128) as f32);
        let (o, total) = running().bm(8).c(128).launch(&device, &x).unwrap();
        let before = |row: usize| 1.0 + (0..row / 8 * 8).sum::<usize>() as f32;
        expect(&o, &[24, 128], &(0..24 * 128).map(|at| (at / 128) as f32 + before(at / 128)).collect::<Vec<_>>());
        expect(&total, &[1, 128], &[277.0; 128]);
    }
}

/// What is the same in every step needs no second buffer.
#[test]
fn blocks_of_all_steps_have_one_buffer() {
    let buffers = |kernel: &dyn Launchable, inputs: usize| {
        let text = kernel.stage(&vec![DType::F32; inputs]).unwrap().to_string();
        let memory = text.lines().find(|line| line.contains("scoped")).unwrap().to_string();
        memory.split("vmem<").skip(1).map(|ty| ty.split('>').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(buffers(&fixed(), 2), ["2x8x128xf32", "1x128xf32", "8x128xf32"]);
    assert_eq!(buffers(&doubled().bm(8).bk(128), 1), ["2x8x128xf32", "2x8x128xf32"]);
}

/// One row for all blocks, and one block for all sums.
#[tpu_kernel]
fn fixed(#[hbm([m, 128])] x: Hbm<f32, 2>, #[hbm([1, 128])] row: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>) {
    pipeline((m / 8,))
        .input(x.blocks::<(D<8>, D<128>)>(), |[i]| (i, 0))
        .input(row.blocks::<(One, D<128>)>(), |_| (0, 0))
        .output(o.blocks::<(D<8>, D<128>)>(), |_| (0, 0))
        .run(|[i], (x, row, mut o)| {
            if i == 0 {
                o.fill(0.0);
            }
            o += x.load() * row.load();
        });
}

#[test]
fn blocks_that_are_the_same_in_every_step() {
    for device in devices() {
        let o = fixed().launch(&device, &array(&device, &[24, 128]), &array(&device, &[1, 128])).unwrap();
        let sum = |at: usize| (0..3).map(|block| (block * 1024 + at) as f32).sum::<f32>() * (at % 128) as f32;
        expect(&o, &[8, 128], &(0..1024).map(sum).collect::<Vec<_>>());
    }
}

// ---- pipelines in pipelines, and in a grid ---------------------------------------------------------------------------------

/// For each block of rows, a pipeline over the rows of the other array.
#[tpu_kernel]
fn distances<BM: Dim, BN: Dim, C: Dim>(
    #[hbm([m, c])] x: Hbm<f32, 2>,
    #[hbm([n, c])] y: Hbm<f32, 2>,
    #[hbm([m, c])] o: HbmOut<f32, 2>,
    #[hbm([m, c])] p: HbmOut<f32, 2>,
) {
    pipeline((m / BM,)).input(x.blocks::<(BM, C)>(), |[i]| (i, 0)).output(o.blocks::<(BM, C)>(), |[i]| (i, 0)).run(
        |[i], (x, mut o)| {
            o.fill(0.0);
            // As many steps as the outer step's number, none in the first.
            pipeline((i,)).input(y.blocks::<(BN, C)>(), |[j]| (j, 0)).buffers(3).output(p.blocks::<(BM, C)>(), |[_]| (i, 0)).run(
                |[j], (y, p)| {
                    o += x.load() * y.load().sum(Sublanes);
                    p.store(x.load() + j.cast::<f32>());
                },
            );
        },
    );
}

#[test]
fn pipelines_in_pipelines() {
    for device in devices() {
        let (x, y) = (array(&device, &[32, 128]), made(&device, &[24, 128], |at| (at / 128 / 8) as f32));
        let (o, p) = distances().bm(8).bn(8).c(128).launch(&device, &x, &y).unwrap();
        let factor = |row: usize| 8.0 * (0..row / 8).sum::<usize>() as f32;
        expect(&o, &[32, 128], &(0..32 * 128).map(|at| at as f32 * factor(at / 128)).collect::<Vec<_>>());
        let last = |at: usize| if at < 1024 { f32::NAN } else { (at + at / 1024 - 1) as f32 };
        expect(&p, &[32, 128], &(0..32 * 128).map(last).collect::<Vec<_>>());
    }
}

/// Each step of the grid has a window, and a pipeline of its own.
#[tpu_kernel(grid(i: m / BM))]
fn in_a_grid<BM: Dim, BK: Dim>(
    #[block([m, 128] at (i, 0))] scale: In<f32, (BM, D<128>)>,
    #[hbm([m, k])] x: Hbm<f32, 2>,
    #[block([m, 128] at (i, 0))] mut o: Out<f32, (BM, D<128>)>,
) {
    o.fill(0.0);
    pipeline((k / BK,)).input(x.blocks::<(BM, BK)>(), |[kk]| (i, kk)).run(|[_kk], (x,)| {
        o += scale.load() * x.load().sum(Lanes);
    });
}

#[test]
fn pipelines_in_a_grid() {
    for device in devices() {
        let scale = made(&device, &[16, 128], |at| (at % 3) as f32);
        let o = in_a_grid().bm(8).bk(128).launch(&device, &scale, &made(&device, &[16, 384], |at| (at / 384) as f32)).unwrap();
        let want: Vec<f32> = (0..16 * 128).map(|at| (at % 3) as f32 * (at / 128 * 384) as f32).collect();
        expect(&o, &[16, 128], &want);
    }
}

/// A second pipeline reads what the first has written.
#[tpu_kernel]
fn in_turn<BM: Dim, C: Dim>(#[hbm([m, c])] x: Hbm<f32, 2>, #[hbm([m, c])] half: HbmOut<f32, 2>, #[hbm([m, c])] o: HbmOut<f32, 2>) {
    let rows = || (m / BM,);
    pipeline(rows())
        .input(x.blocks::<(BM, C)>(), |[i]| (i, 0))
        .output(half.blocks::<(BM, C)>(), |[i]| (i, 0))
        .run(|[_], (x, half)| half.store(x.load() * 0.5));
    pipeline(rows())
        .input(half.blocks::<(BM, C)>(), |[i]| (m / BM - 1 - i, 0))
        .output(o.blocks::<(BM, C)>(), |[i]| (i, 0))
        .run(|[_], (half, o)| o.store(half.load() + 1.0));
}

#[test]
fn one_pipeline_after_another() {
    for device in devices() {
        let (half, o) = in_turn().bm(8).c(128).launch(&device, &array(&device, &[24, 128])).unwrap();
        expect(&half, &[24, 128], &of(&counted(&[24, 128]), |x| x / 2.0));
        let turned = |at: usize| ((2 - at / 1024) * 1024 + at % 1024) as f32 / 2.0 + 1.0;
        expect(&o, &[24, 128], &(0..24 * 128).map(turned).collect::<Vec<_>>());
    }
}

// ---- element types, helpers, control flow ----------------------------------------------------------------------------------

/// Of any type, with a helper that takes the windows.
#[tpu_kernel]
fn moved<T: Element, BM: Dim>(#[hbm([m, 128])] x: Hbm<T, 2>, #[hbm([m, 128])] o: HbmOut<T, 2>) {
    pipeline([m / BM])
        .input(x.blocks::<(BM, D<128>)>(), |[i]| (i, 0))
        .buffers(3)
        .output(o.blocks::<(BM, D<128>)>(), |[i]| (m / BM - 1 - i, 0))
        .run(|[_], (x, o)| store_in(o, x));
}

fn store_in<T: Element, S: Shape>(o: Vmem<T, S>, x: View<InputWindow, T, S>) {
    o.store(x.load());
}

#[test]
fn every_width_of_elements() {
    fn check<T: Counted + std::fmt::Debug>(device: &Device) {
        let value = |at: usize| T::counted((at / 128 % 50) as i32);
        let o = moved().bm(32).launch(device, &made(device, &[96, 128], value)).unwrap();
        let turned = |at: usize| value((2 - at / 4096) * 4096 + at % 4096);
        expect(&o, &[96, 128], &(0..96 * 128).map(turned).collect::<Vec<_>>());
    }
    for device in devices() {
        check::<f32>(&device);
        check::<bf16>(&device);
        check::<i32>(&device);
        check::<bool>(&device);
    }
}

/// Eight operands, in a loop and in a branch, with a grid of three constants.
#[tpu_kernel]
fn many(
    #[hbm([16, 128])] x: Hbm<f32, 2>,
    #[hbm([16, 128])] a: HbmOut<f32, 2>,
    #[hbm([16, 128])] b: HbmOut<f32, 2>,
    #[hbm([16, 128])] c: HbmOut<f32, 2>,
    times: Scalar<i32>,
) {
    for round in 0..times {
        if round != 1 {
            let block = || x.blocks::<(D<8>, D<128>)>();
            pipeline((1, 2, 1))
                .input(block(), |[_, i, _]| (i, 0))
                .input(block(), |[_, i, _]| (1 - i, 0))
                .input(block(), |[_, _, _]| (0, 0))
                .input(block(), |[_, _, _]| (1, 0))
                .input(block(), |[j, i, k]| (i + j + k, 0))
                .output(a.blocks::<(D<8>, D<128>)>(), |[_, i, _]| (i, 0))
                .output(b.blocks::<(D<8>, D<128>)>(), |[_, i, _]| (1 - i, 0))
                .output(c.blocks::<(D<8>, D<128>)>(), |[_, _, _]| (round % 2, 0))
                .run(|[_, i, _], (own, other, first, second, own_too, a, b, c)| {
                    a.store(own.load() - other.load());
                    b.store(own_too.load() + (i + round).cast::<f32>());
                    c.store(first.load() * second.load());
                });
        }
    }
}

#[test]
fn eight_operands_in_loops_and_branches() {
    for device in devices() {
        let x = |row: usize, col: usize| (row * 128 + col) as f32;
        let (a, b, c) = many().launch(&device, &array(&device, &[16, 128]), 4).unwrap();
        let all = |f: &dyn Fn(usize, usize) -> f32| (0..16 * 128).map(|at| f(at / 128, at % 128)).collect::<Vec<_>>();
        expect(&a, &[16, 128], &all(&|row, col| x(row, col) - x((row + 8) % 16, col)));
        // The last of four rounds is round 3.
        expect(&b, &[16, 128], &all(&|row, col| x((row + 8) % 16, col) + (1 - row / 8) as f32 + 3.0));
        expect(&c, &[16, 128], &all(&|row, col| x(row % 8, col) * x(row % 8 + 8, col)));
        let (a, _, _) = many().launch(&device, &array(&device, &[16, 128]), 0).unwrap();
        expect(&a, &[16, 128], &[f32::NAN; 16 * 128]);
    }
}

#[tpu_kernel]
fn rounded_up(a: Scalar<i32>, b: Scalar<i32>, #[block([1, 128] at (0, 0))] o: Out<i32, (One, D<128>)>) {
    o.fill(a.div_ceil(b));
}

#[test]
fn quotients_rounded_up() {
    for device in devices() {
        for (a, b) in [(28, 8), (24, 8), (0, 8), (1, 8), (-1, 8), (-8, 8), (-9, 8), (9, -8), (8, -8), (-9, -8), (i32::MAX, 2)] {
            let want = (f64::from(a) / f64::from(b)).ceil() as i32;
            expect(&rounded_up().launch(&device, a, b).unwrap(), &[1, 128], &[want; 128]);
        }
    }
}

// ---- what libtpu says ------------------------------------------------------------------------------------------------------

/// Kernels of each kind on every chip.
#[test]
fn libtpu_takes_them() {
    let worker = env!("CARGO_BIN_EXE_worker");
    let f32s = |shape: &[usize]| (DType::F32, shape.to_vec());
    compiles(worker, &doubled().bm(8).bk(128), &[f32s(&[64, 256])]);
    compiles(worker, &doubled().bm(8).bk(128), &[f32s(&[28, 128])]);
    compiles(worker, &doubled().bm(16).bk(256), &[f32s(&[28, 512])]);
    compiles(worker, &doubled().bm(16).bk(256), &[(DType::Bf16, vec![24, 512])]);
    compiles(worker, &two(), &[f32s(&[24, 384])]);
    compiles(worker, &seven(), &[f32s(&[24, 384])]);
    compiles(worker, &turned().bm(128).bk(256), &[f32s(&[384, 512])]);
    compiles(worker, &product().bm(8).bn(128).bk(128), &[f32s(&[21, 256]), f32s(&[256, 256]), f32s(&[1, 256])]);
    compiles(worker, &column_sums().bm(8).bn(128), &[f32s(&[24, 384])]);
    compiles(worker, &running().bm(8).c(128), &[f32s(&[24, 128])]);
    compiles(worker, &distances().bm(8).bn(8).c(128), &[f32s(&[32, 128]), f32s(&[24, 128])]);
    compiles(worker, &in_a_grid().bm(8).bk(128), &[f32s(&[16, 128]), f32s(&[16, 384])]);
    for (dtype, rows) in
        [(DType::F32, 32), (DType::Bf16, 32), (DType::F16, 32), (DType::I8, 32), (DType::Bool, 32), (DType::Bf16, 8)]
    {
        compiles(worker, &moved().bm(rows), &[(dtype, vec![96, 128])]);
    }
    compiles(worker, &fixed(), &[f32s(&[24, 128]), f32s(&[1, 128])]);
    compiles(worker, &many(), &[f32s(&[16, 128])]);
}
