//! A process in which libtpu runs: the tests' pools start it, because a test harness cannot be one.

use std::process::ExitCode;

fn main() -> ExitCode {
    tpu_device::libtpu::serve_if_worker();
    // Whoever gets here was not started by a pool.
    ExitCode::from(3)
}
