//! The kernels by which predictions are calibrated.

use tpu_kernel::prelude::*;

/// `o = x · w`, a block of the contracted dimension each step.
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
pub fn matmul<T: Float, BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<T, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<T, (BK, BN)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load(), w.load());
    if kk == last(kk) {
        o.store(acc.load());
    }
}

/// The same with an output of bf16 and a bias under `gelu`.
#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
pub fn dense<BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<bf16, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<bf16, (BK, BN)>,
    #[block([1, n] at (0, j))] b: In<f32, (One, BN)>,
    #[block([m, n] at (i, j))] o: Out<bf16, (BM, BN)>,
    #[scratch] mut acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.fill(0.0);
    }
    acc += dot(x.load(), w.load());
    if kk == last(kk) {
        let y = acc.load() + b.load();
        let inner = (y + y * y * y * 0.044715) * 0.797_884_6;
        o.store((y * 0.5 * (inner.tanh() + 1.0)).cast::<bf16>());
    }
}

/// Attention, a block of keys each step.
#[tpu_kernel(grid(h: heads, i: tq / BQ, j: tk / BK), semantics(parallel, parallel, arbitrary))]
pub fn attention<T: Float, BQ: Dim, BK: Dim, HD: Dim>(
    #[block([heads, tq, d] at (squeeze h, i, 0))] q: In<T, (BQ, HD)>,
    #[block([heads, tk, d] at (squeeze h, j, 0))] k: In<T, (BK, HD)>,
    #[block([heads, tk, d] at (squeeze h, j, 0))] v: In<T, (BK, HD)>,
    #[block([heads, tq, d] at (squeeze h, i, 0))] o: Out<f32, (BQ, HD)>,
    #[scratch] top: Vmem<f32, (BQ, One)>,
    #[scratch] sum: Vmem<f32, (BQ, One)>,
    #[scratch] acc: Vmem<f32, (BQ, HD)>,
) {
    if j == 0 {
        top.fill(f32::NEG_INFINITY);
        sum.fill(0.0);
        acc.fill(0.0);
    }
    let scores = dot(q.load(), k.load().t()) * 0.125;
    let new_top = top.load().maximum(scores.max(Lanes));
    let scale = (top.load() - new_top).exp();
    let weights = (scores - new_top).exp();
    sum.store(sum.load() * scale + weights.sum(Lanes));
    acc.store(acc.load() * scale + dot(weights.cast::<T>(), v.load()));
    top.store(new_top);
    if j == last(j) {
        o.store(acc.load() / sum.load());
    }
}

/// The same, of keys up to the query: blocks after it are left out.
#[tpu_kernel(grid(h: heads, i: tq / BQ, j: tk / BK), semantics(parallel, parallel, arbitrary))]
pub fn causal_attention<T: Float, BQ: Dim, BK: Dim, HD: Dim>(
    #[block([heads, tq, d] at (squeeze h, i, 0))] q: In<T, (BQ, HD)>,
    #[block([heads, tk, d] at (squeeze h, j, 0))] k: In<T, (BK, HD)>,
    #[block([heads, tk, d] at (squeeze h, j, 0))] v: In<T, (BK, HD)>,
    #[block([heads, tq, d] at (squeeze h, i, 0))] o: Out<f32, (BQ, HD)>,
    #[scratch] top: Vmem<f32, (BQ, One)>,
    #[scratch] sum: Vmem<f32, (BQ, One)>,
    #[scratch] acc: Vmem<f32, (BQ, HD)>,
) {
    if j == 0 {
        top.fill(f32::NEG_INFINITY);
        sum.fill(0.0);
        acc.fill(0.0);
    }
    if j * BK < (i + 1) * BQ {
        let scores = dot(q.load(), k.load().t()) * 0.125;
        let query = iota::<(BQ, BK)>(Sublanes) + i * BQ;
        let key = iota::<(BQ, BK)>(Lanes) + j * BK;
        let scores = select(key <= query, scores, f32::NEG_INFINITY);
        let new_top = top.load().maximum(scores.max(Lanes));
        let scale = (top.load() - new_top).exp();
        let weights = (scores - new_top).exp();
        sum.store(sum.load() * scale + weights.sum(Lanes));
        acc.store(acc.load() * scale + dot(weights.cast::<T>(), v.load()));
        top.store(new_top);
    }
    if j == last(j) {
        o.store(acc.load() / sum.load());
    }
}

