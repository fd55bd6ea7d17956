//! Kernels transformed: batched kernels against a loop over slices, fused functions against functions apart, gradients
//! against finite differences. Bit for bit where both sides round alike.

use half::bf16;
use tpu_device::{Arg, DType, Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, made, tensor};

#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<T, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<T, (BK, BN)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load_or(0.0), w.load_or(0.0));
    if kk == last(kk) {
        o.store(acc.load());
    }
}

fn small() -> matmul {
    matmul().bm(8).bn(128).bk(128).precision(Precision::Highest)
}

#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
fn softmax<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (R, C)>,
) {
    let x = x.load_or(f32::NEG_INFINITY);
    let e = (x - x.max(Lanes)).exp();
    o.store(e / e.sum(Lanes));
}

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

/// What the grid looks like from inside: `o[i, :] = 1000 * steps + 100 * i + base`, with running sums in scratch.
#[tpu_kernel(grid(i: n / 8))]
fn running<B: Dim>(
    #[block([n, cols] at (i, 0))] x: In<i32, (D<8>, B)>,
    #[block([n, cols] at (i, 0))] o: Out<i32, (D<8>, B)>,
    #[scratch] mut sum: Vmem<i32, (D<8>, B)>,
    base: Scalar<i32>,
) {
    if i == 0 {
        sum.fill(0);
    }
    sum += x.load_or(0);
    o.store(sum.load() + (num_programs(0) * 1000 + program_id(0) * 100 + base));
}

/// Reverses the blocks: an index map that computes with the grid.
#[tpu_kernel(grid(i: n / B))]
fn reversed<B: Dim>(#[block([n] at (last(i) - i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.store(x.load());
}

fn gelu<R: Dim, C: Dim>(x: Tile<f32, (R, C)>) -> Tile<f32, (R, C)> {
    let inner = (x + x * x * x * 0.044715) * 0.797_884_6;
    x * 0.5 * (inner.tanh() + 1.0)
}

#[tpu_kernel(grid(i: rows / 8), semantics(parallel))]
fn gelu_apart(
    #[block([rows, cols] at (i, 0))] x: In<f32, (D<8>, D<256>)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (D<8>, D<256>)>,
) {
    o.store(gelu(x.load()));
}

/// Values without pattern, in -2 to 2.
fn wild(at: usize) -> f32 {
    (at.wrapping_mul(2_654_435_761) >> 7 & 0xffff) as f32 / 16384.0 - 2.0
}

/// Slice `at` of a tensor along its first dimension.
fn slice(x: &Tensor, at: usize) -> Tensor {
    let dims = &x.shape()[1..];
    let count: usize = dims.iter().product();
    match x.dtype() {
        DType::F32 => tensor(x.device(), &x.to_vec::<f32>().unwrap()[at * count..][..count], dims),
        DType::I32 => tensor(x.device(), &x.to_vec::<i32>().unwrap()[at * count..][..count], dims),
        DType::Bf16 => tensor(x.device(), &x.to_vec::<bf16>().unwrap()[at * count..][..count], dims),
        other => panic!("no test has {other}"),
    }
}

/// The tensors one after the other along a new first dimension.
fn stacked(parts: &[Tensor]) -> (Vec<usize>, Vec<u8>) {
    let dims = [&[parts.len()], parts[0].shape()].concat();
    (dims, parts.iter().flat_map(|p| p.bytes().to_vec()).collect())
}

fn same_bytes(got: &Tensor, want: &[Tensor]) {
    let (dims, bytes) = stacked(want);
    assert_eq!(got.shape(), dims);
    assert_eq!(got.dtype(), want[0].dtype());
    assert!(got.bytes() == bytes, "by {:?}: {got:?} against {want:?}", got.device().executor());
}

