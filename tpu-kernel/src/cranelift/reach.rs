//! Loads and stores that go element by element: under a mask, and through memory that is seen as elements of another width.
//!
//! Rules: of a masked access only what is on is reached, and must lie inside; nothing else is read or written, whatever its address
//! would be. An element of a view of another width is part of one element below, or several of them; such views lie one upon the
//! other as deep as the kernel makes them.

use super::launch::{Ended, Running};
use super::movement::{get, set};
use super::site::{Chain, ReachSite, Site};
use crate::exec::RunError;
use crate::ir::Literal;
use std::ffi::c_void;
use tpu_microkernels::tile::{DONE, RANK, Slot};

/// An access: the running launch, the number of its site, and its slots. 0 where the step may go on.
pub(super) type Reach = unsafe extern "C" fn(*mut c_void, u32, *const Slot) -> i64;

/// Slots before those of the memory: the tile, the mask, what stands where it is false, and as strides the starts.
pub(super) const BEFORE: usize = 4;

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; the slots are those of the access of that number: the tiles are valid for its
/// shape, the memory for its extents.
pub(super) unsafe extern "C" fn reach(launch: *mut c_void, site: u32, slots: *const Slot) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let Some(Site::Reach(site)) = running.sites.get(site as usize) else { return DONE };
    // SAFETY: as above.
    match unsafe { each_lane(site, slots, &running.grid) } {
        Ok(()) => DONE,
        Err(error) => {
            running.ended = Some(Ended::Error(error));
            !DONE
        }
    }
}

/// All indices below these extents, the last the fastest.
pub(super) fn indices(dims: [usize; RANK]) -> impl Iterator<Item = [i64; RANK]> {
    let count = if dims.contains(&0) { 0 } else { dims.iter().product() };
    (0..count).map(move |at| unravel(at, &dims))
}

fn unravel(mut position: usize, dims: &[usize; RANK]) -> [i64; RANK] {
    let mut index = [0; RANK];
    for axis in (0..RANK).rev() {
        index[axis] = (position % dims[axis]) as i64;
        position /= dims[axis];
    }
    index
}

/// # Safety
/// As [`reach`].
pub(super) unsafe fn each_lane(site: &ReachSite, slots: *const Slot, step: &[i32]) -> Result<(), RunError> {
    // SAFETY: by this function's contract there are so many slots.
    let [tile, mask, other, starts] = std::array::from_fn(|at| unsafe { &*slots.add(at) });
    // SAFETY: as above.
    let memory = unsafe { End::new(&site.chain, slots.add(BEFORE)) };
    let seen = site.chain.dtype();
    if site.masked && site.store {
        // Nothing is written where one of them lies outside.
        for lane in indices(site.dims) {
            // SAFETY: as above.
            unsafe { inside(site, mask, &starts.strides, lane, step)? };
        }
    }
    for lane in indices(site.dims) {
        let at = if site.masked {
            // SAFETY: as above.
            unsafe { inside(site, mask, &starts.strides, lane, step)? }
        } else {
            Some(lane)
        };
        // SAFETY: as above; an index of the memory lies inside, by its check.
        unsafe {
            match (at, site.store) {
                (Some(at), true) => memory.set(&at, get(tile.at(&lane, seen.bytes()), seen)),
                (None, true) => {}
                (Some(at), false) => set(tile.at(&lane, seen.bytes()), memory.get(&at)),
                (None, false) => set(tile.at(&lane, seen.bytes()), get(other.at(&lane, seen.bytes()), seen)),
            }
        }
    }
    Ok(())
}

/// Where a lane lies in the memory, if it is on; an error where that is outside.
///
/// # Safety
/// The mask is valid for the lane.
pub(super) unsafe fn inside(
    site: &ReachSite,
    mask: &Slot,
    starts: &[i64; RANK],
    lane: [i64; RANK],
    step: &[i32],
) -> Result<Option<[i64; RANK]>, RunError> {
    // SAFETY: by this function's contract; a mask has a byte an element.
    if unsafe { mask.at(&lane, 1).read() } == 0 {
        return Ok(None);
    }
    let mut at = lane;
    for axis in 0..RANK {
        at[axis] += starts[axis];
        let extent = site.extents[axis];
        if at[axis] < 0 || at[axis] >= extent as i64 {
            let (operand, loc) = (site.operand.clone(), site.loc.clone());
            let axis = axis - (RANK - site.rank);
            let start = at[axis + RANK - site.rank];
            return Err(RunError::OutOfBounds { operand, axis, start, size: 1, extent, step: step.to_vec(), loc });
        }
    }
    Ok(Some(at))
}

/// Where elements lie.
trait Elements {
    /// The address of one of so many bytes.
    fn at(&self, index: &[i64; RANK], bytes: usize) -> *mut u8;
}

