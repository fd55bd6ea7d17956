//! Parts of a memory as sets of element numbers: where they begin and how they stride. Whether two parts meet is answered element by
//! element, so that strided parts which pass each other by do not.

use tpu_microkernels::tile::RANK;

/// The elements of a part of a memory, counted from the memory's first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub start: i64,
    pub dims: [usize; RANK],
    pub strides: [i64; RANK],
}

impl Region {
    /// So many elements side by side.
    pub(super) fn row(start: i64, len: usize) -> Region {
        Region { start, dims: [1, 1, 1, len], strides: [0, 0, 0, 1] }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Calls `f` with each row: its first element, how many there are, and how far apart. Ends early with what `f` gives.
    pub(super) fn rows<R>(&self, mut f: impl FnMut(i64, usize, i64) -> Option<R>) -> Option<R> {
        if self.is_empty() {
            return None;
        }
        // Dimensions that lie side by side are one row.
        let (mut outer, mut len, step) = (RANK - 1, self.dims[RANK - 1], self.strides[RANK - 1]);
        while outer > 0 && self.strides[outer - 1] == step.wrapping_mul(len as i64) {
            outer -= 1;
            len *= self.dims[outer];
        }
        // A single element per row may have any stride.
        let mut index = [0usize; RANK];
        let count: usize = self.dims[..outer].iter().product();
        for _ in 0..count {
            let first: i64 = (0..outer).map(|d| index[d] as i64 * self.strides[d]).sum::<i64>() + self.start;
            if let Some(found) = f(first, len, step) {
                return Some(found);
            }
            for d in (0..outer).rev() {
                index[d] += 1;
                if index[d] < self.dims[d] {
                    break;
                }
                index[d] = 0;
            }
        }
        None
    }

    /// The first element that `wanted` holds for; `marks` has something for each element of the memory.
    pub(super) fn find<T: Copy>(&self, marks: &[T], wanted: impl Fn(usize, T) -> bool) -> Option<usize> {
        self.rows(|first, len, step| {
            (0..len as i64).map(|i| (first + i * step) as usize).find(|&at| marks.get(at).is_some_and(|&mark| wanted(at, mark)))
        })
    }

    /// Calls `f` with each element and the one at its place in another part of the same extents.
    pub(super) fn pairs(&self, other: &Region, mut f: impl FnMut(usize, usize)) {
        if self.is_empty() {
            return;
        }
        let mut index = [0usize; RANK];
        let count: usize = self.dims.iter().product();
        for _ in 0..count {
            let at =
                |region: &Region| index.iter().zip(region.strides).fold(region.start, |sum, (&i, by)| sum + i as i64 * by) as usize;
            f(at(self), at(other));
            for d in (0..RANK).rev() {
                index[d] += 1;
                if index[d] < self.dims[d] {
                    break;
                }
                index[d] = 0;
            }
        }
    }

    /// Changes what each element has.
    pub(super) fn each<T>(&self, marks: &mut [T], mut change: impl FnMut(usize, &mut T)) {
        let _ = self.rows(|first, len, step| {
            for i in 0..len as i64 {
                let at = (first + i * step) as usize;
                if let Some(mark) = marks.get_mut(at) {
                    change(at, mark);
                }
            }
            None::<()>
        });
    }

    /// Whether an element is one of these.
    pub(super) fn contains(&self, element: usize) -> bool {
        self.rows(|first, len, step| {
            let apart = element as i64 - first;
            let within = match step {
                0 => apart == 0,
                _ => apart % step == 0 && (0..len as i64).contains(&(apart / step)),
            };
            within.then_some(())
        })
        .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(region: &Region) -> Vec<usize> {
        let mut marks = vec![0u8; 64];
        region.each(&mut marks, |_, mark| *mark += 1);
        assert!(marks.iter().all(|&n| n <= 1), "each once");
        (0..64).filter(|&at| marks[at] == 1).collect()
    }

    #[test]
    fn rows_join_where_they_lie_side_by_side() {
        let dense = Region { start: 8, dims: [1, 1, 2, 8], strides: [0, 0, 8, 1] };
        let mut rows = vec![];
        assert_eq!(
            dense.rows(|first, len, step| {
                rows.push((first, len, step));
                None::<()>
            }),
            None
        );
        assert_eq!(rows, [(8, 16, 1)]);
        assert_eq!(elements(&dense), (8..24).collect::<Vec<_>>());
        let column = Region { start: 3, dims: [1, 1, 4, 1], strides: [0, 0, 8, 1] };
        assert_eq!(elements(&column), [3, 11, 19, 27]);
        let strided = Region { start: 1, dims: [1, 2, 2, 3], strides: [0, 32, 8, 2] };
        assert_eq!(elements(&strided), [1, 3, 5, 9, 11, 13, 33, 35, 37, 41, 43, 45]);
        assert!(strided.contains(43) && !strided.contains(42) && !strided.contains(47) && !strided.contains(17));
        let mut pairs = vec![];
        strided.pairs(&Region { start: 0, dims: strided.dims, strides: [0, 6, 3, 1] }, |one, other| pairs.push((one, other)));
        let want: Vec<(usize, usize)> = [1, 3, 5, 9, 11, 13, 33, 35, 37, 41, 43, 45].into_iter().zip(0..).collect();
        assert_eq!(pairs, want);
        let nothing = Region { start: 0, dims: [1, 1, 0, 8], strides: [0, 0, 8, 1] };
        assert!(nothing.is_empty() && elements(&nothing).is_empty() && !nothing.contains(0));
    }
}
