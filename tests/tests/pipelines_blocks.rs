//! Kinds of blocks of pipelines, against plain Rust: each on both executors and before libtpu.

use tpu_kernel::prelude::*;
use tpu_tests::devices::{array, counted, devices, expect, failed, made, of, tensor};
use tpu_tests::libtpu::compiles;

// ---- kinds of blocks -------------------------------------------------------------------------------------------------------

/// A dimension that the window does not have, in front and in the middle.
#[tpu_kernel]
fn squeezed<C: Dim>(#[hbm([a, b, m, c])] x: Hbm<f32, 4>, #[hbm([b, m, a, c])] o: HbmOut<f32, 4>) {
    pipeline((a, b, m / 8))
        .input(x.blocks::<(Squeezed, Squeezed, D<8>, C)>(), |[h, b, i]| (h, b, i, 0))
        .output(o.blocks::<(Squeezed, D<8>, Squeezed, C)>(), |[h, b, i]| (b, i, h, 0))
        .run(|[_, _, _], (x, o)| o.store(x.load() + 1.0));
}

#[test]
fn squeezed_dimensions() {
    for device in devices() {
        let (a, b, m, c) = (3, 2, 16, 128);
        let o = squeezed().c(c).launch(&device, &array(&device, &[a, b, m, c])).unwrap();
        let from = |at: usize| {
            let (col, h, row, batch) = (at % c, at / c % a, at / c / a % m, at / c / a / m);
            (((h * b + batch) * m + row) * c + col) as f32 + 1.0
        };
        expect(&o, &[b, m, a, c], &(0..a * b * m * c).map(from).collect::<Vec<_>>());
    }
}

/// Blocks of four dimensions and of one.
#[tpu_kernel]
fn ranks<B: Dim>(
    #[hbm([a, 2, 8, c])] x: Hbm<f32, 4>,
    #[hbm([n])] y: Hbm<f32, 1>,
    #[hbm([a, 2, 8, c])] o: HbmOut<f32, 4>,
    #[hbm([n])] p: HbmOut<f32, 1>,
) {
    pipeline((a,))
        .input(x.blocks::<(One, D<2>, D<8>, B)>(), |[i]| (i, 0, 0, 0))
        .output(o.blocks::<(One, D<2>, D<8>, B)>(), |[i]| (i, 0, 0, 0))
        .run(|[_], (x, o)| o.store(x.load() * 3.0));
    pipeline((n / B,))
        .input(y.blocks::<(B,)>(), |[i]| (i,))
        .output(p.blocks::<(B,)>(), |[i]| (i,))
        .run(|[_], (y, p)| p.store(y.load() * 5.0));
}

#[test]
fn blocks_of_every_rank() {
    for device in devices() {
        let (o, p) = ranks().b(128).launch(&device, &array(&device, &[3, 2, 8, 128]), &array(&device, &[512])).unwrap();
        expect(&o, &[3, 2, 8, 128], &of(&counted(&[3, 2, 8, 128]), |x| 3.0 * x));
        expect(&p, &[512], &of(&counted(&[512]), |x| 5.0 * x));
    }
}

#[tpu_kernel]
fn vectors<T: Float, B: Dim>(#[hbm([n])] x: Hbm<T, 1>, #[hbm([n])] o: HbmOut<T, 1>) {
    pipeline((n / B,))
        .input(x.blocks::<(B,)>(), |[i]| (i,))
        .buffers(3)
        .output(o.blocks::<(B,)>(), |[i]| (n / B - 1 - i,))
        .run(|[_], (x, o)| o.store(x.load() + x.load()));
}

/// Vectors, of whole registers and of less.
#[test]
fn blocks_of_vectors() {
    for device in devices() {
        for b in [1024, 256, 1] {
            let o = vectors().b(b).launch(&device, &array(&device, &[4 * b])).unwrap();
            let turned = |at: usize| 2.0 * ((3 - at / b) * b + at % b) as f32;
            expect(&o, &[4 * b], &(0..4 * b).map(turned).collect::<Vec<_>>());
        }
    }
}

/// Windows that overlap, read and written: of what two steps write, the later one stays.
#[tpu_kernel]
fn sliding(#[hbm([n, 8, 128])] x: Hbm<f32, 3>, #[hbm([n, 8, 128])] o: HbmOut<f32, 3>) {
    pipeline((n - 2,))
        .input(x.blocks::<(Sliding<D<3>>, D<8>, D<128>)>(), |[i]| (i, 0, 0))
        .output(o.blocks::<(Sliding<D<3>>, D<8>, D<128>)>(), |[i]| (i, 0, 0))
        .run(|[i], (x, o)| o.store(x.load() + i.cast::<f32>() * 10_000.0));
}

