//! A kernel on several devices at once: the semaphores and memories that they reach of one another.
//!
//! Rules: a copy happens when it starts, whatever device it goes to. What devices reach of one another is an operand of the kernel, in
//! the memory of each from before the first step of any until all have ended. Devices take turns on one thread (`schedule`).

use super::Executable;
use super::checked::Random;
use super::context::RefSlot;
use super::driver::Driver;
use super::movement::HERE;
use super::schedule::{self, Agents, Body, Outcome, Way};
use super::semaphore::Group;
use crate::exec::{Args, DeviceWait, RunError};
use crate::ir::Loc;
use crate::launch::Binding;
use std::cell::RefCell;
use tpu_microkernels::stream;

/// All devices of a run.
pub(super) struct World {
    devices: RefCell<Vec<Device>>,
    random: RefCell<Random>,
    /// Whether a device also gives way where it has signalled.
    shuffled: bool,
    ended: RefCell<Ended>,
}

/// Whether the run is over for those that wait.
enum Ended {
    No,
    /// By the error of another device.
    By(RunError),
    /// All wait.
    Deadlock,
}

struct Device {
    semaphores: Vec<Group>,
    /// By operand: where its memory begins.
    places: Vec<*mut u8>,
    /// The semaphore, and the count that it waits for.
    waiting: Option<((usize, usize), i64)>,
}

/// A device that runs, as its launch sees it.
pub(super) struct Seat<'r> {
    world: &'r World,
    /// Its number.
    pub device: usize,
    /// Of its fiber, while that lives.
    way: *const Way,
}

impl Seat<'_> {
    /// How many devices there are.
    pub(super) fn devices(&self) -> usize {
        self.world.devices.borrow().len()
    }

    /// Lets others run.
    fn give_way(&self) {
        // SAFETY: a seat is made on the fiber whose way this is, and used on no other.
        unsafe { &*self.way }.suspend(());
    }

    /// Lets others run; an error where the run has ended meanwhile.
    fn pause(&self) -> Result<(), RunError> {
        self.give_way();
        match &*self.world.ended.borrow() {
            Ended::By(error) => Err(error.clone()),
            Ended::No | Ended::Deadlock => Ok(()),
        }
    }

    pub(super) fn signal(
        &self,
        (group, at): (usize, usize),
        by: i64,
        device: i64,
        step: &[i32],
        loc: &Loc,
    ) -> Result<(), RunError> {
        let devices = self.devices();
        let other = if device == HERE { Some(self.device) } else { usize::try_from(device).ok().filter(|&n| n < devices) };
        let Some(other) = other else {
            let (what, device, step, loc) = ("a signal", device as i32, step.to_vec(), loc.clone());
            return Err(RunError::NoDevice { what, device, devices, step, loc });
        };
        self.world.devices.borrow_mut()[other].semaphores[group].signal(at, by, step, loc)?;
        if self.world.shuffled && self.world.random.borrow_mut().below(2) == 0 { self.pause() } else { Ok(()) }
    }

    pub(super) fn wait(&self, (group, at): (usize, usize), wanted: i64, step: &[i32], loc: &Loc) -> Result<(), RunError> {
        loop {
            {
                let mut devices = self.world.devices.borrow_mut();
                let device = &mut devices[self.device];
                let semaphore = &mut device.semaphores[group];
                let over = matches!(*self.world.ended.borrow(), Ended::Deadlock);
                if over || wanted < 0 || semaphore.counts[at] >= wanted {
                    device.waiting = None;
                    return semaphore.wait(at, wanted, step, loc);
                }
                device.waiting = Some(((group, at), wanted));
            }
            self.pause()?;
        }
    }

    /// A count; others run first, so that who asks again and again sees it change.
    pub(super) fn read(&self, (group, at): (usize, usize)) -> Result<i64, RunError> {
        self.pause()?;
        Ok(self.world.devices.borrow()[self.device].semaphores[group].counts[at])
    }

    pub(super) fn end(&self, group: usize) -> Result<(), RunError> {
        self.world.devices.borrow()[self.device].semaphores[group].end()
    }

    /// Where a part of an operand lies on another device.
    pub(super) fn there(&self, other: usize, operand: usize, here: *mut u8) -> Option<*mut u8> {
        let devices = self.world.devices.borrow();
        let from = *devices[self.device].places.get(operand)?;
        let to = *devices[other].places.get(operand)?;
        Some(to.wrapping_add(here.addr().wrapping_sub(from.addr())))
    }
}

