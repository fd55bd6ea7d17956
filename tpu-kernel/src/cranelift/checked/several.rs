//! A checked run of several devices or cores: each with memory and semaphores of its own, all watched together.
//!
//! Rules: what is in order is a matter of signals and waits, never of who happened to run first. Where the kernel has a barrier each
//! device runs two launches in a row without waiting for the other devices in between, since that is what a barrier has to stand: arrays
//! that the second one writes are not kept.

use super::super::crew::{Crew, Seat};
use super::super::driver::Driver;
use super::super::mesh::{drivers, finish};
use super::super::schedule::{self, Agents, Body};
use super::super::site::Site;
use super::super::window::Array;
use super::CheckedExecutable;
use super::known::Among;
use super::run::{Run, Shared, watch};
use super::watch::Watch;
use crate::exec::{Args, Checking, Printed, RunError};
use crate::launch::Binding;
use std::cell::RefCell;
use std::rc::Rc;
use tpu_microkernels::stream;

/// Those that run, and what is watched of them.
struct Fleet<'w> {
    crew: Crew,
    watch: &'w RefCell<Watch>,
}

impl Agents for Fleet<'_> {
    fn may_run(&self, agent: usize) -> bool {
        self.watch.borrow().may_go_on(agent)
    }

    fn crew(&self) -> &Crew {
        &self.crew
    }

    fn something_happens(&self) -> Result<bool, RunError> {
        self.watch.borrow_mut().arrive(true)
    }
}

/// Memory for the outputs of a launch that are not kept.
struct Spare(Vec<Option<Vec<u128>>>);

impl Spare {
    /// In the shapes of these arrays, for operands that are outputs.
    fn of(checked: &CheckedExecutable, binding: &Binding) -> Result<Spare, RunError> {
        let mut spare = vec![None; binding.arrays.len()];
        for (at, param) in checked.exe.kernel.outputs() {
            let array = &binding.arrays[at];
            // An array of nothing may have extents whose product does not fit.
            let elements: usize = if array.contains(&0) { 0 } else { array.iter().product() };
            let bytes = elements * param.ty.dtype().bytes();
            let mut memory: Vec<u128> = vec![];
            let words = bytes.div_ceil(size_of::<u128>());
            memory.try_reserve_exact(words).map_err(|_| RunError::OutOfMemory { bytes })?;
            memory.resize(words, 0);
            spare[at] = Some(memory);
        }
        Ok(Spare(spare))
    }

    /// The arrays of a launch that writes here.
    fn arrays(&mut self, arrays: &[Option<Array>]) -> Vec<Option<Array>> {
        let mut own = arrays.to_vec();
        for (array, memory) in own.iter_mut().zip(&mut self.0) {
            if let (Some(array), Some(memory)) = (array, memory) {
                array.pointer = memory.as_mut_ptr().cast();
            }
        }
        own
    }
}

/// One of the launches of a device that follow one another.
#[derive(Clone)]
struct Launch {
    arrays: Vec<Option<Array>>,
    shared: Rc<RefCell<Shared>>,
}

/// Runs a kernel on as many devices as there are lists of arrays, on each core of them.
pub(super) fn run(
    checked: &CheckedExecutable,
    binding: &Binding,
    devices: &mut [Args<'_, '_>],
    checking: Checking,
) -> Result<(), RunError> {
    let exe = &checked.exe;
    let binding = &checked.bound(binding);
    let has_barrier = exe.tables.semaphores.iter().any(|group| !group.is_of_launch());
    let launches = if has_barrier && devices.len() > 1 { 2 } else { 1 };
    let mut spare = vec![];
    for _ in 1..launches {
        spare.extend(devices.iter().map(|_| Spare::of(checked, binding)).collect::<Result<Vec<_>, _>>()?);
    }
    let split = checked.split(binding, devices.len());
    let cores = split.parts.len();
    let watch = RefCell::new(watch(checked, binding, cores, checking));
    let fleet = Fleet { crew: Crew::new(devices.len(), cores, checking.seed), watch: &watch };
    let crew = &fleet.crew;
    // Messages are those of the first launch.
    let mut silent = |_: &Printed| {};
    let silent: *mut dyn FnMut(&Printed) = &raw mut silent;
    let mut drivers = drivers(exe, binding, devices, crew, &split)?;
    if binding.grid.iter().any(|&n| n <= 0) || drivers.is_empty() {
        drivers.chunks_mut(cores).for_each(Driver::share_all);
        return Ok(());
    }
    let reached = exe.tables.sites.iter().filter_map(remote_target).collect();
    let among = Among { agents: crew.agents(), cores, reached, checked };
    let mut bodies: Vec<Body<'_>> = vec![];
    for (device, drivers) in drivers.chunks_mut(cores).enumerate() {
        // The arrays of each launch: inputs that share an output's array are that array.
        let given = drivers[0].arrays.clone();
        let mut each: Vec<Launch> = vec![];
        for launch in 0..launches {
            let own = if launch == 0 { Some(given.clone()) } else { spare.get_mut(device).map(|spare| spare.arrays(&given)) };
            drivers[0].arrays = own.unwrap_or_default();
            drivers[0].share();
            let shared = Shared::new(&drivers[0], cores).map_err(|error| crew.on(device * cores, error))?;
            each.push(Launch { arrays: drivers[0].arrays.clone(), shared });
        }
        for (core, driver) in drivers.iter_mut().enumerate() {
            let agent = device * cores + core;
            let mut run = Run::new(checked, driver, &watch, checking).map_err(|error| crew.on(agent, error))?;
            for (launch, Launch { arrays, .. }) in each.iter().enumerate() {
                run.driver.arrays.clone_from(arrays);
                let mut common = |number| core > 0 && among.is_array(number);
                run.know(launch, Some(&among), &mut common).map_err(|error| crew.on(agent, error))?;
            }
            let each = each.clone();
            bodies.push(Box::new(move |way| {
                run.driver.running.seat = Some(Seat::new(crew, agent, way));
                let mut each = each.iter().enumerate();
                let result = each.try_for_each(|(launch, Launch { arrays, shared })| {
                    if !run.gather(launch)? {
                        return Ok(());
                    }
                    if launch > 0 {
                        run.driver.running.log = silent;
                    }
                    run.driver.arrays.clone_from(arrays);
                    run.begin(launch, shared.clone());
                    let done = run.steps();
                    done.map_err(|error| if launch > 0 { RunError::Again { error: Box::new(error) } } else { error })
                });
                run.driver.running.seat = None;
                result
            }));
        }
    }
    let outcome = schedule::run(&fleet, bodies);
    stream::done();
    for driver in &mut drivers {
        exe.pool.give(std::mem::take(&mut driver.memory));
    }
    finish(crew, outcome)?;
    let mut watch = watch.borrow_mut();
    watch.settle()?;
    (0..crew.agents()).try_for_each(|agent| watch.ended(agent, |_| true).map_err(|error| crew.on(agent, error)))
}

/// The memory, by number, that a copy to a device writes there.
fn remote_target(site: &Site) -> Option<usize> {
    if let Site::Remote(remote) = site { Some(remote.copy.memories[1]) } else { None }
}
