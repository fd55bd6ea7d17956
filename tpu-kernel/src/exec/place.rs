//! Which of those that run one kernel side by side is meant.

use super::RunError;
use crate::ir::Loc;
use std::fmt;

/// A device of several, a core of several, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The number of the device, where there are several.
    pub device: Option<usize>,
    /// The number of the core, where a device has several.
    pub core: Option<usize>,
}

impl Place {
    /// Of so many devices with so many cores each the one with that number, cores of one device after the other.
    pub(crate) fn of(agent: usize, devices: usize, cores: usize) -> Place {
        let named = |number: usize, of: usize| (of > 1).then_some(number);
        let core = named(agent % cores, cores);
        Place { device: if core.is_none() { Some(agent) } else { named(agent / cores, devices) }, core }
    }
}

/// `device 1`, `core 0`, `core 0 of device 1`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.device, self.core) {
            (Some(device), Some(core)) => write!(f, "core {core} of device {device}"),
            (Some(device), None) => write!(f, "device {device}"),
            (None, Some(core)) => write!(f, "core {core}"),
            (None, None) => f.write_str("the device"),
        }
    }
}

/// One that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Who.
    pub place: Place,
    /// The semaphore, as `` `sems`[1] ``.
    pub semaphore: String,
    /// What it waits for: signals, or bytes of copies.
    pub wanted: i64,
    /// What is there.
    pub found: i64,
    /// The grid step.
    pub step: Vec<i32>,
    /// The wait.
    pub loc: Loc,
}

impl Waiting {
    /// What the error of a wait that nothing ends says of who waits; else that error.
    pub(crate) fn of(place: Place, error: RunError) -> Result<Waiting, RunError> {
        match error.cause() {
            RunError::Deadlock { semaphore, wanted, found, step, loc } => {
                let (semaphore, wanted, found) = (semaphore.clone(), *wanted, *found);
                Ok(Waiting { place, semaphore, wanted, found, step: step.clone(), loc: loc.clone() })
            }
            // Something else went wrong on the way out of a wait.
            _ => Err(RunError::On { place, error: Box::new(error) }),
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waiting { place, semaphore, wanted, found, step, .. } = self;
        write!(f, "{place} waits for {wanted} on semaphore {semaphore}, which has {found}, at grid step {step:?}")
    }
}

/// Another agent that two accesses have nothing between that orders them.
#[derive(Clone, Debug, PartialEq)]
pub enum Meeting {
    /// It has touched the same element.
    Touched {
        /// Who.
        by: Place,
        /// Whether it was written; else read.
        wrote: bool,
        /// There.
        loc: Loc,
    },
    /// The memory is its own, and it may not have begun the launch.
    NotBegun {
        /// Who.
        by: Place,
    },
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meeting::Touched { by, wrote, .. } => {
                write!(f, "{by} has {} it, and nothing orders the two", if *wrote { "written" } else { "read" })
            }
            Meeting::NotBegun { by } => write!(f, "and nothing says that {by} has begun this launch"),
        }
    }
}
