//! Copies under way: from their start until all bytes that were started on their semaphore have been waited for. A wait for fewer
//! says nothing of any one copy.
//!
//! Rules: meanwhile nobody may touch what a copy writes, nor write what it reads, whenever the bytes really move. They move at a
//! moment that the seed draws: at once, at some later request, or when a wait needs them. What is kept of a copy goes when it is
//! done.

use super::super::crew::Seat;
use super::super::launch::Running;
use super::super::movement::{bytes, moves, transfer};
use super::super::reach::{End, indices};
use super::super::semaphore::Group;
use super::super::site::{Chain, CopySite, CopyStep, RemoteSite};
use super::clocks::{Clock, Place};
use super::memory::{Memory, Shadow};
use super::region::Region;
use super::touched::Toucher;
use super::watch::{At, Watch, Watched};
use crate::exec::RunError;
use crate::ir::{DType, Loc, SemaphoreKind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use tpu_microkernels::tile::{RANK, Slot};

/// A copy under way.
#[derive(Debug)]
struct Flight {
    /// Source and target, by number.
    memories: [usize; 2],
    /// What it reads, and what it writes.
    parts: [Vec<Region>; 2],
    ends: [Slot; 2],
    dims: [usize; RANK],
    dtype: DType,
    add: bool,
    /// What counts its bytes for those who wait until the source is free, and until the target is there; nothing once they have.
    semaphores: [Option<Place>; 2],
    bytes: i64,
    /// Whether the source has poison.
    poison: bool,
    moved: bool,
    /// Whether it takes very long.
    late: bool,
    /// What the agent knew that began it, where there are several.
    clock: Option<Clock>,
    loc: Loc,
}

/// What a copy is about.
struct Ends {
    memories: [usize; 2],
    parts: [Vec<Region>; 2],
    slots: [Slot; 2],
    dims: [usize; RANK],
    semaphores: [Place; 2],
    /// Whether its bytes move at once.
    moved: bool,
}

/// Signals, or bytes of a copy, on their way to another agent.
#[derive(Debug)]
struct Message {
    from: usize,
    to: Place,
    units: i64,
    late: bool,
    step: Vec<i32>,
    loc: Loc,
}

/// The copies and messages under way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    all: Vec<Flight>,
    /// How many of them have not moved their bytes.
    waiting: usize,
    /// By semaphore, the bytes that were started and not waited for.
    outstanding: HashMap<Place, i64>,
    messages: Vec<Message>,
}

/// Of so many copies and messages to others one takes very long.
const LATE: u64 = 8;

impl Flights {
    /// Where the copy began that has an element of a memory as its target, or as its source.
    pub(super) fn of(&self, number: usize, element: usize, target: bool) -> Loc {
        let end = usize::from(target);
        let met =
            |flight: &&Flight| flight.memories[end] == number && flight.parts[end].iter().any(|region| region.contains(element));
        self.all.iter().find(met).map_or(Loc::UNKNOWN, |flight| flight.loc.clone())
    }
}

impl Watch {
    /// The elements of a memory that a part of it has, which may be seen as elements of another width: an element that is seen in
    /// parts counts whole.
    ///
    /// # Safety
    /// There is a slot for the memory and one for each view of another width; all indices below the extents lie in what is seen.
    pub(super) unsafe fn seen(
        &self,
        number: usize,
        chain: &Chain,
        slots: *const Slot,
        lanes: impl Iterator<Item = [i64; RANK]>,
    ) -> Vec<Region> {
        let memory = &self.memories[number];
        let mut elements: Vec<i64> = vec![];
        // SAFETY: by this function's contract.
        let end = unsafe { End::new(chain, slots) };
        for lane in lanes {
            // SAFETY: as above.
            unsafe { end.addresses(&lane, &mut |address| elements.push(memory.element(address))) };
        }
        elements.sort_unstable();
        elements.dedup();
        // Neighbours are one part.
        let runs = elements.chunk_by(|a, b| a + 1 == *b);
        runs.map(|run| Region::row(run[0], run.len())).collect()
    }

