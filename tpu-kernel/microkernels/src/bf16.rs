//! Products of bf16 operands accumulated in f32, and f32 products through them.
//!
//! Two paths: `vdpbf16ps` where the processor has it and the operands let it be exact (it reads denormals
//! as zero and flushes denormal results), else operands widened to f32 and fused multiply-add. Both keep
//! |error| ≤ 2 k 2^-24 Σ|a||b| (of the rounded operands), plus k times the smallest denormal.

use crate::add;
use crate::matrix::{Mat, MatMut, Raw, sizes};
use crate::scratch;

/// `dst = a · b` of bf16 bits, accumulated in f32.
///
/// # Panics
/// Where the shapes do not fit each other.
pub fn gemm_bf16(mut dst: MatMut<'_, f32>, a: Mat<'_, u16>, b: Mat<'_, u16>) {
    let (dst, a, b) = (dst.raw(), a.raw(), b.raw());
    sizes(&dst, &a, &b);
    // SAFETY: the matrices were checked against their slices when they were made, their sizes just now.
    unsafe { gemm(dst, a, b, false) }
}

/// `dst = a · b` where both operands are first rounded to bf16 (nearest even).
///
/// # Panics
/// Where the shapes do not fit each other.
pub fn gemm_f32_default(mut dst: MatMut<'_, f32>, a: Mat<'_, f32>, b: Mat<'_, f32>) {
    let (dst, a, b) = (dst.raw(), a.raw(), b.raw());
    sizes(&dst, &a, &b);
    // SAFETY: the matrices were checked against their slices when they were made, their sizes just now.
    unsafe { gemm_rounded(dst, a, b, false) }
}

/// `dst = a · b` in three bf16 passes: x = hi + lo, and hi·lo + lo·hi + hi·hi.
///
/// The two small passes count only where they are finite, so that an infinite operand gives what
/// hi·hi gives.
///
/// # Panics
/// Where the shapes do not fit each other.
pub fn gemm_f32_high(mut dst: MatMut<'_, f32>, a: Mat<'_, f32>, b: Mat<'_, f32>) {
    let (dst, a, b) = (dst.raw(), a.raw(), b.raw());
    sizes(&dst, &a, &b);
    // SAFETY: the matrices were checked against their slices when they were made, their sizes just now.
    unsafe { gemm_split(dst, a, b, false) }
}

/// A source element as bf16 bits.
pub(crate) trait Part: Copy {
    /// The element type in memory.
    type Element: Copy;
    /// Its bf16 bits.
    fn bits(self, x: Self::Element) -> u16;
}

/// bf16 as it is.
#[derive(Clone, Copy)]
pub(crate) struct Exact;
/// An f32 rounded to bf16.
#[derive(Clone, Copy)]
pub(crate) struct Hi;
/// What rounding an f32 to bf16 left over, rounded to bf16; zero beside infinity and NaN.
#[derive(Clone, Copy)]
pub(crate) struct Lo;

impl Part for Exact {
    type Element = u16;
    #[inline(always)]
    fn bits(self, x: u16) -> u16 {
        x
    }
}
impl Part for Hi {
    type Element = f32;
    #[inline(always)]
    fn bits(self, x: f32) -> u16 {
        round(x)
    }
}
impl Part for Lo {
    type Element = f32;
    #[inline(always)]
    fn bits(self, x: f32) -> u16 {
        let hi = f32::from_bits(u32::from(round(x)) << 16);
        if hi.is_finite() { round(x - hi) } else { 0 }
    }
}

/// Nearest even; NaN stays NaN.
#[inline(always)]
fn round(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1))) >> 16;
    (if x.is_nan() { (bits >> 16) | 0x40 } else { rounded }) as u16
}

/// `dst = a · b`, or `dst += a · b` where `accumulate`.
///
/// # Safety
/// The three describe memory valid for what is done with it; `dst` overlaps neither operand; sizes fit.
pub(crate) unsafe fn gemm(dst: Raw<*mut f32>, a: Raw<*const u16>, b: Raw<*const u16>, accumulate: bool) {
    // SAFETY: by this function's contract.
    unsafe { product(dst, a, Exact, b, Exact, accumulate) }
}

/// `dst = bf16(a) · bf16(b)`, or `dst +=` where `accumulate`.
///
/// # Safety
/// As [`gemm`].
pub(crate) unsafe fn gemm_rounded(dst: Raw<*mut f32>, a: Raw<*const f32>, b: Raw<*const f32>, accumulate: bool) {
    // SAFETY: by this function's contract.
    unsafe { product(dst, a, Hi, b, Hi, accumulate) }
}