#[test]
fn windows_that_overlap() {
    for device in devices() {
        let n = 6;
        let o = sliding().launch(&device, &array(&device, &[n, 8, 128])).unwrap();
        let want = |at: usize| at as f32 + 10_000.0 * (at / 1024).min(n - 3) as f32;
        expect(&o, &[n, 8, 128], &(0..n * 1024).map(want).collect::<Vec<_>>());
    }
}

/// Parts whose size data decide, copied to the places that data give; each gets its size added.
#[tpu_kernel]
fn parts(
    #[prefetch([n])] starts: Prefetch<i32, 1>,
    #[prefetch([n])] sizes: Prefetch<i32, 1>,
    #[hbm([m, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([m, 8, 128])] o: HbmOut<f32, 3>,
) {
    pipeline((n,))
        .input(x.blocks::<(Bounded<D<4>>, D<8>, D<128>)>(), |[i]| ((starts.read(i), sizes.read(i)), 0, 0))
        .output(o.blocks::<(Bounded<D<4>>, D<8>, D<128>)>(), |[i]| ((starts.read(i), sizes.read(i)), 0, 0))
        .run(|[_], ((x, rows), (o, _))| o.store(x.load() + rows.cast::<f32>() * 100_000.0));
}

#[test]
fn parts_whose_size_data_decide() {
    for device in devices() {
        let parts_of: [(i32, i32); 5] = [(7, 3), (0, 4), (4, 1), (6, 0), (5, 2)];
        let [starts, sizes] = [parts_of.map(|p| p.0), parts_of.map(|p| p.1)];
        let (starts, sizes) = (tensor(&device, &starts, &[5]), tensor(&device, &sizes, &[5]));
        let o = parts().launch(&device, &starts, &sizes, &array(&device, &[11, 8, 128])).unwrap();
        let want = |at: usize| {
            let row = (at / 1024) as i32;
            let part = parts_of.iter().find(|&&(start, size)| (start..start + size).contains(&row));
            part.map_or(f32::NAN, |&(_, size)| at as f32 + 100_000.0 * size as f32)
        };
        expect(&o, &[11, 8, 128], &(0..11 * 1024).map(want).collect::<Vec<_>>());
    }
}

/// Rows that a list names, gathered in blocks of 8; the last block has fewer.
#[tpu_kernel]
fn gathered<C: Dim>(#[prefetch([n])] ids: Prefetch<i32, 1>, #[hbm([m, c])] x: Hbm<f32, 2>, #[hbm([n, c])] o: HbmOut<f32, 2>) {
    pipeline((n.div_ceil(8),))
        .input(x.blocks::<(Indirect<D<8>>, C)>(), |[i]| ((ids, i * 8, (n - i * 8).minimum(8)), 0))
        .output(o.blocks::<(D<8>, C)>(), |[i]| (i, 0))
        .run(|[_], (x, o)| o.store(x.load() * 2.0));
}

/// Rows scattered to where a list says; of those with one place the last stays.
#[tpu_kernel]
fn scattered<C: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[hbm([n, c])] x: Hbm<f32, 2>,
    #[hbm([m, c])] like: Hbm<f32, 2>,
    #[hbm([m, c])] o: HbmOut<f32, 2>,
) {
    copy(like, o).now();
    pipeline((n / 8,))
        .input(x.blocks::<(D<8>, C)>(), |[i]| (i, 0))
        .output(o.blocks::<(Indirect<D<8>>, C)>(), |[i]| ((ids, i * 8), 0))
        .run(|[_], (x, o)| o.store(x.load()));
}

#[test]
fn rows_by_a_list() {
    for device in devices() {
        for n in [8, 16, 13, 1] {
            let ids: Vec<i32> = (0..n as i32).map(|at| (at * 7 + 3) % 11).collect();
            let o = gathered().c(128).launch(&device, &tensor(&device, &ids, &[n]), &array(&device, &[11, 128])).unwrap();
            let want: Vec<f32> = ids.iter().flat_map(|id| (0..128).map(move |c| 2.0 * (id * 128 + c) as f32)).collect();
            expect(&o, &[n, 128], &want);
        }
        let ids: Vec<i32> = (0..16).map(|at| if at < 8 { 2 * at } else { at + 6 }).collect();
        let zeros = made(&device, &[24, 128], |_| -1.0f32);
        let o = scattered().c(128).launch(&device, &tensor(&device, &ids, &[16]), &array(&device, &[16, 128]), &zeros).unwrap();
        let mut want = vec![-1.0f32; 24 * 128];
        for (row, &id) in ids.iter().enumerate() {
            (0..128).for_each(|c| want[id as usize * 128 + c] = (row * 128 + c) as f32);
        }
        expect(&o, &[24, 128], &want);
    }
}

