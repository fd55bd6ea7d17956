//! The attention example's kernel: its error on the example's data and on made-up shapes and scores,
//! what special values reach, and what a second call compiles.

use tpu_device::{Device, Executor, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, made, tensor};

#[path = "../../examples/attention.rs"]
#[allow(dead_code, unreachable_pub)]
mod example;

use example::attention;

/// The largest relative error of a rounding to f32.
const EPS: f64 = 1.0 / (1 << 24) as f64;

/// Queries, keys and values of some heads.
#[derive(Clone)]
struct Data {
    heads: usize,
    tq: usize,
    tk: usize,
    d: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

/// Numbers in -1..1 that differ from place to place.
fn noise(at: usize) -> f32 {
    ((at.wrapping_mul(2_654_435_761) >> 6) % 4093) as f32 / 2048.0 - 0.999
}

impl Data {
    /// Scores reach about `scores` either way.
    fn made(heads: usize, tq: usize, tk: usize, d: usize, scores: f32) -> Data {
        let spread = (3.0 * scores / (d as f32).sqrt()).sqrt();
        let fill = |n: usize, from: usize, by: f32| (0..n).map(|at| by * noise(at + from)).collect();
        let (q, k) = (fill(heads * tq * d, 0, spread), fill(heads * tk * d, 1_000_003, spread));
        Data { heads, tq, tk, d, q, k, v: fill(heads * tk * d, 2_000_003, 1.0) }
    }

    /// The data that ships with the examples.
    fn shipped(heads: usize) -> Data {
        let host = Device::new("v5e").unwrap();
        let data = tpu_examples::load(&host, &tpu_examples::data_file(), &["q", "k", "v"]).unwrap();
        let [q, k, v] = ["q", "k", "v"].map(|name| data[name].to_vec::<f32>().unwrap()[..heads * 175 * 32].to_vec());
        assert_eq!(data["q"].shape(), [12, 175, 32]);
        Data { heads, tq: 175, tk: 175, d: 32, q, k, v }
    }

    fn arguments(&self, device: &Device) -> [Tensor; 3] {
        let &Data { heads, tq, tk, d, .. } = self;
        [
            tensor(device, &self.q, &[heads, tq, d]),
            tensor(device, &self.k, &[heads, tk, d]),
            tensor(device, &self.v, &[heads, tk, d]),
        ]
    }

    fn run(&self, device: &Device, kernel: &attention, causal: bool) -> Vec<f32> {
        let [q, k, v] = self.arguments(device);
        let o = kernel.launch(device, &q, &k, &v, causal).unwrap();
        assert_eq!(o.shape(), [self.heads, self.tq, self.d]);
        o.to_vec().unwrap()
    }

    /// The result in float64, and a bound on the error of the kernel for each element.
    fn reference(&self, causal: bool) -> Vec<(f64, f64)> {
        let &Data { heads, tq, tk, d, .. } = self;
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let (q, k, v) = (wide(&self.q), wide(&self.k), wide(&self.v));
        let mut o = vec![];
        for (head, query) in (0..heads).flat_map(|head| (0..tq).map(move |query| (head, query))) {
            let keys = if causal { tk.min(query + 1) } else { tk };
            let row = &q[(head * tq + query) * d..][..d];
            let of = |all: &[f64], key: usize| all[(head * tk + key) * d..][..d].to_vec();
            let root = (d as f64).sqrt();
            let mut scores = vec![];
            let mut error: f64 = 0.0;
            for key in 0..keys {
                let (mut sum, mut size) = (0.0, 0.0);
                for (a, b) in row.iter().zip(of(&k, key)) {
                    sum += a * b;
                    size += (a * b).abs();
                }
                scores.push(sum / root);
                // The product's bound, and the roundings of the root and the division.
                error = error.max((2.0 * d as f64 + 2.0) * EPS * size / root);
            }
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = scores.iter().fold(0.0, |range: f64, s| range.max(top - s));
            let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
            let sum: f64 = weights.iter().sum();
            // Each weight is off by its score's error, the subtraction's and two ulps of the exponential,
            // above and below the line; the two sums have a rounding a key and a rescaling a block.
            let relative = 2.0 * (error + (range + 4.0) * EPS) + (3.0 * keys as f64 + 2.0 * (tk as f64 / 8.0 + 2.0) + 1.0) * EPS;
            let (mut values, mut sizes) = (vec![0.0; d], vec![0.0; d]);
            for (key, weight) in weights.iter().enumerate() {
                for (at, value) in of(&v, key).into_iter().enumerate() {
                    values[at] += weight / sum * value;
                    sizes[at] += weight / sum * value.abs();
                }
            }
            o.extend(values.into_iter().zip(sizes).map(|(value, size)| (value, 1.001 * relative * size + 1e-37)));
        }
        o
    }
}

fn blocks(bq: usize, bk: usize, bd: usize) -> attention {
    attention().bq(bq).bk(bk).bd(bd).precision(Precision::Highest).allow(Allow::BlockShape)
}

fn largest_error(got: &[f32], want: &[(f64, f64)]) -> f64 {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).fold(0.0, |largest: f64, (&got, (want, _))| {
        let error = (f64::from(got) - want).abs();
        assert!(!error.is_nan());
        largest.max(error)
    })
}