/// `dst = hi(a)·lo(b) + lo(a)·hi(b) + hi(a)·hi(b)`, or `dst +=` where `accumulate`.
///
/// # Safety
/// As [`gemm`].
pub(crate) unsafe fn gemm_split(dst: Raw<*mut f32>, a: Raw<*const f32>, b: Raw<*const f32>, accumulate: bool) {
    if !accumulate {
        // SAFETY: by this function's contract.
        return unsafe { split(dst, a, b) };
    }
    // SAFETY: by this function's contract; the product is written to memory of its own.
    unsafe { add::product(dst, |sum| split(sum, a, b)) }
}

/// # Safety
/// As [`gemm`].
unsafe fn split(dst: Raw<*mut f32>, a: Raw<*const f32>, b: Raw<*const f32>) {
    // SAFETY: by this function's contract.
    unsafe {
        product(dst, a, Hi, b, Lo, false);
        product(dst, a, Lo, b, Hi, true);
    }
    for i in 0..dst.rows {
        // SAFETY: row i of dst has dst.cols elements with unit stride, written by the products above.
        let row = unsafe { std::slice::from_raw_parts_mut(dst.ptr.add(i * dst.row_stride), dst.cols) };
        for x in row {
            *x = if x.is_finite() { *x } else { 0.0 };
        }
    }
    // SAFETY: by this function's contract.
    unsafe { product(dst, a, Hi, b, Hi, true) }
}

/// # Safety
/// As [`gemm`].
unsafe fn product<A: Part, B: Part>(
    dst: Raw<*mut f32>,
    a: Raw<*const A::Element>,
    a_part: A,
    b: Raw<*const B::Element>,
    b_part: B,
    accumulate: bool,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bf16")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the features are there; the rest by this function's contract.
        return unsafe { crate::bf16_avx512::product(dst, a, a_part, b, b_part, accumulate) };
    }
    // SAFETY: by this function's contract.
    unsafe { widened(dst, a, a_part, b, b_part, accumulate) }
}

/// Widens both operands and multiplies in f32: exact products, every denormal kept.
///
/// # Safety
/// As [`gemm`].
pub(crate) unsafe fn widened<A: Part, B: Part>(
    dst: Raw<*mut f32>,
    a: Raw<*const A::Element>,
    a_part: A,
    b: Raw<*const B::Element>,
    b_part: B,
    accumulate: bool,
) {
    let (a_words, b_words) = (a.rows * a.cols, b.rows * b.cols);
    scratch::with(a_words + b_words, |buffer| {
        let (a_wide, b_wide) = buffer.split_at_mut(a_words);
        // SAFETY: by this function's contract; the dense copies have exactly the operands' elements.
        unsafe {
            let a = widen(a, a_part, a_wide);
            let b = widen(b, b_part, b_wide);
            crate::f32::gemm(dst, a, b, accumulate);
        }
    });
}

/// A dense f32 copy of an operand, in the operand's own order of dimensions.
///
/// # Safety
/// `src` describes memory valid for reads; `out` has as many words as `src` elements.
unsafe fn widen<P: Part>(src: Raw<*const P::Element>, part: P, out: &mut [u32]) -> Raw<*const f32> {
    let by_column = src.col_stride > src.row_stride;
    let (outer, inner, outer_stride, inner_stride) = if by_column {
        (src.cols, src.rows, src.col_stride, src.row_stride)
    } else {
        (src.rows, src.cols, src.row_stride, src.col_stride)
    };
    for (i, line) in out.chunks_exact_mut(inner).take(outer).enumerate() {
        // SAFETY: line i of src begins there.
        let from = unsafe { src.ptr.add(i * outer_stride) };
        if inner_stride == 1 {
            // SAFETY: the line has `inner` elements with unit stride.
            let from = unsafe { std::slice::from_raw_parts(from, inner) };
            for (to, &x) in line.iter_mut().zip(from) {
                *to = u32::from(part.bits(x)) << 16;
            }
        } else {
            for (j, to) in line.iter_mut().enumerate() {
                // SAFETY: (i, j) is inside src.
                *to = u32::from(part.bits(unsafe { *from.add(j * inner_stride) })) << 16;
            }
        }
    }
    let (row_stride, col_stride) = if by_column { (1, inner) } else { (inner, 1) };
    Raw { ptr: out.as_ptr().cast::<f32>(), rows: src.rows, cols: src.cols, row_stride, col_stride }
}
