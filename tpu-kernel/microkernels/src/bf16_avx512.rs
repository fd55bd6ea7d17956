//! The bf16 product with `vdpbf16ps`: two products and an accumulation a lane and instruction.
//!
//! The instruction reads denormals as zero and flushes denormal results. A block of k is multiplied here
//! only where every product of its operands that is not zero is at least 2^-102: then what flushing loses
//! (below 2^-126 an addition) is within the bound, a rounding error of the smallest term. Other blocks
//! go the portable way. Both operands are packed in pairs along k: a by rows, b in panels of columns.

use crate::add;
use crate::bf16::{Part, widened};
use crate::matrix::Raw;
use crate::scratch;
use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps,
    _mm512_set1_epi32, _mm512_setzero_ps,
};

/// Rows and columns that the kernel holds in registers: 24 accumulators.
const MR: usize = 12;
const NR: usize = 32;
/// Pairs along k that are packed at once, and the distance of packed rows (off the powers of two).
const PAIRS: usize = 256;
const PITCH: usize = PAIRS + 16;
/// Biased exponents of the smallest operands must sum to this: 2 · 127 - 102.
const LEAST: u32 = 152;

/// `dst = a · b`, or `dst += a · b` where `accumulate`.
///
/// # Safety
/// The processor has AVX-512 F, BW, VL and BF16. The three describe memory valid for what is done with it;
/// `dst` overlaps neither operand; sizes fit.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub(crate) unsafe fn product<A: Part, B: Part>(
    dst: Raw<*mut f32>,
    a: Raw<*const A::Element>,
    a_part: A,
    b: Raw<*const B::Element>,
    b_part: B,
    accumulate: bool,
) {
    let k = a.cols;
    if accumulate && k > 2 * PAIRS {
        // Several blocks: their sum is the product.
        // SAFETY: by this function's contract; the product is written to memory of its own.
        return unsafe { add::product(dst, |sum| product(sum, a, a_part, b, b_part, false)) };
    }
    let (a_rows, b_panels) = (dst.rows.next_multiple_of(MR), dst.cols.div_ceil(NR));
    scratch::with(a_rows * PITCH + (b_panels * PAIRS + PITCH) * NR, |buffer| {
        let (a_packed, rest) = buffer.split_at_mut(a_rows * PITCH);
        let (turning, b_packed) = rest.split_at_mut(NR * PITCH);
        for from in (0..k).step_by(2 * PAIRS) {
            let depth = (k - from).min(2 * PAIRS);
            let accumulate = accumulate || from > 0;
            // SAFETY: columns `from..from + depth` are inside a, these rows inside b.
            let (a_block, b_block) = unsafe {
                (
                    Raw { ptr: a.ptr.add(from * a.col_stride), cols: depth, ..a },
                    Raw { ptr: b.ptr.add(from * b.row_stride), rows: depth, ..b },
                )
            };
            // SAFETY: by this function's contract; the buffers have room for all rows and panels.
            unsafe {
                let least = pack_rows(a_block, a_part, a_packed).zip(pack_panels(b_block, b_part, b_packed, turning));
                if least.is_some_and(|(a, b)| a + b >= LEAST) {
                    multiply(dst, a_packed, b_packed, depth.div_ceil(2), accumulate);
                } else {
                    widened(dst, a_block, a_part, b_block, b_part, accumulate);
                }
            }
        }
    });
}

/// Two elements as the instruction wants them, the first low.
#[inline(always)]
fn pair(x: u16, y: u16) -> u32 {
    u32::from(x) | u32::from(y) << 16
}

/// The least biased exponent of elements that are not zero, where `least` is the least of their bits less
/// one. Of a denormal `None`; where all are zero any other operand will do.
fn exponent(least: u16) -> Option<u32> {
    match (u32::from(least) + 1) >> 7 {
        0 => None,
        n => Some(n),
    }
}

/// The magnitude less one, with zero above all.
#[inline(always)]
fn magnitude(x: u16) -> u16 {
    (x & 0x7fff).wrapping_sub(1)
}

/// Packs rows of pairs. Returns the least exponent.
///
/// # Safety
/// As [`product`]; `out` has [`PITCH`] words a row, rounded up to [`MR`] rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn pack_rows<P: Part>(a: Raw<*const P::Element>, part: P, out: &mut [u32]) -> Option<u32> {
    let (pairs, odd) = (a.cols / 2, a.cols % 2 == 1);
    let mut least = u16::MAX;
    for (i, row) in out.chunks_exact_mut(PITCH).enumerate() {
        if i >= a.rows {
            row.fill(0);
            continue;
        }
        // SAFETY: row i is inside a.
        let from = unsafe { a.ptr.add(i * a.row_stride) };
        if a.col_stride == 1 {
            // SAFETY: the row has a.cols elements with unit stride.
            let from = unsafe { std::slice::from_raw_parts(from, 2 * pairs) };
            for (to, xy) in row.iter_mut().zip(from.as_chunks::<2>().0) {
                let (x, y) = (part.bits(xy[0]), part.bits(xy[1]));
                least = least.min(magnitude(x)).min(magnitude(y));
                *to = pair(x, y);
            }
        } else {
            for (p, to) in row[..pairs].iter_mut().enumerate() {
                // SAFETY: both are inside the row.
                let (x, y) = unsafe { (*from.add(2 * p * a.col_stride), *from.add((2 * p + 1) * a.col_stride)) };
                let (x, y) = (part.bits(x), part.bits(y));
                least = least.min(magnitude(x)).min(magnitude(y));
                *to = pair(x, y);
            }
        }
        if odd {
            // SAFETY: the last element of the row.
            let x = part.bits(unsafe { *from.add(2 * pairs * a.col_stride) });
            least = least.min(magnitude(x));
            row[pairs] = pair(x, 0);
        }
    }
    exponent(least)
}

