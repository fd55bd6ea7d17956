//! Gather along a dimension.

use super::RANK;
use super::view::{View, lines};

/// Element i along `axis` of the result is element `indices[i]`, negative ones from the end; else the first index outside.
pub(super) fn gather<T: Copy>(from: &View<'_, T>, indices: &View<'_, i32>, to: &mut [T], axis: usize) -> Result<(), i32> {
    let last = RANK - 1;
    let n = from.dims[axis] as i64;
    for (start, row) in lines(indices.dims, last).zip(to.chunks_exact_mut(indices.dims[last])) {
        let picks = indices.line(start, last);
        for (x, to) in row.iter_mut().enumerate() {
            let pick = picks.at(x);
            let inside = if pick < 0 { i64::from(pick) + n } else { i64::from(pick) };
            if !(0..n).contains(&inside) {
                return Err(pick);
            }
            let mut index = start;
            index[last] = x;
            index[axis] = inside as usize;
            *to = from.at(index);
        }
    }
    Ok(())
}
