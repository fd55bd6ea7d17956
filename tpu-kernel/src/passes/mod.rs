//! From IR to IR, and the check between passes.

pub mod canonicalise;
mod cse;
mod dce;
mod fold;
pub mod poison;
mod tidy;
pub mod verify;

pub use canonicalise::canonicalise;
pub use tidy::tidy;
pub use verify::verify;
