//! What can go wrong before libtpu gives a verdict.

use std::path::PathBuf;

/// Why there is no verdict. What libtpu says of a program is a [`Verdict`](super::Verdict), never an error.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibtpuError {
    /// D022
    #[error(
        "{reason}; `pip install libtpu==0.0.50.1` brings Google's TPU compiler, under Google's own licence, and LIBTPU_PATH can name its libtpu.so"
    )]
    Missing {
        /// Where it was looked for.
        reason: String,
    },
    /// D023
    #[error("{} cannot be used as libtpu: {reason}", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// D024
    #[error("the worker {} cannot ask libtpu: {reason}", .program.display())]
    Worker {
        /// The program that was started as a worker.
        program: PathBuf,
        /// Why it cannot.
        reason: String,
    },
}

/// What [`render`](LibtpuError::render) shows, as for the other errors.
impl std::fmt::Debug for LibtpuError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render())
    }
}

impl LibtpuError {
    tpu_kernel::codes! {
        /// The stable code.
        [] {
            LibtpuError::Missing { .. } => "D022",
            LibtpuError::Unfit { .. } => "D023",
            LibtpuError::Worker { .. } => "D024",
        }
    }

    /// The error as rustc would show it, with its code and its page.
    pub fn render(&self) -> String {
        tpu_kernel::diagnose::render_plain(self.code(), &self.to_string())
    }
}
