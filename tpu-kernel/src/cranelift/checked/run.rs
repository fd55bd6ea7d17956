//! One checked run: the grid in an order that the seed draws, each window with memory of its own, and everything that is watched.
//!
//! Rules: steps along parallel dimensions know nothing of one another: when their indices change, scratch is poison again, semaphores
//! are at 0 and the blocks of outputs are left. Index maps see what they see in an unchecked run.

use super::super::context::{ALL, Context, FIRST, OUTPUTS, RefSlot};
use super::super::driver::{Driver, advance};
use super::super::fetch::Pipeline;
use super::super::memory::poison;
use super::super::window::Role;
use super::garbage::{poison_of, scatter};
use super::memory::Shadow;
use super::order::{Permutation, Random};
use super::outputs::{Output, never};
use super::watch::{Watch, Watched};
use super::{CheckedExecutable, hooks, several};
use crate::exec::{Args, Checking, RunError};
use crate::ir::MAX_RANK;
use crate::launch::{Binding, Split, split};
use std::cell::RefCell;
use std::rc::Rc;
use tpu_microkernels::stream;
use tpu_microkernels::tile::Rng;

/// A run of one agent.
pub(super) struct Run<'c, 'd, 'r, 'a, 'b> {
    pub(super) checked: &'c CheckedExecutable,
    pub(super) driver: &'d mut Driver<'r, 'a, 'b>,
    pub(super) checking: Checking,
    pub(super) watch: &'r RefCell<Watch>,
    pub(super) agent: usize,
    pub(super) refs: Vec<RefSlot>,
    /// By operand: the block that its window shows.
    pub(super) open: Vec<Option<[i32; MAX_RANK]>>,
    /// What the cores of a device share.
    pub(super) shared: Rc<RefCell<Shared>>,
    /// By operand: the array behind a window, as a memory by number, where others reach it, too.
    pub(super) behind: Vec<Option<usize>>,
    /// What memory holds that nothing has written; poison where there is none.
    pub(super) garbage: Option<Random>,
}

/// What the cores of a device share in a launch.
#[derive(Debug)]
pub(super) struct Shared {
    /// By operand: of output windows.
    pub(super) outputs: Vec<Option<Output>>,
    /// How many cores have steps left.
    running: usize,
}

impl Shared {
    /// Of a launch that this driver begins, with so many cores.
    pub(super) fn new(driver: &Driver<'_, '_, '_>, cores: usize) -> Result<Rc<RefCell<Shared>>, RunError> {
        let params = &driver.exe.kernel.params;
        let output = |at: usize| match driver.window(at).filter(|(param, _)| param.role == Role::Output) {
            Some((param, array)) => Output::new(&params[at], (param, array)).map(Some),
            None => Ok(None),
        };
        let outputs = (0..params.len()).map(output).collect::<Result<_, _>>()?;
        Ok(Rc::new(RefCell::new(Shared { outputs, running: cores })))
    }
}

/// Runs a kernel.
pub(super) fn run(
    checked: &CheckedExecutable,
    binding: &Binding,
    args: &mut Args<'_, '_>,
    checking: Checking,
) -> Result<(), RunError> {
    if checked.split(binding, 1).parts.len() > 1 {
        return several::run(checked, binding, std::slice::from_mut(args), checking);
    }
    let binding = checked.bound(binding);
    let watch = RefCell::new(watch(checked, &binding, 1, checking));
    let mut driver = Driver::new(&checked.exe, &binding, args)?;
    driver.share();
    let result = match binding.grid.iter().any(|&n| n <= 0) {
        true => Ok(()),
        false => Run::new(checked, &mut driver, &watch, checking).and_then(|mut run| {
            run.know(0, None, &mut |_| false)?;
            let shared = Shared::new(run.driver, 1)?;
            run.begin(0, shared);
            run.steps()
        }),
    };
    // Blocks of large outputs are written past the caches.
    stream::done();
    checked.exe.pool.give(std::mem::take(&mut driver.memory));
    result
}

impl CheckedExecutable {
    /// The binding of a launch; the memory that says what is poison has no array.
    pub(super) fn bound(&self, binding: &Binding) -> Binding {
        let shadows = self.exe.kernel.params.len().saturating_sub(self.operands);
        let arrays = binding.arrays.iter().cloned().chain(std::iter::repeat_n(vec![], shadows)).collect();
        Binding { arrays, ..binding.clone() }
    }

    /// How the steps are split over the cores that run side by side. Other parallel steps are cores of their own already, where no
    /// other device reaches them.
    pub(super) fn split(&self, binding: &Binding, devices: usize) -> Split {
        let cores = if self.exe.kernel.is_side_by_side() || devices > 1 { binding.cores } else { 1 };
        split(&self.exe.kernel, &Binding { cores, ..binding.clone() })
    }

    /// How many leading dimensions of the grid are parallel.
    pub(super) fn parallel(&self) -> usize {
        self.exe.kernel.grid.iter().take_while(|dim| dim.semantics.is_parallel()).count()
    }
}

