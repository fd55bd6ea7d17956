//! What a watched launch knows, and what is asked of it while a step runs: accesses, and memory of regions. Copies are in `flight`.

use super::super::memory::poison;
use super::super::reach::{BEFORE, indices, inside};
use super::super::semaphore::Group;
use super::super::site::{AccessSite, ReachSite};
use super::flight::Flights;
use super::garbage::scatter;
use super::memory::{Memory, Shadow};
use super::order::Random;
use super::region::Region;
use crate::exec::RunError;
use crate::ir::Loc;
use tpu_microkernels::tile::{RANK, Slot};

/// What is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    /// By number.
    pub(super) memories: Vec<Memory>,
    pub(super) flights: Flights,
    pub(super) random: Random,
    /// What memory of regions holds at first; poison where there is none.
    garbage: Option<Random>,
    /// The indices of the running step along parallel dimensions, counted from 1.
    pub(super) thread: u32,
    /// The parallel dimensions, with their extents.
    pub(super) parallel: Vec<(String, i32)>,
}

/// What is the same for every request: the step, to name it.
pub(super) struct At<'a> {
    pub step: &'a [i32],
    pub loc: &'a Loc,
}

impl Watch {
    pub(super) fn new(memories: Vec<Memory>, random: Random, garbage: Option<Random>, parallel: Vec<(String, i32)>) -> Watch {
        Watch { memories, flights: Flights::default(), random, garbage, thread: 1, parallel }
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
        self.apart(site.memory, &region, site.writes, done(site.writes), &at)?;
        self.alone(site.memory, &region, site.writes, &at)?;
        if site.writes { self.stored(site.memory, &region, &site.loc, step) } else { Ok(()) }
    }

    /// The memory of a window turns to another block: no copy may be under way there.
    pub(super) fn turned(&self, number: usize, step: &[i32], loc: &Loc) -> Result<(), RunError> {
        let whole = Region::row(0, self.memories[number].elements());
        self.apart(number, &whole, true, "turned to another block", &At { step, loc })
    }

    /// A load or store element by element, under a mask or through views of another width: before it that no copy is under way
    /// there, `after` a store that what is inside the array of an output is no poison.
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
        let Some(number) = site.watched else { return Ok(()) };
        if !after {
            self.progress(semaphores)?;
        }
        let memory = &self.memories[number];
        let asked = if after { site.store && memory.inside.is_some() } else { memory.flying > 0 };
        if !asked {
            return Ok(());
        }
        // SAFETY: by this function's contract.
        let (mask, starts) = unsafe { (&*slots.add(1), &*slots.add(3)) };
        let reached = indices(site.dims).filter_map(|lane| match site.masked {
            // SAFETY: as above; a lane outside is an error of the access itself.
            true => unsafe { inside(site, mask, &starts.strides, lane, step) }.ok().flatten(),
            false => Some(lane),
        });
        // SAFETY: as above; what is reached lies inside.
        for region in unsafe { self.seen(number, &site.chain, slots.add(BEFORE), reached) } {
            match after {
                true => self.stored(number, &region, &site.loc, step)?,
                false => self.apart(number, &region, site.store, done(site.store), &At { step, loc: &site.loc })?,
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
        at: &At<'_>,
    ) -> Result<(), RunError> {
        let memory = &self.memories[number];
        let Some((element, target)) = memory.met(region, writes) else { return Ok(()) };
        let copy = self.flights.of(number, element, target);
        let (memory, index) = (memory.called().into_owned(), memory.index(element));
        Err(RunError::Race { memory, access, index, target, copy, step: at.step.to_vec(), loc: at.loc.clone() })
    }

    /// That no other parallel step touches what this one does.
    pub(super) fn alone(&mut self, number: usize, region: &Region, writes: bool, at: &At<'_>) -> Result<(), RunError> {
        let (thread, memory) = (self.thread, &mut self.memories[number]);
        let Some(touched) = &mut memory.touched else { return Ok(()) };
        let Some((element, one)) = touched.other(region, writes, thread) else {
            touched.add(region, writes, thread);
            return Ok(());
        };
        let memory = &self.memories[number];
        let what = format!("element {:?} of {}", memory.index(element), memory.called());
        let dimension = self.dimension(one, thread);
        Err(RunError::Parallel { what, dimension, step: at.step.to_vec(), loc: at.loc.clone() })
    }

    /// A block of a window whose array others reach, too, is fetched or written back: these rows of the array.
    pub(super) fn block(
        &mut self,
        window: usize,
        array: usize,
        rows: &[Region],
        writes: bool,
        at: &At<'_>,
    ) -> Result<(), RunError> {
        let access = if writes { "written back" } else { "fetched" };
        for row in rows {
            self.apart(array, row, writes, access, at).map_err(|mut error| {
                if let RunError::Race { memory, .. } = &mut error {
                    *memory = self.memories[window].called().into_owned();
                }
                error
            })?;
            self.alone(array, row, writes, at)?;
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

/// What is done to a memory, in words.
fn done(writes: bool) -> &'static str {
    if writes { "written" } else { "read" }
}
