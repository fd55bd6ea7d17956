//! The command line: what a crate's kernels do, what they cost, and what a chip's compiler says to them.

mod index_map;
pub mod inspection;
pub mod page;

pub use inspection::Inspection;
