//! The cast between every two element types: every bit pattern of a source of at most 16 bits, thousands of telling ones of
//! f32, i32 and u32, against JAX and ml_dtypes.
//!
//! `goldens/casts.py` wrote the results, says where they come from, and how they are stored.

use safetensors::SafeTensors;
use std::path::Path;
use tpu_kernel::ir::{DType, Literal, OpKind, eval};
use tpu_kernel::launch::Binding;
use tpu_tests::executors::{Array, EXECUTORS, run, same};
use tpu_tests::one_op::tiles;

/// How many wrong elements of a pair a message shows.
const SHOWN: usize = 3;

fn with_goldens(f: impl FnOnce(&SafeTensors<'_>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/casts.safetensors");
    let data = std::fs::read(path).expect("the goldens");
    f(&SafeTensors::deserialize(&data).expect("safetensors"));
}

fn words(tensors: &SafeTensors<'_>, name: &str) -> Vec<u32> {
    let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let size = view.dtype().bitsize() / 8;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |word, &b| word << 8 | u32::from(b));
    view.data().chunks_exact(size).map(word).collect()
}

/// The bit patterns of a source.
fn patterns(tensors: &SafeTensors<'_>, from: DType) -> Vec<u32> {
    match from.bits() {
        32 => words(tensors, &format!("from.{from}")),
        _ if from == DType::Bool => vec![0, 1],
        bits => (0..1 << bits).collect(),
    }
}

/// What the casts of the patterns of `from` give.
fn results(tensors: &SafeTensors<'_>, from: DType, to: DType) -> Vec<u32> {
    let stored = words(tensors, &format!("{from}.{to}"));
    if from.bits() == 32 {
        return stored;
    }
    let (mut numbers, mut number, mut shift) = (vec![], 0u32, 0);
    for byte in stored {
        number |= (byte & 127) << shift;
        shift += 7;
        if byte < 128 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    let (runs, rest) = numbers.as_chunks::<3>();
    assert!(rest.is_empty());
    runs.iter().flat_map(|&[length, first, step]| (0..length).map(move |n| first.wrapping_add(n.wrapping_mul(step)))).collect()
}

fn pairs() -> impl Iterator<Item = (DType, DType)> {
    DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to))).filter(|(from, to)| from != to)
}

/// The elements that differ, NaN being NaN.
fn differences(
    who: &str,
    from: DType,
    to: DType,
    patterns: &[u32],
    want: &[u32],
    got: impl Iterator<Item = Literal>,
) -> Vec<String> {
    let mut wrong = vec![];
    let mut count = 0;
    for ((&pattern, &want), got) in patterns.iter().zip(want).zip(got) {
        count += 1;
        let want = Literal::from_bits(to, want);
        if !same(want, got) {
            let x = Literal::from_bits(from, pattern);
            wrong.push(format!("{who}: {x:?} ({pattern:#x}) to {to}: wanted {want}, got {got} ({:#x})", got.bits()));
        }
    }
    assert_eq!((count, patterns.len()), (want.len(), want.len()), "{who} {from} to {to}");
    if wrong.len() > SHOWN {
        let more = wrong.len() - SHOWN;
        wrong.truncate(SHOWN);
        wrong.push(format!("{who}: {more} more from {from} to {to}"));
    }
    wrong
}

#[test]
fn every_pair_is_as_xla_has_it() {
    with_goldens(|tensors| {
        let mut failures = vec![];
        let mut elements = 0;
        for (from, to) in pairs() {
            let (patterns, want) = (patterns(tensors, from), results(tensors, from, to));
            elements += want.len();
            let got = patterns.iter().map(|&bits| eval::cast(to, Literal::from_bits(from, bits)));
            failures.extend(differences("eval", from, to, &patterns, &want, got));
        }
        assert!(failures.is_empty(), "{} lines:\n{}", failures.len(), failures.join("\n"));
        assert!(elements > 16 * (4 << 16), "{elements} elements");
    });
}

#[test]
fn a_cast_makes_the_nan_without_payload() {
    for to in DType::ALL.into_iter().filter(|&d| d.is_float() && d != DType::F4E2M1Fn) {
        for nan in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff].map(|bits| Literal::from_bits(DType::F32, bits)) {
            let want = if to == DType::F32 { nan } else { Literal::poison(to) };
            assert_eq!(eval::cast(to, nan), want, "a cast to the type itself keeps every bit");
        }
        assert_eq!(eval::cast(to, Literal::poison(DType::F8E5M2)), Literal::poison(to));
    }
}

#[test]
fn executors_cast_as_xla_does() {
    with_goldens(|tensors| {
        let mut failures = vec![];
        for (from, to) in pairs() {
            let (patterns, want) = (patterns(tensors, from), results(tensors, from, to));
            let shape = [patterns.len()];
            let case = tiles(format!("cast {from} {to}"), &[(from, &shape)], (to, &shape), |w, x| w.op(OpKind::Cast(to), x));
            let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![shape.to_vec(); 2] };
            let input = Array::new(from, &shape, patterns.iter().map(|&bits| Literal::from_bits(from, bits)));
            for executor in EXECUTORS {
                let compiled = (executor.compile)(&case.kernel).unwrap_or_else(|e| panic!("{} {}: {e}", executor.name, case.name));
                let outputs = run(&case.kernel, &compiled, &binding, std::slice::from_ref(&input), &[])
                    .unwrap_or_else(|e| panic!("{} {}: {e}", executor.name, case.name));
                failures.extend(differences(executor.name, from, to, &patterns, &want, outputs[0].elements()));
                // What is narrower than a byte is extended as the type says.
                if to.bytes() == 1 && outputs[0].bytes.iter().zip(outputs[0].elements()).any(|(&b, x)| b != x.memory() as u8) {
                    failures.push(format!("{}: cast {from} {to} leaves unused bits of {to} wrong", executor.name));
                }
            }
        }
        assert!(failures.is_empty(), "{} lines:\n{}", failures.len(), failures.join("\n"));
    });
}
