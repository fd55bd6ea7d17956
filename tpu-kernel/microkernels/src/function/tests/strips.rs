//! A strip has the bits of the scalars, on every instruction set that the machine has.

use super::{Words, special_words};
use crate::function::Function;
use crate::function::strip::Level;

const UNTOUCHED: u32 = 0xdead_beef;

fn check(function: Function, level: Level, a: &[u32], b: &[u32]) {
    let strip = function.strip_for(level);
    let mut out = [UNTOUCHED; 17];
    let n = a.len();
    let second = if function.operands() == 1 { std::ptr::null() } else { b.as_ptr() };
    // SAFETY: `a`, `b` and `out` hold n words.
    unsafe { strip(a.as_ptr(), second, out.as_mut_ptr(), n as u64) };
    for i in 0..n {
        let want = function.scalar(a[i], b[i]);
        assert_eq!(out[i], want, "{} {level:?} n = {n}: lane {i}: {:#x} {:#x}", function.name(), a[i], b[i]);
    }
    assert!(out[n..].iter().all(|&word| word == UNTOUCHED), "{} {level:?} n = {n} writes too much", function.name());
}

#[test]
fn random_words_in_strips_of_every_length() {
    let mut words = Words(1);
    for &function in Function::ALL {
        for level in Level::available() {
            for n in (0..=16).chain([16; 200]) {
                let a: Vec<u32> = (0..n).map(|_| words.next()).collect();
                let b: Vec<u32> = (0..n).map(|_| words.next()).collect();
                check(function, level, &a, &b);
            }
        }
    }
}

/// Floats from 2^-16 to 2^16, where functions have most of their shape; b also as a small integer.
#[test]
fn moderate_words() {
    let mut words = Words(2);
    let mut moderate = move || words.next() & 0x8fff_ffff | 0x3000_0000;
    for &function in Function::ALL {
        for level in Level::available() {
            for small in [false, true].repeat(300) {
                let a: [u32; 16] = std::array::from_fn(|_| moderate());
                let b: [u32; 16] = std::array::from_fn(|_| if small { moderate() & 63 } else { moderate() });
                check(function, level, &a, &b);
            }
        }
    }
}

#[test]
fn pairs_of_special_words() {
    let special = special_words();
    let pairs: Vec<(u32, u32)> = special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    for &function in Function::ALL {
        for level in Level::available() {
            for pairs in pairs.chunks(16) {
                let (a, b): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
                check(function, level, &a, &b);
            }
        }
    }
}

#[test]
fn the_result_may_replace_an_operand() {
    for &function in Function::ALL {
        let a: [u32; 16] = std::array::from_fn(|i| (i as f32 + 0.25).to_bits());
        let b: [u32; 16] = std::array::from_fn(|i| (3.5 - i as f32).to_bits());
        let want: [u32; 16] = std::array::from_fn(|i| function.scalar(a[i], b[i]));
        let (mut first, mut second) = (a, b);
        // SAFETY: all hold 16 words, and the result is one of the operands.
        unsafe { function.strip()(first.as_ptr(), b.as_ptr(), first.as_mut_ptr(), 16) };
        assert_eq!(first, want, "{}", function.name());
        // SAFETY: all hold 16 words, and the result is one of the operands.
        unsafe { function.strip()(a.as_ptr(), second.as_ptr(), second.as_mut_ptr(), 16) };
        assert_eq!(second, want, "{}", function.name());
    }
}

#[test]
fn numbers_and_names_are_told_apart() {
    let names: std::collections::BTreeSet<&str> = Function::ALL.iter().map(|f| f.name()).collect();
    assert_eq!(names.len(), Function::ALL.len());
    assert!(Function::ALL.iter().enumerate().all(|(i, &f)| f as usize == i));
}
