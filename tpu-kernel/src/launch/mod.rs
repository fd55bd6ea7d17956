//! From a kernel and the shapes of its arrays to a launch that may run: sizes bound by name, the grid
//! evaluated, block indices, block shapes and VMEM checked. Everything here happens before anything runs.

mod binding;
mod error;
mod target;

pub use binding::Binding;
pub use error::LaunchError;
pub use target::{Allow, Arg, Config, Launchable, Target};
