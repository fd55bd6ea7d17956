//! Google's TPU compiler as a judge: whether it takes a program, why not, and how many cycles it estimates.
//!
//! libtpu compiles for a chip that need not be here. It is optional, loaded at run time from where the user
//! installed it, under Google's own licence; nothing links it. Data flows downwards: `pool` hands [`Job`]s to
//! `worker`s, each a process of its own in which `serve` drives the library through `pjrt`.
//!
//! Rules:
//! - The library may crash, hang or print: it never runs in the user's process. A crash is a [`Verdict`] like any other.
//! - A verdict depends on the program and the chip alone, not on what a worker did before.
//! - No worker outlives its pool's process, and none leaves files behind.
//! - `unsafe` is in `pjrt` and nowhere else.
//!
//! ```
//! use tpu_device::libtpu::{Job, Library, LibtpuError, Pool, PoolOptions, serve_if_worker};
//!
//! fn main() -> Result<(), LibtpuError> {
//!     serve_if_worker();
//!     let library = match Library::find(None) {
//!         Ok(library) => library,
//!         Err(missing) => return Ok(println!("{missing}")),
//!     };
//!     let pool = Pool::new(&library, PoolOptions::default());
//!     let program = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
//!     let job = Job { chip: &tpu_device::Chip::V5E, program: program.to_string(), estimate: None };
//!     for verdict in pool.judge(&[job], &mut |_, _| {})? {
//!         println!("{verdict:?}");
//!     }
//!     Ok(())
//! }
//! ```

mod error;
mod estimate;
mod find;
mod pjrt;
mod pool;
mod refusal;
mod serve;
mod wire;
mod worker;

pub use error::LibtpuError;
pub use find::Library;
pub use pool::{Estimate, Job, Pool, PoolOptions, Verdict};
pub use serve::serve_if_worker;
