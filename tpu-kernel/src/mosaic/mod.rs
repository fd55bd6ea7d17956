//! Kernels as Mosaic text, the MLIR dialect that Google's TPU compiler takes.
//!
//! Rules: the text is for one binding: named sizes and grid extents are constants in it. It holds
//! only what libtpu accepts on v5e and v6e; what it refuses is written with what it takes, and what
//! cannot be said is [`Unsupported`]. The text depends on nothing but its arguments.
//!
//! How values are represented: a tile is a `vector`; a bool tile is a mask (`i1`), which crosses
//! memory as i8 and control flow as i32, because masks can do neither. A bf16 scalar is an f32 that
//! holds a bf16, because the scalar unit has no bf16. Scalars of the launch come in scalar memory,
//! one element each.
//!
//! Where the hardware decides and not this text: conversion of a float outside i32, division of
//! `i32::MIN` by -1, and whether denormals survive.

mod control;
mod divisible;
mod elementwise;
mod function;
mod main;
mod memory;
mod product;
mod shape;
mod spoken;
mod stablehlo;

pub use main::print;
pub use stablehlo::stablehlo;

use crate::ir::{Loc, Op};

/// Why a kernel has no Mosaic text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{op}` cannot be written as Mosaic: {reason}")]
pub struct Unsupported {
    /// The mnemonic of the operation, or the operand's name.
    pub op: String,
    /// Where it was written.
    pub loc: Loc,
    /// What the compiler lacks.
    pub reason: String,
}

/// The refusal of an operation.
fn refuse(op: &Op, reason: impl Into<String>) -> Unsupported {
    Unsupported { op: op.kind.mnemonic().to_string(), loc: op.loc.clone(), reason: reason.into() }
}
