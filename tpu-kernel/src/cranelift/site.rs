//! The places at which compiled code may end early or speak, and the copies and semaphores that it asks for, by number.

use crate::ir::{DType, Loc, Shape, Type};
use tpu_microkernels::tile::RANK;

/// A check that compiled code makes, for the error that it becomes; or a request to the launch.
#[derive(Clone, Debug)]
pub(super) enum Site {
    /// A dynamic start.
    Start {
        /// The memory.
        operand: String,
        axis: usize,
        size: usize,
        extent: Extent,
        loc: Loc,
    },
    /// The step of a `for`.
    Step { loc: Loc },
    /// A function compiled ahead, along that axis of so many elements; the value is its outcome.
    Helper { axis: usize, extent: usize, loc: Loc },
    /// A `check`.
    Check { message: String, loc: Loc },
    /// A `defined`.
    Defined { what: String, loc: Loc },
    /// A `print` with values of these types.
    Print { text: String, types: Vec<Type>, loc: Loc },
    /// The start of a copy, or a wait for one.
    Copy(CopySite),
    /// A load or store element by element.
    Reach(ReachSite),
    /// The start of a copy to a device; with the group of the semaphore here.
    Remote(RemoteSite),
    /// A request to one of a group of semaphores.
    Semaphore { group: usize, action: Action, loc: Loc },
    /// Memory of a region, which starts as poison.
    Poison { dtype: DType, elements: usize, memory: usize },
    /// An access that checked execution looks at.
    Access(AccessSite),
}

/// How many elements a memory has along a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    Fixed(usize),
    /// Those of the array of that operand.
    Array(usize),
}

/// A load or a store.
#[derive(Clone, Debug)]
pub(super) struct AccessSite {
    /// The memory, by number.
    pub memory: usize,
    /// The shape of the part that is touched.
    pub shape: Shape,
    pub writes: bool,
    pub loc: Loc,
}

/// A memory as it is seen: its elements, and the views of other widths that lie on it.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The element type of the memory itself.
    pub root: DType,
    pub casts: Vec<Cast>,
}

/// A view of elements of another width.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    /// How many there are of them along each dimension, with dimensions of 1 in front.
    pub dims: [usize; RANK],
    pub to: DType,
}

impl Chain {
    /// The element type that is seen.
    pub(super) fn dtype(&self) -> DType {
        self.below(self.casts.len() + 1)
    }

    /// The element type below the view so many up, counted from 1.
    pub(super) fn below(&self, level: usize) -> DType {
        level.checked_sub(2).map_or(self.root, |at| self.casts[at].to)
    }
}

/// A load or store element by element.
#[derive(Clone, Debug)]
pub(super) struct ReachSite {
    /// The memory, by number, where its accesses are told to the launch.
    pub watched: Option<usize>,
    pub chain: Chain,
    /// What is loaded or stored, with dimensions of 1 in front.
    pub dims: [usize; RANK],
    /// The memory, likewise.
    pub extents: [usize; RANK],
    /// Its dimensions.
    pub rank: usize,
    pub store: bool,
    pub masked: bool,
    pub operand: String,
    pub loc: Loc,
}

/// A copy.
#[derive(Clone, Debug)]
pub(super) struct CopySite {
    pub dtype: DType,
    /// The shape of both ends; `None` of two whole arrays, which are these operands.
    pub shape: Option<Shape>,
    pub arrays: [usize; 2],
    /// The memories of both ends, by number.
    pub memories: [usize; 2],
    /// How both ends are seen.
    pub chains: [Chain; 2],
    /// The group of its semaphore.
    pub group: usize,
    pub what: CopyStep,
    pub loc: Loc,
}

/// A copy to a device. `copy` has the group of the semaphore there.
#[derive(Clone, Debug)]
pub(super) struct RemoteSite {
    pub copy: CopySite,
    /// The group of the semaphore here.
    pub send: usize,
}

/// What is asked of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyStep {
    /// To replace what the target holds.
    Start,
    /// To add to what the target holds.
    Add,
    Wait,
}

/// What is asked of a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Signal,
    /// As a core of the device has it.
    CoreSignal,
    Wait,
    Read,
    /// The end of its region: it must be at 0.
    End,
}
