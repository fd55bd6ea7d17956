//! Why a kernel has no form on a chip: one rule a cause, each with a stable code.

use crate::ir::{DType, Loc, OpKind, Shape, Type};

/// A part of a kernel that a chip cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{at}` has no form on {chip}: {rule}")]
pub struct Illegal {
    /// The chip's name.
    pub chip: &'static str,
    /// The mnemonic of the operation, or the operand's name.
    pub at: String,
    /// What it breaks.
    pub rule: Rule,
    /// Where it was written.
    pub loc: Loc,
}

/// What a chip, or libtpu for it, does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// M001
    #[error("the chip has no {0}")]
    ElementType(DType),
    /// M002
    #[error("no sequence of its operations computes this on {0}")]
    NoLowering(DType),
    /// M003
    #[error("a tile of [{from}] cannot be reshaped to [{to}]: it would be cut into {pieces} pieces, at most {limit}")]
    Reshape {
        /// The shape of the tile.
        from: Shape,
        /// The shape that is wanted.
        to: Shape,
        /// How many pieces that takes.
        pieces: usize,
        /// How many pieces a reshape may take.
        limit: usize,
    },
    /// M004
    #[error(
        "a dynamic start along axis {axis} of [{memory}] must be a multiple of {multiple} that can be seen, as in `i * {multiple}`"
    )]
    Start {
        /// The dimension of the memory.
        axis: usize,
        /// The shape of the memory.
        memory: String,
        /// What the start must be a multiple of.
        multiple: usize,
    },
    /// M005
    #[error("{0}")]
    Window(String),
    /// M006
    #[error("{0}")]
    Binding(&'static str),
    /// M007
    #[error("the kernel does not verify: {0}")]
    Unverified(String),
    /// M008
    #[error("the log of a chip takes scalars, not a {0}")]
    PrintedTile(Type),
    /// M009
    #[error("a vector of {length} {dtype} has one dimension and no whole number of registers of {whole}")]
    Vector {
        /// The element type.
        dtype: DType,
        /// Elements of the vector.
        length: usize,
        /// What their number must be a multiple of.
        whole: usize,
    },
    /// M010
    #[error(
        "a copy of a part along axis {axis} of {memory} must start at a multiple of {multiple} that can be seen, as in `i * {multiple}`"
    )]
    CopyStart {
        /// The dimension of the memory.
        axis: usize,
        /// Its name and extents; `?` where the launch decides.
        memory: String,
        /// What the start must be a multiple of.
        multiple: usize,
    },
    /// M011
    #[error(
        "{size} elements along axis {axis} of {memory} cannot be copied: a part must be a multiple of {multiple}, or the whole"
    )]
    CopySize {
        /// The dimension of the memory.
        axis: usize,
        /// Its name and extents.
        memory: String,
        /// How many elements are copied.
        size: usize,
        /// What they must be a multiple of.
        multiple: usize,
    },
    /// M012
    #[error(
        "the number of rows of a copy along axis {axis} of {memory} must be a multiple of {multiple} that can be seen, as in `n * {multiple}`"
    )]
    CopyRows {
        /// The dimension of the memory.
        axis: usize,
        /// Its name and extents.
        memory: String,
        /// What the number must be a multiple of.
        multiple: usize,
    },
    /// M013
    #[error("a copy cannot move {0}")]
    CopyView(&'static str),
    /// M014
    #[error("a copy replaces what is at its target, and cannot add to it")]
    CopyAdds,
    /// M015
    #[error("{count} semaphores do not fit the chip, which has room for {limit}")]
    Semaphores {
        /// How many the kernel has.
        count: usize,
        /// How many fit beside those of windows.
        limit: usize,
    },
    /// M016
    #[error("a store that rewrites more of [{memory}] than it stores cannot run while a copy of that memory is in flight")]
    StoreBesideCopy {
        /// The shape of the memory.
        memory: String,
    },
    /// M019
    #[error("{0}")]
    Pipelining(String),
    /// M020
    #[error("it shares the array of `{input}`, whose window has {want:?} elements of padding before the array, not {got:?}")]
    SharedPadding {
        /// The input.
        input: String,
        /// What lies before the input's array.
        want: Vec<usize>,
        /// What lies before the output's.
        got: Vec<usize>,
    },
    /// M017
    #[error("{0} does not fit 32 bits, in which a chip counts")]
    Wide(&'static str),
    /// M018
    #[error("{what} would be loaded whole: {bytes} bytes, of at most {limit}")]
    Whole {
        /// What is loaded.
        what: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

/// What an operation is called where it is refused: in the words of the language, where these are others.
pub(crate) const fn called(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::DmaStart { .. } => "copy",
        OpKind::DmaWait => "wait",
        _ => kind.mnemonic(),
    }
}

impl Illegal {
    crate::codes! {
        /// The stable code.
        [const] {
            Illegal { rule: Rule::ElementType(_), .. } => "M001",
            Illegal { rule: Rule::NoLowering(_), .. } => "M002",
            Illegal { rule: Rule::Reshape { .. }, .. } => "M003",
            Illegal { rule: Rule::Start { .. }, .. } => "M004",
            Illegal { rule: Rule::Window(_), .. } => "M005",
            Illegal { rule: Rule::Binding(_), .. } => "M006",
            Illegal { rule: Rule::Unverified(_), .. } => "M007",
            Illegal { rule: Rule::PrintedTile(_), .. } => "M008",
            Illegal { rule: Rule::Vector { .. }, .. } => "M009",
            Illegal { rule: Rule::CopyStart { .. }, .. } => "M010",
            Illegal { rule: Rule::CopySize { .. }, .. } => "M011",
            Illegal { rule: Rule::CopyRows { .. }, .. } => "M012",
            Illegal { rule: Rule::CopyView(_), .. } => "M013",
            Illegal { rule: Rule::CopyAdds, .. } => "M014",
            Illegal { rule: Rule::Semaphores { .. }, .. } => "M015",
            Illegal { rule: Rule::StoreBesideCopy { .. }, .. } => "M016",
            Illegal { rule: Rule::Pipelining(_), .. } => "M019",
            Illegal { rule: Rule::Wide(_), .. } => "M017",
            Illegal { rule: Rule::Whole { .. }, .. } => "M018",
            Illegal { rule: Rule::SharedPadding { .. }, .. } => "M020",
        }
    }
}