    /// What a copy reads and what it writes, in these memories.
    ///
    /// # Safety
    /// The slots are those of the copy, valid for the extents.
    unsafe fn parts(&self, site: &CopySite, memories: [usize; 2], slots: *const Slot, dims: [usize; RANK]) -> [Vec<Region>; 2] {
        let mut slots = slots;
        [0, 1].map(|end| {
            let (number, chain, first) = (memories[end], &site.chains[end], slots);
            slots = slots.wrapping_add(1 + chain.casts.len());
            // SAFETY: by this function's contract.
            unsafe {
                match chain.casts.is_empty() {
                    true => vec![self.memories[number].region(&*first, dims)],
                    false => self.seen(number, chain, first, indices(dims)),
                }
            }
        })
    }

    /// That a copy may begin. Gives whether its source has poison that may be read back.
    fn may_start(
        &mut self,
        site: &CopySite,
        [source, target]: [usize; 2],
        parts: &[Vec<Region>; 2],
        at: At<'_>,
    ) -> Result<bool, RunError> {
        const DONE: [&str; 2] = ["copied", "copied to"];
        let (ends, writes) = ([source, target], [false, true]);
        for end in 0..2 {
            for region in &parts[end] {
                self.apart(ends[end], region, writes[end], DONE[end], at)?;
            }
        }
        for end in 0..2 {
            for region in &parts[end] {
                // Among agents a copy has touched what it touches when its end is known.
                match self.clocks.are_several() {
                    true => self.ordered(ends[end], region, writes[end], DONE[end], at)?,
                    false => self.alone(ends[end], region, writes[end], DONE[end], at)?,
                }
            }
        }
        let add = site.what == CopyStep::Add;
        for (end, part) in parts.iter().enumerate().take(1 + usize::from(add)) {
            let memory = &self.memories[ends[end]];
            let poison = |region: &Region| self.with_shadow(memory, |shadow| region.find(shadow, |_, poison| poison != 0));
            let Some(element) = part.iter().find_map(poison) else { continue };
            // What nothing has written of an output array may be read back, as a load may read it.
            let reads_back =
                matches!(self.memories[source].shadow, Shadow::Own(_)) && matches!(self.memories[target].shadow, Shadow::Memory(_));
            if reads_back && !add {
                return Ok(true);
            }
            let what = format!("a copy, which reads element {:?} of {}", memory.index(element), memory.called());
            return Err(RunError::Poison { what, step: at.step.to_vec(), loc: at.loc.clone() });
        }
        Ok(false)
    }

    /// A copy begins.
    fn start(&mut self, site: &CopySite, ends: Ends, at: At<'_>) -> Result<(), RunError> {
        let Ends { memories, parts, slots, dims, semaphores, moved } = ends;
        let poison = self.may_start(site, memories, &parts, at)?;
        let bytes = bytes(&dims, site.dtype) as i64;
        let counted = if semaphores[0] == semaphores[1] { &semaphores[..1] } else { &semaphores };
        for place in counted {
            *self.flights.outstanding.entry(*place).or_default() += bytes;
        }
        for (end, part) in parts.iter().enumerate() {
            self.memories[memories[end]].mark(part, end == 1)?;
        }
        if moved {
            self.define(memories[1], &parts, None);
        } else {
            self.flights.waiting += 1;
        }
        let (several, dtype, add) = (self.clocks.are_several(), site.dtype, site.what == CopyStep::Add);
        let (clock, late) = (several.then(|| self.clocks.tell(at.agent)), several && self.random.below(LATE) == 0);
        let (semaphores, loc) = (semaphores.map(Some), at.loc.clone());
        let flight = Flight { memories, parts, ends: slots, dims, dtype, add, semaphores, bytes, poison, moved, late, clock, loc };
        self.flights.all.push(flight);
        Ok(())
    }

    /// Moves the bytes of one copy, or lets one message arrive, or neither, as the seed draws.
    pub(super) fn progress(&mut self) -> Result<(), RunError> {
        if self.flights.waiting + self.flights.messages.len() == 0 || self.random.below(3) != 0 {
            return Ok(());
        }
        // Also what takes very long arrives in the end: somebody may ask for it again and again.
        let late = self.clocks.are_several() && self.random.below(4 * LATE) == 0;
        self.arrive(late).map(|_| ())
    }