#[track_caller]
fn within_bounds(got: &[f32], want: &[(f64, f64)], what: &str) {
    assert_eq!(got.len(), want.len());
    for (at, (&got, (want, bound))) in got.iter().zip(want).enumerate() {
        assert!((f64::from(got) - want).abs() <= *bound, "{what}, element {at}: {got} for {want} ± {bound}");
    }
}

#[test]
fn the_shipped_data_is_right_to_two_millionths() {
    for device in devices() {
        // The interpreter is slow: one head, in blocks with little padding.
        let (data, choices): (Data, &[[usize; 3]]) = match device.executor() {
            Executor::Interpreter => (Data::shipped(1), &[[64, 64, 32]]),
            Executor::Cranelift => {
                (Data::shipped(12), &[[128, 128, 128], [64, 64, 32], [175, 175, 32], [8, 256, 128], [32, 16, 64]])
            }
        };
        for causal in [false, true] {
            let want = data.reference(causal);
            for &[bq, bk, bd] in choices {
                let o = data.run(&device, &blocks(bq, bk, bd), causal);
                let error = largest_error(&o, &want);
                assert!(error < 2e-6, "{bq}, {bk}, {bd}, causal {causal}, {:?}: {error:e}", device.executor());
                within_bounds(&o, &want, "shipped");
            }
        }
    }
}

#[test]
fn the_precision_decides_the_error() {
    let device = Device::new("v5e").unwrap();
    let data = Data::shipped(12);
    let want = data.reference(false);
    let error = |precision| largest_error(&data.run(&device, &blocks(128, 128, 128).precision(precision), false), &want);
    for (precision, stated) in [(Precision::Default, 1.4e-2), (Precision::High, 1.9e-5)] {
        let error = error(precision);
        assert!((stated / 2.0..stated * 2.0).contains(&error), "{precision:?}: {error:e} where {stated:e} is stated");
    }
    assert!(error(Precision::Highest) < 2e-6);
}

#[test]
fn other_shapes_and_scores_are_within_the_bound() {
    let shapes = [
        (1, 1, 1, 1),
        (2, 1, 7, 1),
        (1, 7, 1, 32),
        (1, 128, 129, 64),
        (1, 129, 128, 100),
        (1, 7, 129, 160),
        (2, 129, 7, 128),
        (1, 40, 300, 32),
        (1, 300, 40, 32),
    ];
    for device in devices() {
        for (number, (heads, tq, tk, d)) in shapes.into_iter().enumerate() {
            let compiled = device.executor() == Executor::Cranelift;
            if !compiled && tq * tk * d > 70_000 {
                continue;
            }
            let scores = [1.0, 80.0][number % 2];
            let data = Data::made(heads, tq, tk, d, scores);
            for causal in [false, true] {
                let want = data.reference(causal);
                let wide = d.next_multiple_of(128);
                let choices = [[128, 128, wide], [16, 32, d], [13, 9, d + 3]];
                for [bq, bk, bd] in choices.into_iter().skip(if compiled { 0 } else { 1 }) {
                    let o = data.run(&device, &blocks(bq, bk, bd), causal);
                    within_bounds(&o, &want, &format!("{heads}×{tq}×{tk}×{d} in {bq}, {bk}, {bd}, causal {causal}, {device:?}"));
                }
            }
        }
    }
}

