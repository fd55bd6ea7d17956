//! A kernel on several devices at once: the semaphores and memories that they reach of one another.
//!
//! Rules: a copy happens when it starts, whatever device it goes to. What devices reach of one another is an operand of the kernel, in
//! the memory of each from before the first step of any until all have ended. Devices take turns on one thread (`schedule`).

use super::Executable;
use super::context::RefSlot;
use super::crew::{Crew, Seat};
use super::driver::Driver;
use super::launch::Running;
use super::movement::HERE;
use super::schedule::{self, Agents, Body, Outcome};
use super::semaphore::Group;
use crate::exec::{Args, RunError, Waiting};
use crate::ir::Loc;
use crate::launch::Binding;
use std::cell::RefCell;
use tpu_microkernels::stream;

/// All devices of a run.
pub(super) struct World {
    crew: Crew,
    devices: RefCell<Vec<Device>>,
}

struct Device {
    semaphores: Vec<Group>,
    /// By operand: where its memory begins.
    places: Vec<*mut u8>,
    /// The semaphore, and the count that it waits for.
    waiting: Option<((usize, usize), i64)>,
}

/// A device that runs, as its launch sees it.
pub(super) struct Member<'r> {
    world: &'r World,
    pub seat: &'r Seat<'r>,
}

impl Running<'_> {
    /// Itself among the others, where there are any.
    pub(super) fn member(&self) -> Option<Member<'_>> {
        Some(Member { world: self.world?, seat: self.seat.as_ref()? })
    }
}

impl Member<'_> {
    pub(super) fn signal(
        &self,
        (group, at): (usize, usize),
        by: i64,
        device: i64,
        step: &[i32],
        loc: &Loc,
    ) -> Result<(), RunError> {
        let other = if device == HERE { self.seat.agent } else { self.seat.other("a signal", device, step, loc)? };
        self.world.devices.borrow_mut()[other].semaphores[group].signal(at, by, step, loc)?;
        self.seat.may_pause()
    }

    pub(super) fn wait(&self, (group, at): (usize, usize), wanted: i64, step: &[i32], loc: &Loc) -> Result<(), RunError> {
        loop {
            {
                let mut devices = self.world.devices.borrow_mut();
                let device = &mut devices[self.seat.agent];
                let semaphore = &mut device.semaphores[group];
                if self.world.crew.is_deadlocked() || wanted < 0 || semaphore.counts[at] >= wanted {
                    device.waiting = None;
                    return semaphore.wait(at, wanted, step, loc);
                }
                device.waiting = Some(((group, at), wanted));
            }
            self.seat.pause()?;
        }
    }

    /// A count; others run first, so that who asks again and again sees it change.
    pub(super) fn read(&self, (group, at): (usize, usize)) -> Result<i64, RunError> {
        self.seat.pause()?;
        Ok(self.world.devices.borrow()[self.seat.agent].semaphores[group].counts[at])
    }

    pub(super) fn end(&self, group: usize) -> Result<(), RunError> {
        self.world.devices.borrow()[self.seat.agent].semaphores[group].end()
    }

    /// Where a part of an operand lies on another device.
    pub(super) fn there(&self, other: usize, operand: usize, here: *mut u8) -> Option<*mut u8> {
        let devices = self.world.devices.borrow();
        let from = *devices[self.seat.agent].places.get(operand)?;
        let to = *devices[other].places.get(operand)?;
        Some(to.wrapping_add(here.addr().wrapping_sub(from.addr())))
    }
}

impl Driver<'_, '_, '_> {
    /// Among several devices: says where memory is, and begins when each has said so.
    pub(super) fn arrive(&self, refs: &[RefSlot]) -> Result<(), RunError> {
        let Some(member) = self.running.member() else { return Ok(()) };
        member.world.devices.borrow_mut()[member.seat.agent].places = refs.iter().map(|slot| slot.ptr).collect();
        member.seat.pause()
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

    fn crew(&self) -> &Crew {
        &self.crew
    }
}

/// Runs a kernel on as many devices as there are lists of arrays.
pub(super) fn run(exe: &Executable, binding: &Binding, devices: &mut [Args<'_, '_>], seed: u64) -> Result<(), RunError> {
    let device = |_| Device { semaphores: exe.tables.semaphores.clone(), places: vec![], waiting: None };
    let world = World { crew: Crew::new(devices.len(), 1, seed), devices: RefCell::new((0..devices.len()).map(device).collect()) };
    let mut drivers = vec![];
    for (at, args) in devices.iter_mut().enumerate() {
        let mut driver = Driver::new(exe, binding, args).map_err(|error| world.crew.on(at, error))?;
        driver.device = at as i32;
        drivers.push(driver);
    }
    if binding.grid.iter().any(|&n| n <= 0) || drivers.is_empty() {
        drivers.iter_mut().for_each(Driver::share);
        return Ok(());
    }
    let mut bodies: Vec<Body<'_>> = vec![];
    for (device, driver) in drivers.iter_mut().enumerate() {
        let world = &world;
        bodies.push(Box::new(move |way| {
            (driver.running.seat, driver.running.world) = (Some(Seat::new(&world.crew, device, way)), Some(world));
            let result = driver.steps();
            driver.running.seat = None;
            result
        }));
    }
    let outcome = schedule::run(&world, bodies);
    // Also after an error: what was written may be looked at.
    stream::done();
    for driver in &mut drivers {
        exe.pool.give(std::mem::take(&mut driver.memory));
    }
    finish(&world.crew, outcome)?;
    let devices = world.devices.borrow();
    let mut ends = devices.iter().enumerate();
    ends.try_for_each(|(at, device)| device.semaphores.iter().try_for_each(Group::end).map_err(|error| world.crew.on(at, error)))
}

/// What came of a run: the first error, or who waits for what.
pub(super) fn finish(crew: &Crew, outcome: Outcome) -> Result<(), RunError> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Failed(agent, error) => Err(crew.on(agent, error)),
        Outcome::Deadlock(mut ends) => {
            ends.sort_by_key(|end| end.0);
            let waits = ends.into_iter().map(|(agent, error)| Waiting::of(crew.place(agent), error));
            let waits = waits.collect::<Result<Vec<_>, _>>()?;
            let loc = waits.first().map_or(Loc::UNKNOWN, |wait| wait.loc.clone());
            Err(RunError::AllWait { all: crew.called(), waits, loc })
        }
    }
}
