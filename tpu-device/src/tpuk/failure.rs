//! What a command can fail with, and the exit code of each kind.

use super::output::Closed;
use crate::DeviceError;
use crate::libtpu::LibtpuError;
use std::fmt::Write as _;
use tpu_kernel::Error;

/// The kinds of ends, worst last where several meet. `--help` and `docs/tpuk.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    /// All went well.
    Done = 0,
    /// A result differs from its reference, or a check finds something.
    Mismatch = 1,
    /// The command line is wrong.
    Usage = 2,
    /// A kernel cannot be built, launched or run with what was asked for.
    Kernel = 3,
    /// A file cannot be read or written.
    File = 4,
    /// We refuse a kernel for a chip.
    Unsupported = 5,
    /// libtpu does.
    Refused = 6,
    /// libtpu died, or took too long.
    Crashed = 7,
    /// There is no libtpu.
    Missing = 8,
    /// What is there cannot be used.
    Unfit = 9,
}

/// What each exit code means, a line each.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  all went well
  1  run: a result differs from its reference; check: a kernel is not clean
  2  the command line is wrong: an unknown kernel, chip, name or option, or a value that is none
  3  a kernel cannot be built, launched or run: the error has a code, and docs/errors.md a page for it
  4  a file cannot be read or written
  5  verify: a kernel is unsupported on a chip, and none is refused or crashed
  6  verify: libtpu refuses a kernel, and none crashed
  7  verify: libtpu crashed on a kernel, or took longer than the limit
  8  verify: there is no libtpu
  9  verify: what was found cannot be used as libtpu";

/// Why a command ends early: text for the user, and the kind.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    /// The whole message, with its first word `error`. Empty where nobody is left to read.
    pub(super) text: String,
    /// One line, without its code.
    pub(super) reason: String,
    /// The stable code, where it has one.
    pub(super) code: Option<&'static str>,
}

impl Failure {
    /// The command line is wrong.
    pub(super) fn usage(reason: impl Into<String>) -> Failure {
        Failure::plain(Exit::Usage, reason.into())
    }

    /// A file is.
    pub(super) fn file(reason: impl Into<String>) -> Failure {
        Failure::plain(Exit::File, reason.into())
    }

    /// What is asked for cannot be.
    pub(super) fn kernel(reason: impl Into<String>) -> Failure {
        Failure::plain(Exit::Kernel, reason.into())
    }

    fn plain(exit: Exit, reason: String) -> Failure {
        Failure { exit, text: format!("error: {reason}"), reason, code: None }
    }

    /// Whether a rule of the chip is broken, by a kernel that another chip may take: not the launch itself.
    pub(super) fn is_of_chip(&self) -> bool {
        self.code.is_some_and(|code| code.starts_with('M') || ["L011", "L012", "L018"].contains(&code))
    }

    /// With a word on what was being done.
    pub(super) fn during(mut self, what: &str) -> Failure {
        let _ = write!(self.text, "\nnote: {what}");
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        DeviceError::from(error).into()
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Failure {
        let exit = match error {
            DeviceError::UnknownChip { .. } => Exit::Usage,
            DeviceError::File { .. }
            | DeviceError::Safetensors { .. }
            | DeviceError::UnsupportedElements { .. }
            | DeviceError::MissingTensor { .. }
            | DeviceError::Unsavable { .. }
            | DeviceError::TensorName { .. } => Exit::File,
            _ => Exit::Kernel,
        };
        Failure { exit, text: error.render(), reason: error.to_string(), code: Some(error.code()) }
    }
}

impl From<LibtpuError> for Failure {
    fn from(error: LibtpuError) -> Failure {
        let exit = match error {
            LibtpuError::Missing { .. } => Exit::Missing,
            LibtpuError::Unfit { .. } | LibtpuError::Worker { .. } => Exit::Unfit,
        };
        Failure { exit, text: error.render(), reason: error.to_string(), code: Some(error.code()) }
    }
}

impl From<Closed> for Failure {
    fn from(closed: Closed) -> Failure {
        match closed {
            // Who reads has seen enough: `tpuk list | head -1`.
            Closed::Left => Failure { exit: Exit::Done, text: String::new(), reason: String::new(), code: None },
            Closed::Broken(e) => Failure::file(format!("the output cannot be written: {e}")),
        }
    }
}
