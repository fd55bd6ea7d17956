//! What a watched launch knows, and what is asked of it while a step runs: accesses, and memory of regions. Copies are in `flight`.

use super::super::memory::poison;
use super::super::reach::{BEFORE, indices, inside};
use super::super::semaphore::Group;
use super::super::site::{AccessSite, ReachSite};
use super::clocks::{Clock, Clocks, Place};
use super::flight::Flights;
use super::garbage::scatter;
use super::memory::{Memory, Shadow};
use super::order::Random;
use super::region::Region;
use super::touched::{Before, Toucher};
use crate::exec::{self, Meeting, RunError};
use crate::ir::Loc;
use std::cell::RefCell;
use std::ops::Range;
use tpu_microkernels::tile::{RANK, Slot};

/// What is watched, of all agents that run the kernel together.
#[derive(Debug)]
pub(crate) struct Watch {
    /// By number, of one agent after the other; cores share those of arrays.
    pub(super) memories: Vec<Memory>,
    /// Of one agent after the other.
    pub(super) semaphores: Vec<Group>,
    pub(super) agents: Vec<Agent>,
    /// Of each device.
    cores: usize,
    pub(super) flights: Flights,
    pub(super) clocks: Clocks,
    pub(super) random: Random,
    /// What memory of regions holds at first; poison where there is none.
    garbage: Option<Random>,
    /// The parallel dimensions, with their extents.
    pub(super) parallel: Vec<(String, i32)>,
}

/// One that runs the kernel.
#[derive(Debug, Default)]
pub(super) struct Agent {
    /// Its memories, by their number in the code, in each launch of those that follow one another.
    launches: Vec<Vec<usize>>,
    /// The launch that runs.
    pub(super) launch: usize,
    /// Where its semaphores begin.
    pub(super) semaphores: usize,
    /// The indices of the running step along parallel dimensions, counted from 1.
    pub(super) thread: u32,
    /// The semaphore, and the count that it waits for.
    pub(super) waiting: Option<(Place, i64)>,
    /// What it knew when it ended each of its launches.
    ended: Vec<Clock>,
    /// Of the launch that it begins once all cores of the device have ended as many.
    gathers: usize,
}

/// What is the same for every request: who asks, in which step, and where.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub agent: usize,
    pub step: &'a [i32],
    pub loc: &'a Loc,
}

/// Of a launch: its part of what is watched.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'r> {
    pub(super) watch: &'r RefCell<Watch>,
    pub(super) agent: usize,
}

impl Watch {
    pub(super) fn new(cores: usize, random: Random, garbage: Option<Random>, parallel: Vec<(String, i32)>) -> Watch {
        let (flights, clocks) = (Flights::default(), Clocks::default());
        Watch { memories: vec![], semaphores: vec![], agents: vec![], cores, flights, clocks, random, garbage, parallel }
    }

    /// One more agent, with these semaphores.
    pub(super) fn enlist(&mut self, semaphores: &[Group]) -> usize {
        self.clocks.enlist();
        self.agents.push(Agent { semaphores: self.semaphores.len(), thread: 1, ..Agent::default() });
        self.semaphores.extend_from_slice(semaphores);
        self.agents.len() - 1
    }

    /// The memories of one more launch of an agent, of which shadows are among them, by number there; those that it shares with the
    /// agent before it.
    pub(super) fn know(&mut self, agent: usize, memories: Vec<Memory>, shared: &mut dyn FnMut(usize) -> bool) {
        let launch = self.agents[agent].launches.len();
        let mut numbers: Vec<usize> = vec![];
        let mut own = self.memories.len();
        for number in 0..memories.len() {
            if shared(number) {
                numbers.push(self.agents[agent - 1].launches[launch][number]);
            } else {
                numbers.push(own);
                own += 1;
            }
        }
        for (number, mut memory) in memories.into_iter().enumerate() {
            if shared(number) {
                continue;
            }
            if let Shadow::Memory(shadow) = &mut memory.shadow {
                *shadow = numbers[*shadow];
            }
            self.memories.push(memory);
        }
        self.agents[agent].launches.push(numbers);
    }

    /// An agent ends a launch.
    pub(super) fn leave(&mut self, agent: usize) {
        let clock = self.clocks.tell(agent);
        self.agents[agent].ended.push(clock);
    }

    /// Whether the cores of an agent's device have ended all launches before this one. It then knows what they have done there.
    pub(super) fn gather(&mut self, agent: usize, launch: usize) -> bool {
        self.agents[agent].gathers = launch;
        if !self.has_gathered(agent) {
            return false;
        }
        for core in self.cores_with(agent) {
            if let Some(clock) = self.agents[core].ended.last() {
                self.clocks.learn(agent, clock);
            }
        }
        true
    }

    /// Whether all cores of its device have ended the launches before that which an agent is to begin.
    pub(super) fn has_gathered(&self, agent: usize) -> bool {
        let launch = self.agents[agent].gathers;
        self.cores_with(agent).all(|core| self.agents[core].ended.len() >= launch)
    }

    /// The agents of the same device.
    fn cores_with(&self, agent: usize) -> Range<usize> {
        let first = agent / self.cores * self.cores;
        first..first + self.cores
    }

