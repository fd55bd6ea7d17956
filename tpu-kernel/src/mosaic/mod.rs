//! Kernels as Mosaic text, the MLIR dialect that Google's TPU compiler takes.
//!
//! Rules: the text is for one binding: named sizes and grid extents are constants in it. What is printed
//! is the legalised kernel, an operation as one or a few of Mosaic's; what cannot be said is
//! [`Illegal`](crate::legalise::Illegal). The text depends on nothing but its arguments.
//!
//! How values are represented: a tile is a `vector`; a bool tile is a mask (`i1`), which crosses control
//! flow as i32, because masks cannot. Integers are signless. Scalars of the launch come in scalar memory
//! as words, one element each. A [`Module`] converts between that and the user's element types.
//!
//! Where the hardware decides and not this text: whether denormals survive, which NaN is made, how near its own functions,
//! division and remainder of floats are, and which zero an extremum takes.

mod bounded;
mod call;
mod control;
mod elementwise;
mod extent;
mod function;
mod lanes;
mod main;
mod memory;
mod messages;
mod module;
mod movement;
mod product;
mod shape;
mod stablehlo;

pub use main::print;
pub use module::{Module, Tensor};
pub use stablehlo::{stablehlo, stablehlo_placed};