/// Packs panels of [`NR`] columns: pair after pair. Returns the least exponent.
///
/// # Safety
/// As [`product`]; `out` has `NR * PAIRS` words a panel, `turning` `NR * PITCH` words.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn pack_panels<P: Part>(b: Raw<*const P::Element>, part: P, out: &mut [u32], turning: &mut [u32]) -> Option<u32> {
    let pairs = b.rows.div_ceil(2);
    let mut least = Some(u32::MAX);
    for (panel, out) in out.chunks_exact_mut(NR * PAIRS).enumerate() {
        let first = panel * NR;
        let cols = (b.cols - first).min(NR);
        // SAFETY: the panel's first column is inside b, and it has that many.
        let b = Raw { ptr: unsafe { b.ptr.add(first * b.col_stride) }, cols, ..b };
        let lines = &mut out[..pairs * NR];
        let own = if b.col_stride == 1 {
            // SAFETY: by this function's contract.
            unsafe { pack_lines(b, part, lines) }
        } else {
            // Columns are packed as rows, which reads along k, and then turned.
            let turned = Raw { rows: b.cols, cols: b.rows, row_stride: b.col_stride, col_stride: b.row_stride, ..b };
            // SAFETY: by this function's contract.
            let own = unsafe { pack_rows(turned, part, turning) };
            for (p, line) in lines.chunks_exact_mut(NR).enumerate() {
                for (j, to) in line.iter_mut().enumerate() {
                    *to = turning[j * PITCH + p];
                }
            }
            own
        };
        least = least.zip(own).map(|(a, b)| a.min(b));
    }
    least
}

/// Packs one panel of rows that lie along memory.
///
/// # Safety
/// As [`product`]; `lines` has [`NR`] words a pair of rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn pack_lines<P: Part>(b: Raw<*const P::Element>, part: P, lines: &mut [u32]) -> Option<u32> {
    let mut least = u16::MAX;
    for (p, line) in lines.chunks_exact_mut(NR).enumerate() {
        let paired = 2 * p + 1 < b.rows;
        // SAFETY: rows 2p and, where it exists, 2p + 1 have `cols` elements with unit stride.
        let (x, y) = unsafe {
            let next = if paired { (2 * p + 1) * b.row_stride } else { 2 * p * b.row_stride };
            (
                std::slice::from_raw_parts(b.ptr.add(2 * p * b.row_stride), b.cols),
                std::slice::from_raw_parts(b.ptr.add(next), b.cols),
            )
        };
        let keep = if paired { u16::MAX } else { 0 };
        for ((to, &x), &y) in line.iter_mut().zip(x).zip(y) {
            let (x, y) = (part.bits(x), part.bits(y) & keep);
            least = least.min(magnitude(x)).min(magnitude(y));
            *to = pair(x, y);
        }
        line[b.cols..].fill(0);
    }
    exponent(least)
}

/// All tiles of a packed block.
///
/// # Safety
/// As [`product`]; the operands are packed with that many pairs.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn multiply(dst: Raw<*mut f32>, a: &[u32], b: &[u32], pairs: usize, accumulate: bool) {
    for (panel, b) in b.chunks_exact(NR * PAIRS).enumerate() {
        let (column, cols) = (panel * NR, (dst.cols - panel * NR).min(NR));
        for (strip, a) in a.chunks_exact(MR * PITCH).enumerate() {
            let (row, rows) = (strip * MR, (dst.rows - strip * MR).min(MR));
            // SAFETY: the tile begins inside dst and has that many rows and columns there.
            unsafe {
                let to = dst.ptr.add(row * dst.row_stride + column);
                tile(pairs, a.as_ptr(), b.as_ptr(), to, dst.row_stride, (rows, cols), accumulate);
            }
        }
    }
}

/// One tile of [`MR`] × [`NR`], of which `rows` × `cols` are written.
///
/// # Safety
/// As [`multiply`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn tile(
    pairs: usize,
    a: *const u32,
    b: *const u32,
    to: *mut f32,
    stride: usize,
    (rows, cols): (usize, usize),
    accumulate: bool,
) {
    let mut sums = [[_mm512_setzero_ps(); 2]; MR];
    for p in 0..pairs {
        // SAFETY: the panel has NR words for each pair, each packed row one.
        unsafe {
            let right = [0, 16].map(|j| pairs_of(_mm512_loadu_si512(b.add(p * NR + j).cast())));
            for (i, sums) in sums.iter_mut().enumerate() {
                let left = pairs_of(_mm512_set1_epi32((*a.add(i * PITCH + p)).cast_signed()));
                sums[0] = _mm512_dpbf16_ps(sums[0], left, right[0]);
                sums[1] = _mm512_dpbf16_ps(sums[1], left, right[1]);
            }
        }
    }
    let mask = u32::MAX >> (NR - cols);
    for (i, sums) in sums.iter().enumerate() {
        if i < rows {
            for (half, &sum) in sums.iter().enumerate() {
                let mask = (mask >> (16 * half)) as u16;
                // SAFETY: the lanes of the mask are inside dst.
                unsafe {
                    let to = to.add(i * stride).wrapping_add(16 * half);
                    let old = if accumulate { _mm512_maskz_loadu_ps(mask, to) } else { _mm512_setzero_ps() };
                    _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(old, sum));
                }
            }
        }
    }
}

/// 32 bf16 in 16 pairs.
#[inline(always)]
fn pairs_of(words: __m512i) -> __m512bh {
    // SAFETY: both are 64 bytes of any content.
    unsafe { std::mem::transmute(words) }
}