#[test]
fn a_batched_product_is_a_loop_over_products() {
    for device in devices() {
        for [batch, m, k, n] in [[3, 12, 130, 130], [1, 8, 128, 128], [5, 3, 7, 2]] {
            let x = made(&device, &[batch, m, k], wild);
            let w = made(&device, &[batch, k, n], |at| wild(at + 77));
            let o = small().batched(["x", "w", "o"]).launch(&device, &x, &w).unwrap();
            let each: Vec<Tensor> = (0..batch).map(|b| small().launch(&device, &slice(&x, b), &slice(&w, b)).unwrap()).collect();
            same_bytes(&o, &each);

            // One of weights for all slices.
            let shared = slice(&w, 0);
            let o = small().batched(["x", "o"]).launch(&device, &x, &shared).unwrap();
            let each: Vec<Tensor> = (0..batch).map(|b| small().launch(&device, &slice(&x, b), &shared).unwrap()).collect();
            same_bytes(&o, &each);

            // And one of x, in bf16.
            let x = made(&device, &[m, k], |at| bf16::from_f32(wild(at)));
            let w = made(&device, &[batch, k, n], |at| bf16::from_f32(wild(at + 5)));
            let o = small().batched(["o", "w"]).launch(&device, &x, &w).unwrap();
            let each: Vec<Tensor> = (0..batch).map(|b| small().launch(&device, &x, &slice(&w, b)).unwrap()).collect();
            same_bytes(&o, &each);
        }
    }
}

#[test]
fn a_batched_softmax_is_a_loop_over_softmaxes() {
    for device in devices() {
        let x = made(&device, &[4, 19, 100], wild);
        let kernel = || softmax().r(8).c(128);
        let o = kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..4).map(|b| kernel().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_bytes(&o, &each);

        // An empty batch is an empty result.
        let none = Tensor::zeros(&device, DType::F32, &[0, 19, 100]).unwrap();
        assert_eq!(kernel().batched(["x", "o"]).launch(&device, &none).unwrap().shape(), [0, 19, 100]);
    }
}

/// A batch of batches: a leading dimension at a time.
#[test]
fn batched_twice() {
    for device in devices() {
        let x = made(&device, &[2, 3, 19, 100], wild);
        let kernel = || softmax().r(8).c(128).batched(["x", "o"]);
        let o = kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..2).map(|b| kernel().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_bytes(&o, &each);
    }
}

/// Grid indices, their number, scratch and scalars mean in each slice what they mean in a launch.
#[test]
fn the_grid_of_a_slice_is_that_of_a_launch() {
    for device in devices() {
        let x = made(&device, &[3, 21, 128], |at| (at % 11) as i32 - 3);
        let o = running().b(128).batched(["x", "o"]).launch(&device, &x, 7).unwrap();
        let each: Vec<Tensor> = (0..3).map(|b| running().b(128).launch(&device, &slice(&x, b), 7).unwrap()).collect();
        same_bytes(&o, &each);

        let kernel = || reversed().b(128).allow(Allow::BlockShape);
        let x = made(&device, &[3, 512], wild);
        let o = kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..3).map(|b| kernel().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_bytes(&o, &each);
    }
}

#[test]
fn a_fused_epilogue_is_the_function_apart() {
    for device in devices() {
        let x = made(&device, &[20, 200], wild);
        let w = made(&device, &[200, 130], |at| wild(at + 77));
        let plain = small().launch(&device, &x, &w).unwrap();

        let fused = small().map_output("o", gelu::<One, One>).launch(&device, &x, &w).unwrap();
        same_bytes_one(&fused, &gelu_apart().launch(&device, &plain).unwrap());

        let relu = small().map_output("o", |x: Each<f32>| x.maximum(0.0)).launch(&device, &x, &w).unwrap();
        let want: Vec<f32> = plain.to_vec::<f32>().unwrap().iter().map(|&x| if x > 0.0 { x } else { 0.0 }).collect();
        expect(&relu, &[20, 130], &want);

        // Another element type, and two functions: the first is nearer to the kernel.
        let narrow = small().map_output("o", |x: Each<f32>| x.cast::<bf16>()).launch(&device, &x, &w).unwrap();
        let want: Vec<bf16> = plain.to_vec::<f32>().unwrap().into_iter().map(bf16::from_f32).collect();
        expect(&narrow, &[20, 130], &want);
        let positive = small()
            .map_output("o", |x: Each<f32>| x - 1.0)
            .map_output("o", |x: Each<f32>| x.gt(0.0))
            .launch(&device, &x, &w)
            .unwrap();
        let want: Vec<bool> = plain.to_vec::<f32>().unwrap().into_iter().map(|x| x - 1.0 > 0.0).collect();
        expect(&positive, &[20, 130], &want);
    }
}

fn same_bytes_one(got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape(), want.shape());
    assert!(got.bytes() == want.bytes(), "by {:?}: {got:?} against {want:?}", got.device().executor());
}

