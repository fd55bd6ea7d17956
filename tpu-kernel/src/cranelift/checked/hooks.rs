//! What compiled code asks of a launch that is watched, in the places of the helpers of `movement`.
//!
//! Rules: nothing unwinds through compiled code; what ends the launch is kept until the step has returned.

use super::super::context::Helpers;
use super::super::crew::Seat;
use super::super::launch::Running;
use super::super::movement::HERE;
use super::super::reach::each_lane;
use super::super::site::{Action, Site};
use super::watch::{At, Watched};
use crate::exec::RunError;
use crate::ir::Loc;
use std::ffi::c_void;
use tpu_microkernels::tile::{DONE, Slot};

/// Puts these in the places of the others.
pub(super) fn install(helpers: &mut Helpers) {
    helpers.copy = copy;
    helpers.remote = remote;
    helpers.semaphore = semaphore;
    helpers.fill = fill;
    helpers.access = access;
    helpers.reach = reach;
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; the slots are those of the copy of that number, valid for its shape.
pub(super) unsafe extern "C" fn copy(launch: *mut c_void, site: u32, slots: *const Slot, at: i64, rows: i64) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let sites = running.sites;
    let Some(Site::Copy(site)) = sites.get(site as usize) else { return DONE };
    // SAFETY: as above.
    let done = unsafe { running.watched_copy(site, slots, at as usize, rows) };
    running.done(done)
}

/// # Safety
/// As [`copy`].
unsafe extern "C" fn remote(
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
    let done = unsafe { running.watched_remote(site, slots, [receive as usize, send as usize], device, rows) };
    running.done(done)
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses.
unsafe extern "C" fn semaphore(launch: *mut c_void, site: u32, at: i64, by: i64, device: i64) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let sites = running.sites;
    let Some(Site::Semaphore { group, action, loc }) = sites.get(site as usize) else { return DONE };
    match running.watched_semaphore((*group, at as usize), *action, by, device, loc) {
        Ok(count) => count,
        error => running.done(error.map(|_| ())),
    }
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; `to` is valid for the elements of the site of that number.
unsafe extern "C" fn fill(launch: *mut c_void, site: u32, to: *mut u8) {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    if let (Some(Site::Poison { memory, .. }), Some(Watched { watch, agent })) = (running.sites.get(site as usize), running.watched)
    {
        // SAFETY: as above.
        unsafe { watch.borrow_mut().entered(agent, *memory, to) };
    }
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; the slot is a part of the memory of that site, of its shape.
unsafe extern "C" fn access(launch: *mut c_void, site: u32, slot: *const Slot) -> i64 {
    // SAFETY: by this function's contract.
    let (running, slot) = unsafe { (&mut *launch.cast::<Running<'_>>(), &*slot) };
    let (sites, Some(Watched { watch, agent })) = (running.sites, running.watched) else { return DONE };
    let Some(Site::Access(site)) = sites.get(site as usize) else { return DONE };
    let done = watch.borrow_mut().access(site, slot, At { agent, step: &running.grid, loc: &site.loc });
    running.done(done)
}

/// # Safety
/// As [`reach`](super::super::reach::reach).
unsafe extern "C" fn reach(launch: *mut c_void, site: u32, slots: *const Slot) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let (sites, Some(Watched { watch, agent })) = (running.sites, running.watched) else { return DONE };
    let Some(Site::Reach(site)) = sites.get(site as usize) else { return DONE };
    let at = At { agent, step: &running.grid, loc: &site.loc };
    let mut watch = watch.borrow_mut();
    // SAFETY: as above.
    let done = unsafe {
        let before = watch.lanes(site, slots, at, false);
        let reached = before.and_then(|()| each_lane(site, slots, &running.grid));
        reached.and_then(|()| watch.lanes(site, slots, at, true))
    };
    drop(watch);
    running.done(done)
}

impl Running<'_> {
    /// What is asked of a semaphore; the count of a `Read`, else 0.
    fn watched_semaphore(
        &self,
        (group, at): (usize, usize),
        action: Action,
        by: i64,
        device: i64,
        loc: &Loc,
    ) -> Result<i64, RunError> {
        let Some(Watched { watch, agent }) = self.watched else { return Ok(DONE) };
        let request = At { agent, step: &self.grid, loc };
        let place = (watch.borrow().group(agent, group), at);
        match action {
            Action::Signal | Action::CoreSignal => {
                let other = match &self.seat {
                    _ if device == HERE => agent,
                    Some(seat) if action == Action::CoreSignal => seat.other_core(device, &self.grid, loc)?,
                    None if action == Action::CoreSignal && device != 0 => return self.no_core(device, loc).map(|()| DONE),
                    Some(seat) => seat.other("a signal", device, &self.grid, loc)?,
                    None if device == 0 => agent,
                    None => return self.no_device("a signal", device, loc).map(|()| DONE),
                };
                let mut watch = watch.borrow_mut();
                let place = (watch.group(other, group), at);
                if other != agent {
                    watch.may_signal(other, place, request)?;
                }
                watch.clocks.signal(place, agent, by);
                if other != agent {
                    watch.send(place, by, request);
                    drop(watch);
                    self.seat.as_ref().map_or(Ok(()), Seat::may_pause)?;
                } else {
                    watch.semaphores[place.0].signal(at, by, &self.grid, loc)?;
                }
                Ok(DONE)
            }
            Action::Wait => self.watched_wait(place, by, request).map(|()| DONE),
            // Who reads again and again may wait in this way: for a copy, or for others.
            Action::Read => {
                watch.borrow_mut().progress()?;
                self.seat.as_ref().map_or(Ok(()), Seat::pause)?;
                Ok(watch.borrow().semaphores[place.0].counts[at].min(i64::from(i32::MAX)))
            }
            Action::End => {
                let mut watch = watch.borrow_mut();
                watch.settle()?;
                watch.semaphores[place.0].end().map(|()| DONE)
            }
        }
    }
}
