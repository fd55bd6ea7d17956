//! What an example says at its end.

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
    /// Prints the figures, as text or as one JSON object on one line.
    pub fn print(&self, device: &Device, json: bool) {
        let stats = device.stats();
        let (compile_ms, run_ms) = (milliseconds(stats.compile_time), milliseconds(self.run));
        let chip = device.chip().name;
        if json {
            let line = json!({
                "kernel": self.kernel, "chip": chip, "max_abs_error": self.max_abs_error,
                "compile_ms": compile_ms, "run_ms": run_ms,
            });
            println!("{line}");
            return;
        }
        println!("{}: {}", self.kernel, self.about);
        println!("  chip     {chip} (simulated)");
        println!("  grid     {}", self.grid);
        println!("  blocks   {}", self.blocks);
        println!("  compile  {compile_ms:.2} ms, {} kernel(s); further calls compile nothing", stats.compilations);
        println!("  run      {run_ms:.2} ms");
        println!("  error    {:.1e} at most, against float64", self.max_abs_error);
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The largest difference; NaN where either has a NaN that the other has not.
pub fn largest_error(got: impl IntoIterator<Item = f32>, want: impl IntoIterator<Item = f64>) -> f64 {
    got.into_iter().zip(want).fold(0.0, |largest, (got, want)| {
        let error = (f64::from(got) - want).abs();
        if error > largest || error.is_nan() { error } else { largest }
    })
}
