//! Copies under way: from their start until all bytes that were started on their semaphore have been waited for. A wait for fewer
//! says nothing of any one copy.
//!
//! Rules: meanwhile nobody may touch what a copy writes, nor write what it reads, whenever the bytes really move. They move at a
//! moment that the seed draws: at once, at some later request, or when a wait needs them. What is kept of a copy goes when it is
//! done.

use super::super::launch::Running;
use super::super::movement::{bytes, transfer};
use super::super::reach::{End, indices};
use super::super::semaphore::Group;
use super::super::site::{Chain, CopySite, CopyStep};
use super::memory::{Memory, Shadow};
use super::region::Region;
use super::watch::{At, Watch};
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
    semaphore: (usize, usize),
    bytes: i64,
    /// Whether the source has poison.
    poison: bool,
    moved: bool,
    loc: Loc,
}

/// The copies under way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    all: Vec<Flight>,
    /// How many of them have not moved their bytes.
    waiting: usize,
    /// By semaphore, the bytes that were started and not waited for.
    outstanding: HashMap<(usize, usize), i64>,
}

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

    /// What a copy reads and what it writes.
    ///
    /// # Safety
    /// The slots are those of the copy, valid for the extents.
    unsafe fn parts(&self, site: &CopySite, slots: *const Slot, dims: [usize; RANK]) -> [Vec<Region>; 2] {
        let mut slots = slots;
        [0, 1].map(|end| {
            let (number, chain, first) = (site.memories[end], &site.chains[end], slots);
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
    fn may_start(&mut self, site: &CopySite, parts: &[Vec<Region>; 2], step: &[i32]) -> Result<bool, RunError> {
        let at = At { step, loc: &site.loc };
        let [source, target] = site.memories;
        for (end, access) in [(0, "copied"), (1, "copied to")] {
            for region in &parts[end] {
                self.apart(site.memories[end], region, end == 1, access, &at)?;
            }
        }
        for (end, part) in parts.iter().enumerate() {
            for region in part {
                self.alone(site.memories[end], region, end == 1, &at)?;
            }
        }
        let add = site.what == CopyStep::Add;
        for (end, part) in parts.iter().enumerate().take(1 + usize::from(add)) {
            let memory = &self.memories[site.memories[end]];
            let poison = |region: &Region| self.with_shadow(memory, |shadow| region.find(shadow, |_, poison| poison != 0));
            let Some(element) = part.iter().find_map(poison) else { continue };
            // What nothing has written of an output array may be read back, as a load may read it.
            let reads_back =
                matches!(self.memories[source].shadow, Shadow::Own(_)) && matches!(self.memories[target].shadow, Shadow::Memory(_));
            if reads_back && !add {
                return Ok(true);
            }
            let what = format!("a copy, which reads element {:?} of {}", memory.index(element), memory.called());
            return Err(RunError::Poison { what, step: step.to_vec(), loc: site.loc.clone() });
        }
        Ok(false)
    }

    /// Moves the bytes of one copy, or of none, as the seed draws.
    pub(super) fn progress(&mut self, semaphores: &mut [Group]) -> Result<(), RunError> {
        if self.flights.waiting == 0 || self.random.below(3) != 0 {
            return Ok(());
        }
        let at = self.draw();
        self.land(at, semaphores)
    }

    /// One of the copies whose bytes have not moved.
    fn draw(&mut self) -> usize {
        let nth = self.random.below(self.flights.waiting as u64) as usize;
        let waiting = self.flights.all.iter().enumerate().filter(|(_, flight)| !flight.moved);
        waiting.map(|(at, _)| at).nth(nth).unwrap_or(0)
    }

    /// Moves the bytes of a copy, and what says whether they are poison.
    fn land(&mut self, at: usize, semaphores: &mut [Group]) -> Result<(), RunError> {
        let flight = &mut self.flights.all[at];
        flight.moved = true;
        self.flights.waiting -= 1;
        let [source, target] = flight.memories;
        // SAFETY: both ends are parts of memories that last: a region's memory, and a window's block, that a copy still uses ends the
        // launch.
        unsafe { transfer(&flight.dims, &flight.ends, flight.dtype, source == target, flight.add)? };
        // What the source was found to hold when the copy began nobody may have written since.
        let poison = (flight.poison && source != target).then_some(source);
        let (parts, (group, which), bytes) = (std::mem::take(&mut flight.parts), flight.semaphore, flight.bytes);
        self.define(target, &parts, poison);
        self.flights.all[at].parts = parts;
        semaphores[group].counts[which] += bytes;
        Ok(())
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

    /// Waits: copies land until the semaphore has what is wanted.
    pub(super) fn wait(
        &mut self,
        semaphores: &mut [Group],
        (group, at): (usize, usize),
        wanted: i64,
        step: &[i32],
        loc: &Loc,
    ) -> Result<(), RunError> {
        while self.flights.waiting > 0 && semaphores[group].counts[at] < wanted {
            let next = self.draw();
            self.land(next, semaphores)?;
        }
        semaphores[group].wait(at, wanted, step, loc)?;
        if semaphores[group].kind == SemaphoreKind::Dma
            && let Entry::Occupied(mut outstanding) = self.flights.outstanding.entry((group, at))
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
        while at < self.flights.all.len() {
            if self.flights.all[at].semaphore == semaphore && self.flights.all[at].moved {
                let flight = self.flights.all.swap_remove(at);
                for (end, writes) in [false, true].into_iter().enumerate() {
                    self.memories[flight.memories[end]].unmark(&flight.parts[end], writes);
                }
            } else {
                at += 1;
            }
        }
    }

    /// Every copy lands: at the end of the launch, or of a region whose semaphores must then be at 0.
    pub(super) fn settle(&mut self, semaphores: &mut [Group]) -> Result<(), RunError> {
        while self.flights.waiting > 0 {
            let next = self.draw();
            self.land(next, semaphores)?;
        }
        Ok(())
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
        let (Some(watch), semaphores) = (&mut self.watch, &mut self.semaphores) else { return Ok(()) };
        let (bytes, semaphore) = (bytes(&dims, site.dtype) as i64, (site.group, at));
        if site.what == CopyStep::Wait {
            return watch.wait(semaphores, semaphore, bytes, &self.grid, &site.loc);
        }
        if bytes == 0 {
            return Ok(());
        }
        watch.progress(semaphores)?;
        // SAFETY: by this function's contract the slots are valid for the shape and so for fewer rows of it.
        let parts = unsafe { watch.parts(site, slots, dims) };
        let poison = watch.may_start(site, &parts, &self.grid)?;
        *watch.flights.outstanding.entry(semaphore).or_default() += bytes;
        for (end, part) in parts.iter().enumerate() {
            watch.memories[site.memories[end]].mark(part, end == 1)?;
        }
        // Through views of another width the bytes move at once.
        let moved = site.chains.iter().any(|chain| !chain.casts.is_empty());
        if moved {
            watch.define(site.memories[1], &parts, None);
        } else {
            watch.flights.waiting += 1;
        }
        let (memories, dtype, add, loc) = (site.memories, site.dtype, site.what == CopyStep::Add, site.loc.clone());
        // SAFETY: there are at least two slots.
        let ends = unsafe { [*slots, *slots.add(1)] };
        watch.flights.all.push(Flight { memories, parts, ends, dims, dtype, add, semaphore, bytes, poison, moved, loc });
        match moved {
            // SAFETY: by this function's contract.
            true => unsafe { self.copy(site, slots, at, rows) },
            false => watch.progress(semaphores),
        }
    }
}
