//! Running reductions: each result is the one before, combined with the next element.

use super::view::{View, dense, lines};
use super::{MAX, MIN, PROD, RANK, SUM};

/// A number that running reductions take.
pub(super) trait Number: Copy {
    fn sum(a: Self, b: Self) -> Self;
    fn product(a: Self, b: Self) -> Self;
    fn larger(a: Self, b: Self) -> Self;
    fn smaller(a: Self, b: Self) -> Self;
}

impl Number for f32 {
    fn sum(a: f32, b: f32) -> f32 {
        a + b
    }
    fn product(a: f32, b: f32) -> f32 {
        a * b
    }
    fn larger(a: f32, b: f32) -> f32 {
        match () {
            () if a.is_nan() || b.is_nan() => f32::NAN,
            () if a.total_cmp(&b).is_ge() => a,
            () => b,
        }
    }
    fn smaller(a: f32, b: f32) -> f32 {
        match () {
            () if a.is_nan() || b.is_nan() => f32::NAN,
            () if a.total_cmp(&b).is_le() => a,
            () => b,
        }
    }
}

macro_rules! integers {
    ($($ty:ty),+) => { $(
        impl Number for $ty {
            fn sum(a: $ty, b: $ty) -> $ty {
                a.wrapping_add(b)
            }
            fn product(a: $ty, b: $ty) -> $ty {
                a.wrapping_mul(b)
            }
            fn larger(a: $ty, b: $ty) -> $ty {
                a.max(b)
            }
            fn smaller(a: $ty, b: $ty) -> $ty {
                a.min(b)
            }
        }
    )+ };
}

integers!(i32, u32);

/// A running reduction along `axis`; `None` of an unknown operation.
pub(super) fn scan<T: Number>(from: &View<'_, T>, to: &mut [T], axis: usize, op: u32, reverse: bool) -> Option<()> {
    match op {
        SUM => run(from, to, axis, reverse, T::sum),
        PROD => run(from, to, axis, reverse, T::product),
        MAX => run(from, to, axis, reverse, T::larger),
        MIN => run(from, to, axis, reverse, T::smaller),
        _ => return None,
    }
    Some(())
}

fn run<T: Number>(from: &View<'_, T>, to: &mut [T], axis: usize, reverse: bool, f: impl Fn(T, T) -> T) {
    let (last, n) = (RANK - 1, from.dims[axis]);
    let strides = dense(from.dims);
    let order = |i: usize| if reverse { n - 1 - i } else { i };
    let place = |index: [usize; RANK]| index.iter().zip(strides).map(|(&i, stride)| i * stride).sum::<usize>();
    if axis == last {
        for index in lines(from.dims, last) {
            let (line, start) = (from.line(index, last), place(index));
            let mut sum = line.at(order(0));
            to[start + order(0)] = sum;
            for i in 1..n {
                sum = f(sum, line.at(order(i)));
                to[start + order(i)] = sum;
            }
        }
        return;
    }
    // Whole rows side by side: each is the row before, combined with the operand's.
    let mut outer = from.dims;
    outer[axis] = 1;
    for index in lines(outer, last) {
        let mut before = 0;
        for i in 0..n {
            let mut index = index;
            index[axis] = order(i);
            let (line, start) = (from.line(index, last), place(index));
            for x in 0..line.len() {
                to[start + x] = if i == 0 { line.at(x) } else { f(to[before + x], line.at(x)) };
            }
            before = start;
        }
    }
}
