//! What compiled code asks of a launch that is watched, in the places of the helpers of `movement`.
//!
//! Rules: nothing unwinds through compiled code; what ends the launch is kept until the step has returned.

use super::super::context::Helpers;
use super::super::launch::Running;
use super::super::movement::HERE;
use super::super::reach::each_lane;
use super::super::site::{Action, Site};
use crate::exec::RunError;
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
/// `launch` is a [`Running`] that nobody else uses.
unsafe extern "C" fn remote(launch: *mut c_void, site: u32, _: *const Slot, _: i64, _: i64, _: i64, _: i64) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let Some(Site::Remote(site)) = running.sites.get(site as usize) else { return DONE };
    let error = RunError::NotChecked { what: "a copy", step: running.grid.clone(), loc: site.copy.loc.clone() };
    running.done(Err(error))
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses.
unsafe extern "C" fn semaphore(launch: *mut c_void, site: u32, at: i64, by: i64, device: i64) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let (sites, Some(watch)) = (running.sites, &mut running.watch) else { return DONE };
    let Some(Site::Semaphore { group, action, loc }) = sites.get(site as usize) else { return DONE };
    if device != HERE {
        let error = RunError::NotChecked { what: "a signal", step: running.grid.clone(), loc: loc.clone() };
        return running.done(Err(error));
    }
    let (semaphores, at) = (&mut running.semaphores, at as usize);
    let done = match action {
        Action::Signal => semaphores[*group].signal(at, by, &running.grid, loc),
        Action::Wait => watch.wait(semaphores, (*group, at), by, &running.grid, loc),
        // Who reads again and again may wait for a copy in this way.
        Action::Read => match watch.progress(semaphores) {
            Ok(()) => return semaphores[*group].counts[at].min(i64::from(i32::MAX)),
            error => error,
        },
        Action::End => watch.settle(semaphores).and_then(|()| semaphores[*group].end()),
    };
    running.done(done)
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; `to` is valid for the elements of the site of that number.
unsafe extern "C" fn fill(launch: *mut c_void, site: u32, to: *mut u8) {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    if let (Some(Site::Poison { memory, .. }), Some(watch)) = (running.sites.get(site as usize), &mut running.watch) {
        // SAFETY: as above.
        unsafe { watch.entered(*memory, to) };
    }
}

/// # Safety
/// `launch` is a [`Running`] that nobody else uses; the slot is a part of the memory of that site, of its shape.
unsafe extern "C" fn access(launch: *mut c_void, site: u32, slot: *const Slot) -> i64 {
    // SAFETY: by this function's contract.
    let (running, slot) = unsafe { (&mut *launch.cast::<Running<'_>>(), &*slot) };
    let (sites, Some(watch)) = (running.sites, &mut running.watch) else { return DONE };
    let Some(Site::Access(site)) = sites.get(site as usize) else { return DONE };
    let done = watch.access(&mut running.semaphores, site, slot, &running.grid);
    running.done(done)
}

/// # Safety
/// As [`reach`](super::super::reach::reach).
unsafe extern "C" fn reach(launch: *mut c_void, site: u32, slots: *const Slot) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    let (sites, Some(watch)) = (running.sites, &mut running.watch) else { return DONE };
    let Some(Site::Reach(site)) = sites.get(site as usize) else { return DONE };
    // SAFETY: as above.
    let done = unsafe {
        let before = watch.lanes(&mut running.semaphores, site, slots, &running.grid, false);
        let reached = before.and_then(|()| each_lane(site, slots, &running.grid));
        reached.and_then(|()| watch.lanes(&mut running.semaphores, site, slots, &running.grid, true))
    };
    running.done(done)
}
