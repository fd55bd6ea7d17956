//! The first index of the largest or smallest element along a dimension; the first NaN wins.

use super::view::{View, lines};

/// Writes one index a line.
pub(super) fn argument<T: PartialOrd + Copy>(from: &View<'_, T>, to: &mut [i32], axis: usize, smallest: bool) {
    for (index, to) in lines(from.dims, axis).zip(to) {
        let line = from.line(index, axis);
        let (mut best, mut at) = (line.at(0), 0);
        // NaN alone does not order with itself.
        for i in 1..line.len() {
            if best.partial_cmp(&best).is_none() {
                break;
            }
            let x = line.at(i);
            if x.partial_cmp(&x).is_none() || (if smallest { x < best } else { x > best }) {
                (best, at) = (x, i);
            }
        }
        *to = at as i32;
    }
}
