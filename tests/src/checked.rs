//! What checked launches find, and that they find nothing, under every seed.

use crate::devices::expect;
use std::fmt::Debug;
use tpu_device::{Device, DeviceError, Tensor};
use tpu_kernel::diagnose::render;
use tpu_kernel::exec::RunError;

/// Seeds that each test tries.
pub const SEEDS: u64 = 20;

/// A device for checked launches.
///
/// # Panics
/// Where the chip is not known.
pub fn device() -> Device {
    Device::new("v5e").unwrap()
}

/// What a checked launch found, and how it is shown.
///
/// # Panics
/// Where it found nothing.
pub fn found<T: Debug>(result: Result<T, DeviceError>) -> (RunError, String) {
    let error = result.expect_err("a mistake");
    match error.kernel() {
        Some(tpu_kernel::Error::Checked { error: found, .. }) => (found.clone(), render(error.kernel().unwrap())),
        other => panic!("{other:?}"),
    }
}

/// The launch fails with one of these codes under every seed, names the seed that replays it, and says so in these words.
///
/// # Panics
/// Where it does not.
pub fn always_one_of<T: Debug>(codes: &[&str], words: &[&str], launch: impl Fn(u64) -> Result<T, DeviceError>) {
    for seed in 0..SEEDS {
        let (error, text) = found(launch(seed));
        assert!(codes.contains(&error.code()), "seed {seed}: {text}");
        assert!(text.contains(&format!("`.checked({seed})` replays it")), "{text}");
        for word in words {
            assert!(text.contains(word), "seed {seed}: no {word:?} in:\n{text}");
        }
    }
}

/// The same, of one code.
///
/// # Panics
/// Where it does not fail so.
pub fn always<T: Debug>(code: &str, words: &[&str], launch: impl Fn(u64) -> Result<T, DeviceError>) {
    always_one_of(&[code], words, launch);
}

/// The launch gives that under every seed.
///
/// # Panics
/// Where it does not.
pub fn never(want: &[f32], launch: impl Fn(u64) -> Result<Tensor, DeviceError>) {
    for seed in 0..SEEDS {
        let o = launch(seed).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        let dims = o.shape().to_vec();
        expect(&o, &dims, want);
    }
}
