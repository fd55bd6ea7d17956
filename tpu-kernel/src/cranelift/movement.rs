//! What compiled code asks of the launch while a step runs: copies, semaphores, and poison for the memory of a region.
//!
//! Rules: a copy happens when it starts; where both ends lie in one memory, what is written was read before. Nothing unwinds
//! through compiled code: an error is kept until the step has returned.

use super::launch::{Ended, Running};
use super::memory::poison;
use super::reach::{End, indices};
use super::site::{Action, CopySite, CopyStep, RemoteSite, Site};
use crate::exec::RunError;
use crate::ir::{BinaryOp, DType, Literal, Loc};
use crate::math;
use std::ffi::c_void;
use tpu_microkernels::tile::{DONE, RANK, Slot};

/// A request about semaphores: the running launch, the number of its site, which of the group, by how much, and on which
/// device or core ([`HERE`] where none is named). Where the step may go on a `Read` gives the count, all others 0; where it may not,
/// a number below 0.
pub(super) type Semaphore = unsafe extern "C" fn(*mut c_void, u32, i64, i64, i64) -> i64;

/// A copy or a wait: the running launch, the number of its site, the source and the target, which semaphore of the group, and
/// how many rows (less than 0 where all are meant: [`ALL`]). 0 where the step may go on.
pub(super) type Copy = unsafe extern "C" fn(*mut c_void, u32, *const Slot, i64, i64) -> i64;

/// A copy to a device: the running launch, the number of its site, the source and the target as it lies here, which semaphore there
/// and which here, the device, and how many rows. 0 where the step may go on.
pub(super) type Remote = unsafe extern "C" fn(*mut c_void, u32, *const Slot, i64, i64, i64, i64) -> i64;

/// Poison for memory: the running launch, the number of its site, and where it begins.
pub(super) type Fill = unsafe extern "C" fn(*mut c_void, u32, *mut u8);

/// An access that is looked at: the running launch, the number of its site, and the part of the memory. 0 where the step may go on.
pub(super) type Access = unsafe extern "C" fn(*mut c_void, u32, *const Slot) -> i64;

/// No device is named: less than any i32.
pub(super) const HERE: i64 = i64::MIN;

/// Rows of a copy that has no number of them: less than any i32.
pub(super) const ALL: i64 = i64::MIN;

/// # Safety
/// `launch` is a [`Running`] that nobody else uses.
pub(super) unsafe extern "C" fn semaphore(launch: *mut c_void, site: u32, at: i64, by: i64, device: i64) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let Some(Site::Semaphore { group, action, loc }) = running.sites.get(site as usize) else { return DONE };
    // Compiled code has checked each index.
    let at = at as usize;
    if let Some(member) = &running.member() {
        let place = (*group, at);
        let done = match action {
            Action::Signal => member.signal(place, by, device, &running.grid, loc),
            Action::CoreSignal => member.signal_core(place, by, device, &running.grid, loc),
            Action::Wait => member.wait(place, by, &running.grid, loc),
            Action::Read => match member.read(place) {
                Ok(count) => return count.min(i64::from(i32::MAX)),
                Err(error) => Err(error),
            },
            Action::End => member.end(*group),
        };
        return running.done(done);
    }
    if !matches!(device, HERE | 0) {
        let no = match action {
            Action::CoreSignal => running.no_core(device, loc),
            _ => running.no_device("a signal", device, loc),
        };
        return running.done(no);
    }
    let group = &mut running.semaphores[*group];
    let done = match action {
        Action::Signal | Action::CoreSignal => group.signal(at, by, &running.grid, loc),
        Action::Wait => group.wait(at, by, &running.grid, loc),
        Action::Read => return group.counts[at].min(i64::from(i32::MAX)),
        Action::End => group.end(),
    };
    running.done(done)
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; the slots are those of the copy of that number, valid for its shape.
pub(super) unsafe extern "C" fn copy(launch: *mut c_void, site: u32, slots: *const Slot, at: i64, rows: i64) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let Some(Site::Copy(site)) = running.sites.get(site as usize) else { return DONE };
    // SAFETY: as above.
    let done = unsafe { running.copy(site, slots, at as usize, rows) };
    running.done(done)
}

