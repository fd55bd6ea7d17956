//! What the kernels of the examples must give, in float64 and without blocks.
//!
//! Rules: what the kernels add up in f32 is infinite where it is beyond f32, and stays so; else nothing is rounded before the end.

use half::bf16;
use tpu_device::DType;
use tpu_device::tpuk::{Array, Call};
use tpu_kernel::prelude::*;

type Outputs = Result<Vec<Vec<f64>>, String>;

/// The sum, as it is stored in the type of the elements.
pub(crate) fn add(call: &Call) -> Outputs {
    let (x, y) = (call.array("x")?, call.array("y")?);
    Ok(vec![x.values.iter().zip(&y.values).map(|(a, b)| x.stored(a + b)).collect()])
}

/// A number as far as f32 reaches: infinite beyond it.
fn within(x: f64) -> f64 {
    if (x as f32).is_infinite() { f64::from(x as f32) } else { x }
}

/// The factors as they enter the multiplier: at the default precision those of f32 are rounded to bf16, at the high one they
/// are sums of numbers of bf16, which are infinite earlier.
fn factors(array: &Array, precision: Precision) -> Vec<f64> {
    let factor = |v: f64| {
        let rounded = f64::from(f32::from(bf16::from_f32(v as f32)));
        match precision {
            _ if array.dtype != DType::F32 => v,
            Precision::Default => rounded,
            Precision::High if rounded.is_infinite() => rounded,
            _ => v,
        }
    };
    array.values.iter().map(|&v| factor(v)).collect()
}

pub(crate) fn matmul(call: &Call) -> Outputs {
    let (m, n, k) = (call.size("m")?, call.size("n")?, call.size("k")?);
    let (x, w) = (factors(call.array("x")?, call.precision()), factors(call.array("w")?, call.precision()));
    let mut o = vec![0.0; m * n];
    if n == 0 || k == 0 {
        return Ok(vec![o]);
    }
    for (row, x) in o.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
        for (&x, w) in x.iter().zip(w.chunks_exact(n)) {
            row.iter_mut().zip(w).for_each(|(o, w)| *o = within(*o + x * w));
        }
    }
    // Stored in f32, where the smallest numbers are none.
    Ok(vec![o.into_iter().map(|o| f64::from(o as f32)).collect()])
}

/// The softmax of each of the rows.
fn softmax_of(rows: &mut [f64], columns: usize) {
    for row in rows.chunks_mut(columns.max(1)) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|x| *x = (*x - top).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
}

pub(crate) fn softmax(call: &Call) -> Outputs {
    let mut o = call.array("x")?.values.clone();
    softmax_of(&mut o, call.size("cols")?);
    Ok(vec![o])
}

/// The values behind the mask have no part, also where they are no numbers.
pub(crate) fn attention(call: &Call) -> Outputs {
    let (heads, tq, tk, d) = (call.size("heads")?, call.size("tq")?, call.size("tk")?, call.size("d")?);
    let (q, k, v) = (&call.array("q")?.values, &call.array("k")?.values, &call.array("v")?.values);
    let causal = call.scalar("causal")? != 0.0;
    let mut o = vec![0.0; heads * tq * d];
    for (query, o) in o.chunks_exact_mut(d.max(1)).enumerate() {
        let (head, token) = (query / tq, query % tq);
        let row = |all: &'_ [f64], key: usize| all[(head * tk + key) * d..][..d].to_vec();
        let keys = if causal { tk.min(token + 1) } else { tk };
        let product = |key| row(k, key).iter().zip(&q[query * d..]).fold(0.0, |sum, (k, q)| within(sum + k * q));
        let scores: Vec<f64> = (0..keys).map(|key| product(key) / (d as f64).sqrt()).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        for (key, weight) in weights.iter().enumerate() {
            o.iter_mut().zip(row(v, key)).for_each(|(o, v)| *o = within(*o + weight * v));
        }
        let sum: f64 = weights.iter().sum();
        o.iter_mut().for_each(|o| *o /= sum);
    }
    Ok(vec![o])
}
