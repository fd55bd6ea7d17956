//! Random numbers of keys against `jax.random`: keys of any words, folded with a grid index and with large numbers, split.

use crate::golden;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect};

type Block = (D<2>, D<3>, D<7>);

#[tpu_kernel(grid(i: 3))]
fn drawn(
    #[block([3, 2, 3, 7] at (squeeze i, 0, 0, 0))] bits: Out<u32, Block>,
    #[block([3, 1] at (i, 0))] one: Out<u32, (One, One)>,
    #[block([3, 2, 3, 7] at (squeeze i, 0, 0, 0))] uniform: Out<f32, Block>,
    #[block([3, 2, 3, 7] at (squeeze i, 0, 0, 0))] normal: Out<f32, Block>,
    #[block([3, 2, 3, 7] at (squeeze i, 0, 0, 0))] never: Out<bool, Block>,
    #[block([3, 2, 3, 7] at (squeeze i, 0, 0, 0))] quarter: Out<bool, Block>,
    #[block([3, 2, 3, 7] at (squeeze i, 0, 0, 0))] always: Out<bool, Block>,
    #[block([3, 2] at (i, 0))] words: Out<u32, (One, D<2>)>,
    high: Scalar<u32>,
    low: Scalar<u32>,
) {
    let [_, _, key, _, _] = Key::of_words(high, low).fold_in(i).fold_in(0xFFFF_FFF0u32).split();
    bits.store(key.random_bits::<Block>());
    one.store(key.random_bits::<(One, One)>());
    uniform.store(key.uniform_in::<Block>(-2.5, 7.25));
    normal.store(key.normal::<Block>());
    never.store(key.bernoulli::<Block>(0.0));
    quarter.store(key.bernoulli::<Block>(0.25));
    always.store(key.bernoulli::<Block>(1.0));
    let [a, b] = key.words();
    words.store(select(iota::<(One, D<2>)>(Lanes) == 0, a, b));
}

/// The array of that name for each step of the grid, one after the other.
fn steps<T>(key: &str, name: &str, read: impl Fn(&[u8]) -> Vec<T>) -> Vec<T> {
    (0..3).flat_map(|step| read(&golden(&format!("random.{key}.{step}.{name}")))).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
}

fn truths(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().map(|&b| b != 0).collect()
}

#[test]
fn random_numbers_of_folded_and_split_keys_are_those_of_jax() {
    const DIMS: [usize; 4] = [3, 2, 3, 7];
    for device in devices() {
        for (key, [high, low]) in [("zero", [0, 0]), ("small", [0, 42]), ("large", [0xDEAD_BEEFu32, u32::MAX])] {
            let outputs = drawn().allow(Allow::BlockShape).launch(&device, high, low).unwrap();
            let (bits, one, uniform, normal, never, quarter, always, words_of_key) = outputs;
            expect(&words_of_key, &[3, 2], &steps(key, "words", words));
            expect(&bits, &DIMS, &steps(key, "bits", words));
            expect(&one, &[3, 1], &steps(key, "one", words));
            expect(&uniform, &DIMS, &steps(key, "uniform", floats));
            for (name, got) in [("0.0", never), ("0.25", quarter), ("1.0", always)] {
                expect(&got, &DIMS, &steps(key, &format!("bernoulli.{name}"), truths));
            }
            for (got, want) in normal.to_vec::<f32>().unwrap().into_iter().zip(steps(key, "normal", doubles)) {
                let unit = f64::from((want as f32).abs().next_up() - (want as f32).abs());
                assert!((f64::from(got) - want).abs() <= 3.0 * unit, "{got} for {want}");
            }
        }
    }
}
