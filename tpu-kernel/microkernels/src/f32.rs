//! f32 product with fused multiply-add: the gemm crate's kernels (AVX-512, AVX2 + FMA, NEON, portable).

use crate::add;
use crate::matrix::{Mat, MatMut, Raw, sizes};

/// `dst = a · b` in f32 fused multiply-add. |error| ≤ 2 k 2^-24 Σ|a||b|, plus k times the smallest denormal.
///
/// # Panics
/// Where the shapes do not fit each other.
pub fn gemm_f32(mut dst: MatMut<'_, f32>, a: Mat<'_, f32>, b: Mat<'_, f32>) {
    let (dst, a, b) = (dst.raw(), a.raw(), b.raw());
    sizes(&dst, &a, &b);
    // SAFETY: the matrices were checked against their slices when they were made, their sizes just now.
    unsafe { gemm(dst, a, b, false) }
}

/// `dst = a · b`, or `dst += a · b` where `accumulate`.
///
/// # Safety
/// The three describe memory valid for what is done with it; `dst` overlaps neither operand; sizes fit.
pub(crate) unsafe fn gemm(dst: Raw<*mut f32>, a: Raw<*const f32>, b: Raw<*const f32>, accumulate: bool) {
    // The kernels form the whole product before they add it only of one block of k (at least 512), and not where they
    // compute an outer product or one of a vector.
    let whole = dst.rows > 1 && dst.cols > 1 && (3..=512).contains(&a.cols);
    if accumulate && !whole {
        // SAFETY: by this function's contract; the product is written to memory of its own.
        return unsafe { add::product(dst, |sum| gemm(sum, a, b, false)) };
    }
    // The kernels want a destination with unit row stride: compute the transposed product.
    let kernel = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: by this function's contract; strides fit isize because every matrix does.
    unsafe {
        kernel(
            dst.cols,
            dst.rows,
            a.cols,
            dst.ptr,
            dst.row_stride as isize,
            dst.col_stride as isize,
            accumulate,
            b.ptr,
            b.row_stride as isize,
            b.col_stride as isize,
            a.ptr,
            a.row_stride as isize,
            a.col_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    }
}
