//! What can go wrong while a kernel runs.

use super::{Meeting, Place, Waiting};
use crate::ir::{BlockDim, DType, Loc, SemaphoreKind};

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
    /// R010: a copy of more rows than there are, or of fewer than none.
    #[error("a copy of {rows} rows of memory that has {extent}, at grid step {step:?}")]
    CopyRows {
        /// The rows asked for.
        rows: i32,
        /// Elements along the first dimension.
        extent: usize,
        /// The grid step.
        step: Vec<i32>,
        /// The start of the copy, or the wait.
        loc: Loc,
    },
    /// R011: a wait for what nothing is left to bring.
    #[error(
        "deadlock: waits for {wanted} on semaphore {semaphore}, which has {found}, and nothing is left that would signal it, at grid step {step:?}"
    )]
    Deadlock {
        /// The semaphore, as `` `sems`[1] ``.
        semaphore: String,
        /// What it waits for: signals, or bytes of copies.
        wanted: i64,
        /// What is there.
        found: i64,
        /// The grid step.
        step: Vec<i32>,
        /// The wait.
        loc: Loc,
    },
    /// R012: a semaphore that has a count at the end of its life.
    #[error("semaphore {semaphore} ends with {count}{}", unwaited(*.kind))]
    SemaphoreLeft {
        /// The semaphore, as `` `sems`[1] ``.
        semaphore: String,
        /// What it counts.
        kind: SemaphoreKind,
        /// Its count.
        count: i64,
        /// The operand, or the region that it belongs to.
        loc: Loc,
    },
    /// R013: a signal or a wait that would bring a count below 0 or beyond 2^31 - 1.
    #[error("semaphore {semaphore} with {found} cannot take {by}: a count is from 0 to 2147483647, at grid step {step:?}")]
    SemaphoreCount {
        /// The semaphore, as `` `sems`[1] ``.
        semaphore: String,
        /// Its count.
        found: i64,
        /// What is added, or waited for.
        by: i64,
        /// The grid step.
        step: Vec<i32>,
        /// The signal or wait.
        loc: Loc,
    },
    /// R014: a copy between whole arrays of unequal shape.
    #[error("a copy between arrays of unequal shape, {from:?} and {to:?}, at grid step {step:?}")]
    CopyShapes {
        /// The shape of the source.
        from: Vec<usize>,
        /// The shape of the target.
        to: Vec<usize>,
        /// The grid step.
        step: Vec<i32>,
        /// The start of the copy, or the wait.
        loc: Loc,
    },
    /// R015: what nothing has written, or the padding of a block, comes where it counts. Checked execution finds it.
    #[error("uninitialised memory or padding reaches {what}, at grid step {step:?}")]
    Poison {
        /// Where it comes: a condition, an index, an element of an output.
        what: String,
        /// The grid step.
        step: Vec<i32>,
        /// The operation.
        loc: Loc,
    },
    /// R016: a memory is touched while a copy is under way there. Checked execution finds it.
    #[error("race: {memory} is {access} at {index:?} while a copy {} it, at grid step {step:?}", if *.target { "writes" } else { "reads" })]
    Race {
        /// The memory.
        memory: String,
        /// `read`, `written`, or what else is done to it.
        access: &'static str,
        /// The first element that both touch.
        index: Vec<usize>,
        /// Whether the memory is the target of the copy; else its source.
        target: bool,
        /// Where the copy began.
        copy: Loc,
        /// The grid step.
        step: Vec<i32>,
        /// The access.
        loc: Loc,
    },
    /// R017: an element of an output that nothing wrote. Checked execution finds it.
    #[error("nothing writes element {index:?} of operand `{operand}`")]
    NeverWritten {
        /// The operand.
        operand: String,
        /// The first such element.
        index: Vec<usize>,
        /// The operand's declaration.
        loc: Loc,
    },
    /// R018: a block of an output that is visited again. Checked execution finds it.
    #[error(
        "block {block:?} of operand `{operand}` is visited again after another one: what was written there is lost, at grid step {step:?}"
    )]
    Revisited {
        /// The operand.
        operand: String,
        /// The block index.
        block: Vec<i32>,
        /// The grid step.
        step: Vec<i32>,
        /// The operand's declaration.
        loc: Loc,
    },
    /// R019: steps along a parallel dimension that share what one of them writes. Checked execution finds it.
    #[error("{what} is shared by steps along the parallel dimension `{dimension}`, whose order is open, at grid step {step:?}")]
    Parallel {
        /// What is shared: a block of an output, an element of an array.
        what: String,
        /// The dimension.
        dimension: String,
        /// The grid step.
        step: Vec<i32>,
        /// The operand's declaration, or the access.
        loc: Loc,
    },
    /// R020: devices, or cores, touch an element, and nothing orders the two. Checked execution finds it.
    #[error("race: {memory} is {access}{}, {other}, at grid step {step:?}", .index.as_ref().map(|at| format!(" at {at:?}")).unwrap_or_default())]
    Unordered {
        /// The memory, or the semaphore.
        memory: String,
        /// `read`, `written`, or what else is done to it.
        access: &'static str,
        /// The first such element, of a memory.
        index: Option<Vec<usize>>,
        /// Who else touches it.
        other: Meeting,
        /// The grid step.
        step: Vec<i32>,
        /// The access.
        loc: Loc,
    },
    /// R021: a signal to a core that does not run the kernel.
    #[error("a signal goes to core {core}, and the kernel runs on {}, at grid step {step:?}", cores_of(*.cores))]
    NoCore {
        /// The core.
        core: i32,
        /// How many there are; 0 where the interpreter runs one after the other.
        cores: usize,
        /// The grid step.
        step: Vec<i32>,
        /// The signal.
        loc: Loc,
    },
    /// R023: a signal or a copy to a device that does not run the kernel.
    #[error("{what} goes to device {device}, and the kernel runs on {devices}, numbered from 0, at grid step {step:?}")]
    NoDevice {
        /// What is sent.
        what: &'static str,
        /// The device.
        device: i32,
        /// How many there are.
        devices: usize,
        /// The grid step.
        step: Vec<i32>,
        /// The operation.
        loc: Loc,
    },
    /// R024: every device, or core, waits or has ended.
    #[error("deadlock of {all}: {}", waits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    AllWait {
        /// How many there are: `3 devices`, `2 cores`.
        all: String,
        /// Those that wait, and for what.
        waits: Vec<Waiting>,
        /// The first of the waits.
        loc: Loc,
    },
    /// The error of a launch that follows another one of the same kernel at once, as checked execution runs it.
    #[error("{error}, in a second launch right after the first")]
    Again {
        /// What went wrong there.
        error: Box<RunError>,
    },
    /// The error of one of several devices or cores.
    #[error("{error}, on {place}")]
    On {
        /// Which.
        place: Place,
        /// What went wrong there.
        error: Box<RunError>,
    },
    /// R006: the host could not give the memory for windows, scratch and temporaries.
    #[error("cannot allocate {bytes} bytes for windows, scratch and temporaries")]
    OutOfMemory {
        /// How many were asked for.
        bytes: usize,
    },
}