impl Driver<'_, '_, '_> {
    /// Among several devices: says where memory is, and begins when each has said so.
    pub(super) fn arrive(&self, refs: &[RefSlot]) -> Result<(), RunError> {
        let Some(seat) = &self.running.seat else { return Ok(()) };
        seat.world.devices.borrow_mut()[seat.device].places = refs.iter().map(|slot| slot.ptr).collect();
        seat.pause()
    }
}

impl Agents for World {
    fn may_run(&self, agent: usize) -> bool {
        let devices = self.devices.borrow();
        // Nobody takes a first step before each has its memory.
        let arrived = devices.iter().all(|device| !device.places.is_empty());
        match (devices[agent].places.is_empty(), &devices[agent].waiting) {
            (true, _) => true,
            (false, None) => arrived,
            (false, &Some(((group, at), wanted))) => devices[agent].semaphores[group].counts[at] >= wanted,
        }
    }

    fn end(&self, by: Option<&RunError>) {
        *self.ended.borrow_mut() = by.map_or(Ended::Deadlock, |error| Ended::By(error.clone()));
    }
}

/// Runs a kernel on as many devices as there are lists of arrays.
pub(super) fn run(exe: &Executable, binding: &Binding, devices: &mut [Args<'_, '_>], seed: u64) -> Result<(), RunError> {
    let on = |device: usize, error: RunError| RunError::OnDevice { device, error: Box::new(error) };
    let device = |_| Device { semaphores: exe.tables.semaphores.clone(), places: vec![], waiting: None };
    let world = World {
        devices: RefCell::new((0..devices.len()).map(device).collect()),
        random: RefCell::new(Random::new(seed)),
        shuffled: seed != 0,
        ended: RefCell::new(Ended::No),
    };
    let mut drivers = vec![];
    for (at, args) in devices.iter_mut().enumerate() {
        drivers.push(Driver::new(exe, binding, args).map_err(|error| on(at, error))?);
    }
    if binding.grid.iter().any(|&n| n <= 0) || drivers.is_empty() {
        drivers.iter_mut().for_each(Driver::share);
        return Ok(());
    }
    let mut bodies: Vec<Body<'_>> = vec![];
    for (device, driver) in drivers.iter_mut().enumerate() {
        let world = &world;
        bodies.push(Box::new(move |way| {
            driver.running.seat = Some(Seat { world, device, way: std::ptr::from_ref(way) });
            let result = driver.steps();
            driver.running.seat = None;
            result
        }));
    }
    let outcome = schedule::run(&world, bodies, &world.random);
    // Also after an error: what was written may be looked at.
    stream::done();
    for driver in &mut drivers {
        exe.pool.give(std::mem::take(&mut driver.memory));
    }
    match outcome {
        Outcome::Failed(device, error) => Err(on(device, error)),
        Outcome::Deadlock(ends) => Err(deadlock(ends, drivers.len())),
        Outcome::Done => {
            let devices = world.devices.borrow();
            let mut ends = devices.iter().enumerate();
            ends.try_for_each(|(at, device)| device.semaphores.iter().try_for_each(Group::end).map_err(|error| on(at, error)))
        }
    }
}

/// Who waits for what.
fn deadlock(mut ends: Vec<(usize, RunError)>, devices: usize) -> RunError {
    ends.sort_by_key(|end| end.0);
    let mut waits = vec![];
    for (device, end) in ends {
        match end {
            RunError::Deadlock { semaphore, wanted, found, step, loc } => {
                waits.push(DeviceWait { device, semaphore, wanted, found, step, loc });
            }
            // Something else went wrong on the way out of a wait.
            error => return RunError::OnDevice { device, error: Box::new(error) },
        }
    }
    let loc = waits.first().map_or(Loc::UNKNOWN, |wait| wait.loc.clone());
    RunError::DevicesWait { devices, waits, loc }
}
