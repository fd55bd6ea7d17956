//! Gradients: backward kernels that travel with their kernels, against finite differences in f64, batched, and paired by name.

use half::bf16;
use tpu_device::{Arg, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, made};
use tpu_tests::transformed::{same_slices, slice, small, softmax, wild};

/// `d_x = o · (d_o - Σ o · d_o)`
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
fn softmax_grad<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] o: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] d_o: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] d_x: Out<f32, (R, C)>,
) {
    let (o, d_o) = (o.load_or(0.0), d_o.load_or(0.0));
    d_x.store(o * (d_o - (o * d_o).sum(Lanes)));
}

/// `d_x = d_o · wᵀ`, `d_w = xᵀ · d_o`, each in one block.
#[tpu_kernel]
fn matmul_grad<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (0, 0))] x: In<T, (BM, BK)>,
    #[block([k, n] at (0, 0))] w: In<T, (BK, BN)>,
    #[block([m, n] at (0, 0))] d_o: In<f32, (BM, BN)>,
    #[block([m, k] at (0, 0))] d_x: Out<T, (BM, BK)>,
    #[block([k, n] at (0, 0))] d_w: Out<T, (BK, BN)>,
) {
    let (x, w, d_o) = (x.load_or(0.0), w.load_or(0.0), d_o.load_or(0.0).cast::<T>());
    d_x.store(dot(d_o, w.t()).cast::<T>());
    d_w.store(dot(x.t(), d_o).cast::<T>());
}

/// `Σ weights · f(x)` and its gradient by central differences, all in f64.
fn differences(f: &dyn Fn(&[f64]) -> Vec<f64>, x: &[f64], weights: &[f64]) -> Vec<f64> {
    let value = |x: &[f64]| f(x).iter().zip(weights).map(|(o, w)| o * w).sum::<f64>();
    let step = 1e-5;
    let moved = |at: usize, by: f64| {
        let mut x = x.to_vec();
        x[at] += by;
        value(&x)
    };
    (0..x.len()).map(|at| (moved(at, step) - moved(at, -step)) / (2.0 * step)).collect()
}

fn close(got: &Tensor, want: &[f64]) {
    let got = got.to_vec::<f32>().unwrap();
    assert_eq!(got.len(), want.len());
    for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(got) - want).abs() <= 2e-6 * (1.0 + want.abs()), "element {at}: {got} against {want}");
    }
}

fn wide(x: &Tensor) -> Vec<f64> {
    x.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect()
}

fn softmax_rows(x: &[f64], cols: usize) -> Vec<f64> {
    let row = |row: &[f64]| {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        row.iter().map(|x| x.exp() / sum).collect::<Vec<f64>>()
    };
    x.chunks(cols).flat_map(row).collect()
}

fn product(x: &[f64], w: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let element = |at: usize| (0..k).map(|i| x[at / n * k + i] * w[i * n + at % n]).sum();
    (0..m * n).map(element).collect()
}

#[test]
fn of_a_softmax() {
    for device in devices() {
        device.register(softmax().r(8).c(128).with_backward(softmax_grad().r(8).c(128))).unwrap();
        let x = made(&device, &[5, 9], wild);
        let d_o = made(&device, &[5, 9], |at| wild(at + 31));
        let o = device.call_one("softmax", [&x]).unwrap();
        let before = device.stats();
        let gradients = device.backward("softmax", [&x], [&o], [&d_o]).unwrap();
        let after = device.stats();
        assert_eq!((after.backward_launches - before.backward_launches, after.launches - before.launches), (1, 1));
        assert_eq!(after.kernels.iter().find(|k| k.name == "softmax_grad").unwrap().launches, 1);
        let [Some(d_x)] = gradients.as_slice() else { panic!("{gradients:?}") };
        close(d_x, &differences(&|x| softmax_rows(x, 9), &wide(&x), &wide(&d_o)));
    }
}

