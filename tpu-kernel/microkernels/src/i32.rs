//! i32 product, wrapping.

use crate::matrix::{Mat, MatMut, Raw, sizes};

/// `dst = a · b` in wrapping 32-bit arithmetic; exact.
///
/// # Panics
/// Where the shapes do not fit each other.
pub fn gemm_i32(mut dst: MatMut<'_, i32>, a: Mat<'_, i32>, b: Mat<'_, i32>) {
    let (dst, a, b) = (dst.raw(), a.raw(), b.raw());
    sizes(&dst, &a, &b);
    // SAFETY: the matrices were checked against their slices when they were made, their sizes just now.
    unsafe { gemm(dst, a, b, false) }
}

/// `dst = a · b`, or `dst += a · b` where `accumulate`.
///
/// # Safety
/// The three describe memory valid for what is done with it; `dst` overlaps neither operand; sizes fit.
pub(crate) unsafe fn gemm(dst: Raw<*mut i32>, a: Raw<*const i32>, b: Raw<*const i32>, accumulate: bool) {
    for i in 0..dst.rows {
        // SAFETY: row i of dst has dst.cols elements with unit stride, disjoint from both operands.
        let row = unsafe { std::slice::from_raw_parts_mut(dst.ptr.add(i * dst.row_stride), dst.cols) };
        if !accumulate {
            row.fill(0);
        }
        for p in 0..a.cols {
            // SAFETY: (i, p) is inside a.
            let x = unsafe { *a.ptr.add(i * a.row_stride + p * a.col_stride) };
            // SAFETY: p is a row of b.
            let base = unsafe { b.ptr.add(p * b.row_stride) };
            if b.col_stride == 1 {
                // SAFETY: row p of b has b.cols elements with unit stride.
                let line = unsafe { std::slice::from_raw_parts(base, b.cols) };
                for (out, &y) in row.iter_mut().zip(line) {
                    *out = out.wrapping_add(x.wrapping_mul(y));
                }
            } else {
                for (j, out) in row.iter_mut().enumerate() {
                    // SAFETY: (p, j) is inside b.
                    let y = unsafe { *base.add(j * b.col_stride) };
                    *out = out.wrapping_add(x.wrapping_mul(y));
                }
            }
        }
    }
}