/// # Safety
/// As [`copy`].
pub(super) unsafe extern "C" fn remote(
    launch: *mut c_void,
    site: u32,
    slots: *const Slot,
    receive: i64,
    send: i64,
    device: i64,
    rows: i64,
) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let sites = running.sites;
    let Some(Site::Remote(site)) = sites.get(site as usize) else { return DONE };
    // SAFETY: as above.
    let done = unsafe { running.remote(site, slots, [receive as usize, send as usize], device, rows) };
    running.done(done)
}

/// # Safety
/// `launch` is a [`Running`]; `to` is valid for the elements of the site of that number.
pub(super) unsafe extern "C" fn fill(launch: *mut c_void, site: u32, to: *mut u8) {
    // SAFETY: by this function's contract.
    let running = unsafe { &*launch.cast::<Running<'_>>() };
    if let Some(Site::Poison { dtype, elements, .. }) = running.sites.get(site as usize) {
        // SAFETY: as above.
        unsafe { poison(to, *dtype, *elements) };
    }
}

/// Where nothing is checked no code asks.
pub(super) unsafe extern "C" fn access(_: *mut c_void, _: u32, _: *const Slot) -> i64 {
    DONE
}

impl Running<'_> {
    pub(super) fn done(&mut self, done: Result<(), RunError>) -> i64 {
        match done {
            Ok(()) => DONE,
            Err(error) => {
                self.ended = Some(Ended::Error(error));
                !DONE
            }
        }
    }

    /// The extents of a copy: of its memories, or of so many rows.
    pub(super) fn extent(&self, site: &CopySite, rows: i64) -> Result<[usize; RANK], RunError> {
        let mut dims = [1; RANK];
        let rank = match site.shape {
            Some(shape) => {
                dims[RANK - shape.rank()..].copy_from_slice(shape.dims());
                shape.rank()
            }
            None => {
                let [from, to] = site.arrays.map(|param| &self.extents[param]);
                if from != to {
                    let (from, to) = (from.clone(), to.clone());
                    return Err(RunError::CopyShapes { from, to, step: self.grid.clone(), loc: site.loc.clone() });
                }
                dims[RANK - from.len()..].copy_from_slice(from);
                from.len()
            }
        };
        if rows != ALL {
            let extent = dims[RANK - rank];
            match usize::try_from(rows) {
                Ok(rows) if rows <= extent => dims[RANK - rank] = rows,
                _ => {
                    let (rows, step, loc) = (rows as i32, self.grid.clone(), site.loc.clone());
                    return Err(RunError::CopyRows { rows, extent, step, loc });
                }
            }
        }
        Ok(dims)
    }

    /// A signal to a core that is not there, of a core that is alone.
    pub(super) fn no_core(&self, core: i64, loc: &Loc) -> Result<(), RunError> {
        Err(RunError::NoCore { core: core as i32, cores: 1, step: self.grid.clone(), loc: loc.clone() })
    }

    /// A signal or a copy to a device that is not there, of a device that is alone.
    pub(super) fn no_device(&self, what: &'static str, device: i64, loc: &Loc) -> Result<(), RunError> {
        Err(RunError::NoDevice { what, device: device as i32, devices: 1, step: self.grid.clone(), loc: loc.clone() })
    }

    /// # Safety
    /// As [`copy`].
    unsafe fn remote(
        &mut self,
        site: &RemoteSite,
        slots: *const Slot,
        [receive, send]: [usize; 2],
        device: i64,
        rows: i64,
    ) -> Result<(), RunError> {
        let copy = &site.copy;
        let dims = self.extent(copy, rows)?;
        let bytes = bytes(&dims, copy.dtype) as i64;
        // SAFETY: by this function's contract there are two slots, valid for the shape and so for fewer rows of it.
        let mut ends = unsafe { [*slots, *slots.add(1)] };
        let (here, other) = match &self.member() {
            Some(member) => (member.seat.agent, member.seat.other("a copy", device, &self.grid, &copy.loc)?),
            None if device == 0 => (0, 0),
            None => return self.no_device("a copy", device, &copy.loc),
        };
        if let Some(member) = self.member().filter(|_| other != here) {
            match member.there(other, copy.arrays[1], ends[1].ptr) {
                Some(there) => ends[1].ptr = there,
                None => unreachable!("verified: what is reached is an operand, which each device has"),
            }
        }
        let one_memory = other == here && copy.memories[0] == copy.memories[1];
        // SAFETY: as above; each device has the memory of an operand in the same shape, so that the part is as valid there as it is here.
        unsafe { transfer(&dims, &ends, copy.dtype, one_memory, false)? };
        match &self.member() {
            Some(member) => {
                member.signal((site.send, send), bytes, HERE, &self.grid, &copy.loc)?;
                member.signal((copy.group, receive), bytes, device, &self.grid, &copy.loc)
            }
            None => {
                self.semaphores[site.send].signal(send, bytes, &self.grid, &copy.loc)?;
                self.semaphores[copy.group].signal(receive, bytes, &self.grid, &copy.loc)
            }
        }
    }

    /// # Safety
    /// As [`copy`].
    pub(super) unsafe fn copy(&mut self, site: &CopySite, slots: *const Slot, at: usize, rows: i64) -> Result<(), RunError> {
        let dims = self.extent(site, rows)?;
        let bytes = bytes(&dims, site.dtype);
        if site.what == CopyStep::Wait {
            return match &self.member() {
                Some(member) => member.wait((site.group, at), bytes as i64, &self.grid, &site.loc),
                None => self.semaphores[site.group].wait(at, bytes as i64, &self.grid, &site.loc),
            };
        }
        // SAFETY: by this function's contract there are the slots of both ends, valid for the shape and so for fewer rows of it.
        unsafe { moves(site, slots, dims)? };
        match &self.member() {
            Some(member) => member.signal((site.group, at), bytes as i64, HERE, &self.grid, &site.loc),
            None => self.semaphores[site.group].signal(at, bytes as i64, &self.grid, &site.loc),
        }
    }
}

