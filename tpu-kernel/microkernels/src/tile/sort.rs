//! Stable sorting along a dimension.
//!
//! Rules: a key becomes a word that orders as it does, beside its index, so that the fast sort of such pairs is stable:
//! no two are equal. NaN is greater than all numbers, the zeros are equal.

use super::view::{Dims, View, dense};

/// A number that orders.
pub(super) trait Key: Copy {
    fn word(self) -> u32;
}

const SIGN: u32 = 1 << 31;

impl Key for f32 {
    fn word(self) -> u32 {
        if self.is_nan() {
            return u32::MAX;
        }
        // The sum takes -0 to +0.
        let bits = (self + 0.0).to_bits();
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    }
}

impl Key for i32 {
    fn word(self) -> u32 {
        self as u32 ^ SIGN
    }
}

impl Key for u32 {
    fn word(self) -> u32 {
        self
    }
}

/// The keys of the line at `start` in order, each pair with its index in the low half.
pub(super) fn order<T: Key>(keys: &View<'_, T>, start: Dims, axis: usize, descending: bool, pairs: &mut [u64]) {
    let line = keys.line(start, axis);
    for (i, pair) in pairs.iter_mut().enumerate() {
        let word = line.at(i).word();
        *pair = u64::from(if descending { !word } else { word }) << 32 | i as u64;
    }
    pairs.sort_unstable();
}

/// Writes the line at `start` of a tile in the order of the pairs.
pub(super) fn apply<T: Copy>(from: &View<'_, T>, to: &mut [T], start: Dims, axis: usize, pairs: &[u64]) {
    let strides = dense(from.dims);
    let first: usize = start.iter().zip(strides).map(|(&i, stride)| i * stride).sum();
    let line = from.line(start, axis);
    for (i, &pair) in pairs.iter().enumerate() {
        to[first + i * strides[axis]] = line.at(pair as u32 as usize);
    }
}