/// Which rows of the result are NaN, by head and query, when one element of the data is replaced.
fn poisoned_rows(device: &Device, data: &Data, causal: bool) -> Vec<bool> {
    let o = data.run(device, &blocks(16, 16, 32), causal);
    o.chunks(data.d).map(|row| row.iter().any(|v| v.is_nan())).collect()
}

#[test]
fn special_values_reach_the_rows_they_touch() {
    let clean = Data::made(2, 40, 50, 32, 2.0);
    let place = |head: usize, token: usize, tokens: usize| (head * tokens + token) * 32 + 5;
    for device in devices() {
        for causal in [false, true] {
            let kernel = blocks(16, 16, 32);
            let plain = clean.run(&device, &kernel, causal);
            assert!(plain.iter().all(|v| v.is_finite()));
            let rows = |of: &dyn Fn(usize, usize) -> bool| (0..80).map(|row| of(row / 40, row % 40)).collect::<Vec<bool>>();
            for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                // A query: its own row, and the others to the bit.
                let mut data = clean.clone();
                data.q[place(1, 21, 40)] = value;
                assert_eq!(poisoned_rows(&device, &data, causal), rows(&|head, query| head == 1 && query == 21), "{value} in q");
                let o = data.run(&device, &kernel, causal);
                let others = |row: &usize| *row != 40 + 21;
                for row in (0..80).filter(others) {
                    assert_eq!(o[row * 32..][..32], plain[row * 32..][..32]);
                }
                // A value: a weight of 0 does not hide it, so all queries whose blocks of keys reach it, in one column.
                let mut data = clean.clone();
                data.v[place(0, 19, 50)] = value;
                let o = data.run(&device, &kernel, causal);
                for (at, (got, plain)) in o.iter().zip(&plain).enumerate() {
                    let (head, query, column) = (at / 32 / 40, at / 32 % 40, at % 32);
                    if head == 0 && column == 5 && (!causal || query >= 16) {
                        assert!(!got.is_finite(), "{value} in v, query {query}: {got}");
                    } else {
                        assert_eq!(got, plain, "{value} in v, {head}, {query}, {column}");
                    }
                }
            }
            // A key that is NaN: the queries that see it.
            let mut data = clean.clone();
            data.k[place(0, 19, 50)] = f32::NAN;
            assert_eq!(poisoned_rows(&device, &data, causal), rows(&|head, query| head == 0 && (!causal || query >= 19)));
            // One whose score is -∞ has weight 0: nothing is NaN.
            let mut data = clean.clone();
            for head_query in 0..80 {
                data.q[head_query * 32 + 5] = 1.0;
            }
            data.k[place(0, 19, 50)] = f32::NEG_INFINITY;
            assert_eq!(poisoned_rows(&device, &data, causal), rows(&|_, _| false));
        }
    }
}

#[test]
fn a_second_call_compiles_nothing() {
    for device in devices() {
        device.register(blocks(16, 16, 32)).unwrap();
        let sizes = [(1, 7, 7, 32), (1, 7, 7, 32), (2, 20, 3, 32), (3, 1, 33, 20), (1, 129, 129, 32)];
        for (calls, (heads, tq, tk, d)) in sizes.into_iter().enumerate() {
            let data = Data::made(heads, tq, tk, d, 1.0);
            let [q, k, v] = data.arguments(&device);
            let causal = calls % 2 == 1;
            let o = device.call_one("attention", (&q, &k, &v, causal)).unwrap();
            within_bounds(&o.to_vec().unwrap(), &data.reference(causal), "a call by name");
            let stats = device.stats();
            assert_eq!((stats.compilations, stats.cache_hits, stats.launches), (1, calls as u64, calls as u64 + 1));
        }
        assert_eq!(device.stats().kernels.len(), 1);
        let x = made(&device, &[1, 7, 32], noise);
        device.register_as("other", blocks(8, 16, 32)).unwrap();
        device.call("other", (&x, &x, &x, false)).unwrap();
        assert_eq!(device.stats().compilations, 2, "another block size is another kernel");
    }
}