#[test]
fn a_dequantising_prologue_is_the_array_dequantised() {
    for device in devices() {
        let x = made(&device, &[20, 200], wild);
        let q = made(&device, &[200, 130], |at| (at * 7 % 255) as i32 - 127);
        let scale = 0.03125;
        let wide: Vec<f32> = q.to_vec::<i32>().unwrap().into_iter().map(|q| q as f32 * scale).collect();
        let want = small().launch(&device, &x, &tensor(&device, &wide, &[200, 130])).unwrap();
        let kernel = small().map_input("w", |q: Each<i32>| q.cast::<f32>() * scale);
        same_bytes_one(&kernel.launch(&device, &x, &q).unwrap(), &want);

        // The kernel is generic: its element type is what the function gives.
        let x16 = made(&device, &[20, 200], |at| bf16::from_f32(wild(at)));
        let wide: Vec<f32> = x16.to_vec::<bf16>().unwrap().into_iter().map(f32::from).collect();
        let want = kernel.launch(&device, &tensor(&device, &wide, &[20, 200]), &q).unwrap();
        let kernel = kernel.map_input("x", |x: Each<bf16>| x.cast::<f32>());
        same_bytes_one(&kernel.launch(&device, &x16, &q).unwrap(), &want);

        // The last function is the one that sees the array: first doubled, then reduced by 1.
        let both = softmax().r(8).c(256).map_input("x", |x: Each<f32>| x - 1.0).map_input("x", |x: Each<f32>| x * 2.0);
        let apart: Vec<f32> = x.to_vec::<f32>().unwrap().into_iter().map(|x| x * 2.0 - 1.0).collect();
        let want = softmax().r(8).c(256).launch(&device, &tensor(&device, &apart, &[20, 200])).unwrap();
        same_bytes_one(&both.launch(&device, &x).unwrap(), &want);
    }
}

/// Shows a window as it is and filled, where it sticks out of its array, and its parts.
#[tpu_kernel]
fn shown(
    #[block([n] at (0))] x: In<f32, (D<128>,)>,
    #[block([128] at (0))] plain: Out<f32, (D<128>,)>,
    #[block([128] at (0))] filled: Out<f32, (D<128>,)>,
    #[block([128] at (0))] inside: Out<bool, (D<128>,)>,
    #[block([64] at (0))] part: Out<f32, (D<64>,)>,
) {
    plain.store(x.load());
    filled.store(x.load_or(-1.0));
    inside.store(x.in_bounds());
    let mut at = Scalar::from(0);
    for j in 0..2 {
        at = j * 32;
        part.store_at((at,), x.load_at::<(D<32>,)>((at + 64,)));
    }
}

/// Outside the array: `load` reads the function of the array's poison, `load_or` the fill as it is.
#[test]
fn a_fused_input_and_its_padding() {
    for device in devices() {
        let kernel = shown().allow(Allow::BlockShape);
        let outside = |n: usize, inside: &dyn Fn(usize) -> f32, other: f32| -> Vec<f32> {
            (0..128).map(|at| if at < n { inside(at) } else { other }).collect()
        };
        let check = |got: (Tensor, Tensor, Tensor, Tensor), n: usize, inside: &dyn Fn(usize) -> f32, poison: f32| {
            expect(&got.0, &[128], &outside(n, inside, poison));
            expect(&got.1, &[128], &outside(n, inside, -1.0));
            expect(&got.2, &[128], &(0..128).map(|at| at < n).collect::<Vec<bool>>());
            expect(&got.3, &[64], &outside(n, inside, poison)[64..]);
        };
        let x = made(&device, &[100], |at| at as f32);
        let scaled = kernel.clone().map_input("x", |x: Each<f32>| x * 2.0 + 1.0);
        check(scaled.launch(&device, &x).unwrap(), 100, &|at| at as f32 * 2.0 + 1.0, f32::NAN);

        // The poison of an integer is a number: where it would do harm, mask.
        let q = made(&device, &[100], |at| at as i32);
        let wide = kernel.map_input("x", |q: Each<i32>| q.cast::<f32>());
        check(wide.launch(&device, &q).unwrap(), 100, &|at| at as f32, i32::MIN as f32);
    }
}

/// Elements that nothing stores stay poison, whatever the function; what sticks out is dropped.
#[tpu_kernel(grid(i: n / 128))]
fn half_stored(#[block([n] at (i))] x: In<f32, (D<128>,)>, #[block([n] at (i))] o: Out<f32, (D<128>,)>) {
    o.store_at((0,), x.load_at::<(D<64>,)>((0,)));
}

