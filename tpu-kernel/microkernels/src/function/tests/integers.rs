//! Integer functions against 64-bit arithmetic.

use super::{Words, special_words};
use crate::function::Function;

/// The value by the rules of the crate's documentation.
fn want(function: Function, a: u32, b: u32) -> u32 {
    let (s, t) = (i64::from(a.cast_signed()), i64::from(b.cast_signed()));
    let (u, v) = (u64::from(a), u64::from(b));
    match function {
        Function::DivSigned if t == 0 => u32::MAX,
        Function::DivSigned => (s / t) as u32,
        Function::RemSigned if t == 0 => a,
        Function::RemSigned => (s % t) as u32,
        Function::FloorDivSigned if t == 0 => u32::MAX,
        Function::FloorDivSigned => floor(s, t) as u32,
        Function::FloorModSigned if t == 0 => a,
        Function::FloorModSigned => (s - floor(s, t) * t) as u32,
        Function::DivUnsigned => u.checked_div(v).unwrap_or(u64::from(u32::MAX)) as u32,
        Function::RemUnsigned => u.checked_rem(v).unwrap_or(u) as u32,
        Function::Shl => (u << v.min(32)) as u32,
        Function::Shr => (s >> v.min(32)) as u32,
        Function::ShrLogical => (u >> v.min(32)) as u32,
        Function::Popcount => (0..32).map(|i| a >> i & 1).sum(),
        Function::Clz => (0..32).take_while(|i| a >> (31 - i) == 0).count() as u32,
        _ => unreachable!("not a function of integers"),
    }
}

fn floor(s: i64, t: i64) -> i64 {
    s.div_euclid(t) - i64::from(t < 0 && s.rem_euclid(t) != 0)
}

#[test]
fn the_reference_rounds_down() {
    assert_eq!([floor(7, 2), floor(-7, 2), floor(7, -2), floor(-7, -2), floor(6, -2)], [3, -4, -4, 3, -3]);
}

#[test]
fn values() {
    let first = Function::ALL.iter().position(|&f| f == Function::DivSigned).expect("it is one");
    let special = special_words();
    for &function in &Function::ALL[first..] {
        let check = |a: u32, b: u32| assert_eq!(function.scalar(a, b), want(function, a, b), "{} {a:#x} {b:#x}", function.name());
        for &a in &special {
            special.iter().for_each(|&b| check(a, b));
            (0..40).for_each(|b| check(a, b));
        }
        let mut words = Words(4);
        for _ in 0..1 << 18 {
            let (a, b) = (words.next(), words.next());
            check(a, b);
            // Divisors of every size, and multiples with their neighbours, where a quotient steps.
            let divisor = b >> (a & 31);
            check(a, divisor);
            let multiple = divisor.wrapping_mul(words.next());
            (0..3).for_each(|i| check(multiple.wrapping_add(i).wrapping_sub(1), divisor));
        }
    }
}

#[test]
fn corners() {
    let min = i32::MIN as u32;
    let minus = |x: u32| x.wrapping_neg();
    let cases = [
        (Function::DivSigned, min, minus(1), min),
        (Function::DivSigned, 5, 0, minus(1)),
        (Function::DivSigned, minus(7), 2, minus(3)),
        (Function::RemSigned, min, minus(1), 0),
        (Function::RemSigned, minus(5), 0, minus(5)),
        (Function::RemSigned, minus(7), 2, minus(1)),
        (Function::FloorDivSigned, minus(7), 2, minus(4)),
        (Function::FloorDivSigned, minus(7), 0, minus(1)),
        (Function::FloorDivSigned, min, minus(1), min),
        (Function::FloorModSigned, minus(7), 2, 1),
        (Function::FloorModSigned, 7, minus(2), minus(1)),
        (Function::FloorModSigned, minus(7), 0, minus(7)),
        (Function::FloorModSigned, min, minus(1), 0),
        (Function::DivUnsigned, 5, 0, u32::MAX),
        (Function::DivUnsigned, u32::MAX, 1, u32::MAX),
        (Function::RemUnsigned, 5, 0, 5),
        (Function::Shl, 1, 31, min),
        (Function::Shl, 1, 32, 0),
        (Function::Shl, 1, u32::MAX, 0),
        (Function::Shr, min, 40, u32::MAX),
        (Function::Shr, 5, u32::MAX, 0),
        (Function::Shr, min, 31, u32::MAX),
        (Function::ShrLogical, min, 31, 1),
        (Function::ShrLogical, min, 32, 0),
        (Function::Popcount, u32::MAX, 0, 32),
        (Function::Clz, 0, 0, 32),
        (Function::Clz, 1, 0, 31),
    ];
    for (function, a, b, want) in cases {
        assert_eq!(function.scalar(a, b), want, "{} {a:#x} {b:#x}", function.name());
    }
}
