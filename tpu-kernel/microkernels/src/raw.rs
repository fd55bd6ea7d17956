//! Entry points for compiled code: C calling convention, addresses and strides in elements.

use crate::matrix::Raw;

/// `dst = a · b`, or `dst += a · b`, the whole product in one addition: dst, a, b; m, n, k; the row stride of dst (its column stride is 1), then row
/// and column strides of a and of b; 0, or 1 to add.
pub type Gemm = unsafe extern "C" fn(*mut u8, *const u8, *const u8, usize, usize, usize, usize, usize, usize, usize, usize, usize);

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $dst:ty, $src:ty, $inner:path) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The addresses are aligned for their elements and valid for the elements that sizes and strides
        /// reach; `dst` overlaps neither operand and its rows do not overlap.
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name(
            dst: *mut u8, a: *const u8, b: *const u8, m: usize, n: usize, k: usize,
            dst_row: usize, a_row: usize, a_col: usize, b_row: usize, b_col: usize,
            accumulate: usize,
        ) {
            let dst = Raw { ptr: dst.cast::<$dst>(), rows: m, cols: n, row_stride: dst_row, col_stride: 1 };
            let a = Raw { ptr: a.cast::<$src>(), rows: m, cols: k, row_stride: a_row, col_stride: a_col };
            let b = Raw { ptr: b.cast::<$src>(), rows: k, cols: n, row_stride: b_row, col_stride: b_col };
            // SAFETY: by this function's contract.
            unsafe { $inner(dst, a, b, accumulate != 0) }
        }
    };
}

entry!(
    /// f32, fused multiply-add.
    f32_highest, f32, f32, crate::f32::gemm
);
entry!(
    /// f32 operands rounded to bf16, f32 result.
    f32_default, f32, f32, crate::bf16::gemm_rounded
);
entry!(
    /// f32 operands in three bf16 passes, f32 result.
    f32_high, f32, f32, crate::bf16::gemm_split
);
entry!(
    /// bf16 operands, f32 result.
    bf16, f32, u16, crate::bf16::gemm
);
entry!(
    /// Wrapping i32.
    i32, i32, i32, crate::i32::gemm
);