fn cores_of(cores: usize) -> String {
    match cores {
        0 => "an interpreter, which runs one core after the other".to_string(),
        1 => "one core, number 0".to_string(),
        _ => format!("{cores} cores, numbered from 0"),
    }
}

fn unwaited(kind: SemaphoreKind) -> &'static str {
    match kind {
        SemaphoreKind::Dma => " bytes: a copy was started and not waited for",
        SemaphoreKind::Regular | SemaphoreKind::Barrier(_) => ", and must end with 0",
    }
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
    /// What went wrong, wherever it was.
    pub(crate) fn cause(&self) -> &RunError {
        match self {
            RunError::On { error, .. } | RunError::Again { error } => error.cause(),
            error => error,
        }
    }

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
            RunError::CopyRows { .. } => "R010",
            RunError::Deadlock { .. } => "R011",
            RunError::SemaphoreLeft { .. } => "R012",
            RunError::SemaphoreCount { .. } => "R013",
            RunError::CopyShapes { .. } => "R014",
            RunError::Poison { .. } => "R015",
            RunError::Race { .. } => "R016",
            RunError::NeverWritten { .. } => "R017",
            RunError::Revisited { .. } => "R018",
            RunError::Parallel { .. } => "R019",
            RunError::Unordered { .. } => "R020",
            RunError::NoCore { .. } => "R021",
            RunError::NoDevice { .. } => "R023",
            RunError::AllWait { .. } => "R024",
        }
        else {
            RunError::On { error, .. } | RunError::Again { error } => error.code(),
        }
    }

    /// The user's line, where the error has one.
    pub const fn loc(&self) -> Option<&Loc> {
        match self {
            RunError::OutOfBounds { loc, .. } | RunError::BlockIndex { loc, .. } | RunError::LoopStep { loc, .. } => Some(loc),
            RunError::GatherIndex { loc, .. } | RunError::Check { loc, .. } | RunError::Unseeded { loc, .. } => Some(loc),
            RunError::CopyRows { loc, .. } | RunError::CopyShapes { loc, .. } => Some(loc),
            RunError::Poison { loc, .. }
            | RunError::Race { loc, .. }
            | RunError::Unordered { loc, .. }
            | RunError::NeverWritten { loc, .. } => Some(loc),
            RunError::Revisited { loc, .. } | RunError::Parallel { loc, .. } => Some(loc),
            RunError::Deadlock { loc, .. } | RunError::SemaphoreLeft { loc, .. } | RunError::SemaphoreCount { loc, .. } => {
                Some(loc)
            }
            RunError::NoCore { loc, .. } | RunError::NoDevice { loc, .. } | RunError::AllWait { loc, .. } => Some(loc),
            RunError::On { error, .. } | RunError::Again { error } => error.loc(),
            RunError::Array { .. } | RunError::Count { .. } | RunError::OutOfMemory { .. } => None,
        }
    }
}
