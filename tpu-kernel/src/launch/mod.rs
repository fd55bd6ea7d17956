//! From a kernel and the shapes of its arrays to a launch that may run: sizes bound by name, the grid
//! evaluated, block indices, block shapes and VMEM checked. Everything here happens before anything runs.

mod bind;
mod binding;
mod cores;
mod cost;
mod coverage;
mod error;
mod exact;
mod maps;
mod products;
mod rules;
mod target;
#[cfg(test)]
mod tests;
mod vmem;

pub use bind::{bind, largest, numbers};
pub use binding::Binding;
pub(crate) use cores::apart;
pub use cores::{Split, split};
pub use cost::{Cost, cost};
pub use error::LaunchError;
pub(crate) use exact::scalar;
pub(crate) use maps::Numbers;
pub use target::{Allow, Arg, Argument, Config, Launchable, Parameters, Target};
pub(crate) use vmem::padded_bytes;
pub(crate) use vmem::scoped_limit;
pub use vmem::{VmemRow, vmem};
