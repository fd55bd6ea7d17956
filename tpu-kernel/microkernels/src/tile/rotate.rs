//! Rotation along a dimension.

use super::RANK;
use super::view::{Dims, View, lines};

/// Element i along `axis` goes to (i + amount) mod n; with a step, row r along `step.0` rotates by r · `step.1` more.
pub(super) fn rotate<T: Copy>(from: &View<'_, T>, to: &mut [T], axis: usize, amount: i32, step: Option<(usize, i32)>) {
    let last = RANK - 1;
    let n = from.dims[axis];
    let shift = |row: usize| {
        let more = step.map_or(0, |(_, by)| row as i64 * i64::from(by));
        (i64::from(amount) + more).rem_euclid(n as i64) as usize
    };
    let back = |i: usize, by: usize| if i >= by { i - by } else { i + n - by };
    for (index, row) in lines(from.dims, last).zip(to.chunks_exact_mut(from.dims[last])) {
        let moved = |axis: usize, at: usize| {
            let mut index: Dims = index;
            index[axis] = at;
            index
        };
        let steps = step.map_or(0, |(axis, _)| index[axis]);
        if axis == last {
            let by = shift(steps);
            let (head, tail) = row.split_at_mut(by);
            from.copy(index, tail);
            from.copy(moved(last, n - by), head);
        } else if let Some((at, _)) = step
            && at == last
        {
            for (x, to) in row.iter_mut().enumerate() {
                let mut source = moved(last, x);
                source[axis] = back(index[axis], shift(x));
                *to = from.at(source);
            }
        } else {
            from.copy(moved(axis, back(index[axis], shift(steps))), row);
        }
    }
}