/// What is watched, before anybody has begun.
pub(super) fn watch(checked: &CheckedExecutable, binding: &Binding, cores: usize, checking: Checking) -> Watch {
    let parallel = checked.parallel();
    let names = checked.exe.kernel.grid[..parallel].iter().zip(&binding.grid).map(|(dim, &extent)| (dim.name.clone(), extent));
    Watch::new(cores, Random::new(checking.seed), garbage(checking), names.collect())
}

/// What memory holds that nothing has written.
fn garbage(checking: Checking) -> Option<Random> {
    (checking.seed != 0).then(|| Random::new(!checking.seed))
}

impl<'c, 'd, 'r, 'a, 'b> Run<'c, 'd, 'r, 'a, 'b> {
    /// One more agent, whose steps have not begun.
    pub(super) fn new(
        checked: &'c CheckedExecutable,
        driver: &'d mut Driver<'r, 'a, 'b>,
        watch: &'r RefCell<Watch>,
        checking: Checking,
    ) -> Result<Self, RunError> {
        let params = checked.exe.kernel.params.len();
        let agent = watch.borrow_mut().enlist(&checked.exe.tables.semaphores);
        driver.running.watched = Some(Watched { watch, agent });
        let (open, behind, garbage) = (vec![None; params], vec![None; params], garbage(checking));
        let shared = Shared::new(driver, 1)?;
        Ok(Run { checked, driver, checking, watch, agent, refs: vec![], open, shared, behind, garbage })
    }

