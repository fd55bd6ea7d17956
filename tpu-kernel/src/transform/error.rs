//! Why a kernel cannot be transformed: one variant a cause, each with a stable code.

use crate::ir::{DType, Loc};

/// A transformation that does not fit its kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TransformError {
    /// T001
    #[error("kernel `{kernel}` has no operand `{operand}` for `{step}`; it has {}", quoted(.names))]
    UnknownOperand {
        /// The kernel.
        kernel: String,
        /// The transformation.
        step: &'static str,
        /// The name that was given.
        operand: String,
        /// The operands there are.
        names: Vec<String>,
        /// The transformation's place.
        loc: Loc,
    },
    /// T002
    #[error("`{step}` takes {want}; operand `{operand}` is {got}")]
    Role {
        /// The transformation.
        step: &'static str,
        /// The operand.
        operand: String,
        /// What it must be.
        want: &'static str,
        /// What it is.
        got: &'static str,
        /// The operand's declaration.
        loc: Loc,
    },
    /// T003
    #[error("`batched` names operand `{operand}` twice")]
    Repeated {
        /// The operand.
        operand: String,
        /// The transformation's place.
        loc: Loc,
    },
    /// T004
    #[error("output `{output}` is not batched: each slice of the batch would write the same array")]
    OutputNotBatched {
        /// The output.
        output: String,
        /// The output's declaration.
        loc: Loc,
    },
    /// T005
    #[error("kernel `{kernel}` is batched over no input: nothing says how many slices there are")]
    NoInputBatched {
        /// The kernel.
        kernel: String,
        /// The transformation's place.
        loc: Loc,
    },
    /// T006
    #[error("operand `{operand}` has rank {rank} already: a batched array would have rank {}, the limit is {limit}", .rank + 1)]
    Rank {
        /// The operand.
        operand: String,
        /// Its rank.
        rank: usize,
        /// The highest rank.
        limit: usize,
        /// The operand's declaration.
        loc: Loc,
    },
    /// T007
    #[error("the function for operand `{operand}` is not elementwise: it uses `{operation}`")]
    NotElementwise {
        /// The operand.
        operand: String,
        /// The operation's name in the IR.
        operation: String,
        /// The operation's place.
        loc: Loc,
    },
    /// T008
    #[error("the function for input `{operand}` gives {got}, the kernel takes {want}")]
    FunctionGives {
        /// The input.
        operand: String,
        /// What the kernel takes.
        want: String,
        /// What the function gives.
        got: DType,
        /// The transformation's place.
        loc: Loc,
    },
    /// T009
    #[error("the function for output `{operand}` takes {got}, the kernel writes {want}")]
    FunctionTakes {
        /// The output.
        operand: String,
        /// What the kernel writes.
        want: DType,
        /// What the function takes.
        got: DType,
        /// The transformation's place.
        loc: Loc,
    },
    /// T010
    #[error("output `{output}` is read back by the kernel: a function on it would be applied to its own results")]
    ReadBack {
        /// The output.
        output: String,
        /// The load.
        loc: Loc,
    },
    /// T011
    #[error("kernel `{kernel}` has a backward kernel, which knows nothing of a function for `{operand}`")]
    FusedAfterBackward {
        /// The kernel.
        kernel: String,
        /// The operand.
        operand: String,
        /// The transformation's place.
        loc: Loc,
    },
    /// T012
    #[error("backward kernel `{backward}` takes `{operand}`, which is neither an operand of `{forward}` nor the gradient of an output; {}", offered(.takes))]
    BackwardInput {
        /// The kernel.
        forward: String,
        /// Its backward kernel.
        backward: String,
        /// The backward kernel's input.
        operand: String,
        /// What it may take.
        takes: Vec<String>,
        /// The declaration of that input.
        loc: Loc,
    },
    /// T013
    #[error("backward kernel `{backward}` gives `{operand}`, which is not the gradient of an input of `{forward}`; {}", given(.gives))]
    BackwardOutput {
        /// The kernel.
        forward: String,
        /// Its backward kernel.
        backward: String,
        /// The backward kernel's output.
        operand: String,
        /// What it may give.
        gives: Vec<String>,
        /// The declaration of that output.
        loc: Loc,
    },
    /// T014
    #[error("`{operand}` of backward kernel `{backward}` is {got}, `{of}` of `{forward}` is {want}")]
    BackwardType {
        /// The kernel.
        forward: String,
        /// Its backward kernel.
        backward: String,
        /// The operand of the backward kernel.
        operand: String,
        /// What it stands for.
        of: String,
        /// The element type, or that it is a scalar, of the kernel's operand.
        want: String,
        /// Of the backward kernel's operand.
        got: String,
        /// The declaration of the backward kernel's operand.
        loc: Loc,
    },
    /// T015
    #[error("`{operand}` of backward kernel `{backward}` has rank {got}, `{of}` of `{forward}` has rank {want}")]
    BackwardRank {
        /// The kernel.
        forward: String,
        /// Its backward kernel.
        backward: String,
        /// The operand of the backward kernel.
        operand: String,
        /// What it stands for.
        of: String,
        /// The rank of the kernel's operand.
        want: usize,
        /// Of the backward kernel's operand.
        got: usize,
        /// The declaration of the backward kernel's operand.
        loc: Loc,
    },
    /// T016
    #[error("backward kernel `{backward}` gives `{operand}` with shape {got:?}, `{of}` of `{forward}` has shape {want:?}")]
    GradientShape {
        /// The kernel.
        forward: String,
        /// Its backward kernel.
        backward: String,
        /// The backward kernel's output.
        operand: String,
        /// The input that it is the gradient of.
        of: String,
        /// The input's shape.
        want: Vec<usize>,
        /// The gradient's shape.
        got: Vec<usize>,
    },
    /// T019
    #[error(
        "a kernel that writes to its prefetched arrays, as `{array}`, has no batch: a slice would find what the one before has left"
    )]
    WrittenPrefetch {
        /// A prefetched array of the kernel.
        array: String,
        /// Where the batch was asked for.
        loc: Loc,
    },
    /// T018
    #[error("`{step}` of `{operand}`: the kernel views or copies the operand here, past the function on its elements")]
    Viewed {
        /// The transformation.
        step: &'static str,
        /// The operand.
        operand: String,
        /// Where it is viewed or copied.
        loc: Loc,
    },
    /// T020
    #[error("operand `{operand}` shares its array with another one: `{step}` would change what the other sees")]
    Shared {
        /// The transformation.
        step: &'static str,
        /// The operand.
        operand: String,
        /// The transformation's place.
        loc: Loc,
    },
    /// T021
    #[error("output `{output}` shares the array of `{input}`, which is not batched: every slice would write to it")]
    SharedNotBatched {
        /// The output.
        output: String,
        /// The input.
        input: String,
        /// The output's declaration.
        loc: Loc,
    },
    /// T017
    #[error("backward kernel `{backward}` does not say what it takes and gives (`arguments` and `outputs` of its launch)")]
    BackwardUndeclared {
        /// The backward kernel.
        backward: String,
    },
}

