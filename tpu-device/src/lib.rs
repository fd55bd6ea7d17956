//! An eager tensor runtime over simulated TPU devices.
//!
//! A [`Device`] is a chip with its memory. [`Tensor`]s live on it. A kernel launches on it directly, or
//! becomes one of its operations, called by name. Data flows downwards: `registry` and `operation` →
//! `launch` → `cache` and `bound` → `tensor` → `memory` and `buffer`.
//!
//! What holds everywhere:
//! - A tensor's elements never change: an operation makes new tensors, and clones share storage.
//! - A launch blocks until its outputs are there. Any thread may launch on any device at any time.
//! - A second launch of a kernel compiles nothing, whatever the sizes of its arrays and its scalars.
//! - Device memory is the chip's and is counted; nothing is allocated for a launch that is refused.
//! - No panic crosses the public interface: misuse is a [`DeviceError`] with a stable code.
//! - Nothing converts element types, broadcasts, or moves a tensor between devices unasked.
//!
//! ```
//! use tpu_device::{Device, Tensor};
//! let device = Device::new("v5e")?;
//! let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], &[3])?;
//! assert_eq!(format!("{x:?}"), "f32[3] 1.0, 2.0, 3.0");
//! assert_eq!(device.stats().live_bytes, 12);
//! # Ok::<(), tpu_device::DeviceError>(())
//! ```

mod args;
mod backward;
mod bound;
mod buffer;
mod cache;
mod device;
mod element;
mod error;
mod guard;
pub mod io;
mod launch;
pub mod libtpu;
mod memory;
mod mesh;
mod once;
mod operation;
mod program;
mod registry;
mod replace;
mod spare;
mod sum;
mod tensor;
pub mod tpuk;

pub use args::{ArgSpec, Arguments};
pub use cache::KernelStats;
pub use device::{Device, DeviceBuilder, Stats};
pub use element::Element;
pub use error::{DeviceError, LiveTensor};
pub use mesh::Mesh;
pub use operation::Operation;
pub use program::Executor;
pub use tensor::Tensor;

pub use tpu_kernel::chips::Chip;
pub use tpu_kernel::exec::Printed;
pub use tpu_kernel::ir::DType;
pub use tpu_kernel::launch::{Arg, Cost, Target};
