//! Those that run one kernel side by side, each on a fiber of its own: how one gives way to the others, and how all end.
//!
//! Rules: an agent is a core of a device, numbered by device and then by core. One that is resumed after the run has ended returns an
//! error from where it waits.

use super::checked::Random;
use super::schedule::Way;
use crate::exec::{Place, RunError};
use crate::ir::Loc;
use std::cell::RefCell;

/// What all of them have in common.
pub(super) struct Crew {
    pub devices: usize,
    /// Of each device.
    pub cores: usize,
    pub random: RefCell<Random>,
    /// Whether an agent also gives way where it has signalled.
    pub shuffled: bool,
    ended: RefCell<Ended>,
}

/// Whether the run is over for those that wait.
enum Ended {
    No,
    /// By the error of another.
    By(RunError),
    /// All wait.
    Deadlock,
}

impl Crew {
    pub(super) fn new(devices: usize, cores: usize, seed: u64) -> Crew {
        let (random, ended) = (RefCell::new(Random::new(seed)), RefCell::new(Ended::No));
        Crew { devices, cores, random, shuffled: seed != 0, ended }
    }

    /// How many there are.
    pub(super) fn agents(&self) -> usize {
        self.devices * self.cores
    }

    /// The run has ended: by an error, or because all wait.
    pub(super) fn end(&self, by: Option<&RunError>) {
        *self.ended.borrow_mut() = by.map_or(Ended::Deadlock, |error| Ended::By(error.clone()));
    }

    /// Whether all wait.
    pub(super) fn is_deadlocked(&self) -> bool {
        matches!(*self.ended.borrow(), Ended::Deadlock)
    }

    /// How errors call all of them: `3 devices`.
    pub(super) fn called(&self) -> String {
        format!("{} {}", self.agents(), if self.cores > 1 { "cores" } else { "devices" })
    }

    /// How errors call one of them.
    pub(super) fn place(&self, agent: usize) -> Place {
        Place::of(agent, self.devices, self.cores)
    }

    /// An error of one of them, unless it says whose it is.
    pub(super) fn on(&self, agent: usize, error: RunError) -> RunError {
        if let RunError::On { .. } = error {
            return error;
        }
        RunError::On { place: self.place(agent), error: Box::new(error) }
    }
}

/// An agent that runs, as its launch sees it.
pub(super) struct Seat<'r> {
    pub crew: &'r Crew,
    pub agent: usize,
    /// Of its fiber, while that lives.
    way: *const Way,
}

impl<'r> Seat<'r> {
    /// The seat of an agent on the fiber whose way this is.
    pub(super) fn new(crew: &'r Crew, agent: usize, way: &Way) -> Seat<'r> {
        Seat { crew, agent, way: std::ptr::from_ref(way) }
    }

    /// Which agent is meant by that number of a device; an error where there is none.
    pub(super) fn other(&self, what: &'static str, device: i64, step: &[i32], loc: &Loc) -> Result<usize, RunError> {
        let Crew { devices, cores, .. } = *self.crew;
        match usize::try_from(device).ok().filter(|&device| device < devices) {
            Some(device) => Ok(device * cores + self.agent % cores),
            None => Err(RunError::NoDevice { what, device: device as i32, devices, step: step.to_vec(), loc: loc.clone() }),
        }
    }

    /// Which agent is meant by that number of a core of the same device; an error where there is none.
    pub(super) fn other_core(&self, core: i64, step: &[i32], loc: &Loc) -> Result<usize, RunError> {
        let cores = self.crew.cores;
        match usize::try_from(core).ok().filter(|&core| core < cores) {
            Some(core) => Ok(self.agent / cores * cores + core),
            None => Err(RunError::NoCore { core: core as i32, cores, step: step.to_vec(), loc: loc.clone() }),
        }
    }

    /// Lets others run; an error where the run has ended meanwhile.
    pub(super) fn pause(&self) -> Result<(), RunError> {
        // SAFETY: a seat is made on the fiber whose way this is, and used on no other.
        unsafe { &*self.way }.suspend(());
        match &*self.crew.ended.borrow() {
            Ended::By(error) => Err(error.clone()),
            Ended::No | Ended::Deadlock => Ok(()),
        }
    }

    /// Runs what is not ours on the stack of the thread: nobody knows how much of one it needs.
    ///
    /// # Safety
    /// What runs gives way to nobody: it has no seat.
    pub(super) unsafe fn outside(&self, run: impl FnOnce()) {
        struct Outside<F>(F);
        // SAFETY: it stays on this thread; only the stack is another.
        unsafe impl<F> Send for Outside<F> {}
        impl<F: FnOnce()> Outside<F> {
            fn run(self) {
                (self.0)();
            }
        }
        let outside = Outside(run);
        // SAFETY: as in `pause`.
        unsafe { &*self.way }.on_parent_stack(move || outside.run());
    }

    /// Lets others run where the seed draws so.
    pub(super) fn may_pause(&self) -> Result<(), RunError> {
        if self.crew.shuffled && self.crew.random.borrow_mut().below(2) == 0 { self.pause() } else { Ok(()) }
    }
}
