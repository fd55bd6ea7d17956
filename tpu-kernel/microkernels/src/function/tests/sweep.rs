//! Errors against an independent library: half an ulp, and little more.

use super::reference::{binary, error, unary};
use super::{Words, special_words};
use crate::function::Function;

const LIMIT: f64 = 0.51;

fn floats(operands: usize) -> impl Iterator<Item = Function> {
    Function::ALL.iter().copied().filter(move |f| f.operands() == operands && is_float(*f))
}

fn is_float(function: Function) -> bool {
    unary(function.name()).is_some() || binary(function.name()).is_some()
}

fn check(function: Function, a: u32, b: u32) {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let name = function.name();
    let want = match (unary(name), binary(name)) {
        (Some(f), _) => f(f64::from(x)),
        (None, Some(f)) => f(f64::from(x), f64::from(y)),
        (None, None) => unreachable!("only functions with a reference"),
    };
    let got = f32::from_bits(function.scalar(a, b));
    let error = error(got, want);
    assert!(error <= LIMIT, "{name}({x:e} = {a:#x}, {y:e} = {b:#x}) is {got:e}, not {want:e}: {error} ulp");
}

#[test]
fn every_function_of_floats_has_a_reference() {
    let first_integer = Function::ALL.iter().position(|&f| f == Function::DivSigned).expect("it is one");
    for (i, &function) in Function::ALL.iter().enumerate() {
        assert_eq!(is_float(function), i < first_integer, "{}", function.name());
    }
}

#[test]
fn every_bf16() {
    for function in floats(1) {
        for high in 0..=u16::MAX {
            check(function, u32::from(high) << 16, 0);
        }
    }
}

#[test]
fn f32_bit_patterns() {
    for function in floats(1) {
        for bits in (0x123..=u32::MAX).step_by(1 << 14) {
            check(function, bits, 0);
        }
    }
}

/// Around zeros, poles and the ends of ranges.
#[test]
fn neighbours_of_special_arguments() {
    let multiples = (1..=40).flat_map(|i| {
        let i = f64::from(i);
        [i * std::f64::consts::FRAC_PI_4, i, i / 8.0, -i * 4.0, i * 32_768.0 * std::f64::consts::PI].map(|x| (x as f32).to_bits())
    });
    for word in multiples.chain(special_words()) {
        for bits in (0..64).map(|i| word.wrapping_add(i).wrapping_sub(32)) {
            for function in floats(1) {
                check(function, bits, 0);
                check(function, bits ^ 0x8000_0000, 0);
            }
        }
    }
}

#[test]
fn pairs() {
    let special = special_words();
    for function in floats(2) {
        for &a in &special {
            for &b in &special {
                check(function, a, b);
            }
        }
        let mut words = Words(3);
        for _ in 0..1 << 17 {
            check(function, words.next(), words.next());
            let moderate = |word: u32| word & 0x8fff_ffff | 0x3800_0000;
            check(function, moderate(words.next()), moderate(words.next()));
        }
    }
}