#[test]
fn a_fused_output_and_what_nothing_stores() {
    for device in devices() {
        let x = made(&device, &[200], |at| at as f32);
        let o = half_stored().map_output("o", |x: Each<f32>| x.cast::<i32>() + 1).launch(&device, &x).unwrap();
        let want: Vec<i32> = (0..200).map(|at| if at % 128 < 64 { at + 1 } else { i32::MIN }).collect();
        expect(&o, &[200], &want);
    }
}

/// Batching and fusion in one launch, called as an operation.
#[test]
fn transformed_kernels_are_operations() {
    for device in devices() {
        let kernel = small().batched(["x", "o"]).map_input("w", |q: Each<i32>| q.cast::<f32>()).map_output("o", gelu::<One, One>);
        device.register(kernel.clone()).unwrap();
        device.register(kernel).unwrap();
        let x = made(&device, &[3, 20, 200], wild);
        let q = made(&device, &[200, 130], |at| (at % 5) as i32 - 2);
        let o = device.call_one("matmul", (&x, &q)).unwrap();
        let wide: Vec<f32> = q.to_vec::<i32>().unwrap().into_iter().map(|q| q as f32).collect();
        let w = tensor(&device, &wide, &[200, 130]);
        let each = |b| gelu_apart().launch(&device, &small().launch(&device, &slice(&x, b), &w).unwrap()).unwrap();
        same_bytes(&o, &(0..3).map(each).collect::<Vec<_>>());
        let specs = [(&x).into(), (&q).into()];
        assert_eq!(device.infer("matmul", &specs).unwrap(), [(DType::F32, vec![3, 20, 130])]);
        // The cost comes with the name; a kernel's own says the same.
        let cost = device.cost("matmul", &specs).unwrap().unwrap();
        assert!(cost.flops > 2 * 3 * 20 * 200 * 130 && cost.exact, "{cost:?}");
        assert_eq!(device.cost("matmul", &specs[..1]).unwrap_err().code(), "L001");
        // The kernel itself, and another function, are other operations.
        assert_eq!(device.register(small()).unwrap_err().code(), "D009");
        let other = small().batched(["x", "o"]).map_input("w", |q: Each<i32>| q.cast::<f32>()).map_output("o", |x: Each<f32>| x);
        assert_eq!(device.register(other).unwrap_err().code(), "D009");
    }
}

/// What is compiled once, and what apart.
#[test]
fn the_cache_tells_transformations_apart() {
    let device = Device::new("v5e").unwrap();
    let x = made(&device, &[16, 100], wild);
    let kernel = || softmax().r(8).c(128);
    let compiled = |kernel: softmax| {
        let before = device.stats().compilations;
        let o = kernel.launch(&device, &x).unwrap();
        (o, device.stats().compilations - before)
    };
    let times = |by: f32| kernel().map_input("x", move |x: Each<f32>| x * by);
    assert_eq!(compiled(kernel()).1, 1);
    let (two, n) = compiled(times(2.0));
    assert_eq!(n, 1);
    let (three, n) = compiled(times(3.0));
    assert_eq!(n, 1, "another constant");
    assert_ne!(two.bytes(), three.bytes());
    assert_eq!(compiled(times(2.0)).1, 0, "the same function again");
    assert_eq!(compiled(kernel().map_output("o", gelu::<One, One>)).1, 1);
    assert_eq!(compiled(kernel().map_output("o", gelu::<One, One>)).1, 0, "asked for elsewhere");
    assert_eq!(compiled(kernel().map_input("x", gelu::<One, One>)).1, 1, "of another operand");
    assert_eq!(compiled(kernel().with_backward(softmax_grad().r(8).c(128))).1, 0, "a backward kernel is code of its own");

    let x = made(&device, &[2, 16, 100], wild);
    let before = device.stats().compilations;
    kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
    kernel().batched(["x", "o"]).launch(&device, &slice_of_three(&x)).unwrap();
    assert_eq!(device.stats().compilations - before, 1, "a batch of any size");
}