impl TransformError {
    crate::codes! {
        /// The stable code.
        [const] {
            TransformError::UnknownOperand { .. } => "T001",
            TransformError::Role { .. } => "T002",
            TransformError::Repeated { .. } => "T003",
            TransformError::OutputNotBatched { .. } => "T004",
            TransformError::NoInputBatched { .. } => "T005",
            TransformError::Rank { .. } => "T006",
            TransformError::NotElementwise { .. } => "T007",
            TransformError::FunctionGives { .. } => "T008",
            TransformError::FunctionTakes { .. } => "T009",
            TransformError::ReadBack { .. } => "T010",
            TransformError::FusedAfterBackward { .. } => "T011",
            TransformError::BackwardInput { .. } => "T012",
            TransformError::BackwardOutput { .. } => "T013",
            TransformError::BackwardType { .. } => "T014",
            TransformError::BackwardRank { .. } => "T015",
            TransformError::GradientShape { .. } => "T016",
            TransformError::BackwardUndeclared { .. } => "T017",
            TransformError::Viewed { .. } => "T018",
            TransformError::WrittenPrefetch { .. } => "T019",
            TransformError::Shared { .. } => "T020",
            TransformError::SharedNotBatched { .. } => "T021",
        }
    }

    /// The user's line, where there is one.
    pub const fn loc(&self) -> Option<&Loc> {
        match self {
            TransformError::UnknownOperand { loc, .. }
            | TransformError::Role { loc, .. }
            | TransformError::Repeated { loc, .. }
            | TransformError::OutputNotBatched { loc, .. }
            | TransformError::NoInputBatched { loc, .. }
            | TransformError::Rank { loc, .. }
            | TransformError::NotElementwise { loc, .. }
            | TransformError::FunctionGives { loc, .. }
            | TransformError::FunctionTakes { loc, .. }
            | TransformError::ReadBack { loc, .. }
            | TransformError::Viewed { loc, .. }
            | TransformError::WrittenPrefetch { loc, .. }
            | TransformError::Shared { loc, .. }
            | TransformError::SharedNotBatched { loc, .. }
            | TransformError::FusedAfterBackward { loc, .. }
            | TransformError::BackwardInput { loc, .. }
            | TransformError::BackwardOutput { loc, .. }
            | TransformError::BackwardType { loc, .. }
            | TransformError::BackwardRank { loc, .. } => Some(loc),
            TransformError::GradientShape { .. } | TransformError::BackwardUndeclared { .. } => None,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            TransformError::UnknownOperand { .. } => "name a parameter of the kernel's function".to_string(),
            TransformError::Role { .. } => "scratch and scalars are the same for every slice and every element".to_string(),
            TransformError::Repeated { .. } => "name each operand once".to_string(),
            TransformError::OutputNotBatched { output, .. } => format!("name `{output}` in `batched`, too"),
            TransformError::NoInputBatched { .. } => "name at least one input in `batched`".to_string(),
            TransformError::Rank { .. } => "give the kernel a grid dimension of its own for one of its dimensions".to_string(),
            TransformError::NotElementwise { .. } => {
                "a function on each element sees no other element, index or size: arithmetic, functions, comparisons, `select`, casts and \
                 constants only"
                    .to_string()
            }
            TransformError::FunctionGives { .. } => "end the function with a cast".to_string(),
            TransformError::FunctionTakes { want, .. } => format!("let the function take `Each<{want}>`"),
            TransformError::ReadBack { .. } => "accumulate in scratch and store to the output once".to_string(),
            TransformError::WrittenPrefetch { .. } => "keep what changes in scratch, `Smem<T, S>`, and set it up in a slice's first step".to_string(),
            TransformError::Shared { .. } => "let the kernel apply the function, or take arrays of their own".to_string(),
            TransformError::SharedNotBatched { input, .. } => format!("name `{input}` in `batched`, too"),
            TransformError::Viewed { .. } => "load from the operand itself and store to it itself".to_string(),
            TransformError::FusedAfterBackward { .. } => {
                "fuse first, then give the backward kernel of the whole with `with_backward`".to_string()
            }
            TransformError::BackwardInput { .. } | TransformError::BackwardOutput { .. } => {
                "operands are paired by their names".to_string()
            }
            TransformError::BackwardType { .. } => "a gradient has the element type of what it is the gradient of".to_string(),
            TransformError::BackwardRank { .. } | TransformError::GradientShape { .. } => {
                "a gradient has the shape of what it is the gradient of".to_string()
            }
            TransformError::BackwardUndeclared { .. } => return None,
        })
    }
}

fn quoted(names: &[String]) -> String {
    match names {
        [] => "none".to_string(),
        names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    }
}

fn offered(names: &[String]) -> String {
    format!("it may take {}", quoted(names))
}

fn given(names: &[String]) -> String {
    format!("it may give {}", quoted(names))
}