/// Moves the elements of a copy.
///
/// # Safety
/// There are the slots of both ends, valid for elements of these dimensions.
pub(super) unsafe fn moves(site: &CopySite, slots: *const Slot, dims: [usize; RANK]) -> Result<(), RunError> {
    // SAFETY: by this function's contract.
    unsafe {
        if site.chains.iter().any(|chain| !chain.casts.is_empty()) {
            return each_element(site, slots, dims, bytes(&dims, site.dtype));
        }
        let ends = [*slots, *slots.add(1)];
        transfer(&dims, &ends, site.dtype, site.memories[0] == site.memories[1], site.what == CopyStep::Add)
    }
}

/// The bytes of so many elements. An array of nothing may have extents whose product does not fit.
pub(super) fn bytes(dims: &[usize; RANK], dtype: DType) -> usize {
    if dims.contains(&0) { 0 } else { dims.iter().product::<usize>() * dtype.bytes() }
}

/// Copies the elements of one part of memory to another. Where both lie in one memory, what is written was read before.
///
/// # Safety
/// Both are valid for the elements that dims and strides reach, and apart unless they lie in `one_memory`.
pub(super) unsafe fn transfer(
    dims: &[usize; RANK],
    [from, to]: &[Slot; 2],
    dtype: DType,
    one_memory: bool,
    add: bool,
) -> Result<(), RunError> {
    let combine = add.then_some(BinaryOp::Add);
    // SAFETY: by this function's contract; what is held has room for all elements, side by side.
    unsafe {
        if one_memory {
            let bytes = bytes(dims, dtype);
            let mut held: Vec<u8> = vec![];
            held.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
            held.resize(bytes, 0);
            let between = Slot { ptr: held.as_mut_ptr(), strides: dense(dims) };
            each_row(dims, from, &between, dtype, None);
            each_row(dims, &between, to, dtype, combine);
        } else {
            each_row(dims, from, to, dtype, combine);
        }
    }
    Ok(())
}