    /// The cores of a device begin a launch together, once all have ended the one before. False where one of them never will.
    pub(super) fn gather(&mut self, launch: usize) -> Result<bool, RunError> {
        let Some(seat) = &self.driver.running.seat else { return Ok(true) };
        while !self.watch.borrow_mut().gather(self.agent, launch) {
            seat.pause()?;
            if seat.crew.is_deadlocked() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins a launch that is known.
    pub(super) fn begin(&mut self, launch: usize, shared: Rc<RefCell<Shared>>) {
        self.watch.borrow_mut().begin(self.agent, launch);
        self.shared = shared;
    }

    /// Runs the steps of a launch.
    pub(super) fn steps(&mut self) -> Result<(), RunError> {
        let kernel = &self.checked.exe.kernel;
        let (first, grid) = self.driver.extents();
        self.open.fill(None);
        let (refs, extents) = self.driver.enter(false);
        self.refs = refs;
        let parallel = self.checked.parallel();
        let own = grid[..parallel].iter().zip(&first).map(|(&end, &first)| u64::from(end.abs_diff(first)));
        let threads = own.fold(1u64, u64::saturating_mul);
        // All agents have the same order: it is drawn anew.
        let order = match self.checking.seed {
            0 => Permutation::identity(threads),
            seed => Permutation::drawn(threads, &mut Random::new(seed)),
        };
        self.scramble();
        let zeros = vec![0; grid.len()];
        let mut rng = Rng::default();
        let mut context = self.driver.context(&extents, &raw mut rng);
        hooks::install(&mut context.helpers);
        let mut blocks = vec![[0i32; MAX_RANK]; kernel.params.len()];
        let ahead = self.checked.exe.ahead;
        for place in 0..threads {
            let thread = order.at(place);
            if place > 0 {
                self.rest()?;
                self.leave_all()?;
                self.forget();
                // Each core has a generator of its own.
                // SAFETY: it points to `rng`, which nothing else uses now.
                unsafe { *context.rng = Rng::default() };
            }
            indices(&mut self.driver.running.grid, (&first, &grid), parallel, thread);
            let number = numbered(&self.driver.running.grid[..parallel], &self.driver.binding.grid);
            self.watch.borrow_mut().agents[self.agent].thread = number;
            let mut pipelines = if ahead { Pipeline::all(kernel, &self.driver.running.grid) } else { vec![] };
            loop {
                self.maps(&mut context, &mut blocks, if ahead { OUTPUTS } else { ALL })?;
                // What the step leaves is in the arrays before a block of an array that is shared is fetched.
                for (at, index) in blocks.iter().enumerate() {
                    self.turn(at, index)?;
                }
                for pipeline in &mut pipelines {
                    while pipeline.due() {
                        self.fetch(pipeline, &mut context, &mut blocks, &grid[parallel..])?;
                    }
                    let slot = pipeline.begin();
                    self.show(pipeline.at, &pipeline.index(), slot)?;
                }
                context.refs = self.refs.as_ptr();
                context.grid = self.driver.running.grid.as_ptr();
                context.launch = (&raw mut self.driver.running).cast();
                // SAFETY: as in an unchecked run; the hooks take the running launch, which nothing else uses meanwhile.
                let status = unsafe { (self.checked.exe.code.body)(&mut context) };
                if status != 0 {
                    return Err(self.driver.failure(context.error, &self.checked.exe.tables.sites));
                }
                if !advance(&mut self.driver.running.grid[parallel..], &zeros[parallel..], &grid[parallel..]) {
                    break;
                }
            }
        }
        self.end()
    }

    /// Fetches the next block of an input, when an unchecked run does.
    fn fetch(
        &mut self,
        pipeline: &mut Pipeline,
        context: &mut Context,
        blocks: &mut [[i32; MAX_RANK]],
        arbitrary: &[i32],
    ) -> Result<(), RunError> {
        let at = pipeline.at;
        std::mem::swap(&mut pipeline.next, &mut self.driver.running.grid);
        self.maps(context, blocks, FIRST + at as u32)?;
        self.driver.inside(at, &blocks[at], &self.driver.running.grid)?;
        std::mem::swap(&mut pipeline.next, &mut self.driver.running.grid);
        let base = self.driver.memory.pointer();
        if pipeline.changes(&blocks[at]) {
            self.reach(at, &blocks[at], false)?;
        }
        if let Some((param, array)) = self.driver.window(at).filter(|_| pipeline.changes(&blocks[at])) {
            // SAFETY: as in an unchecked run: the memory of a run has room for each copy of the operand.
            let slot = unsafe { param.open(array, &blocks[at], base.add(param.copy(pipeline.fetched))) };
            pipeline.push(blocks[at], slot);
        }
        let parallel = pipeline.next.len() - arbitrary.len();
        pipeline.ended = !advance(&mut pipeline.next[parallel..], &vec![0; arbitrary.len()], arbitrary);
        pipeline.number += 1;
        Ok(())
    }

    /// Computes block indices, whose maps may read what is watched.
    fn maps(&mut self, context: &mut Context, blocks: &mut [[i32; MAX_RANK]], wanted: u32) -> Result<(), RunError> {
        context.refs = self.refs.as_ptr();
        let sites = std::mem::replace(&mut self.driver.running.sites, &self.driver.exe.map_sites);
        context.launch = (&raw mut self.driver.running).cast();
        let done = self.driver.maps(context, blocks, wanted);
        self.driver.running.sites = sites;
        done
    }

    /// Scratch is poison again, and so is what says that it is.
    fn forget(&mut self) {
        for (at, param) in self.checked.exe.windows.params.iter().enumerate() {
            if let Some(param) = param.as_ref().filter(|p| p.role == Role::Scratch) {
                // SAFETY: the memory of a run has room for the operand's elements there.
                unsafe { poison(self.refs[at].ptr, param.dtype, param.elements) };
            }
        }
        self.scramble();
    }

    /// Scratch that is poison holds anything.
    fn scramble(&mut self) {
        for (at, param) in self.checked.exe.windows.params.iter().enumerate() {
            let Some(param) = param.as_ref().filter(|p| p.role == Role::Scratch) else { continue };
            // SAFETY: the memory of a run has room for the operand's elements there, and nothing else uses its shadow now.
            unsafe {
                if let (Some(shadow), Some(garbage)) = (self.shadow_of(at), &mut self.garbage) {
                    scatter(self.refs[at].ptr, param.dtype, poison_of(shadow), garbage);
                }
            }
        }
    }

    /// Everything lands, and semaphores are at 0: nothing goes over from one parallel step to another.
    fn rest(&mut self) -> Result<(), RunError> {
        let mut watch = self.watch.borrow_mut();
        // Others may be steps ahead, and signal already.
        if watch.clocks.are_several() {
            return Ok(());
        }
        watch.settle()?;
        watch.ended(self.agent, |_| true)
    }

    /// After the last step: everything lands, is at 0 and is written.
    fn end(&mut self) -> Result<(), RunError> {
        self.rest()?;
        if self.watch.borrow().clocks.are_several() {
            self.watch.borrow_mut().finish(self.agent)?;
        }
        self.leave_all()?;
        self.watch.borrow_mut().leave(self.agent);
        // Whoever is the last of the cores looks at what all of them have written.
        let mut shared = self.shared.borrow_mut();
        shared.running -= 1;
        if self.checking.unwritten || shared.running > 0 {
            return Ok(());
        }
        for (at, param) in self.checked.exe.kernel.outputs() {
            if let (Some(output), Some(window), None) = (&shared.outputs[at], self.driver.window(at), &param.alias) {
                output.complete(param, window)?;
            }
            let watch = self.watch.borrow();
            let watched = &watch.memories[watch.number(self.agent, at)].shadow;
            if let (Shadow::Own(shadow), Some(array)) = (watched, self.driver.arrays[at].as_ref())
                && let Some(element) = shadow.iter().position(|&poison| poison != 0)
            {
                return Err(never(param, array, element));
            }
        }
        Ok(())
    }
}

/// The first step of a thread: its indices along parallel dimensions, between these, and 0 along the others.
fn indices(step: &mut [i32], (first, grid): (&[i32], &[i32]), parallel: usize, thread: u64) {
    step.fill(0);
    let mut rest = thread;
    for axis in (0..parallel).rev() {
        let extent = u64::from(grid[axis].abs_diff(first[axis])).max(1);
        step[axis] = first[axis] + (rest % extent) as i32;
        rest /= extent;
    }
}

/// The number of a thread among those of all cores, counted from 1.
fn numbered(indices: &[i32], grid: &[i32]) -> u32 {
    let number = |all: u32, (&index, &extent): (&i32, &i32)| all.wrapping_mul(extent as u32).wrapping_add(index as u32);
    indices.iter().zip(grid).fold(0, number).wrapping_add(1)
}