#[test]
fn of_a_product() {
    for device in devices() {
        let backward = matmul_grad().bm(8).bn(8).bk(8).precision(Precision::Highest).allow(Allow::BlockShape);
        device.register(small().with_backward(backward)).unwrap();
        let sizes @ [m, k, n] = [5, 7, 6];
        let x = made(&device, &[m, k], wild);
        let w = made(&device, &[k, n], |at| wild(at + 50));
        let d_o = made(&device, &[m, n], |at| wild(at + 31));
        let o = device.call_one("matmul", (&x, &w)).unwrap();
        let gradients = device.backward("matmul", (&x, &w), [&o], [&d_o]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        close(d_x, &differences(&|x| product(x, &wide(&w), sizes), &wide(&x), &wide(&d_o)));
        close(d_w, &differences(&|w| product(&wide(&x), w, sizes), &wide(&w), &wide(&d_o)));
    }
}

/// A batched kernel batches its backward kernel; what all slices share gets the sum of their gradients.
#[test]
fn of_a_batch() {
    for device in devices() {
        let backward = || matmul_grad().bm(8).bn(8).bk(8).precision(Precision::Highest).allow(Allow::BlockShape);
        let [batch, m, k, n] = [3, 5, 7, 6];
        let x = made(&device, &[batch, m, k], wild);
        let d_o = made(&device, &[batch, m, n], |at| wild(at + 31));
        let of_slice = |b: usize, w: &Tensor| backward().launch(&device, &slice(&x, b), w, &slice(&d_o, b)).unwrap();

        device.register_as("all", small().with_backward(backward()).batched(["x", "w", "o"])).unwrap();
        let w = made(&device, &[batch, k, n], |at| wild(at + 50));
        let o = device.call_one("all", (&x, &w)).unwrap();
        let gradients = device.backward("all", (&x, &w), [&o], [&d_o]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        let (want_x, want_w): (Vec<Tensor>, Vec<Tensor>) = (0..batch).map(|b| of_slice(b, &slice(&w, b))).unzip();
        same_slices(d_x, &want_x);
        same_slices(d_w, &want_w);

        device.register_as("shared", small().with_backward(backward()).batched(["x", "o"])).unwrap();
        let w = slice(&w, 1);
        let o = device.call_one("shared", (&x, &w)).unwrap();
        let gradients = device.backward("shared", (&x, &w), [&o], [&d_o]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        let (want_x, want_w): (Vec<Tensor>, Vec<Tensor>) = (0..batch).map(|b| of_slice(b, &w)).unzip();
        same_slices(d_x, &want_x);
        let each: Vec<Vec<f32>> = want_w.iter().map(|d| d.to_vec().unwrap()).collect();
        let sums: Vec<f32> = (0..k * n).map(|at| each[0][at] + each[1][at] + each[2][at]).collect();
        expect(d_w, &[k, n], &sums);

        // Over no slice at all the sum is zero.
        let [x, d_o] = [[0, m, k], [0, m, n]].map(|shape| made(&device, &shape, wild));
        let o = device.call_one("shared", (&x, &w)).unwrap();
        let gradients = device.backward("shared", (&x, &w), [&o], [&d_o]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        expect::<f32>(d_x, &[0, m, k], &[]);
        expect(d_w, &[k, n], &vec![0.0; k * n]);
    }
}

/// Operands that a backward kernel takes: inputs, scalars, outputs, gradients, in its own order; not all are given gradients.
#[tpu_kernel(grid(i: n / B))]
fn scaled<B: Dim>(
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] mask: In<bool, (B,)>,
    #[block([n] at (i))] o: Out<f32, (B,)>,
    #[block([n] at (i))] p: Out<f32, (B,)>,
    by: Scalar<f32>,
) {
    o.store(select(mask.load(), x.load() * by, 0.0));
    p.store(x.load() * x.load());
}

#[tpu_kernel(grid(i: n / B))]
fn scaled_grad<B: Dim>(
    #[block([n] at (i))] d_p: In<f32, (B,)>,
    #[block([n] at (i))] d_o: In<f32, (B,)>,
    by: Scalar<f32>,
    #[block([n] at (i))] mask: In<bool, (B,)>,
    #[block([n] at (i))] x: In<f32, (B,)>,
    #[block([n] at (i))] d_x: Out<f32, (B,)>,
) {
    d_x.store(select(mask.load(), d_o.load() * by, 0.0) + d_p.load() * x.load() * 2.0);
}

#[test]
fn operands_are_paired_by_name() {
    for device in devices() {
        device.register(scaled().b(512).with_backward(scaled_grad().b(512))).unwrap();
        let x = made(&device, &[200], wild);
        let mask = made(&device, &[200], |at| at % 3 == 0);
        let args: [Arg<'_, Tensor>; 3] = [(&x).into(), (&mask).into(), 3.0.into()];
        let outputs = device.call("scaled", args).unwrap();
        let gradients = [made(&device, &[200], |at| wild(at + 1)), made(&device, &[200], |at| wild(at + 2))];
        let found = device.backward("scaled", args, &outputs, &gradients).unwrap();
        let [Some(d_x), None, None] = found.as_slice() else { panic!("{found:?}") };
        let want: Vec<f32> =
            (0..200).map(|at| if at % 3 == 0 { wild(at + 1) * 3.0 } else { 0.0 } + wild(at + 2) * wild(at) * 2.0).collect();
        expect(d_x, &[200], &want);
    }
}

/// `d_x = d_o + x`, to be the gradient of an operand of that rank which a batch shares.
macro_rules! shared {
    ($forward:ident $backward:ident $ty:ident, [$($size:ident)+] ($($block:ty),+) ($($index:expr),+)) => {
        #[tpu_kernel]
        fn $forward(
            #[block([$($size),+] at ($($index),+))] x: In<$ty, ($($block,)+)>,
            #[block([$($size),+] at ($($index),+))] y: In<$ty, ($($block,)+)>,
            #[block([$($size),+] at ($($index),+))] o: Out<$ty, ($($block,)+)>,
        ) {
            o.store(x.load() + y.load());
        }

        #[tpu_kernel]
        fn $backward(
            #[block([$($size),+] at ($($index),+))] d_o: In<$ty, ($($block,)+)>,
            #[block([$($size),+] at ($($index),+))] d_x: Out<$ty, ($($block,)+)>,
        ) {
            d_x.store(d_o.load());
        }
    };
}

shared!(vector vector_grad f32, [n] (D<700>) (0));
shared!(matrix matrix_grad bf16, [m n] (D<40>, D<600>) (0, 0));
shared!(cube cube_grad i32, [l m n] (D<3>, D<40>, D<600>) (0, 0, 0));

#[test]
fn of_shared_operands_of_every_rank() {
    for device in devices() {
        let f = |at: usize| wild(at) * 100.0;
        device
            .register(vector().allow(Allow::BlockShape).with_backward(vector_grad().allow(Allow::BlockShape)).batched(["y", "o"]))
            .unwrap();
        let (x, all) = (made(&device, &[700], f), made(&device, &[5, 700], f));
        let gradients = device.backward("vector", (&x, &all), [&all], [&all]).unwrap();
        let [Some(d_x), None] = gradients.as_slice() else { panic!("{gradients:?}") };
        let in_order = |at: usize| (0..5).map(|b| f(b * 700 + at)).reduce(|a, b| a + b).unwrap();
        expect(d_x, &[700], &(0..700).map(in_order).collect::<Vec<f32>>());

        // Narrow floats are added in f32 and rounded once; two batches, so two sums.
        device.register(matrix().with_backward(matrix_grad()).batched(["y", "o"]).batched(["y", "o"])).unwrap();
        let g = |at: usize| bf16::from_f32(f(at));
        let count = 40 * 600;
        let (x, all) = (made(&device, &[40, 600], g), made(&device, &[2, 3, 40, 600], g));
        let gradients = device.backward("matrix", (&x, &all), [&all], [&all]).unwrap();
        let [Some(d_x), None] = gradients.as_slice() else { panic!("{gradients:?}") };
        let sum = |at: usize| {
            let inner =
                |b: usize| bf16::from_f32((0..2).map(|a| g((a * 3 + b) * count + at).to_f32()).reduce(|a, b| a + b).unwrap());
            bf16::from_f32((0..3).map(|b| inner(b).to_f32()).reduce(|a, b| a + b).unwrap())
        };
        expect(d_x, &[40, 600], &(0..count).map(sum).collect::<Vec<bf16>>());

        device.register(cube().with_backward(cube_grad()).batched(["y", "o"])).unwrap();
        let h = |at: usize| (at as i32).wrapping_mul(1_234_567_891);
        let count = 3 * 40 * 600;
        let (x, all) = (made(&device, &[3, 40, 600], h), made(&device, &[2, 3, 40, 600], h));
        let gradients = device.backward("cube", (&x, &all), [&all], [&all]).unwrap();
        let [Some(d_x), None] = gradients.as_slice() else { panic!("{gradients:?}") };
        expect(d_x, &[3, 40, 600], &(0..count).map(|at| h(at).wrapping_add(h(count + at))).collect::<Vec<i32>>());
        assert_eq!(device.stats().backward_launches, 3);
    }
}

/// A kernel with a backward kernel is the kernel, to the cache; to the registry it is another operation.
#[test]
fn a_backward_kernel_is_code_of_its_own() {
    for device in devices() {
        let x = made(&device, &[5, 9], wild);
        softmax().r(8).c(128).launch(&device, &x).unwrap();
        let with = || softmax().r(8).c(128).with_backward(softmax_grad().r(8).c(128));
        with().launch(&device, &x).unwrap();
        assert_eq!(device.stats().compilations, 1);
        device.register(with()).unwrap();
        device.register(with()).unwrap();
        assert_eq!(device.register(softmax().r(8).c(128)).unwrap_err().code(), "D009");
        let other = softmax().r(8).c(128).with_backward(softmax_grad().r(16).c(128));
        assert_eq!(device.register(other).unwrap_err().code(), "D009");
    }
}
