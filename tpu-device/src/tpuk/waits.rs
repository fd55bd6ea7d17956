//! What a wait costs that blocks: two devices that signal one another in turn, so that each has to give way at every wait.

use super::failure::Failure;
use crate::DeviceError;
use std::time::Instant;
use tpu_kernel::cranelift::Executable;
use tpu_kernel::exec::{Args, Printed};
use tpu_kernel::ir::parse;
use tpu_kernel::launch::Binding;

/// The row.
pub(super) const NAME: &str = "wait_blocking";

/// How often each of the two waits.
const TURNS: u64 = 100_000;

/// The first signals and then waits; the second waits and then signals. A wait finds what it waits for only once the other has run.
const KERNEL: &str = "kernel @turns() {
  scratch %ready: semaphore<barrier0>
  body {
    %me = device_id : i32
    %zero = const 0 : i32
    %one = const 1 : i32
    %turns = const TURNS : i32
    %other = sub %one, %me : i32
    %first = eq %me, %zero : bool
    for %i = %zero to %turns step %one {
      if %first {
        semaphore_signal %ready, %one, %other
        semaphore_wait %ready, %one
      } else {
        semaphore_wait %ready, %one
        semaphore_signal %ready, %one, %other
      }
    }
  }
}
";

/// The least milliseconds of so many rounds, and how many waits blocked in each.
pub(super) fn measure(rounds: u64) -> Result<(f64, u64), Failure> {
    let kernel = parse(&KERNEL.replace("TURNS", &TURNS.to_string())).map_err(|error| Failure::kernel(error.to_string()))?;
    let exe = Executable::compile(&kernel).map_err(DeviceError::from)?;
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![]; kernel.params.len()] };
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        let mut logs = [|_: &Printed| {}; 2];
        let mut devices: Vec<Args<'_, '_>> =
            logs.iter_mut().map(|log| Args { inputs: &[], outputs: &mut [], scalars: &[], log }).collect();
        let start = Instant::now();
        exe.run_mesh(&binding, &mut devices, 0).map_err(DeviceError::from)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok((least * 1e3, 2 * TURNS))
}
