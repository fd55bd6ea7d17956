//! What can go wrong while a kernel runs.

use crate::ir::{BlockDim, DType, Loc};

/// A run-time error of a kernel, with the user's line where there is one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// R001: a dynamic slice leaves the operand's block or scratch.
    #[error(
        "index out of bounds: [{start}, {}) along axis {axis} of operand `{operand}`, which has {extent} elements there, at grid step {step:?}",
        .start + *.size as i64
    )]
    OutOfBounds {
        /// The operand's name.
        operand: String,
        /// The axis of the operand.
        axis: usize,
        /// First element accessed.
        start: i64,
        /// Elements accessed.
        size: usize,
        /// Elements there are.
        extent: usize,
        /// The grid step.
        step: Vec<i32>,
        /// The load or store.
        loc: Loc,
    },
    /// R002: an index map left the array (a launch checks this before anything runs).
    #[error("{}, at grid step {step:?}", block_index(.operand, *.axis, *.index, *.block, *.extent))]
    BlockIndex {
        /// The operand's name.
        operand: String,
        /// The axis of the array.
        axis: usize,
        /// The block index; along an element dimension the first element.
        index: i64,
        /// The block along the axis.
        block: BlockDim,
        /// Elements that the array has along the axis.
        extent: usize,
        /// The grid step.
        step: Vec<i32>,
        /// The operand.
        loc: Loc,
    },
    /// R003: a `for` whose step is zero or negative.
    #[error("the step of a loop must be positive, got {by}")]
    LoopStep {
        /// The step.
        by: i32,
        /// The loop.
        loc: Loc,
    },
    /// R004: an array that does not fit the kernel or the binding.
    #[error("operand `{operand}` takes {want_dtype}{want:?}, got {got_dtype}{got:?}")]
    Array {
        /// The operand's name.
        operand: String,
        /// Its element type.
        want_dtype: DType,
        /// Its shape in this launch.
        want: Vec<usize>,
        /// The array's element type.
        got_dtype: DType,
        /// The array's shape.
        got: Vec<usize>,
    },
    /// R005: the number of inputs, outputs, scalars, sizes or grid dimensions does not fit the kernel.
    #[error("the kernel takes {want} {what}, got {got}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many the kernel has.
        want: usize,
        /// How many were given.
        got: usize,
    },
    /// R007: an index of a `gather` outside its tile.
    #[error("gather index {index} along axis {axis} is outside [-{extent}, {extent}), at grid step {step:?}")]
    GatherIndex {
        /// The axis that is indexed.
        axis: usize,
        /// The first index outside, in row-major order.
        index: i32,
        /// Elements that the tile has along the axis.
        extent: usize,
        /// The grid step.
        step: Vec<i32>,
        /// The operation.
        loc: Loc,
    },
    /// R008: a `debug_check` that does not hold.
    #[error("check failed: {message}, at grid step {step:?}")]
    Check {
        /// The user's message.
        message: String,
        /// The grid step.
        step: Vec<i32>,
        /// The check.
        loc: Loc,
    },
    /// R009: random bits before a seed.
    #[error("random bits are drawn before the generator is seeded, at grid step {step:?}")]
    Unseeded {
        /// The grid step.
        step: Vec<i32>,
        /// The draw.
        loc: Loc,
    },
    /// R006: the host could not give the memory for windows, scratch and temporaries.
    #[error("cannot allocate {bytes} bytes for windows, scratch and temporaries")]
    OutOfMemory {
        /// How many were asked for.
        bytes: usize,
    },
}

fn block_index(operand: &str, axis: usize, index: i64, block: BlockDim, extent: usize) -> String {
    let axis = format!("along axis {axis} of operand `{operand}`");
    match block {
        BlockDim::Element { size, low, high } => format!(
            "a window of {size} elements from element {index} {axis} leaves the array, which has {extent} elements there and padding of ({low}, {high})"
        ),
        BlockDim::Blocked(_) | BlockDim::Squeezed => {
            format!("block index {index} {axis} is outside the array, which has {} blocks there", block.blocks(extent))
        }
    }
}

impl RunError {
    crate::codes! {
        /// The stable code.
        [const] {
            RunError::OutOfBounds { .. } => "R001",
            RunError::BlockIndex { .. } => "R002",
            RunError::LoopStep { .. } => "R003",
            RunError::Array { .. } => "R004",
            RunError::Count { .. } => "R005",
            RunError::OutOfMemory { .. } => "R006",
            RunError::GatherIndex { .. } => "R007",
            RunError::Check { .. } => "R008",
            RunError::Unseeded { .. } => "R009",
        }
    }

    /// The user's line, where the error has one.
    pub const fn loc(&self) -> Option<&Loc> {
        match self {
            RunError::OutOfBounds { loc, .. } | RunError::BlockIndex { loc, .. } | RunError::LoopStep { loc, .. } => Some(loc),
            RunError::GatherIndex { loc, .. } | RunError::Check { loc, .. } | RunError::Unseeded { loc, .. } => Some(loc),
            RunError::Array { .. } | RunError::Count { .. } | RunError::OutOfMemory { .. } => None,
        }
    }
}
