//! What an example says at its end.

use crate::{Failure, print};
use serde_json::json;
use std::time::Duration;
use tpu_device::Device;

/// The figures of one kernel's run.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// What it computed, in words.
    pub about: String,
    /// The grid, by name.
    pub grid: String,
    /// The blocks, by name.
    pub blocks: String,
    /// The largest error against a float64 reference.
    pub max_abs_error: f64,
    /// The time of one run after the first.
    pub run: Duration,
}

impl Report<'_> {
    /// Prints the figures, as text or as one JSON object on one line, where an error that is not finite is null.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn print(&self, device: &Device, json: bool) -> Result<(), Failure> {
        let stats = device.stats();
        let (compile_ms, run_ms) = (milliseconds(stats.compile_time), milliseconds(self.run));
        let chip = device.chip().name;
        let text = if json {
            let line = json!({
                "kernel": self.kernel, "chip": chip, "max_abs_error": self.max_abs_error,
                "compile_ms": compile_ms, "run_ms": run_ms,
            });
            format!("{line}\n")
        } else {
            let lines = [
                format!("{}: {}", self.kernel, self.about),
                format!("  chip     {chip} (simulated)"),
                format!("  grid     {}", self.grid),
                format!("  blocks   {}", self.blocks),
                format!("  compile  {compile_ms:.2} ms, {} kernel(s); further calls compile nothing", stats.compilations),
                format!("  run      {run_ms:.2} ms"),
                format!("  error    {:.1e} at most, against float64", self.max_abs_error),
            ];
            lines.join("\n") + "\n"
        };
        Ok(print(&text)?)
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The largest difference. Infinities of one sign are equal, and so are two NaNs; a NaN on one side only, or
/// one side longer than the other, is an infinite error.
pub fn largest_error(got: impl IntoIterator<Item = f32>, want: impl IntoIterator<Item = f64>) -> f64 {
    let (mut got, mut want) = (got.into_iter(), want.into_iter());
    let mut largest = 0.0f64;
    loop {
        let error = match (got.next().map(f64::from), want.next()) {
            (None, None) => return largest,
            (Some(got), Some(want)) if got == want || (got.is_nan() && want.is_nan()) => 0.0,
            (Some(got), Some(want)) if !got.is_nan() && !want.is_nan() => (got - want).abs(),
            _ => return f64::INFINITY,
        };
        largest = largest.max(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_nan_and_lengths() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (got, want, error) in [
            (&[][..], &[][..], 0.0),
            (&[1.0, -2.0, 3.0], &[1.5, -2.0, 3.25], 0.5),
            (&[f32::NAN, 1.0], &[nan, 1.25], 0.25),
            (&[f32::NAN, 1.0], &[0.0, 1.0], inf),
            (&[1.0, 1.0], &[nan, 1.0], inf),
            (&[f32::INFINITY, f32::NEG_INFINITY], &[inf, -inf], 0.0),
            (&[f32::INFINITY], &[-inf], inf),
            (&[1.0], &[1.0, 1.0], inf),
            (&[1.0, 1.0], &[1.0], inf),
        ] {
            assert_eq!(largest_error(got.iter().copied(), want.iter().copied()), error, "{got:?} {want:?}");
        }
    }
}