// ---- mistakes --------------------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn shifted<BK: Dim>(#[hbm([m, k])] x: Hbm<f32, 2>, by: Scalar<i32>, #[hbm([m, k])] o: HbmOut<f32, 2>) {
    pipeline((m.div_ceil(8), k.div_ceil(BK)))
        .input(x.blocks::<(D<8>, BK)>(), |[i, j]| (i + by, j))
        .output(o.blocks::<(D<8>, BK)>(), |[i, j]| (i, j))
        .run(|[_, _], (x, o)| o.store(x.load()));
}

/// A block that leaves its array is an error at the operand's line: before it, wholly behind it, and along columns.
#[test]
fn blocks_outside_are_errors() {
    for device in devices() {
        // 2^29 blocks of 8 rows are 2^32 rows.
        let far = [1 << 28, 1 << 29, -(1 << 29), i32::MAX, i32::MIN].map(|by| (32, 128, by, 0));
        let near = [(28, 128, 1, 0), (28, 128, 4, 0), (28, 128, -1, 0), (24, 128, 1, 0), (32, 200, 0, 1)];
        for (m, k, by, axis) in near.into_iter().chain(far) {
            let error = failed(shifted().bk(128).launch(&device, &array(&device, &[m, k]), by));
            let text = error.to_string();
            assert!(error.code() == "R001" && text.contains(&format!("along axis {axis} of operand `x`")), "{m} {k} {by}: {text}");
        }
    }
}

// ---- a model's data --------------------------------------------------------------------------------------------------------

#[allow(dead_code)]
#[path = "../../examples/pipeline.rs"]
mod example;

/// The kernel of the example, with every block size that splits the tokens in another way.
#[test]
fn scores_of_a_model() {
    for device in devices() {
        let data = tpu_examples::load(&device, &tpu_examples::data_file(), &["q", "k"]).unwrap();
        let (q, k) = (&data["q"], &data["k"]);
        let (heads, tokens, channels) = (q.shape()[0], q.shape()[1], q.shape()[2]);
        let (q_values, k_values) = (tpu_examples::floats(q).unwrap(), tpu_examples::floats(k).unwrap());
        let score = |at: usize| {
            let (head, row, col) = (at / tokens / tokens, at / tokens % tokens, at % tokens);
            let of = |x: &[f32], token: usize, c: usize| f64::from(x[(head * tokens + token) * channels + c]);
            (0..channels).map(|c| of(&q_values, row, c) * of(&k_values, col, c)).sum()
        };
        let want: Vec<f64> = (0..heads * tokens * tokens).map(score).collect();
        for bm in [64, 175, 176, 40] {
            let o = example::scores().bm(bm).n(tokens).c(channels).launch(&device, q, k).unwrap();
            let error = tpu_examples::largest_error(o.to_vec::<f32>().unwrap(), want.iter().copied());
            assert!(error < 1e-4, "{bm} tokens in a block: {error}");
        }
    }
    let array = || (DType::F32, vec![12, 175, 32]);
    compiles(env!("CARGO_BIN_EXE_worker"), &example::scores().bm(64).n(175).c(32), &[array(), array()]);
}

// ---- what libtpu says ------------------------------------------------------------------------------------------------------

/// Kernels of each kind on every chip.
#[test]
fn libtpu_takes_every_kind_of_block() {
    let worker = env!("CARGO_BIN_EXE_worker");
    let f32s = |shape: &[usize]| (DType::F32, shape.to_vec());
    let i32s = |n: usize| (DType::I32, vec![n]);
    compiles(worker, &squeezed().c(128), &[f32s(&[3, 2, 16, 128])]);
    compiles(worker, &vectors().b(256), &[f32s(&[1024])]);
    for dtype in [DType::F32, DType::Bf16, DType::F16] {
        compiles(worker, &vectors().b(2048), &[(dtype, vec![8192])]);
    }
    compiles(worker, &ranks().b(128), &[f32s(&[3, 2, 8, 128]), f32s(&[512])]);
    compiles(worker, &sliding(), &[f32s(&[6, 8, 128])]);
    compiles(worker, &parts(), &[i32s(5), i32s(5), f32s(&[11, 8, 128])]);
    compiles(worker, &gathered().c(256), &[i32s(13), f32s(&[11, 256])]);
    compiles(worker, &scattered().c(128), &[i32s(16), f32s(&[16, 128]), f32s(&[24, 128])]);
}
