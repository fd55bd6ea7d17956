//! What a watched launch knows, and what is asked of it while a step runs: accesses, copies, semaphores, memory of regions.
//!
//! Rules: a copy is under way from its start until all bytes that were started on its semaphore have been waited for: a wait for fewer
//! says nothing of any one copy. Meanwhile nobody may touch what it writes, nor write what it reads, whenever the bytes really
//! move. They move at a moment that the seed draws: at once, at some later request, or when a wait needs them. What is kept of a copy
//! goes when it is done.

use super::super::launch::Running;
use super::super::memory::poison;
use super::super::movement::{bytes, transfer};
use super::super::reach::{BEFORE, indices, inside};
use super::super::semaphore::Group;
use super::super::site::{AccessSite, CopySite, CopyStep, ReachSite};
use super::garbage::scatter;
use super::memory::{Memory, SEVERAL, Shadow};
use super::order::Random;
use super::region::Region;
use crate::exec::RunError;
use crate::ir::{DType, Loc, SemaphoreKind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use tpu_microkernels::tile::{RANK, Slot};

/// A copy under way.
#[derive(Debug)]
struct Flight {
    memories: [usize; 2],
    regions: [Region; 2],
    ends: [Slot; 2],
    dims: [usize; RANK],
    dtype: DType,
    add: bool,
    semaphore: (usize, usize),
    bytes: i64,
    /// Whether the source has poison.
    poison: bool,
    moved: bool,
    loc: Loc,
}

/// What is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    /// By number.
    pub(super) memories: Vec<Memory>,
    flights: Vec<Flight>,
    /// How many of them have not moved their bytes.
    waiting: usize,
    /// By semaphore, the bytes that were started and not waited for.
    outstanding: HashMap<(usize, usize), i64>,
    random: Random,
    /// What memory of regions holds at first; poison where there is none.
    garbage: Option<Random>,
    /// The indices of the running step along parallel dimensions, counted from 1.
    pub(super) thread: u32,
    /// The parallel dimensions, with their extents.
    pub(super) parallel: Vec<(String, i32)>,
}

/// What is the same for every request: the step, to name it.
struct At<'a> {
    step: &'a [i32],
    loc: &'a Loc,
}

