//! A process in which libtpu runs: the tests' pools start it, because a test harness cannot be one.
//!
//! With the path of a library it removes its own file and asks that library through a pool of itself: a program that was built
//! anew while it ran.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use tpu_device::libtpu::{Job, Library, Pool, PoolOptions};
use tpu_kernel::chips::Chip;

fn main() -> ExitCode {
    tpu_device::libtpu::serve_if_worker();
    // Whoever gets here was not started by a pool.
    let Some(library) = std::env::args().nth(1) else { return ExitCode::from(3) };
    std::fs::remove_file(std::env::current_exe().expect("a path")).expect("a file of its own");
    let library = Library::find(Some(Path::new(&library))).expect("a library");
    let job = Job { chip: &Chip::V5E, program: String::new(), estimate: None };
    let judged = Pool::new(&library, PoolOptions::default()).judge(&[job], &mut |_, _| {});
    let _ = writeln!(std::io::stdout(), "{judged:?}");
    ExitCode::SUCCESS
}
