//! Everything that can go wrong with a kernel, by the time at which it shows.

use crate::exec::RunError;
use crate::ir::{DType, Fault, Kernel, Literal, Loc};
use crate::launch::LaunchError;
use crate::legalise::Illegal;
use crate::transform::TransformError;
use std::any::Any;

/// An error of a kernel: while it is built, launched, compiled or run.
///
/// As `Debug` it is what [`render`](crate::diagnose::render) shows: `?` in `main`, and `unwrap`, end with the user's line.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The kernel cannot be built: every fault found.
    #[error("kernel `{kernel}` cannot be built: {}", list(.faults))]
    Build {
        /// The kernel.
        kernel: String,
        /// The faults, in the order of the source.
        faults: Vec<BuildFault>,
    },
    /// The launch is refused.
    #[error("{0}")]
    Launch(#[from] LaunchError),
    /// A transformation does not fit the kernel.
    #[error("{0}")]
    Transform(#[from] TransformError),
    /// The kernel has no form on a chip.
    #[error("{0}")]
    Illegal(#[from] Illegal),
    /// The code generator refused the kernel.
    #[error("kernel `{kernel}` cannot be compiled: {reason}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// Its words.
        reason: String,
    },
    /// The kernel failed while it ran.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The kernel failed while it ran checked.
    #[error("{error}")]
    Checked {
        /// The seed that replays it.
        seed: u64,
        /// What was found.
        error: RunError,
    },
}

/// One fault of a kernel that cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildFault {
    /// A rule of the IR, V001 and on.
    #[error("`{}` {}", .0.at, .0.rule)]
    Rule(Fault),
    /// V011 in a kernel with block sizes: the first such fault, and the largest block size along that value.
    #[error("`{}` {}; the block size `{}` is {}", .fault.at, .fault.rule, .block.0, .block.1)]
    TooLarge {
        /// The fault.
        fault: Fault,
        /// The block size: its name and its value.
        block: (String, usize),
    },
    /// B001: a value of another kernel, or of an earlier build.
    #[error("this value belongs to another kernel")]
    ForeignValue(Loc),
    /// B002: a value used outside the loop or branch that made it.
    #[error("this value is used outside the loop or branch that made it; assign it to a variable declared before")]
    OutOfRegion(Loc),
    /// B003: a dynamic `if` or loop left by `break`, `return` or `?`.
    #[error("a dynamic `if` or loop cannot be left half-way by `break`, `return` or `?`")]
    BrokenRegion(Loc),
    /// B004: the kernel's function panicked while it was staged.
    #[error("the kernel panicked while it was built: {message}")]
    Panic {
        /// The panic's message.
        message: String,
        /// Where.
        loc: Loc,
    },
    /// B005: arithmetic on two constants that does not fit the element type.
    #[error("this overflows {dtype}: {computed} is {exact}")]
    Overflow {
        /// The mnemonic of the operation.
        op: &'static str,
        /// What is computed, with the constants.
        computed: String,
        /// What it would be without a limit.
        exact: i64,
        /// The element type.
        dtype: DType,
        /// Where.
        loc: Loc,
    },
    /// B006: an integer division or remainder by a constant zero.
    #[error("this divides {dtype} elements by zero: the right side of `{}` is 0 in every element", sign(.op))]
    DivisionByZero {
        /// The mnemonic of the operation: `div`, `rem`, `floor_div` or `floor_mod`.
        op: &'static str,
        /// The element type.
        dtype: DType,
        /// Where.
        loc: Loc,
    },
    /// B007: a Rust literal outside the range of the element type.
    #[error("the literal {value} does not fit {dtype}: it would become {becomes}")]
    Literal {
        /// The literal.
        value: String,
        /// The element type.
        dtype: DType,
        /// What it is after rounding, or as its low bits.
        becomes: Literal,
        /// Where.
        loc: Loc,
    },
    /// B008: a shift by a constant that is negative, or as many bits as the elements have, or more.
    #[error("this shifts {dtype} elements by {amount}, and they have {} bits", .dtype.bits())]
    Shift {
        /// The mnemonic of the operation.
        op: &'static str,
        /// By how many bits.
        amount: i64,
        /// The element type.
        dtype: DType,
        /// Where.
        loc: Loc,
    },
    /// B009: elements picked by a constant index that the axis does not have.
    #[error("index {index} is outside axis {axis}, which has the indices -{extent} to {}", *.extent as i64 - 1)]
    Index {
        /// The index.
        index: i64,
        /// The axis of the tile.
        axis: usize,
        /// Elements that it has there.
        extent: usize,
        /// Where.
        loc: Loc,
    },
    /// B010: a copy that is started, and neither waited for nor left to another line.
    #[error("this copy is started and never waited for")]
    CopyNotAwaited(Loc),
    /// B011: a copy that is described, and neither made nor started nor finished.
    #[error("this copy is described and never made")]
    CopyNotMade(Loc),
    /// B012: a wait in another branch or turn of a loop than the start.
    #[error("this waits in another loop or branch than the one that started the copy")]
    AwaitedElsewhere(Loc),
    /// B013: the bounds of a window whose index map reads a prefetched array, in a kernel that writes to one.
    #[error("the bounds of this window follow a prefetched array, and the kernel writes to one")]
    BoundsOfWritten(Loc),
    /// B015: a number of buffers that an operand of a pipeline cannot have.
    #[error("an operand of a pipeline has 1 to {most} buffers, and one that is updated has 1: got {n}")]
    Buffers {
        /// What was asked for.
        n: usize,
        /// The most there are.
        most: usize,
        /// Where.
        loc: Loc,
    },
    /// B016: blocks of a pipeline with a size of their own along more than one dimension.
    #[error("these blocks have a size of their own along more than one dimension")]
    BlockSizes(Loc),
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::diagnose::render(self))
    }
}

