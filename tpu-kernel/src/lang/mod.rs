//! The language: typed handles that record the kernel they are used in.
//!
//! Rules: rustc checks rank, block shape, element type and memory space, because they are in the
//! types; the handles do nothing but call the IR builder of the kernel being built on this thread.

mod activation;
mod arith;
mod axes;
mod behind;
mod bounds;
mod compare;
mod constants;
mod control;
mod convert;
mod copy;
mod debug;
mod dim;
mod dispatch;
mod each;
mod element;
mod elsewhere;
mod formula;
mod hbm;
mod index;
mod masked;
mod math;
mod memory;
mod panics;
mod pipeline;
mod place;
mod product;
mod random;
mod rearrange;
mod reduce;
mod remote;
mod scoped;
mod semaphore;
mod session;
mod shape;
mod smem;
pub mod stage;
mod strided;
mod transform;
mod unloaded;
mod value;
mod view;

pub use arith::{Arithmetic, Bitwise, Shifted};
pub use axes::{AllAxes, Expand, Fold, Follows, HasAxes, Indexes, IsOne, SingleElement, Squeeze, Unfold};
pub use compare::{Equality, Order};
pub use control::{Carry, Condition, Dynamic, Known, When};
pub use convert::{Word, pack};
pub use copy::{CopyTarget, Memory, SameElements, SameShape, Started, Transfer, Writable, copy};
#[doc(hidden)]
pub use debug::debug_print;
pub use debug::{Checkable, Printable};
pub use dim::{Bcast, D, Dim, One, Prod, Quot, Sum};
pub use each::{Each, function};
pub use element::{Bits, Element, Float, Int, NarrowFloat, Number, PerWord, SameWidth};
pub use elsewhere::{CopiedFirst, ReadFirst};
pub use hbm::{Hbm, HbmOut};
pub use index::{Payload, iota, iota_of};
pub use math::{choose, literal, select};
pub use memory::{Corner, In, Out, SameRank, Vmem, Written};
pub use pipeline::{
    BlockShape, Blocks, BlocksOf, Bounded, ByBounds, ByList, ByNumber, Cut, Grid, Indirect, List, Pipeline, PlaceOf, Places,
    Sliding, Squeezed, pipeline,
};
pub use place::{OfRank, Place, Slots, WholeArray};
pub use product::{
    BatchAxes, BatchOfMatrices, Factor, Inner, Joined, Product, Remains, SameBatch, SameDim, batch_dot, batch_dot_over, dot,
    dot_over, dot_with,
};
pub use random::{Key, Seed, Seeds, prng_bits, prng_seed, stateful_bernoulli, stateful_normal, stateful_uniform};
pub use rearrange::{Matrix, concat};
pub use reduce::Truth;
pub use remote::{Arriving, RemoteTransfer, Sent, copy_to_device};
pub use scoped::{Allocated, Body, Returned, SemaphoreShape, scoped};
pub use semaphore::{Barrier, CountsCopies, DmaSemaphore, Semaphore, Signalled, Single, device_id};
pub use shape::{Axis, AxisOf, BcastShape, HasAxis, Lanes, Shape, Sublanes};
pub use smem::{Prefetch, Smem};
pub use stage::{num_programs, program_id};
pub use transform::Transform;
pub use unloaded::LoadedFirst;
pub use value::{Handle, IntoScalar, Operand, Scalar, Shaped, Tile};
pub use view::{HbmInput, HbmOutput, InputWindow, View};

/// What expanded code calls. Not for people.
#[doc(hidden)]
pub mod expanded {
    pub use super::behind::{Behind, Beside};
    pub use super::compare::{and, or};
    pub use super::control::{For, If, While, absent, never};
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
