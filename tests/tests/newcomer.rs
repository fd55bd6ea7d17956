//! Kernels that people write from the README alone: a row-wise layer norm, and a product with an epilogue.

use approx::{assert_abs_diff_eq, assert_relative_eq};
use tpu_device::{Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::devices;

/// The mean of the first `n` elements of each row, where the rest is zero.
fn mean<R: Dim, C: Dim>(x: Tile<f32, (R, C)>, n: Scalar<i32>) -> Tile<f32, (R, One)> {
    x.sum(Lanes) / n.cast::<f32>()
}

/// `o[r, :] = (x[r, :] - mean) / √(variance + eps) · weight + bias`
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
fn layer_norm<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<T, (R, C)>,
    #[block([cols] at (0))] weight: In<f32, (C,)>,
    #[block([cols] at (0))] bias: In<f32, (C,)>,
    #[block([rows, cols] at (i, 0))] o: Out<T, (R, C)>,
    eps: Scalar<f32>,
) {
    let inside = x.in_bounds();
    let x = x.load_or(0.0).cast::<f32>();
    let centred = select(inside, x - mean(x, cols), 0.0);
    let variance = mean(centred * centred, cols);
    let weight = weight.load().reshape::<(One, C)>();
    let bias = bias.load().reshape::<(One, C)>();
    o.store((centred * (variance + eps).rsqrt() * weight + bias).cast());
}

/// The GELU by its tanh form.
fn gelu<R: Dim, C: Dim>(x: Tile<f32, (R, C)>) -> Tile<f32, (R, C)> {
    let inner = (x + x * x * x * 0.044_715) * 0.797_884_6;
    x * 0.5 * (inner.tanh() + 1.0)
}

/// `o = gelu(x · w + bias)`
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn linear<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<T, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<T, (BK, BN)>,
    #[block([n] at (j))] bias: In<f32, (BN,)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load_or(0.0), w.load_or(0.0));
    if kk == last(kk) {
        o.store(gelu(acc.load() + bias.load().reshape::<(One, BN)>()));
    }
}

/// Numbers between -2 and 2 that look random.
fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 22) as f32 - 2.0
    };
    (0..n).map(|_| next()).collect()
}

fn normalised(row: &[f64], weight: &[f32], bias: &[f32]) -> Vec<f64> {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let scale = 1.0 / (variance + 1e-5).sqrt();
    let parameters = weight.iter().zip(bias);
    row.iter().zip(parameters).map(|(x, (&w, &b))| (x - mean) * scale * f64::from(w) + f64::from(b)).collect()
}

#[test]
fn layer_norm_of_ragged_rows() {
    for device in devices() {
        let mut compiled = 0;
        for (rows, cols, block) in [(175, 384, 384), (7, 384, 384), (175, 100, 128), (1, 1, 128), (129, 127, 128)] {
            let (x, weight, bias) = (numbers(rows * cols, 1), numbers(cols, 2), numbers(cols, 3));
            let want: Vec<f64> = x
                .chunks(cols)
                .flat_map(|row| normalised(&row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), &weight, &bias))
                .collect();
            let tensors = [(&x, vec![rows, cols]), (&weight, vec![cols]), (&bias, vec![cols])];
            let [x, weight, bias] = tensors.map(|(values, dims)| Tensor::from_slice(&device, values, &dims).unwrap());
            let kernel = layer_norm().r(32).c(block);
            let o = kernel.launch(&device, &x, &weight, &bias, 1e-5).unwrap().to_vec::<f32>().unwrap();
            for (got, want) in o.iter().zip(&want) {
                assert_abs_diff_eq!(f64::from(*got), *want, epsilon = 1e-5);
            }
            compiled = device.stats().compilations;
        }
        assert_eq!(compiled, 2, "one compilation for each block size, none for a number of rows or columns");
    }
}

#[test]
fn layer_norm_of_bf16() {
    for device in devices() {
        let (rows, cols) = (9, 100);
        let x: Vec<bf16> = numbers(rows * cols, 4).into_iter().map(bf16::from_f32).collect();
        let (weight, bias) = (vec![1.0f32; cols], vec![0.0f32; cols]);
        let want: Vec<f64> = x
            .chunks(cols)
            .flat_map(|row| normalised(&row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), &weight, &bias))
            .collect();
        let x = Tensor::from_slice(&device, &x, &[rows, cols]).unwrap();
        let [weight, bias] = [weight, bias].map(|values| Tensor::from_slice(&device, &values, &[cols]).unwrap());
        let o = layer_norm().r(8).c(128).launch(&device, &x, &weight, &bias, 1e-5).unwrap();
        for (got, want) in o.to_vec::<bf16>().unwrap().into_iter().zip(want) {
            // One rounding to 8 bits of significand, and the f32 error before it.
            assert_relative_eq!(f64::from(got), want, max_relative = 1.0 / 256.0 + 1e-5, epsilon = 1e-6);
        }
    }
}

#[test]
fn a_product_with_an_epilogue() {
    let (m, n, k) = (50, 130, 300);
    let (x, w, bias) = (numbers(m * k, 5), numbers(k * n, 6), numbers(n, 7));
    let want = |at: usize| {
        let (row, column) = (at / n, at % n);
        let sum: f64 = (0..k).map(|l| f64::from(x[row * k + l]) * f64::from(w[l * n + column])).sum();
        let y = sum + f64::from(bias[column]);
        y * 0.5 * (((y + y.powi(3) * 0.044715) * (2.0 / std::f64::consts::PI).sqrt()).tanh() + 1.0)
    };
    for device in devices() {
        let on = |values: &[f32], dims: &[usize]| Tensor::from_slice(&device, values, dims).unwrap();
        let kernel = linear().bm(32).bn(128).bk(128).precision(Precision::Highest);
        let o = kernel.launch(&device, &on(&x, &[m, k]), &on(&w, &[k, n]), &on(&bias, &[n])).unwrap();
        for (at, got) in o.to_vec::<f32>().unwrap().into_iter().enumerate() {
            assert_relative_eq!(f64::from(got), want(at), max_relative = 1e-5, epsilon = 1e-4);
        }
    }
}

#[test]
fn a_block_that_is_too_narrow_is_refused() {
    let device = Device::new("v5e").unwrap();
    let on = |dims: &[usize]| Tensor::full(&device, 1.0f32, dims).unwrap();
    let error = layer_norm().r(8).c(128).launch(&device, &on(&[9, 384]), &on(&[384]), &on(&[384]), 1e-5).unwrap_err();
    assert_eq!(error.code(), "L017");
    assert!(error.render().contains("a block of 384 or more would cover the axis"), "{}", error.render());
}
