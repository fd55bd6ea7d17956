//! The places at which compiled code may end early or speak, by number.

use crate::ir::{Loc, Type};

/// A check that compiled code makes, for the error that it becomes.
#[derive(Clone, Debug)]
pub(super) enum Site {
    /// A dynamic start.
    Start {
        /// The operand.
        param: usize,
        axis: usize,
        size: usize,
        extent: usize,
        loc: Loc,
    },
    /// The step of a `for`.
    Step { loc: Loc },
    /// A function compiled ahead, along that axis of so many elements; the value is its outcome.
    Helper { axis: usize, extent: usize, loc: Loc },
    /// A `check`.
    Check { message: String, loc: Loc },
    /// A `print` with values of these types.
    Print { text: String, types: Vec<Type>, loc: Loc },
}
