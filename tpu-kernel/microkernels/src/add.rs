//! A product added to what is there: the whole product of an element first, then one addition.
//!
//! That is what `load + dot` says, so it is not left to kernels that add block after block of k to the
//! destination, or begin a chain of fused multiply-adds with it.

use crate::matrix::Raw;
use crate::scratch;

/// `dst += product`, where `product` writes a matrix of the shape of `dst`.
///
/// # Safety
/// `dst` describes memory valid for reads and writes, with unit column stride; `product` writes every element of
/// the matrix that it is given.
pub(crate) unsafe fn product(dst: Raw<*mut f32>, product: impl FnOnce(Raw<*mut f32>)) {
    scratch::with(dst.rows * dst.cols, |sum| {
        let sum = Raw { ptr: sum.as_mut_ptr().cast::<f32>(), row_stride: dst.cols, ..dst };
        product(sum);
        for i in 0..dst.rows {
            // SAFETY: row i of both has dst.cols elements with unit stride; the buffer is apart from everything else.
            let (to, from) = unsafe {
                (
                    std::slice::from_raw_parts_mut(dst.ptr.add(i * dst.row_stride), dst.cols),
                    std::slice::from_raw_parts(sum.ptr.add(i * sum.row_stride), dst.cols),
                )
            };
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    });
}