impl BuildFault {
    /// A panic that was caught.
    pub(crate) fn panic(payload: &(dyn Any + Send), loc: Loc) -> BuildFault {
        let message = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
        BuildFault::Panic { message, loc }
    }

    crate::codes! {
        /// The stable code.
        [const] {
            BuildFault::ForeignValue(_) => "B001",
            BuildFault::OutOfRegion(_) => "B002",
            BuildFault::BrokenRegion(_) => "B003",
            BuildFault::Panic { .. } => "B004",
            BuildFault::Overflow { .. } => "B005",
            BuildFault::DivisionByZero { .. } => "B006",
            BuildFault::Literal { .. } => "B007",
            BuildFault::Shift { .. } => "B008",
            BuildFault::Index { .. } => "B009",
            BuildFault::CopyNotAwaited(_) => "B010",
            BuildFault::CopyNotMade(_) => "B011",
            BuildFault::AwaitedElsewhere(_) => "B012",
            BuildFault::BoundsOfWritten(_) => "B013",
            BuildFault::Buffers { .. } => "B015",
            BuildFault::BlockSizes(_) => "B016",
        } else {
            BuildFault::Rule(fault) | BuildFault::TooLarge { fault, .. } => fault.rule.code(),
        }
    }

    /// The user's line.
    pub const fn loc(&self) -> &Loc {
        match self {
            BuildFault::Rule(fault) | BuildFault::TooLarge { fault, .. } => &fault.loc,
            BuildFault::ForeignValue(loc) | BuildFault::OutOfRegion(loc) | BuildFault::BrokenRegion(loc) => loc,
            BuildFault::CopyNotAwaited(loc) | BuildFault::CopyNotMade(loc) | BuildFault::AwaitedElsewhere(loc) => loc,
            BuildFault::BoundsOfWritten(loc) | BuildFault::BlockSizes(loc) => loc,
            BuildFault::Panic { loc, .. }
            | BuildFault::Overflow { loc, .. }
            | BuildFault::DivisionByZero { loc, .. }
            | BuildFault::Literal { loc, .. }
            | BuildFault::Shift { loc, .. }
            | BuildFault::Index { loc, .. }
            | BuildFault::Buffers { loc, .. } => loc,
        }
    }
}

impl Error {
    crate::codes! {
        /// The stable code; of several faults, the first's.
        [] {
            Error::Compile { .. } => "C001",
        } else {
            Error::Build { faults, .. } => faults.first().map_or("B000", BuildFault::code),
            Error::Launch(e) => e.code(),
            Error::Transform(e) => e.code(),
            Error::Illegal(e) => e.code(),
            Error::Run(e) | Error::Checked { error: e, .. } => e.code(),
        }
    }

    /// A kernel that breaks rules of the IR: what the verifier found.
    pub fn rules(kernel: &Kernel, faults: Vec<Fault>) -> Error {
        Error::Build { kernel: kernel.name.clone(), faults: faults.into_iter().map(BuildFault::Rule).collect() }
    }
}

/// The operator of a mnemonic, where it has one.
fn sign(mnemonic: &str) -> &str {
    match mnemonic {
        "div" => "/",
        "rem" => "%",
        other => other,
    }
}

fn list(faults: &[BuildFault]) -> String {
    faults.iter().map(|f| format!("[{}] {f}", f.code())).collect::<Vec<_>>().join("; ")
}
