//! What the kernels of the examples must give, in float64 and without blocks.

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

/// The factors as they enter the multiplier: at the default precision those of f32 are rounded to bf16.
fn factors(array: &Array, precision: Precision) -> Vec<f64> {
    let rounded = array.dtype == DType::F32 && precision == Precision::Default;
    array.values.iter().map(|&v| if rounded { f64::from(f32::from(bf16::from_f32(v as f32))) } else { v }).collect()
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
            row.iter_mut().zip(w).for_each(|(o, w)| *o += x * w);
        }
    }
    Ok(vec![o])
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

pub(crate) fn attention(call: &Call) -> Outputs {
    let (heads, tq, tk, d) = (call.size("heads")?, call.size("tq")?, call.size("tk")?, call.size("d")?);
    let (q, k, v) = (&call.array("q")?.values, &call.array("k")?.values, &call.array("v")?.values);
    let causal = call.scalar("causal")? != 0.0;
    let mut o = vec![0.0; heads * tq * d];
    for (query, o) in o.chunks_exact_mut(d.max(1)).enumerate() {
        let (head, token) = (query / tq, query % tq);
        let row = |all: &'_ [f64], key: usize| all[(head * tk + key) * d..][..d].to_vec();
        let keys = if causal { tk.min(token + 1) } else { tk };
        let score = |key| row(k, key).iter().zip(&q[query * d..]).map(|(k, q)| k * q).sum::<f64>() / (d as f64).sqrt();
        let mut weights: Vec<f64> = (0..keys).map(score).collect();
        softmax_of(&mut weights, keys);
        for (key, weight) in weights.iter().enumerate() {
            o.iter_mut().zip(row(v, key)).for_each(|(o, v)| *o += weight * v);
        }
    }
    Ok(vec![o])
}
