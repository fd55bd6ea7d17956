//! Borrowed matrices with strides, checked once when they are made.

/// A matrix to read: element (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

/// A matrix to overwrite: element (i, j) is `data[i * row_stride + j]`; rows do not overlap.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

/// Elements from the first to the last of such a matrix, or `None` where that overflows.
fn span(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let last = (rows - 1).checked_mul(row_stride)?.checked_add((cols - 1).checked_mul(col_stride)?)?;
    last.checked_add(1).filter(|&n| isize::try_from(n).is_ok())
}

impl<'a, T> Mat<'a, T> {
    /// The matrix, or `None` where `data` is too short for it.
    pub fn new(data: &'a [T], rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Option<Mat<'a, T>> {
        (span(rows, cols, row_stride, col_stride)? <= data.len()).then_some(Mat { data, rows, cols, row_stride, col_stride })
    }

    /// The dense row-major matrix, or `None` where `data` is too short for it.
    pub fn dense(data: &'a [T], rows: usize, cols: usize) -> Option<Mat<'a, T>> {
        Mat::new(data, rows, cols, cols, 1)
    }

    /// The transposed matrix, over the same elements.
    pub fn transposed(self) -> Mat<'a, T> {
        Mat { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    pub(crate) fn raw(&self) -> Raw<*const T> {
        Raw { ptr: self.data.as_ptr(), rows: self.rows, cols: self.cols, row_stride: self.row_stride, col_stride: self.col_stride }
    }
}

impl<'a, T> MatMut<'a, T> {
    /// The matrix, or `None` where `data` is too short for it or its rows overlap.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize, row_stride: usize) -> Option<MatMut<'a, T>> {
        let apart = rows < 2 || row_stride >= cols;
        (apart && span(rows, cols, row_stride, 1)? <= data.len()).then_some(MatMut { data, rows, cols, row_stride })
    }

    pub(crate) fn raw(&mut self) -> Raw<*mut T> {
        Raw { ptr: self.data.as_mut_ptr(), rows: self.rows, cols: self.cols, row_stride: self.row_stride, col_stride: 1 }
    }
}

/// A matrix by address, for the code behind the safe interface and behind [`raw`](crate::raw).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<P> {
    pub(crate) ptr: P,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

/// The sizes (m, n, k) of a product.
///
/// # Panics
/// Where the shapes do not fit each other.
pub(crate) fn sizes<P, Q, R>(dst: &Raw<P>, a: &Raw<Q>, b: &Raw<R>) -> (usize, usize, usize) {
    assert!(
        dst.rows == a.rows && dst.cols == b.cols && a.cols == b.rows,
        "a product of {}x{} and {}x{} into {}x{}",
        a.rows,
        a.cols,
        b.rows,
        b.cols,
        dst.rows,
        dst.cols
    );
    (dst.rows, dst.cols, a.cols)
}
