//! The bits are those of the day when they were written down, on every machine and in every build.

use super::{Words, special_words};
use crate::function::Function;

/// FNV-1a, 64 bits.
fn hash(hash: u64, word: u32) -> u64 {
    word.to_le_bytes().iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn hash_of(function: Function) -> u64 {
    let mut words = Words(5);
    let mut state = 0xcbf2_9ce4_8422_2325;
    for _ in 0..1 << 14 {
        let (a, b) = (words.next(), words.next());
        state = hash(state, function.scalar(a, b));
        let moderate = |word: u32| word & 0x8fff_ffff | 0x3000_0000;
        state = hash(state, function.scalar(moderate(a), moderate(b)));
    }
    let special = special_words();
    special
        .iter()
        .flat_map(|&a| special.iter().map(move |&b| (a, b)))
        .fold(state, |state, (a, b)| hash(state, function.scalar(a, b)))
}

#[test]
fn results_never_change() {
    let found: Vec<String> = Function::ALL.iter().map(|&f| format!("{} {:016x}", f.name(), hash_of(f))).collect();
    let found = found.join("\n") + "\n";
    assert_eq!(found, include_str!("hashes.txt"), "a change here changes the results of kernels: found\n{found}");
}