    /// An agent begins a launch.
    pub(super) fn begin(&mut self, agent: usize, launch: usize) {
        self.agents[agent].launch = launch;
        self.clocks.begin(agent);
    }

    /// That an agent knows that another has begun the launch, before it signals a semaphore there that is the launch's own.
    pub(super) fn may_signal(&self, other: usize, (group, which): Place, at: At<'_>) -> Result<(), RunError> {
        let semaphore = &self.semaphores[group];
        let launch = self.agents[at.agent].launch;
        // A device begins with all its cores.
        let has_begun = self.cores_with(other).any(|core| self.clocks.knows_begun(at.agent, core, launch));
        if !semaphore.is_of_launch() || has_begun {
            return Ok(());
        }
        let (memory, index) = (format!("semaphore {}", semaphore.named(which)), None);
        let (other, access) = (Meeting::NotBegun { by: self.place(other) }, "signalled");
        Err(RunError::Unordered { memory, access, index, other, step: at.step.to_vec(), loc: at.loc.clone() })
    }

    /// How errors call an agent.
    pub(super) fn place(&self, agent: usize) -> exec::Place {
        exec::Place::of(agent, self.agents.len() / self.cores, self.cores)
    }

    /// The number of a memory of an agent.
    pub(super) fn number(&self, agent: usize, number: usize) -> usize {
        let agent = &self.agents[agent];
        agent.launches[agent.launch][number]
    }

    /// The number of a memory of another agent, in the launch of this one.
    pub(super) fn there(&self, agent: usize, other: usize, number: usize) -> usize {
        self.agents[other].launches[self.agents[agent].launch][number]
    }

    /// The number of a group of semaphores of an agent.
    pub(super) fn group(&self, agent: usize, group: usize) -> usize {
        self.agents[agent].semaphores + group
    }

    /// The name of the first parallel dimension along which two threads differ.
    pub(super) fn dimension(&self, one: u32, other: u32) -> String {
        let (mut one, mut other) = (one.wrapping_sub(1), other.wrapping_sub(1));
        let mut name = String::new();
        for (dimension, extent) in self.parallel.iter().rev() {
            let extent = extent.unsigned_abs().max(1);
            if one % extent != other % extent || name.is_empty() {
                name.clone_from(dimension);
            }
            (one, other) = (one / extent, other / extent);
        }
        name
    }

    /// A load or a store: no copy may be under way there, and what is stored inside the array of an output is no poison.
    pub(super) fn access(&mut self, site: &AccessSite, slot: &Slot, at: At<'_>) -> Result<(), RunError> {
        self.progress()?;
        let mut dims = [1; RANK];
        dims[RANK - site.shape.rank()..].copy_from_slice(site.shape.dims());
        let number = self.number(at.agent, site.memory);
        let region = self.memories[number].region(slot, dims);
        self.apart(number, &region, site.writes, done(site.writes), at)?;
        self.alone(number, &region, site.writes, done(site.writes), at)?;
        if site.writes { self.stored(number, &region, at) } else { Ok(()) }
    }

    /// The memory of a window turns to another block: no copy may be under way there.
    pub(super) fn turned(&self, number: usize, at: At<'_>) -> Result<(), RunError> {
        let whole = Region::row(0, self.memories[number].elements());
        self.apart(number, &whole, true, "turned to another block", at)
    }

    /// A load or store element by element, under a mask or through views of another width: before it that no copy is under way
    /// there, `after` a store that what is inside the array of an output is no poison.
    ///
    /// # Safety
    /// The slots are those of the access.
    pub(super) unsafe fn lanes(&mut self, site: &ReachSite, slots: *const Slot, at: At<'_>, after: bool) -> Result<(), RunError> {
        let Some(number) = site.watched.map(|number| self.number(at.agent, number)) else { return Ok(()) };
        if !after {
            self.progress()?;
        }
        let memory = &self.memories[number];
        let asked = if after { site.store && memory.inside.is_some() } else { memory.flying > 0 || memory.touched.is_some() };
        if !asked {
            return Ok(());
        }
        // SAFETY: by this function's contract.
        let (mask, starts) = unsafe { (&*slots.add(1), &*slots.add(3)) };
        let reached = indices(site.dims).filter_map(|lane| match site.masked {
            // SAFETY: as above; a lane outside is an error of the access itself.
            true => unsafe { inside(site, mask, &starts.strides, lane, at.step) }.ok().flatten(),
            false => Some(lane),
        });
        // SAFETY: as above; what is reached lies inside.
        for region in unsafe { self.seen(number, &site.chain, slots.add(BEFORE), reached) } {
            match after {
                true => self.stored(number, &region, at)?,
                false => {
                    self.apart(number, &region, site.store, done(site.store), at)?;
                    self.alone(number, &region, site.store, done(site.store), at)?;
                }
            }
        }
        Ok(())
    }