/// Softmax of whole rows.
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
pub fn softmax<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<T, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<T, (R, C)>,
) {
    let x = x.load().cast::<f32>();
    let e = (x - x.max(Lanes)).exp();
    o.store((e / e.sum(Lanes)).cast::<T>());
}

/// Softmax of columns that may not fill the block.
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
pub fn masked_softmax<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (R, C)>,
) {
    let x = x.load_or(f32::NEG_INFINITY);
    let e = (x - x.max(Lanes)).exp();
    o.store(e / e.sum(Lanes));
}

/// Rows of mean 0 and variance 1, scaled and shifted.
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
pub fn layer_norm<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<T, (R, C)>,
    #[block([1, cols] at (0, 0))] scale: In<f32, (One, C)>,
    #[block([1, cols] at (0, 0))] shift: In<f32, (One, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<T, (R, C)>,
) {
    let x = x.load().cast::<f32>();
    let n = cols.cast::<f32>();
    let centred = x - x.sum(Lanes) / n;
    let variance = (centred * centred).sum(Lanes) / n;
    o.store((centred * (variance + 1e-5).rsqrt() * scale.load() + shift.load()).cast::<T>());
}

/// Rows over their root mean square, scaled.
#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
pub fn rms_norm<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<T, (R, C)>,
    #[block([1, cols] at (0, 0))] scale: In<f32, (One, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<T, (R, C)>,
) {
    let x = x.load().cast::<f32>();
    let square = (x * x).sum(Lanes) / cols.cast::<f32>();
    o.store((x * (square + 1e-6).rsqrt() * scale.load()).cast::<T>());
}

/// Sums of columns, over blocks of rows.
#[tpu_kernel(grid(j: cols / C, i: rows / R), semantics(parallel, arbitrary))]
pub fn column_sums<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, j))] x: In<f32, (R, C)>,
    #[block([1, cols] at (0, j))] o: Out<f32, (One, C)>,
) {
    if i == 0 {
        o.fill(0.0);
    }
    o.store(o.load() + x.load().sum(Sublanes));
}

/// `o = x + y`
#[tpu_kernel(grid(i: rows / R, j: cols / C), semantics(parallel, parallel))]
pub fn add<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, j))] x: In<T, (R, C)>,
    #[block([rows, cols] at (i, j))] y: In<T, (R, C)>,
    #[block([rows, cols] at (i, j))] o: Out<T, (R, C)>,
) {
    o.store(x.load() + y.load());
}

/// GELU by tanh.
#[tpu_kernel(grid(i: rows / R, j: cols / C), semantics(parallel, parallel))]
pub fn gelu<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, j))] x: In<T, (R, C)>,
    #[block([rows, cols] at (i, j))] o: Out<T, (R, C)>,
) {
    let x = x.load().cast::<f32>();
    let inner = (x + x * x * x * 0.044715) * 0.797_884_6;
    o.store((x * 0.5 * (inner.tanh() + 1.0)).cast::<T>());
}

/// `o = silu(x) · y`
#[tpu_kernel(grid(i: rows / R, j: cols / C), semantics(parallel, parallel))]
pub fn swiglu<T: Float, R: Dim, C: Dim>(
    #[block([rows, cols] at (i, j))] x: In<T, (R, C)>,
    #[block([rows, cols] at (i, j))] y: In<T, (R, C)>,
    #[block([rows, cols] at (i, j))] o: Out<T, (R, C)>,
) {
    let x = x.load().cast::<f32>();
    o.store((x / ((-x).exp() + 1.0) * y.load().cast::<f32>()).cast::<T>());
}
