//! From IR to IR, and the check between passes.

pub mod verify;

pub use verify::verify;
