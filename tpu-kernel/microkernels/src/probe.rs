//! What this machine can do at most, on one thread: what kernels are measured against.
//!
//! Rules: each probe is as much work as a kernel of that kind would be with nothing in its way: independent
//! multiply-adds in registers, at the widest width; bytes that only pass by. One burst takes a millisecond or two;
//! whoever asks takes the best of several.

use std::hint::black_box;
use std::time::Instant;

/// Accumulators: more than any processor's latency times its units.
const CHAINS: usize = 12;
const ROUNDS: usize = 20_000;

/// Operations a second of f32 multiply-adds; each is two.
pub fn f32_operations() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return rate(16 * 2, || unsafe { x86::f32_512() });
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return rate(8 * 2, || unsafe { x86::f32_256() });
        }
    }
    rate(4 * 2, portable)
}

/// Operations a second of products of bf16 pairs accumulated in f32, where the processor has an instruction for them.
pub fn bf16_operations() -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bf16") && std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        return Some(rate(32 * 2, || unsafe { x86::bf16_512() }));
    }
    None
}

/// Seconds that it takes to read these bytes once and write those once.
pub fn pass(reads: &[&[u8]], writes: &mut [&mut [u8]]) -> f64 {
    let start = Instant::now();
    for bytes in reads {
        black_box(sum(bytes));
    }
    for bytes in writes {
        fill(bytes);
        black_box(&*bytes);
    }
    start.elapsed().as_secs_f64()
}

fn rate(operations: usize, work: impl Fn() -> f32) -> f64 {
    let start = Instant::now();
    black_box(work());
    (operations * CHAINS * ROUNDS) as f64 / start.elapsed().as_secs_f64()
}

fn portable() -> f32 {
    let (mut sums, by) = ([[black_box(1.0f32); 4]; CHAINS], black_box(0.999f32));
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = sum.map(|s| s * by + by);
        }
    }
    sums.iter().flatten().sum()
}

/// The wrapping sum of the bytes as words, several at a time.
fn sum(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 16];
    for words in bytes.as_chunks::<128>().0 {
        for (sum, word) in sums.iter_mut().zip(words.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    sums.iter().fold(0, |a, &b| a.wrapping_add(b))
}

/// Above this many bytes a write passes the caches by.
#[cfg(target_arch = "x86_64")]
const STREAMED: usize = 1 << 22;

fn fill(bytes: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() > STREAMED {
        use std::arch::x86_64::{__m128i, _mm_set1_epi8, _mm_sfence, _mm_stream_si128};
        // SAFETY: any bytes are a vector.
        let (before, vectors, after) = unsafe { bytes.align_to_mut::<__m128i>() };
        before.fill(1);
        after.fill(1);
        // SAFETY: every x86-64 processor has the instructions.
        let ones = unsafe { _mm_set1_epi8(1) };
        for vector in vectors {
            // SAFETY: the vector is aligned and may be written.
            unsafe { _mm_stream_si128(vector, ones) };
        }
        // SAFETY: as above.
        unsafe { _mm_sfence() };
        return;
    }
    bytes.fill(1);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHAINS, ROUNDS};
    use std::arch::x86_64::{
        __m512bh, _mm256_add_ps, _mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_add_ps, _mm512_cvtss_f32,
        _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_set1_epi16, _mm512_set1_ps,
    };
    use std::hint::black_box;

    #[target_feature(enable = "avx512f")]
    pub(super) fn f32_512() -> f32 {
        let (mut sums, by) = ([_mm512_set1_ps(black_box(1.0)); CHAINS], _mm512_set1_ps(black_box(0.999)));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, by, by);
            }
        }
        _mm512_cvtss_f32(sums.into_iter().fold(by, |a, b| _mm512_add_ps(a, b)))
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn f32_256() -> f32 {
        let (mut sums, by) = ([_mm256_set1_ps(black_box(1.0)); CHAINS], _mm256_set1_ps(black_box(0.999)));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, by, by);
            }
        }
        _mm256_cvtss_f32(sums.into_iter().fold(by, |a, b| _mm256_add_ps(a, b)))
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(super) fn bf16_512() -> f32 {
        let mut sums = [_mm512_set1_ps(black_box(1.0)); CHAINS];
        // 2^-7 as bf16.
        let word = _mm512_set1_epi16(black_box(0x3c00));
        // SAFETY: both are 512 bits without a meaning of their own.
        let by: __m512bh = unsafe { std::mem::transmute(word) };
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, by, by);
            }
        }
        let first = _mm512_set1_ps(0.0);
        _mm512_cvtss_f32(sums.into_iter().fold(first, |a, b| _mm512_add_ps(a, b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_and_written() {
        assert_eq!(sum(&[1; 256]), 32 * 0x0101_0101_0101_0101);
        for len in [0, 1, 127, 5000, (1 << 22) + 77] {
            let mut bytes = vec![0; len];
            assert!(pass(&[&vec![0; len]], &mut [&mut bytes]) >= 0.0);
            assert!(bytes.iter().all(|&b| b == 1), "{len}");
        }
    }

    #[test]
    fn rates_are_those_of_a_processor() {
        let rates = [Some(f32_operations()), bf16_operations()];
        for rate in rates.into_iter().flatten() {
            assert!(rate.is_finite() && rate > 1e6, "{rate}");
        }
    }
}
