//! The language: typed handles that record the kernel they are used in.
//!
//! Rules: rustc checks rank, block shape, element type and memory space, because they are in the
//! types; the handles do nothing but call the IR builder of the kernel being built on this thread.

mod arith;
mod bounds;
mod compare;
mod control;
mod dim;
mod dispatch;
mod each;
mod element;
mod memory;
mod session;
mod shape;
pub mod stage;
mod tile;
mod transform;
mod unloaded;
mod value;

pub use arith::{Arithmetic, Bitwise};
pub use compare::{Equality, Order};
pub use control::{Carry, Condition, Dynamic, Known, When};
#[doc(hidden)]
pub use control::{block_index, carried, condition, loop_bound};
pub use dim::{Bcast, D, Dim, One};
pub use each::{Each, function};
pub use element::{Bits, Element, Float, Number};
pub use memory::{Corner, In, Out, SameRank, Vmem, Written};
pub use shape::{Axis, AxisOf, BcastShape, HasAxis, Lanes, Shape, Sublanes};
pub use stage::{num_programs, program_id};
pub use tile::{choose, dot, dot_with, iota, literal, select};
pub use transform::Transform;
pub use unloaded::LoadedFirst;
pub use value::{Handle, IntoScalar, Operand, Scalar, Shaped, Tile};

/// What expanded code calls. Not for people.
#[doc(hidden)]
pub mod expanded {
    pub use super::compare::{and, or};
    pub use super::control::{DYNAMIC, For, If, While, absent, never};
    pub use super::stage::*;
    pub use crate::with_element;
    pub use std::borrow::Cow;
    pub use std::option::Option;
}

/// A plain Rust range: a `for` over it is unrolled while the kernel is built, one over `a..b` is a loop of the kernel.
///
/// The index is a Rust number: `i32` in arithmetic with scalars, `usize` where it picks from an array of tiles.
pub fn unroll<I>(range: std::ops::Range<I>) -> std::ops::Range<I> {
    range
}
