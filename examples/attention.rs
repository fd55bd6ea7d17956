//! Flash attention on the queries, keys and values of a real model.
//!
//! `cargo run --release --example attention -- [--causal] [--json] [--input FILE]`

use std::process::ExitCode;
use std::time::Instant;
use tpu_device::{Device, Tensor};
use tpu_examples::{Failure, Options, Report, floats, largest_error};
use tpu_kernel::prelude::*;

/// `o = softmax(q · kᵀ / √d) · v` for each head, without ever holding all scores.
///
/// The keys pass by in blocks. Of the blocks so far, three things are carried: for each query the
/// largest score `top`, the `sum` of the exponentials relative to it, and the weighted values `acc`.
/// Both are scaled down whenever a larger score turns up (Milakov and Gimelshein 2018; Dao et al. 2022).
#[tpu_kernel(grid(h: heads, i: tq / BQ, j: tk / BK), semantics(parallel, parallel, arbitrary))]
pub fn attention<BQ: Dim, BK: Dim, BD: Dim>(
    #[block([heads, tq, d] at (squeeze h, i, 0))] q: In<f32, (BQ, BD)>,
    #[block([heads, tk, d] at (squeeze h, j, 0))] k: In<f32, (BK, BD)>,
    #[block([heads, tk, d] at (squeeze h, j, 0))] v: In<f32, (BK, BD)>,
    #[block([heads, tq, d] at (squeeze h, i, 0))] o: Out<f32, (BQ, BD)>,
    #[scratch] top: Vmem<f32, (BQ, One)>,
    #[scratch] sum: Vmem<f32, (BQ, One)>,
    #[scratch] acc: Vmem<f32, (BQ, BD)>,
    causal: Scalar<bool>,
) {
    if j == 0 {
        top.fill(f32::NEG_INFINITY);
        sum.fill(0.0);
        acc.fill(0.0);
    }
    // With a causal mask, blocks of keys that begin after the last query of the block have no part in it.
    if !causal || j * BK < (i + 1) * BQ {
        let scores = dot(q.load_or(0.0), k.load_or(0.0).t()) / d.cast::<f32>().sqrt();
        let query = iota::<(BQ, BK)>(Sublanes) + i * BQ;
        let key = iota::<(BQ, BK)>(Lanes) + j * BK;
        let mut visible = key < tk;
        if causal {
            visible = visible & (key <= query);
        }
        let scores = select(visible, scores, f32::NEG_INFINITY);

        let new_top = top.load().maximum(scores.max(Lanes));
        let scale = (top.load() - new_top).exp();
        let weights = (scores - new_top).exp();
        sum.store(sum.load() * scale + weights.sum(Lanes));
        acc.store(acc.load() * scale + dot(weights, v.load_or(0.0)));
        top.store(new_top);
    }
    if j == last(j) {
        o.store(acc.load() / sum.load());
    }
}

fn main() -> ExitCode {
    let usage = "usage: attention [--causal] [--json] [--chip NAME] [--input FILE] [--blocks BQ,BK,BD]";
    tpu_examples::run(usage, example)
}

fn example(options: &Options) -> Result<(), Failure> {
    let device = Device::new(options.chip())?;
    let file = options.input.clone().unwrap_or_else(tpu_examples::data_file);
    let data = tpu_examples::load(&device, &file, &["q", "k", "v"])?;
    let [q, k, v] = ["q", "k", "v"].map(|name| Heads::new(name, &data[name]));
    let (q, k, v) = (q?, k?, v?);
    let [bq, bk, bd] = options.blocks([128, 128, q.d.next_multiple_of(128)])?;

    // The kernel becomes an operation of the device: from here on it is called by name.
    device.register(attention().bq(bq).bk(bk).bd(bd).precision(Precision::Highest))?;
    let (tq, tk, tv) = (q.tensor(&device)?, k.tensor(&device)?, v.tensor(&device)?);
    device.call_one("attention", (&tq, &tk, &tv, options.causal))?;
    let start = Instant::now();
    let o = device.call_one("attention", (&tq, &tk, &tv, options.causal))?;
    let run = start.elapsed();

    let report = Report {
        kernel: "attention",
        about: format!(
            "{} heads × {} queries × {} keys × {}{}",
            q.heads,
            q.tokens,
            k.tokens,
            q.d,
            if options.causal { ", causal" } else { "" }
        ),
        grid: format!("h: {}, i: {}, j: {}", q.heads, q.tokens.div_ceil(bq), k.tokens.div_ceil(bk)),
        blocks: format!("BQ: {bq}, BK: {bk}, BD: {bd}"),
        max_abs_error: largest_error(o.to_vec::<f32>()?, reference(&q, &k, &v, options.causal)),
        run,
    };
    report.print(&device, options.json)
}

/// Vectors of `d` numbers, for each token of each head.
struct Heads {
    heads: usize,
    tokens: usize,
    d: usize,
    values: Vec<f32>,
}

impl Heads {
    /// A tensor of rank 2 to 4: everything before the last two dimensions counts as heads.
    fn new(name: &str, tensor: &Tensor) -> Result<Heads, Failure> {
        let &[ref outer @ .., tokens, d] = tensor.shape() else {
            return Err(format!("`{name}` must have the shape [heads, tokens, d], has {:?}", tensor.shape()).into());
        };
        if d == 0 {
            return Err(
                format!("`{name}` has vectors of no element: the last dimension of its shape {:?} is 0", tensor.shape()).into()
            );
        }
        Ok(Heads { heads: outer.iter().product(), tokens, d, values: floats(tensor)? })
    }

    fn tensor(&self, device: &Device) -> Result<Tensor, Failure> {
        Ok(Tensor::from_slice(device, &self.values, &[self.heads, self.tokens, self.d])?)
    }

    fn row(&self, head: usize, token: usize) -> impl Iterator<Item = f64> + '_ {
        self.values[(head * self.tokens + token) * self.d..][..self.d].iter().map(|&x| f64::from(x))
    }
}

/// The same in float64, one query at a time.
fn reference(q: &Heads, k: &Heads, v: &Heads, causal: bool) -> Vec<f64> {
    let mut o = vec![];
    for (head, query) in (0..q.heads).flat_map(|head| (0..q.tokens).map(move |query| (head, query))) {
        let keys = if causal { k.tokens.min(query + 1) } else { k.tokens };
        let dot = |key| q.row(head, query).zip(k.row(head, key)).map(|(a, b)| a * b).sum::<f64>();
        let scores: Vec<f64> = (0..keys).map(|key| dot(key) / (q.d as f64).sqrt()).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mut row = vec![0.0; q.d];
        for (key, weight) in weights.iter().enumerate() {
            row.iter_mut().zip(v.row(head, key)).for_each(|(o, v)| *o += weight / sum * v);
        }
        o.extend(row);
    }
    o
}