    /// That what was stored inside the array of an output is no poison.
    fn stored(&self, number: usize, region: &Region, at: At<'_>) -> Result<(), RunError> {
        let memory = &self.memories[number];
        if memory.inside.is_none() {
            return Ok(());
        }
        let Some(element) = self.poison_inside(memory, region) else { return Ok(()) };
        let index = memory.index(element).iter().zip(memory.corner).map(|(&i, first)| i as i64 + first).collect::<Vec<_>>();
        let what = format!("a store to operand `{}` at {index:?}", memory.name);
        Err(RunError::Poison { what, step: at.step.to_vec(), loc: at.loc.clone() })
    }

    /// The first element of the part that is poison and inside the array.
    fn poison_inside(&self, memory: &Memory, region: &Region) -> Option<usize> {
        self.with_shadow(memory, |shadow| region.find(shadow, |element, poison| poison != 0 && memory.is_inside(element)))
    }

    /// What says of each element of a memory whether it is poison, where any may be.
    pub(super) fn with_shadow<R>(&self, memory: &Memory, f: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
        match &memory.shadow {
            Shadow::Defined => None,
            Shadow::Own(shadow) => f(shadow),
            Shadow::Memory(number) => {
                let shadow = &self.memories[*number];
                if shadow.base.is_null() {
                    return None;
                }
                // SAFETY: the shadow has a byte for each element, beside the memory and as long; nothing writes it meanwhile.
                f(unsafe { std::slice::from_raw_parts(shadow.base, shadow.elements()) })
            }
        }
    }

    /// That no copy is under way where a part is touched.
    pub(super) fn apart(
        &self,
        number: usize,
        region: &Region,
        writes: bool,
        access: &'static str,
        at: At<'_>,
    ) -> Result<(), RunError> {
        let memory = &self.memories[number];
        let Some((element, target)) = memory.met(region, writes) else { return Ok(()) };
        let copy = self.flights.of(number, element, target);
        let (memory, index) = (memory.called().into_owned(), memory.index(element));
        Err(RunError::Race { memory, access, index, target, copy, step: at.step.to_vec(), loc: at.loc.clone() })
    }

    /// That no other parallel step, and no other agent, touches what this one does, but in an order; and that it is touched.
    pub(super) fn alone(
        &mut self,
        number: usize,
        region: &Region,
        writes: bool,
        access: &'static str,
        at: At<'_>,
    ) -> Result<(), RunError> {
        self.ordered(number, region, writes, access, at)?;
        let Watch { memories, agents, clocks, .. } = self;
        if let Some(touched) = &mut memories[number].touched {
            touched.add(region, writes, &Toucher { agent: at.agent, thread: agents[at.agent].thread, clocks }, at.loc);
        }
        Ok(())
    }

    /// That what others have done to a part is in an order with this.
    pub(super) fn ordered(
        &self,
        number: usize,
        region: &Region,
        writes: bool,
        access: &'static str,
        at: At<'_>,
    ) -> Result<(), RunError> {
        let memory = &self.memories[number];
        let Some(touched) = &memory.touched else { return Ok(()) };
        let thread = self.agents[at.agent].thread;
        let Some((element, before)) = touched.before(region, writes, &Toucher { agent: at.agent, thread, clocks: &self.clocks })
        else {
            return Ok(());
        };
        let (index, step, loc) = (memory.index(element), at.step.to_vec(), at.loc.clone());
        let memory = memory.called().into_owned();
        let other = match before {
            Before::Step(other) => {
                let what = format!("element {index:?} of {memory}");
                return Err(RunError::Parallel { what, dimension: self.dimension(other, thread), step, loc });
            }
            Before::Agent(other, there, wrote) => Meeting::Touched { by: self.place(other), wrote, loc: there },
            Before::NotBegun(other) => Meeting::NotBegun { by: self.place(other) },
        };
        Err(RunError::Unordered { memory, access, index: Some(index), other, step, loc })
    }

    /// A block of a window whose array others reach, too, is fetched or written back: these rows of the array.
    pub(super) fn block(&mut self, window: usize, array: usize, rows: &[Region], writes: bool, at: At<'_>) -> Result<(), RunError> {
        let access = if writes { "written back" } else { "fetched" };
        for row in rows {
            self.apart(array, row, writes, access, at).map_err(|mut error| {
                if let RunError::Race { memory, .. } = &mut error {
                    *memory = self.memories[window].called().into_owned();
                }
                error
            })?;
            self.alone(array, row, writes, access, at)?;
        }
        Ok(())
    }

    /// The memory of a region is there from now on, and holds poison: anything.
    ///
    /// # Safety
    /// `base` is valid for the elements of that memory.
    pub(super) unsafe fn entered(&mut self, agent: usize, number: usize, base: *mut u8) {
        let number = self.number(agent, number);
        let Some(memory) = self.memories.get_mut(number) else { return };
        memory.base = base;
        let (dtype, elements) = (memory.dtype, memory.elements());
        // SAFETY: by this function's contract.
        unsafe {
            poison(base, dtype, elements);
            if let (Shadow::Memory(_), Some(garbage)) = (&memory.shadow, &mut self.garbage) {
                scatter(base, dtype, 0..elements, garbage);
            }
        }
    }
}

/// What is done to a memory, in words.
fn done(writes: bool) -> &'static str {
    if writes { "written" } else { "read" }
}
