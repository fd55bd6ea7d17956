//! Where in the user's source an operation was written.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

/// A place in source; line and column count from 1. Part of an operation, and of a kernel's cache key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    /// The file as rustc (or the text form) names it.
    pub file: Cow<'static, str>,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Loc {
    /// A place that is not known: file empty, line 0.
    pub const UNKNOWN: Loc = Loc { file: Cow::Borrowed(""), line: 0, column: 0 };

    /// The caller's place, through any chain of `#[track_caller]`.
    #[track_caller]
    pub fn caller() -> Loc {
        Loc::from(Location::caller())
    }

    /// Whether the place is known.
    pub fn is_known(&self) -> bool {
        self.line != 0
    }
}

impl From<&'static Location<'static>> for Loc {
    fn from(at: &'static Location<'static>) -> Loc {
        Loc { file: Cow::Borrowed(at.file()), line: at.line(), column: at.column() }
    }
}

/// `src/k.rs:12:5`.
impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
