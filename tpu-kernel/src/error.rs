//! Everything that can go wrong with a kernel, by the time at which it shows.

use crate::exec::RunError;
use crate::ir::{Fault, Loc};
use crate::launch::LaunchError;
use crate::transform::TransformError;
use std::any::Any;

/// An error of a kernel: while it is built, launched, compiled or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
}

impl BuildFault {
    /// A panic that was caught.
    pub(crate) fn panic(payload: &(dyn Any + Send), loc: Loc) -> BuildFault {
        let message = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
        BuildFault::Panic { message, loc }
    }

    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            BuildFault::Rule(fault) | BuildFault::TooLarge { fault, .. } => fault.rule.code(),
            BuildFault::ForeignValue(_) => "B001",
            BuildFault::OutOfRegion(_) => "B002",
            BuildFault::BrokenRegion(_) => "B003",
            BuildFault::Panic { .. } => "B004",
        }
    }

    /// The user's line.
    pub const fn loc(&self) -> &Loc {
        match self {
            BuildFault::Rule(fault) | BuildFault::TooLarge { fault, .. } => &fault.loc,
            BuildFault::ForeignValue(loc) | BuildFault::OutOfRegion(loc) | BuildFault::BrokenRegion(loc) => loc,
            BuildFault::Panic { loc, .. } => loc,
        }
    }
}

impl Error {
    /// The stable code; of several faults, the first's.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Build { faults, .. } => faults.first().map_or("B000", BuildFault::code),
            Error::Launch(e) => e.code(),
            Error::Transform(e) => e.code(),
            Error::Compile { .. } => "C001",
            Error::Run(e) => e.code(),
        }
    }
}

fn list(faults: &[BuildFault]) -> String {
    faults.iter().map(|f| format!("[{}] {f}", f.code())).collect::<Vec<_>>().join("; ")
}