impl Watch {
    pub(super) fn new(memories: Vec<Memory>, random: Random, garbage: Option<Random>, parallel: Vec<(String, i32)>) -> Watch {
        Watch { memories, flights: vec![], waiting: 0, outstanding: HashMap::new(), random, garbage, thread: 1, parallel }
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
    pub(super) fn access(
        &mut self,
        semaphores: &mut [Group],
        site: &AccessSite,
        slot: &Slot,
        step: &[i32],
    ) -> Result<(), RunError> {
        self.progress(semaphores)?;
        let mut dims = [1; RANK];
        dims[RANK - site.shape.rank()..].copy_from_slice(site.shape.dims());
        let region = self.memories[site.memory].region(slot, dims);
        let at = At { step, loc: &site.loc };
        self.apart(site.memory, &region, site.writes, if site.writes { "written" } else { "read" }, &at)?;
        if site.writes { self.stored(site.memory, &region, &site.loc, step) } else { Ok(()) }
    }

    /// The memory of a window turns to another block: no copy may be under way there.
    pub(super) fn turned(&self, number: usize, step: &[i32], loc: &Loc) -> Result<(), RunError> {
        let whole = Region::whole(self.memories[number].elements());
        self.apart(number, &whole, true, "turned to another block", &At { step, loc })
    }

    /// A masked load or store, lane by lane where the mask is true: before it that no copy is under way there, `after` a store
    /// that what is inside the array of an output is no poison.
    ///
    /// # Safety
    /// The slots are those of the access.
    pub(super) unsafe fn lanes(
        &mut self,
        semaphores: &mut [Group],
        site: &ReachSite,
        slots: *const Slot,
        step: &[i32],
        after: bool,
    ) -> Result<(), RunError> {
        let Some(number) = site.watched.filter(|_| site.masked) else { return Ok(()) };
        if after && !(site.store && self.memories[number].inside.is_some()) {
            return Ok(());
        }
        if !after {
            self.progress(semaphores)?;
        }
        // SAFETY: by this function's contract.
        let (mask, starts, part) = unsafe { (&*slots.add(1), &*slots.add(3), &*slots.add(BEFORE)) };
        let first = self.memories[number].region(part, [1; RANK]);
        for lane in indices(site.dims) {
            // SAFETY: as above; a lane outside is an error of the access itself.
            let Ok(Some(at)) = (unsafe { inside(site, mask, &starts.strides, lane, step) }) else { continue };
            let element = at.iter().zip(first.strides).fold(first.start, |sum, (i, by)| sum + i * by);
            let region = Region { start: element, ..first };
            if after {
                self.stored(number, &region, &site.loc, step)?;
            } else {
                let place = At { step, loc: &site.loc };
                self.apart(number, &region, site.store, if site.store { "written" } else { "read" }, &place)?;
            }
        }
        Ok(())
    }

    /// That what was stored inside the array of an output is no poison.
    fn stored(&self, number: usize, region: &Region, loc: &Loc, step: &[i32]) -> Result<(), RunError> {
        let memory = &self.memories[number];
        if memory.inside.is_none() {
            return Ok(());
        }
        let Some(element) = self.poison_inside(memory, region) else { return Ok(()) };
        let index = memory.index(element).iter().zip(memory.corner).map(|(&i, first)| i as i64 + first).collect::<Vec<_>>();
        let what = format!("a store to operand `{}` at {index:?}", memory.name);
        Err(RunError::Poison { what, step: step.to_vec(), loc: loc.clone() })
    }

    /// The first element of the part that is poison and inside the array.
    fn poison_inside(&self, memory: &Memory, region: &Region) -> Option<usize> {
        self.with_shadow(memory, |shadow| region.find(shadow, |element, poison| poison != 0 && memory.is_inside(element)))
    }

    /// What says of each element of a memory whether it is poison, where any may be.
    fn with_shadow<R>(&self, memory: &Memory, f: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
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
    fn apart(&self, number: usize, region: &Region, writes: bool, access: &'static str, at: &At<'_>) -> Result<(), RunError> {
        let memory = &self.memories[number];
        let Some((element, target)) = memory.met(region, writes) else { return Ok(()) };
        let end = usize::from(target);
        let met = |flight: &&Flight| flight.memories[end] == number && flight.regions[end].contains(element);
        let copy = self.flights.iter().find(met).map_or(Loc::UNKNOWN, |flight| flight.loc.clone());
        let (memory, index) = (memory.called().into_owned(), memory.index(element));
        Err(RunError::Race { memory, access, index, target, copy, step: at.step.to_vec(), loc: at.loc.clone() })
    }

    /// That no other parallel step touches what this one does.
    fn alone(&mut self, number: usize, region: &Region, writes: bool, at: &At<'_>) -> Result<(), RunError> {
        let (thread, memory) = (self.thread, &mut self.memories[number]);
        let Some(touched) = &mut memory.touched else { return Ok(()) };
        let other = |n: u32| n != 0 && n != thread;
        let mut met = region.find(&touched.writers, |_, writer| other(writer));
        if writes && met.is_none() {
            met = region.find(&touched.readers, |_, reader| other(reader));
        }
        if let Some(element) = met {
            let one = if other(touched.writers[element]) { touched.writers[element] } else { touched.readers[element] };
            let memory = &self.memories[number];
            let what = format!("element {:?} of {}", memory.index(element), memory.called());
            let dimension = self.dimension(one, thread);
            return Err(RunError::Parallel { what, dimension, step: at.step.to_vec(), loc: at.loc.clone() });
        }
        if writes {
            region.each(&mut touched.writers, |writer| *writer = thread);
        } else {
            region.each(&mut touched.readers, |reader| *reader = if other(*reader) { SEVERAL } else { thread });
        }
        Ok(())
    }

    /// The start of a copy.
    ///
    /// # Safety
    /// The slots are valid for the extents until the copy is done, which the marks see to.
    unsafe fn start(
        &mut self,
        semaphores: &mut [Group],
        site: &CopySite,
        at: usize,
        dims: [usize; RANK],
        ends: [Slot; 2],
        step: &[i32],
    ) -> Result<(), RunError> {
        self.progress(semaphores)?;
        let place = At { step, loc: &site.loc };
        let [source, target] = site.memories;
        let regions = [self.memories[source].region(&ends[0], dims), self.memories[target].region(&ends[1], dims)];
        let add = site.what == CopyStep::Add;
        self.apart(source, &regions[0], false, "copied", &place)?;
        self.apart(target, &regions[1], true, "copied to", &place)?;
        self.alone(source, &regions[0], false, &place)?;
        self.alone(target, &regions[1], true, &place)?;
        let mut poison = false;
        for (number, region) in [(source, &regions[0]), (target, &regions[1])].into_iter().take(1 + usize::from(add)) {
            let memory = &self.memories[number];
            if let Some(element) = self.with_shadow(memory, |shadow| region.find(shadow, |_, poison| poison != 0)) {
                // What nothing has written of an output array may be read back, as a load may read it.
                let reads_back =
                    matches!(memory.shadow, Shadow::Own(_)) && matches!(self.memories[target].shadow, Shadow::Memory(_));
                if reads_back && !add {
                    poison = true;
                    continue;
                }
                let what = format!("a copy, which reads element {:?} of {}", memory.index(element), memory.called());
                return Err(RunError::Poison { what, step: step.to_vec(), loc: site.loc.clone() });
            }
        }
        let bytes = bytes(&dims, site.dtype) as i64;
        *self.outstanding.entry((site.group, at)).or_default() += bytes;
        self.memories[source].mark(&regions[0], false)?;
        self.memories[target].mark(&regions[1], true)?;
        let (memories, dtype, loc) = (site.memories, site.dtype, site.loc.clone());
        let semaphore = (site.group, at);
        self.flights.push(Flight { memories, regions, ends, dims, dtype, add, semaphore, bytes, poison, moved: false, loc });
        self.waiting += 1;
        self.progress(semaphores)
    }

    /// Moves the bytes of one copy, or of none, as the seed draws.
    fn progress(&mut self, semaphores: &mut [Group]) -> Result<(), RunError> {
        if self.waiting == 0 || self.random.below(3) != 0 {
            return Ok(());
        }
        let at = self.draw();
        self.land(at, semaphores)
    }

    /// One of the copies whose bytes have not moved.
    fn draw(&mut self) -> usize {
        let nth = self.random.below(self.waiting as u64) as usize;
        let waiting = self.flights.iter().enumerate().filter(|(_, flight)| !flight.moved);
        waiting.map(|(at, _)| at).nth(nth).unwrap_or(0)
    }

    /// Moves the bytes of a copy, and what says whether they are poison.
    fn land(&mut self, at: usize, semaphores: &mut [Group]) -> Result<(), RunError> {
        let flight = &mut self.flights[at];
        flight.moved = true;
        self.waiting -= 1;
        let [source, target] = flight.memories;
        // SAFETY: both ends are parts of memories that last: a region's memory that a copy still uses ends the launch.
        unsafe { transfer(&flight.dims, &flight.ends, flight.dtype, source == target, flight.add)? };
        let (from, to) = (flight.regions[0], flight.regions[1]);
        // What the source was found to hold when the copy began nobody may have written since.
        let poison = (flight.poison && source != target).then_some((source, from));
        self.define(target, &to, poison);
        let Flight { semaphore: (group, which), bytes, .. } = self.flights[at];
        semaphores[group].counts[which] += bytes;
        Ok(())
    }

    /// What a copy has written is no poison, but for what its source says.
    fn define(&mut self, target: usize, region: &Region, source: Option<(usize, Region)>) {
        let number = match self.memories[target].shadow {
            Shadow::Memory(number) => number,
            _ => target,
        };
        // Taken out, so that both ends can be looked at.
        let taken =
            source.map(|(source, from)| (source, from, std::mem::replace(&mut self.memories[source].shadow, Shadow::Defined)));
        match &mut self.memories[number] {
            Memory { shadow: Shadow::Own(shadow), .. } => region.each(shadow, |poison| *poison = 0),
            memory if number != target && !memory.base.is_null() => {
                // SAFETY: the shadow has a byte for each element, and nothing else uses it meanwhile.
                let shadow = unsafe { std::slice::from_raw_parts_mut(memory.base, memory.elements()) };
                match &taken {
                    Some((_, from, Shadow::Own(source))) => from.pairs(region, |from, to| shadow[to] = source[from]),
                    _ => region.each(shadow, |poison| *poison = 0),
                }
            }
            _ => {}
        }
        if let Some((source, _, shadow)) = taken {
            self.memories[source].shadow = shadow;
        }
    }

    /// Waits: copies land until the semaphore has what is wanted.
    pub(super) fn wait(
        &mut self,
        semaphores: &mut [Group],
        (group, at): (usize, usize),
        wanted: i64,
        step: &[i32],
        loc: &Loc,
    ) -> Result<(), RunError> {
        while self.waiting > 0 && semaphores[group].counts[at] < wanted {
            let next = self.draw();
            self.land(next, semaphores)?;
        }
        semaphores[group].wait(at, wanted, step, loc)?;
        if semaphores[group].kind == SemaphoreKind::Dma
            && let Entry::Occupied(mut outstanding) = self.outstanding.entry((group, at))
        {
            *outstanding.get_mut() -= wanted;
            if *outstanding.get() <= 0 {
                outstanding.remove();
                self.retire((group, at));
            }
        }
        Ok(())
    }

    /// The copies of a semaphore are known to be done.
    fn retire(&mut self, semaphore: (usize, usize)) {
        let mut at = 0;
        while at < self.flights.len() {
            if self.flights[at].semaphore == semaphore && self.flights[at].moved {
                let flight = self.flights.swap_remove(at);
                for (end, writes) in [false, true].into_iter().enumerate() {
                    self.memories[flight.memories[end]].unmark(&flight.regions[end], writes);
                }
            } else {
                at += 1;
            }
        }
    }

    /// Every copy lands: at the end of the launch, or of a region whose semaphores must then be at 0.
    pub(super) fn settle(&mut self, semaphores: &mut [Group]) -> Result<(), RunError> {
        while self.waiting > 0 {
            let next = self.draw();
            self.land(next, semaphores)?;
        }
        Ok(())
    }

    /// The memory of a region is there from now on, and holds poison: anything.
    ///
    /// # Safety
    /// `base` is valid for the elements of that memory.
    pub(super) unsafe fn entered(&mut self, number: usize, base: *mut u8) {
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
        let Some(watch) = &mut self.watch else { return Ok(()) };
        let bytes = bytes(&dims, site.dtype) as i64;
        if site.what == CopyStep::Wait {
            return watch.wait(&mut self.semaphores, (site.group, at), bytes, &self.grid, &site.loc);
        }
        let [source, target] = &site.chains;
        if !source.casts.is_empty() || !target.casts.is_empty() {
            // Memory that is seen as elements of another width is not watched: its copies happen at once.
            *watch.outstanding.entry((site.group, at)).or_default() += bytes;
            if target.casts.is_empty() {
                // SAFETY: by this function's contract there is a slot for each view of the source, then that of the target.
                let region = watch.memories[site.memories[1]].region(unsafe { &*slots.add(1 + source.casts.len()) }, dims);
                watch.define(site.memories[1], &region, None);
            }
            // SAFETY: by this function's contract.
            return unsafe { self.copy(site, slots, at, rows) };
        }
        // SAFETY: by this function's contract there are two slots, valid for the shape and so for fewer rows of it.
        unsafe {
            let ends = [*slots, *slots.add(1)];
            watch.start(&mut self.semaphores, site, at, dims, ends, &self.grid)
        }
    }
}
