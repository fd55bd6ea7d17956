//! From IR to IR, and the check between passes.

pub mod canonicalise;
mod cse;
mod dce;
mod fold;
pub mod verify;

pub use canonicalise::canonicalise;
pub use verify::verify;