/// Row-major strides.
fn dense(dims: &[usize; RANK]) -> [i64; RANK] {
    let mut strides = [1i64; RANK];
    for axis in (0..RANK - 1).rev() {
        strides[axis] = strides[axis + 1].wrapping_mul(dims[axis + 1] as i64);
    }
    strides
}

/// Copies, or combines, through views of another width: what is written was read before.
///
/// # Safety
/// There are the slots of both ends, valid for the elements of these dimensions.
unsafe fn each_element(site: &CopySite, slots: *const Slot, dims: [usize; RANK], bytes: usize) -> Result<(), RunError> {
    let [source, target] = &site.chains;
    // SAFETY: by this function's contract.
    let (from, to) = unsafe { (End::new(source, slots), End::new(target, slots.add(1 + source.casts.len()))) };
    let mut held: Vec<Literal> = vec![];
    held.try_reserve_exact(bytes).map_err(|_| RunError::OutOfMemory { bytes })?;
    // SAFETY: as above.
    held.extend(indices(dims).map(|index| unsafe { from.get(&index) }));
    for (index, moved) in indices(dims).zip(held) {
        // SAFETY: as above.
        unsafe {
            let sum = if site.what == CopyStep::Add { math::binary(BinaryOp::Add, to.get(&index), moved) } else { None };
            to.set(&index, sum.unwrap_or(moved));
        }
    }
    Ok(())
}

/// Copies, or combines, row by row.
///
/// # Safety
/// Both are valid for the elements that dims and strides reach, and apart.
unsafe fn each_row(dims: &[usize; RANK], from: &Slot, to: &Slot, dtype: DType, combine: Option<BinaryOp>) {
    let bytes = dtype.bytes() as i64;
    let last = RANK - 1;
    let together = combine.is_none() && (dims[last] <= 1 || (from.strides[last] == 1 && to.strides[last] == 1));
    if dims.contains(&0) {
        return;
    }
    let rows: usize = dims[..last].iter().product();
    let mut index = [0i64; RANK];
    for _ in 0..rows {
        let offset = |slot: &Slot| index.iter().zip(&slot.strides).map(|(i, stride)| i * stride).sum::<i64>() * bytes;
        // SAFETY: by this function's contract; elements are moved at any alignment.
        unsafe {
            let (from_row, to_row) = (from.ptr.offset(offset(from) as isize), to.ptr.offset(offset(to) as isize));
            if together {
                std::ptr::copy_nonoverlapping(from_row, to_row, dims[last] * bytes as usize);
            } else {
                for i in 0..dims[last] as i64 {
                    let source = from_row.offset((i * from.strides[last] * bytes) as isize);
                    let target = to_row.offset((i * to.strides[last] * bytes) as isize);
                    match combine.and_then(|op| math::binary(op, get(target, dtype), get(source, dtype))) {
                        Some(element) => set(target, element),
                        None => std::ptr::copy_nonoverlapping(source, target, bytes as usize),
                    }
                }
            }
        }
        for axis in (0..last).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] as i64 {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// # Safety
/// The address is valid for reads of an element.
pub(super) unsafe fn get(at: *const u8, dtype: DType) -> Literal {
    // SAFETY: by this function's contract.
    let bits = unsafe {
        match dtype.bytes() {
            4 => at.cast::<u32>().read_unaligned(),
            2 => u32::from(at.cast::<u16>().read_unaligned()),
            _ => u32::from(at.read()),
        }
    };
    Literal::from_bits(dtype, bits)
}

/// # Safety
/// The address is valid for writes of an element.
pub(super) unsafe fn set(at: *mut u8, element: Literal) {
    let bits = element.memory();
    // SAFETY: by this function's contract.
    unsafe {
        match element.dtype().bytes() {
            4 => at.cast::<u32>().write_unaligned(bits),
            2 => at.cast::<u16>().write_unaligned(bits as u16),
            _ => at.write(bits as u8),
        }
    }
}
