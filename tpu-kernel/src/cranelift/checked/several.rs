//! A checked run of several devices: each with memory and semaphores of its own, all watched together.
//!
//! Rules: what is in order is a matter of signals and waits, never of who happened to run first. Where the kernel has a barrier each
//! device runs two launches in a row without waiting for the others in between, since that is what a barrier has to stand: arrays
//! that the second one writes are not kept.

use super::super::crew::{Crew, Seat};
use super::super::driver::Driver;
use super::super::mesh::finish;
use super::super::schedule::{self, Agents, Body};
use super::super::site::Site;
use super::super::window::Array;
use super::CheckedExecutable;
use super::run::{Run, watch};
use super::watch::Watch;
use crate::exec::{Args, Checking, RunError};
use crate::ir::SemaphoreKind;
use crate::launch::Binding;
use std::cell::RefCell;
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
            let bytes = binding.arrays[at].iter().product::<usize>() * param.ty.dtype().bytes();
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

/// Runs a kernel on as many devices as there are lists of arrays.
pub(super) fn run(
    checked: &CheckedExecutable,
    binding: &Binding,
    devices: &mut [Args<'_, '_>],
    checking: Checking,
) -> Result<(), RunError> {
    let exe = &checked.exe;
    let binding = &checked.bound(binding);
    let has_barrier = exe.tables.semaphores.iter().any(|group| matches!(group.kind, SemaphoreKind::Barrier(_)));
    let launches = if has_barrier && devices.len() > 1 { 2 } else { 1 };
    let mut spare = vec![];
    for _ in 1..launches {
        spare.extend(devices.iter().map(|_| Spare::of(checked, binding)).collect::<Result<Vec<_>, _>>()?);
    }
    let watch = RefCell::new(watch(checked, binding, 1, checking));
    let fleet = Fleet { crew: Crew::new(devices.len(), 1, checking.seed), watch: &watch };
    let crew = &fleet.crew;
    let mut drivers = vec![];
    for (at, args) in devices.iter_mut().enumerate() {
        let mut driver = Driver::new(exe, binding, args).map_err(|error| crew.on(at, error))?;
        driver.device = at as i32;
        drivers.push(driver);
    }
    if binding.grid.iter().any(|&n| n <= 0) || drivers.is_empty() {
        drivers.iter_mut().for_each(Driver::share);
        return Ok(());
    }
    let reached: Vec<usize> = exe.tables.sites.iter().filter_map(remote_target).collect();
    let mut bodies: Vec<Body<'_>> = vec![];
    let count = drivers.len();
    for (agent, driver) in drivers.iter_mut().enumerate() {
        // The arrays of each launch: inputs that share an output's array are that array.
        let given = driver.arrays.clone();
        let mut arrays = vec![given.clone()];
        arrays.extend(spare.get_mut(agent).map(|spare| spare.arrays(&given)));
        let mut run = Run::new(checked, driver, &watch, checking).map_err(|error| crew.on(agent, error))?;
        for (launch, arrays) in arrays.iter_mut().enumerate() {
            run.driver.arrays.clone_from(arrays);
            run.driver.share();
            arrays.clone_from(&run.driver.arrays);
            run.know(launch, Some((count, &reached))).map_err(|error| crew.on(agent, error))?;
        }
        bodies.push(Box::new(move |way| {
            run.driver.running.seat = Some(Seat::new(crew, agent, way));
            let mut each = arrays.iter().enumerate();
            let result = each.try_for_each(|(launch, arrays)| {
                run.driver.arrays.clone_from(arrays);
                run.begin(launch);
                let done = run.steps();
                done.map_err(|error| if launch > 0 { RunError::Again { error: Box::new(error) } } else { error })
            });
            run.driver.running.seat = None;
            result
        }));
    }
    let outcome = schedule::run(&fleet, bodies);
    stream::done();
    for driver in &mut drivers {
        exe.pool.give(std::mem::take(&mut driver.memory));
    }
    finish(crew, outcome)?;
    let mut watch = watch.borrow_mut();
    watch.settle()?;
    (0..count).try_for_each(|agent| watch.ended(agent, |_| true).map_err(|error| crew.on(agent, error)))
}

/// The memory, by number, that a copy to a device writes there.
fn remote_target(site: &Site) -> Option<usize> {
    if let Site::Remote(remote) = site { Some(remote.copy.memories[1]) } else { None }
}