impl Elements for Slot {
    fn at(&self, index: &[i64; RANK], bytes: usize) -> *mut u8 {
        let offset: i64 = index.iter().zip(&self.strides).map(|(i, stride)| i.wrapping_mul(*stride)).sum();
        self.ptr.wrapping_offset((offset * bytes as i64) as isize)
    }
}

/// A memory, with the views of other widths through which it is seen.
pub(super) struct End<'a> {
    chain: &'a Chain,
    slots: *const Slot,
}

impl<'a> End<'a> {
    /// # Safety
    /// There is a slot for the memory and one for each view, valid as long as this is used.
    pub(super) unsafe fn new(chain: &'a Chain, slots: *const Slot) -> End<'a> {
        End { chain, slots }
    }

    /// # Safety
    /// The index lies in the view.
    pub(super) unsafe fn get(&self, index: &[i64; RANK]) -> Literal {
        // SAFETY: by this function's contract.
        unsafe { self.get_below(self.chain.casts.len(), index) }
    }

    /// # Safety
    /// The index lies in the view, which may be written.
    pub(super) unsafe fn set(&self, index: &[i64; RANK], element: Literal) {
        // SAFETY: by this function's contract.
        unsafe { self.set_below(self.chain.casts.len(), index, element) }
    }

    /// Calls `f` with the address of each element of the memory itself that has bits of an element of the view.
    ///
    /// # Safety
    /// The index lies in the view.
    pub(super) unsafe fn addresses(&self, index: &[i64; RANK], f: &mut dyn FnMut(*mut u8)) {
        // SAFETY: by this function's contract.
        unsafe { self.addresses_below(self.chain.casts.len(), index, f) }
    }

    /// # Safety
    /// As [`End::addresses`].
    unsafe fn addresses_below(&self, level: usize, index: &[i64; RANK], f: &mut dyn FnMut(*mut u8)) {
        if level == 0 {
            // SAFETY: by the contract of `new`.
            return f(unsafe { &*self.slots }.at(index, self.chain.root.bytes()));
        }
        // SAFETY: by this function's contract; all rows that an element covers are there.
        unsafe {
            let (mut at, _) = self.place(level, index);
            for _ in 0..(self.chain.casts[level - 1].to.bits() / self.chain.below(level).bits()).max(1) {
                self.addresses_below(level - 1, &at, f);
                at[RANK - 2] += 1;
            }
        }
    }

    /// Where the bits of an element of a view begin: an index of what is below, and a bit there.
    ///
    /// # Safety
    /// The index lies in the view.
    unsafe fn place(&self, level: usize, index: &[i64; RANK]) -> ([i64; RANK], u32) {
        // SAFETY: by the contract of `new`.
        let slot = unsafe { &*self.slots.add(level) };
        let cast = &self.chain.casts[level - 1];
        let position = slot.ptr.addr() as i64 + index.iter().zip(&slot.strides).map(|(i, stride)| i * stride).sum::<i64>();
        let mut at = unravel(position as usize, &cast.dims);
        let (old, new) = (i64::from(self.chain.below(level).bits()), i64::from(cast.to.bits()));
        let first = at[RANK - 2] * new;
        at[RANK - 2] = first / old;
        (at, (first % old) as u32)
    }

    /// # Safety
    /// As [`End::get`].
    unsafe fn get_below(&self, level: usize, index: &[i64; RANK]) -> Literal {
        if level == 0 {
            // SAFETY: by this function's contract and that of `new`.
            return unsafe { get((*self.slots).at(index, self.chain.root.bytes()), self.chain.root) };
        }
        let (to, width) = (self.chain.casts[level - 1].to, self.chain.below(level).bits());
        // SAFETY: as above; all rows that an element covers are there.
        unsafe {
            let (mut at, bit) = self.place(level, index);
            let mut bits = 0;
            for part in 0..(to.bits() / width).max(1) {
                bits |= self.get_below(level - 1, &at).bits() << (part * width);
                at[RANK - 2] += 1;
            }
            Literal::from_bits(to, bits >> bit)
        }
    }

    /// # Safety
    /// As [`End::set`].
    unsafe fn set_below(&self, level: usize, index: &[i64; RANK], element: Literal) {
        if level == 0 {
            // SAFETY: by this function's contract and that of `new`; the bits are of the memory's type.
            return unsafe { set((*self.slots).at(index, self.chain.root.bytes()), element) };
        }
        let (to, below) = (self.chain.casts[level - 1].to, self.chain.below(level));
        // SAFETY: as above.
        unsafe {
            let (mut at, bit) = self.place(level, index);
            if to.bits() < below.bits() {
                let (there, mask) = (self.get_below(level - 1, &at).bits(), ((1u32 << to.bits()) - 1) << bit);
                let bits = (there & !mask) | (element.bits() << bit);
                return self.set_below(level - 1, &at, Literal::from_bits(below, bits));
            }
            for part in 0..to.bits() / below.bits() {
                self.set_below(level - 1, &at, Literal::from_bits(below, element.bits() >> (part * below.bits())));
                at[RANK - 2] += 1;
            }
        }
    }
}
