//! Operations on tiles that are no loop nest, for compiled code: movement, running reductions, sorting, random bits.
//!
//! Rules: compiled code describes the operation by a [`Task`], which is data without addresses, and the memory by one
//! [`Slot`] a tile; shapes have [`RANK`] dimensions, padded in front with 1. Strides are in elements and not negative;
//! results are dense and overlap no operand. The functions at the border check what they are given and make slices of
//! it; everything behind them is safe code without allocation. Each returns [`DONE`] or an [`outcome`].

mod extreme;
mod fold;
mod gather;
mod random;
mod raw;
mod rotate;
mod scan;
mod sort;
mod view;

pub use random::Rng;
pub use raw::{Helper, argument, bitcast, gather, random_bits, rotate, scan, sort};

/// The dimensions of every tile here.
pub const RANK: usize = 4;

/// What to do, apart from where. Which fields count is said at each function.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The shape of the result; of an argument reduction, of the operand.
    pub dims: [u32; RANK],
    /// The dimension along which it works.
    pub axis: u32,
    /// Elements of the operand along it.
    pub extent: u32,
    /// Bytes of an element of the operand.
    pub bytes: u32,
    /// How numbers are read: [`F32`], [`I32`] or [`U32`].
    pub number: u32,
    /// [`SUM`], [`PROD`], [`MAX`] or [`MIN`].
    pub op: u32,
    /// 1: from the last element, or the greatest first.
    pub reverse: u32,
    /// Tiles that are moved by the order of the keys.
    pub payloads: u32,
    /// The dimension whose rows rotate by more and more; beyond the rank, none does.
    pub step_axis: u32,
    /// How much more each of these rows rotates.
    pub step: i32,
    /// Bits of an element before and after.
    pub bits: [u32; 2],
    /// 1: results narrower than their byte are sign-extended.
    pub signed: u32,
}

/// IEEE binary32.
pub const F32: u32 = 0;
/// Two's complement, 32 bits.
pub const I32: u32 = 1;
/// Unsigned, 32 bits.
pub const U32: u32 = 2;

/// Sum; integers wrap.
pub const SUM: u32 = 0;
/// Product; integers wrap.
pub const PROD: u32 = 1;
/// The larger; NaN wins, -0 is below +0.
pub const MAX: u32 = 2;
/// The smaller; NaN wins, -0 is below +0.
pub const MIN: u32 = 3;

/// A tile in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its first element.
    pub ptr: *mut u8,
    /// The distance of neighbours along each dimension, in elements; of results not read.
    pub strides: [i64; RANK],
}

/// All is well.
pub const DONE: i64 = 0;
/// The description is wrong.
pub const INVALID: u32 = 1;
/// An index is outside; the value is the first such.
pub const INDEX: u32 = 2;
/// The generator has no seed.
pub const UNSEEDED: u32 = 3;

/// A code, not 0, and its value in one number.
pub const fn outcome(code: u32, value: i32) -> i64 {
    ((code as i64) << 32) | value as u32 as i64
}

/// The code and value of an outcome.
pub const fn code(outcome: i64) -> (u32, i32) {
    ((outcome >> 32) as u32, outcome as i32)
}