    /// One of the copies moves its bytes, or one of the messages arrives; one that takes very long only if `late` and there is no
    /// other. Gives whether there was one.
    pub(super) fn arrive(&mut self, late: bool) -> Result<bool, RunError> {
        for late in if late { &[false, true][..] } else { &[false] } {
            let flights = self.flights.all.iter().enumerate().filter(|(_, flight)| !flight.moved && flight.late == *late);
            let messages = self.flights.messages.iter().enumerate().filter(|(_, message)| message.late == *late);
            let (flights, messages) = (flights.map(|(at, _)| at), messages.map(|(at, _)| at));
            let (copies, count) = (flights.clone().count(), messages.clone().count());
            if copies + count == 0 {
                continue;
            }
            let nth = self.random.below((copies + count) as u64) as usize;
            let (flight, message) = (flights.clone().nth(nth), messages.clone().nth(nth.saturating_sub(copies)));
            match (flight, message) {
                (Some(at), _) => self.land(at)?,
                (None, Some(at)) => self.deliver(at)?,
                (None, None) => {}
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves the bytes of a copy, and what says whether they are poison.
    fn land(&mut self, at: usize) -> Result<(), RunError> {
        let flight = &mut self.flights.all[at];
        flight.moved = true;
        self.flights.waiting -= 1;
        let [source, target] = flight.memories;
        // SAFETY: both ends are parts of memories that last: a region's memory, and a window's block, that a copy still uses ends the
        // launch; an operand's memory lasts until all agents have ended.
        unsafe { transfer(&flight.dims, &flight.ends, flight.dtype, source == target, flight.add)? };
        // What the source was found to hold when the copy began nobody may have written since.
        let poison = (flight.poison && source != target).then_some(source);
        let (parts, semaphores, bytes) = (std::mem::take(&mut flight.parts), flight.semaphores, flight.bytes);
        let (late, loc) = (flight.late, flight.loc.clone());
        self.define(target, &parts, poison);
        self.flights.all[at].parts = parts;
        let [left, arrived] = semaphores;
        if let Some((group, which)) = left {
            self.semaphores[group].counts[which] += bytes;
        }
        // What leaves one device arrives at another some time later.
        if let Some(to) = arrived.filter(|_| left != arrived) {
            self.flights.messages.push(Message { from: usize::MAX, to, units: bytes, late, step: vec![], loc });
        }
        Ok(())
    }

    /// A signal to another agent is on its way.
    pub(super) fn send(&mut self, to: Place, units: i64, at: At<'_>) {
        let late = self.random.below(LATE) == 0;
        let (step, loc) = (at.step.to_vec(), at.loc.clone());
        self.flights.messages.push(Message { from: at.agent, to, units, late, step, loc });
    }

    /// A message arrives; of those from one agent to one semaphore the first.
    fn deliver(&mut self, at: usize) -> Result<(), RunError> {
        let Message { from, to, .. } = self.flights.messages[at];
        let first = self.flights.messages.iter().position(|message| (message.from, message.to) == (from, to)).unwrap_or(at);
        let Message { to: (group, which), units, step, loc, .. } = self.flights.messages.remove(first);
        let place = self.place(self.owner(group));
        self.semaphores[group]
            .signal(which, units, &step, &loc)
            .map_err(|error| if self.clocks.are_several() { RunError::On { place, error: Box::new(error) } } else { error })
    }

    /// The agent that has a group of semaphores.
    fn owner(&self, group: usize) -> usize {
        self.agents.iter().rposition(|agent| agent.semaphores <= group).unwrap_or(0)
    }

    /// What a copy has written is no poison, but for what its source says.
    fn define(&mut self, target: usize, [from, to]: &[Vec<Region>; 2], source: Option<usize>) {
        let number = match self.memories[target].shadow {
            Shadow::Memory(number) => number,
            _ => target,
        };
        // Taken out, so that both ends can be looked at.
        let taken = source.map(|source| (source, std::mem::replace(&mut self.memories[source].shadow, Shadow::Defined)));
        match &mut self.memories[number] {
            Memory { shadow: Shadow::Own(shadow), .. } => to.iter().for_each(|region| region.each(shadow, |_, poison| *poison = 0)),
            memory if number != target && !memory.base.is_null() => {
                // SAFETY: the shadow has a byte for each element, and nothing else uses it meanwhile.
                let shadow = unsafe { std::slice::from_raw_parts_mut(memory.base, memory.elements()) };
                to.iter().for_each(|region| region.each(shadow, |_, poison| *poison = 0));
                if let (Some((_, Shadow::Own(source))), [from], [to]) = (&taken, from.as_slice(), to.as_slice()) {
                    from.pairs(to, |from, to| shadow[to] = source[from]);
                }
            }
            _ => {}
        }
        if let Some((source, shadow)) = taken {
            self.memories[source].shadow = shadow;
        }
    }

    /// Whether an agent that waits may go on.
    pub(super) fn may_go_on(&self, agent: usize) -> bool {
        let has_what_it_wants = |((group, at), wanted): (Place, i64)| self.semaphores[group].counts[at] >= wanted;
        self.has_gathered(agent) && self.agents[agent].waiting.is_none_or(has_what_it_wants)
    }

    /// Waits: copies land until the semaphore has what is wanted. False where others have to do something first: not if it is `over`,
    /// which makes an error of it.
    pub(super) fn wait(&mut self, place: Place, wanted: i64, over: bool, at: At<'_>) -> Result<bool, RunError> {
        let (group, which) = place;
        if !self.clocks.are_several() {
            while self.semaphores[group].counts[which] < wanted && self.arrive(true)? {}
        } else if self.semaphores[group].counts[which] < wanted && !over {
            self.agents[at.agent].waiting = Some((place, wanted));
            return Ok(false);
        }
        self.agents[at.agent].waiting = None;
        self.semaphores[group].wait(which, wanted, at.step, at.loc)?;
        if self.semaphores[group].kind != SemaphoreKind::Dma {
            self.clocks.wait(place, at.agent, wanted);
        } else if let Entry::Occupied(mut outstanding) = self.flights.outstanding.entry(place) {
            *outstanding.get_mut() -= wanted;
            if *outstanding.get() <= 0 {
                outstanding.remove();
                self.retire(place, at);
            }
        }
        Ok(true)
    }

    /// Those copies whose bytes a semaphore counts are known to have left their source, or to be there.
    fn retire(&mut self, semaphore: Place, at: At<'_>) {
        let mut next = 0;
        while next < self.flights.all.len() {
            let flight = &mut self.flights.all[next];
            let mut ends: [Option<Vec<Region>>; 2] = [None, None];
            for (end, part) in ends.iter_mut().enumerate() {
                if flight.moved && flight.semaphores[end] == Some(semaphore) {
                    flight.semaphores[end] = None;
                    *part = Some(std::mem::take(&mut flight.parts[end]));
                }
            }
            let (memories, clock, over) = (flight.memories, flight.clock.clone(), flight.semaphores == [None, None]);
            for (end, part) in ends.iter().enumerate() {
                let Some(part) = part else { continue };
                self.memories[memories[end]].unmark(part, end == 1);
                if let Some(clock) = &clock {
                    self.clocks.learn(at.agent, clock);
                    // From now on it is as if who waits had touched it.
                    let Watch { memories: all, agents, clocks, .. } = self;
                    if let Some(touched) = &mut all[memories[end]].touched {
                        let who = Toucher { agent: at.agent, thread: agents[at.agent].thread, clocks };
                        part.iter().for_each(|region| touched.add(region, end == 1, &who, at.loc));
                    }
                }
            }
            if over {
                self.flights.all.swap_remove(next);
            } else {
                next += 1;
            }
        }
    }

    /// Every copy lands, and every message arrives: at the end of the launch, or of a region whose semaphores must then be at 0.
    pub(super) fn settle(&mut self) -> Result<(), RunError> {
        while self.arrive(true)? {}
        Ok(())
    }

    /// An agent among several ends its launch: what is on its way to its own semaphores arrives, and they are at 0. Barriers are not its
    /// own: others may come to the next launch before.
    pub(super) fn finish(&mut self, agent: usize) -> Result<(), RunError> {
        loop {
            let own = |place: &Place| self.owner(place.0) == agent && self.semaphores[place.0].is_of_launch();
            let message = self.flights.messages.iter().position(|message| own(&message.to));
            let coming = |flight: &Flight| !flight.moved && flight.semaphores.iter().flatten().any(own);
            let flight = self.flights.all.iter().position(coming);
            match (message, flight) {
                (Some(at), _) => self.deliver(at)?,
                (None, Some(at)) => self.land(at)?,
                (None, None) => return self.ended(agent, Group::is_of_launch),
            }
        }
    }

    /// That semaphores are at 0 where their life ends, those of an agent.
    pub(super) fn ended(&self, agent: usize, wanted: impl Fn(&Group) -> bool) -> Result<(), RunError> {
        let first = self.agents[agent].semaphores;
        let next = self.agents.get(agent + 1).map_or(self.semaphores.len(), |next| next.semaphores);
        self.semaphores[first..next].iter().filter(|group| wanted(group)).try_for_each(Group::end)
    }
}

impl Running<'_> {
    /// The start of a copy or a wait for one.
    ///
    /// # Safety
    /// As [`copy`](super::hooks::copy).
    pub(super) unsafe fn watched_copy(
        &mut self,
        site: &CopySite,
        slots: *const Slot,
        at: usize,
        rows: i64,
    ) -> Result<(), RunError> {
        let dims = self.extent(site, rows)?;
        let Some(Watched { watch, agent }) = self.watched else { return Ok(()) };
        let bytes = bytes(&dims, site.dtype) as i64;
        let place = (watch.borrow().group(agent, site.group), at);
        let at = At { agent, step: &self.grid, loc: &site.loc };
        if site.what == CopyStep::Wait {
            return self.watched_wait(place, bytes, at);
        }
        if bytes == 0 {
            return Ok(());
        }
        let mut watch = watch.borrow_mut();
        watch.progress()?;
        let memories = site.memories.map(|number| watch.number(agent, number));
        // SAFETY: by this function's contract there are two slots at least, valid for the shape and so for fewer rows of it.
        let (parts, ends) = unsafe { (watch.parts(site, memories, slots, dims), [*slots, *slots.add(1)]) };
        // Through views of another width the bytes move at once.
        let moved = site.chains.iter().any(|chain| !chain.casts.is_empty());
        watch.start(site, Ends { memories, parts, slots: ends, dims, semaphores: [place; 2], moved }, at)?;
        if !moved {
            return watch.progress();
        }
        // SAFETY: as above.
        unsafe { moves(site, slots, dims)? };
        watch.semaphores[place.0].signal(place.1, bytes, &self.grid, &site.loc)
    }

    /// The start of a copy to a device.
    ///
    /// # Safety
    /// There are two slots, valid for the shape of the site.
    pub(super) unsafe fn watched_remote(
        &mut self,
        site: &RemoteSite,
        slots: *const Slot,
        [receive, send]: [usize; 2],
        device: i64,
        rows: i64,
    ) -> Result<(), RunError> {
        let copy = &site.copy;
        let dims = self.extent(copy, rows)?;
        let Some(Watched { watch, agent }) = self.watched else { return Ok(()) };
        let at = At { agent, step: &self.grid, loc: &copy.loc };
        let other = match &self.seat {
            Some(seat) => seat.other("a copy", device, at.step, at.loc)?,
            None if device == 0 => agent,
            None => return self.no_device("a copy", device, at.loc),
        };
        if bytes(&dims, copy.dtype) == 0 {
            return Ok(());
        }
        {
            let mut watch = watch.borrow_mut();
            watch.progress()?;
            let here = copy.memories.map(|number| watch.number(agent, number));
            let memories = [here[0], watch.there(agent, other, copy.memories[1])];
            // SAFETY: by this function's contract.
            let mut ends = unsafe { [*slots, *slots.add(1)] };
            // The memory has one shape on all devices, so that the part is as valid there as it is here.
            let offset = ends[1].ptr.addr().wrapping_sub(watch.memories[here[1]].base.addr());
            ends[1].ptr = watch.memories[memories[1]].base.wrapping_add(offset);
            let parts = [0, 1].map(|end| vec![watch.memories[memories[end]].region(&ends[end], dims)]);
            let semaphores = [(watch.group(agent, site.send), send), (watch.group(other, copy.group), receive)];
            watch.start(copy, Ends { memories, parts, slots: ends, dims, semaphores, moved: false }, at)?;
            watch.progress()?;
        }
        self.seat.as_ref().map_or(Ok(()), Seat::may_pause)
    }

    /// Waits, among several agents until the others have come so far.
    pub(super) fn watched_wait(&self, place: Place, wanted: i64, at: At<'_>) -> Result<(), RunError> {
        let Some(Watched { watch, .. }) = self.watched else { return Ok(()) };
        loop {
            let over = self.seat.as_ref().is_none_or(|seat| seat.crew.is_deadlocked());
            if watch.borrow_mut().wait(place, wanted, over, at)? {
                return Ok(());
            }
            self.seat.as_ref().map_or(Ok(()), Seat::pause)?;
        }
    }
}
