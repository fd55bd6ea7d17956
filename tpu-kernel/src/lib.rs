//! TPU kernels written in Rust: the language, its block-tiled IR, and what runs and prints it.
//!
//! Data flows downwards: `lang` (typed handles that record) → `ir` → `passes` → executors
//! (`interpret`, `cranelift`) and printers (`mosaic`). No module knows a runtime: a launch goes
//! through the trait that a runtime implements.

pub mod chips;
pub mod diagnose;
mod error;
pub mod exec;
pub mod ir;
pub mod launch;
pub mod mosaic;

pub use error::{BuildFault, Error};
