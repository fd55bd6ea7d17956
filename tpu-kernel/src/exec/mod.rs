//! What every executor takes and reports: arrays on the host, a bound launch, and run-time errors.
//!
//! Rules: arrays are dense and row-major; an executor trusts neither the arrays nor the binding, it
//! checks them against its kernel before it touches memory.

mod array;
mod checking;
mod error;
mod place;
pub mod print;

pub use array::{Args, ArrayMut, ArrayRef};
pub use checking::Checking;
pub use error::RunError;
pub use place::{Meeting, Place, Waiting};
pub use print::{Log, Printed};
