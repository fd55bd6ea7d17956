//! How the blocks of a window come and go while steps run.
//!
//! Rules: a window without a word of its own has two buffers, so that one block arrives while the one before it is computed
//! with. The block of step s is fetched, and the index map of an input evaluated for it, when its buffer is free: as many steps
//! before s as there are buffers beside the one that is in use.

use std::fmt;

/// A window has so many buffers at most.
pub const MAX_BUFFERS: usize = 16;

/// What a kernel says about the pipeline of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipelining {
    /// How many blocks of the window are in vector memory at once; the pipeline's own choice where nothing is said.
    pub buffers: Option<usize>,
    /// Whether the next block that differs is fetched as soon as a buffer is free, however many steps ahead it is.
    pub lookahead: bool,
    /// What an output's block shows when it is entered.
    pub revisit: Revisit,
}

/// When a block of an output may be visited again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Revisit {
    /// In consecutive steps: a block that is entered starts as poison.
    #[default]
    Immediate,
    /// In any step: a block that is entered is read from the array.
    Any,
}

impl Pipelining {
    /// The number of buffers of a window whose block changes. What is read back is not overlapped, unless the kernel says so.
    pub fn depth(self) -> usize {
        self.buffers.unwrap_or(if self.revisit == Revisit::Any { 1 } else { 2 })
    }
}

impl fmt::Display for Pipelining {
    /// As in a kernel's text, with a blank before each word: ` buffers 3 lookahead`; nothing where nothing is said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(buffers) = self.buffers {
            write!(f, " buffers {buffers}")?;
        }
        if self.lookahead {
            f.write_str(" lookahead")?;
        }
        match self.revisit {
            Revisit::Immediate => Ok(()),
            Revisit::Any => f.write_str(" revisit any"),
        }
    }
}
