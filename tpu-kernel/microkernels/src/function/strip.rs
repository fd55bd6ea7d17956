//! The strip forms: one body, compiled for several instruction sets, the widest of which the machine has is chosen once.

use super::body::{Body, Lanes};
use super::{STRIP, Strip};
use std::sync::OnceLock;

/// An instruction set that strips are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// What every processor of the target has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The widest that this machine has.
    pub(super) fn of_this_machine() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| *Level::available().last().expect("the baseline is always there"))
    }

    /// Those that this machine has, the narrowest first.
    pub(super) fn available() -> Vec<Level> {
        #[allow(unused_mut, reason = "other architectures have one")]
        let mut levels = vec![Level::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                levels.push(Level::Avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// The strip form of a body for a level, which must be one of the machine's.
pub(super) fn form<B: Body>(level: Level, binary: bool) -> Strip {
    match (level, binary) {
        (Level::Baseline, false) => baseline::<B, false>,
        (Level::Baseline, true) => baseline::<B, true>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, false) => avx2::<B, false>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, true) => avx2::<B, true>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, false) => avx512::<B, false>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, true) => avx512::<B, true>,
    }
}

unsafe extern "C" fn baseline<B: Body, const BINARY: bool>(a: *const u32, b: *const u32, out: *mut u32, n: u64) {
    // SAFETY: by the contract of `Strip`.
    unsafe { strip::<B, BINARY>(a, b, out, n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn avx2<B: Body, const BINARY: bool>(a: *const u32, b: *const u32, out: *mut u32, n: u64) {
    // SAFETY: by the contract of `Strip`.
    unsafe { strip::<B, BINARY>(a, b, out, n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe extern "C" fn avx512<B: Body, const BINARY: bool>(a: *const u32, b: *const u32, out: *mut u32, n: u64) {
    // SAFETY: by the contract of `Strip`.
    unsafe { strip::<B, BINARY>(a, b, out, n) }
}

/// # Safety
/// As [`Strip`].
#[inline(always)]
unsafe fn strip<B: Body, const BINARY: bool>(a: *const u32, b: *const u32, out: *mut u32, n: u64) {
    let n = (n as usize).min(STRIP);
    let (mut results, zeros): (Lanes, Lanes) = ([0; STRIP], [0; STRIP]);
    if n == STRIP {
        // SAFETY: aligned and valid for 16 words, by the contract; read before anything is written.
        let (x, y) = unsafe { (a.cast::<Lanes>().read(), if BINARY { b.cast::<Lanes>().read() } else { zeros }) };
        B::lanes(&x, &y, &mut results);
        // SAFETY: aligned and valid for 16 words, by the contract.
        unsafe { out.cast::<Lanes>().write(results) };
        return;
    }
    let (mut x, mut y) = (zeros, zeros);
    for i in 0..n {
        // SAFETY: valid for n words, by the contract.
        unsafe {
            x[i] = a.add(i).read();
            if BINARY {
                y[i] = b.add(i).read();
            }
        }
    }
    B::lanes(&x, &y, &mut results);
    for (i, &result) in results.iter().enumerate().take(n) {
        // SAFETY: valid for n words, by the contract.
        unsafe { out.add(i).write(result) };
    }
}
