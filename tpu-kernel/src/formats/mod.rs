//! Number formats narrower than a word: what their bits mean, and the Rust types that hold them.
//!
//! Rules: a float format is a [`Format`], data alone; encoding rounds to nearest even from f32 and
//! overflows as XLA does (to infinity where there is one, else to NaN, else to the largest number).
//! A type keeps its bits in the low bits of a byte, as memory does.

mod float;
mod narrow;

pub use float::{Format, Overflow};
pub use narrow::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};
