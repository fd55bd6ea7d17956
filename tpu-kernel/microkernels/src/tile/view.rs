//! Tiles as slices with strides.

use super::RANK;

/// An index, and a shape.
pub(super) type Dims = [usize; RANK];

/// A tile to read.
pub(super) struct View<'a, T> {
    data: &'a [T],
    pub(super) dims: Dims,
    strides: Dims,
}

/// Elements of a shape, or `None` where that overflows.
pub(super) fn elements(dims: Dims) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| isize::try_from(n).is_ok())
}

/// Elements from the first to the last of a tile, or `None` where that overflows.
pub(super) fn span(dims: Dims, strides: Dims) -> Option<usize> {
    if dims.contains(&0) {
        return Some(0);
    }
    let last = dims.iter().zip(strides).try_fold(0usize, |sum, (&n, stride)| sum.checked_add((n - 1).checked_mul(stride)?))?;
    last.checked_add(1)
}

impl<'a, T: Copy> View<'a, T> {
    /// The tile, or `None` where `data` is too short for it.
    pub(super) fn new(data: &'a [T], dims: Dims, strides: Dims) -> Option<View<'a, T>> {
        (span(dims, strides)? <= data.len()).then_some(View { data, dims, strides })
    }

    /// One element.
    pub(super) fn at(&self, index: Dims) -> T {
        self.data[index.iter().zip(self.strides).map(|(&i, stride)| i * stride).sum::<usize>()]
    }

    /// The elements along a dimension from that index on.
    pub(super) fn line(&self, index: Dims, axis: usize) -> Line<'a, T> {
        let start: usize = index.iter().zip(self.strides).map(|(&i, stride)| i * stride).sum();
        // A line of no elements starts behind the last one, which may lie behind the tile.
        Line { data: &self.data[start.min(self.data.len())..], stride: self.strides[axis], len: self.dims[axis] - index[axis] }
    }

    /// Copies elements along the last dimension from that index on.
    pub(super) fn copy(&self, index: Dims, to: &mut [T]) {
        self.line(index, RANK - 1).copy(to);
    }
}

/// Elements along one dimension of a tile.
pub(super) struct Line<'a, T> {
    data: &'a [T],
    stride: usize,
    len: usize,
}

impl<T: Copy> Line<'_, T> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One element.
    pub(super) fn at(&self, i: usize) -> T {
        self.data[i * self.stride]
    }

    /// Copies the first elements.
    pub(super) fn copy(&self, to: &mut [T]) {
        if self.stride == 1 {
            to.copy_from_slice(&self.data[..to.len()]);
        } else {
            to.iter_mut().enumerate().for_each(|(i, to)| *to = self.at(i));
        }
    }
}

/// The distance of neighbours of a dense tile along each dimension.
pub(super) fn dense(dims: Dims) -> Dims {
    let mut strides = [1; RANK];
    for d in (0..RANK - 1).rev() {
        strides[d] = strides[d + 1] * dims[d + 1];
    }
    strides
}

/// The index at the start of each line along a dimension, in row-major order.
pub(super) fn lines(dims: Dims, axis: usize) -> impl Iterator<Item = Dims> {
    let mut counts = dims;
    counts[axis] = 1;
    let [a, b, c, d] = counts;
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).flat_map(move |k| (0..d).map(move |l| [i, j, k, l]))))
}

/// An element by its bits.
pub(super) trait Bits: Copy {
    fn word(self) -> u32;
    fn from_word(word: u32) -> Self;
}

macro_rules! bits {
    ($($ty:ty),+) => { $(
        impl Bits for $ty {
            fn word(self) -> u32 {
                u32::from(self)
            }
            fn from_word(word: u32) -> $ty {
                word as $ty
            }
        }
    )+ };
}

bits!(u8, u16, u32);