fn slice_of_three(x: &Tensor) -> Tensor {
    made(x.device(), &[3, 16, 100], wild)
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
fn the_gradient_of_a_softmax() {
    for device in devices() {
        device.register(softmax().r(8).c(128).with_backward(softmax_grad().r(8).c(128))).unwrap();
        let x = made(&device, &[5, 9], wild);
        let d_o = made(&device, &[5, 9], |at| wild(at + 31));
        let o = device.call_one("softmax", [&x]).unwrap();
        let before = device.stats();
        let gradients = device.backward("softmax", [&x], &[o], &[d_o.clone()]).unwrap();
        let after = device.stats();
        assert_eq!((after.backward_launches - before.backward_launches, after.launches - before.launches), (1, 1));
        assert_eq!(after.kernels.iter().find(|k| k.name == "softmax_grad").unwrap().launches, 1);
        let [Some(d_x)] = gradients.as_slice() else { panic!("{gradients:?}") };
        close(d_x, &differences(&|x| softmax_rows(x, 9), &wide(&x), &wide(&d_o)));
    }
}

#[test]
fn the_gradients_of_a_product() {
    for device in devices() {
        let backward = matmul_grad().bm(8).bn(128).bk(128).precision(Precision::Highest);
        device.register(small().with_backward(backward)).unwrap();
        let sizes @ [m, k, n] = [5, 7, 6];
        let x = made(&device, &[m, k], wild);
        let w = made(&device, &[k, n], |at| wild(at + 50));
        let d_o = made(&device, &[m, n], |at| wild(at + 31));
        let o = device.call_one("matmul", (&x, &w)).unwrap();
        let gradients = device.backward("matmul", (&x, &w), &[o], &[d_o.clone()]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        close(d_x, &differences(&|x| product(x, &wide(&w), sizes), &wide(&x), &wide(&d_o)));
        close(d_w, &differences(&|w| product(&wide(&x), w, sizes), &wide(&w), &wide(&d_o)));
    }
}

/// A batched kernel batches its backward kernel; what all slices share gets the sum of their gradients.
#[test]
fn the_gradients_of_a_batch() {
    for device in devices() {
        let backward = || matmul_grad().bm(8).bn(128).bk(128).precision(Precision::Highest);
        let [batch, m, k, n] = [3, 5, 7, 6];
        let x = made(&device, &[batch, m, k], wild);
        let d_o = made(&device, &[batch, m, n], |at| wild(at + 31));
        let of_slice = |b: usize, w: &Tensor| backward().launch(&device, &slice(&x, b), w, &slice(&d_o, b)).unwrap();

        device.register_as("all", small().with_backward(backward()).batched(["x", "w", "o"])).unwrap();
        let w = made(&device, &[batch, k, n], |at| wild(at + 50));
        let o = device.call_one("all", (&x, &w)).unwrap();
        let gradients = device.backward("all", (&x, &w), &[o], &[d_o.clone()]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        let (want_x, want_w): (Vec<Tensor>, Vec<Tensor>) = (0..batch).map(|b| of_slice(b, &slice(&w, b))).unzip();
        same_bytes(d_x, &want_x);
        same_bytes(d_w, &want_w);

        device.register_as("shared", small().with_backward(backward()).batched(["x", "o"])).unwrap();
        let w = slice(&w, 1);
        let o = device.call_one("shared", (&x, &w)).unwrap();
        let gradients = device.backward("shared", (&x, &w), &[o], &[d_o.clone()]).unwrap();
        let [Some(d_x), Some(d_w)] = gradients.as_slice() else { panic!("{gradients:?}") };
        let (want_x, want_w): (Vec<Tensor>, Vec<Tensor>) = (0..batch).map(|b| of_slice(b, &w)).unzip();
        same_bytes(d_x, &want_x);
        let each: Vec<Vec<f32>> = want_w.iter().map(|d| d.to_vec().unwrap()).collect();
        let sums: Vec<f32> = (0..k * n).map(|at| each[0][at] + each[1][at] + each[2][at]).collect();
        expect(d_w, &[k, n], &sums);
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
        let outputs = device.call("scaled", &args).unwrap();
        let gradients = [made(&device, &[200], |at| wild(at + 1)), made(&device, &[200], |at| wild(at + 2))];
        let found = device.backward("scaled", &args, &outputs, &gradients).unwrap();
        let [Some(d_x), None, None] = found.as_slice() else { panic!("{found:?}") };
        let want: Vec<f32> =
            (0..200).map(|at| if at % 3 == 0 { wild(at + 1) * 3.0 } else { 0.0 } + wild(at + 2) * wild(at) * 2.0).collect();
        expect(d_x, &[200], &want);
    }
}
