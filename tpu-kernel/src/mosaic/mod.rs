//! Kernels as Mosaic text, the MLIR dialect that Google's TPU compiler takes.
//!
//! Rules: the text is for one binding: named sizes and grid extents are constants in it. It holds
//! only what libtpu accepts on v5e and v6e; what it refuses is written with what it takes, and what
//! cannot be said is [`Illegal`]. The text depends on nothing but its arguments.
//!
//! How values are represented: a tile is a `vector`; a bool tile is a mask (`i1`), which crosses
//! memory as i8 and control flow as i32, because masks can do neither. A bf16 scalar is an f32 that
//! holds a bf16, because the scalar unit has no bf16. Scalars of the launch come in scalar memory,
//! one element each.
//!
//! Where the hardware decides and not this text: conversion of a float outside i32, division of
//! `i32::MIN` by -1, and whether denormals survive.

mod call;
mod control;
mod elementwise;
mod function;
mod lanes;
mod main;
mod memory;
mod messages;
mod module;
mod product;
mod shape;
mod stablehlo;

pub use main::print;
pub use module::{Module, Tensor};
pub use stablehlo::stablehlo;
