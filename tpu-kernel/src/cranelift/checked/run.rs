//! One checked run: the grid in an order that the seed draws, each window with memory of its own, and everything that is watched.
//!
//! Rules: steps along parallel dimensions know nothing of one another: when their indices change, scratch is poison again, semaphores
//! are at 0 and the blocks of outputs are left. Index maps see what they see in an unchecked run.

use super::super::context::{ALL, Context, FIRST, OUTPUTS, RefSlot};
use super::super::driver::{Driver, advance};
use super::super::fetch::Pipeline;
use super::super::memory::poison;
use super::super::window::{Array, Param, Role};
use super::garbage::{poison_of, scatter};
use super::memory::{Memory, Shadow, filled};
use super::order::{Permutation, Random};
use super::outputs::{Again, Output, never};
use super::region::Region;
use super::touched::Touched;
use super::watch::{At, Watch, Watched};
use super::{CheckedExecutable, hooks, several};
use crate::exec::{Args, Checking, RunError};
use crate::ir::{self, MAX_RANK, ParamKind, Roots, Type};
use crate::launch::{Binding, Split, split};
use std::cell::RefCell;
use std::rc::Rc;
use tpu_microkernels::stream;
use tpu_microkernels::tile::Rng;

/// A run of one agent.
pub(super) struct Run<'c, 'd, 'r, 'a, 'b> {
    checked: &'c CheckedExecutable,
    pub driver: &'d mut Driver<'r, 'a, 'b>,
    checking: Checking,
    watch: &'r RefCell<Watch>,
    agent: usize,
    refs: Vec<RefSlot>,
    /// By operand: the block that its window shows.
    open: Vec<Option<[i32; MAX_RANK]>>,
    /// What the cores of a device share.
    shared: Rc<RefCell<Shared>>,
    /// By operand: the array behind a window, as a memory by number, where others reach it, too.
    behind: Vec<Option<usize>>,
    /// What memory holds that nothing has written; poison where there is none.
    garbage: Option<Random>,
}

/// What the cores of a device share in a launch.
#[derive(Debug)]
pub(super) struct Shared {
    /// By operand: of output windows.
    outputs: Vec<Option<Output>>,
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
    if checked.split(binding).parts.len() > 1 {
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

/// Several agents.
pub(super) struct Among<'k> {
    pub agents: usize,
    /// Of each device.
    pub cores: usize,
    /// The memories, by number, that devices reach of one another.
    pub reached: Vec<usize>,
    pub checked: &'k CheckedExecutable,
}

impl Among<'_> {
    /// Whether a memory is an array, which the cores of a device share.
    pub(super) fn is_array(&self, number: usize) -> bool {
        // What stands for an array behind a window is none of the roots.
        let Some(root) = self.checked.roots.get(number) else { return true };
        let kind = root.param.map(|at| &self.checked.exe.kernel.params[at].kind);
        matches!(kind, Some(ParamKind::InArray(_) | ParamKind::OutArray(_)))
    }
}

impl CheckedExecutable {
    /// The binding of a launch; the memory that says what is poison has no array.
    pub(super) fn bound(&self, binding: &Binding) -> Binding {
        let shadows = self.exe.kernel.params.len().saturating_sub(self.operands);
        let arrays = binding.arrays.iter().cloned().chain(std::iter::repeat_n(vec![], shadows)).collect();
        Binding { arrays, ..binding.clone() }
    }

    /// How the steps are split over the cores that run side by side. Other parallel steps are cores of their own already.
    pub(super) fn split(&self, binding: &Binding) -> Split {
        let cores = if self.exe.kernel.is_side_by_side() { binding.cores } else { 1 };
        split(&self.exe.kernel, &Binding { cores, ..binding.clone() })
    }

    /// How many leading dimensions of the grid are parallel.
    fn parallel(&self) -> usize {
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

    /// What is known of memory in a launch, the next of those that are known. `among`: how many agents there are, and which memories
    /// they reach of one another. `common`: those that it has in common with the agent before.
    pub(super) fn know(
        &mut self,
        launch: usize,
        among: Option<&Among<'_>>,
        common: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), RunError> {
        // Cores share arrays: the first one says what they hold.
        let fresh = among.is_none_or(|among| self.agent.is_multiple_of(among.cores));
        self.refs = self.driver.enter(fresh).0;
        if fresh {
            self.driver.unvisited();
        }
        let mut memories = self.memories(among.map_or(1, |among| among.agents))?;
        if let Some(among) = among {
            for (number, memory) in memories.iter_mut().enumerate() {
                let is_array = among.is_array(number);
                let is_shared = is_array && among.cores > 1;
                if !is_shared && !among.reached.contains(&number) {
                    continue;
                }
                let touched = Touched::new(memory.elements(), among.agents, true)?;
                // An array is there once a core of the device has begun.
                let first = if is_array { self.agent / among.cores * among.cores } else { self.agent };
                let cores = if is_array { among.cores } else { 1 };
                memory.touched = Some(touched.owned(first..first + cores, launch));
            }
        }
        self.watch.borrow_mut().know(self.agent, memories, common);
        Ok(())
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

    /// A block of a window is fetched or written back, where others reach its array, too.
    fn reach(&mut self, at: usize, index: &[i32; MAX_RANK], writes: bool) -> Result<(), RunError> {
        let (Some(number), Some((param, array))) = (self.behind[at], self.driver.window(at)) else { return Ok(()) };
        let bytes = param.dtype.bytes();
        let mut rows = vec![];
        param.rows(array, index, |first, _, length| rows.push(Region::row((first / bytes) as i64, length / bytes)));
        let mut watch = self.watch.borrow_mut();
        let (window, array) = (watch.number(self.agent, at), watch.number(self.agent, number));
        watch.block(window, array, &rows, writes, self.at(at))
    }

    /// The step, and the line of an operand.
    fn at(&self, operand: usize) -> At<'_> {
        At { agent: self.agent, step: &self.driver.running.grid, loc: &self.checked.exe.kernel.params[operand].loc }
    }

    /// What is known of each memory before the first step.
    fn memories(&mut self, agents: usize) -> Result<Vec<Memory>, RunError> {
        // Parallel steps must not meet.
        let threads = self.checked.parallel() > 0;
        let kernel = &self.checked.exe.kernel;
        let base = self.driver.memory.pointer();
        let writes_prefetched = Roots::of(kernel).writes_prefetched(kernel);
        let mut memories = vec![];
        for root in &self.checked.roots {
            let param = root.param.map(|at| (at, &kernel.params[at]));
            let shape = match param {
                Some((at, param)) if matches!(param.ty, Type::Array(..)) => self.driver.binding.arrays[at].clone(),
                _ => root.shape.clone(),
            };
            let own = |(at, param): (usize, &ir::Param)| match param.window() {
                Some(_) => self.driver.window(at).map_or(base, |(param, _)| base.wrapping_add(param.offset)),
                None => self.refs[at].ptr,
            };
            let mut memory = Memory::new(root.name.clone(), param.map_or(std::ptr::null_mut(), own), root.dtype, shape);
            let elements = memory.elements();
            match (root.shadow, param.map(|(_, param)| (&param.kind, &param.alias))) {
                (Some(number), _) => memory.shadow = Shadow::Memory(number),
                (None, Some((ParamKind::OutArray(_), alias))) => {
                    // What shares the array of an input starts as it.
                    memory.shadow = Shadow::Own(filled(u8::from(alias.is_none()), elements)?);
                    memory.touched = if threads { Some(Touched::new(elements, agents, true)?) } else { None };
                }
                (None, Some((ParamKind::Prefetch(_), _))) if threads && writes_prefetched => {
                    memory.touched = Some(Touched::new(elements, agents, false)?);
                }
                _ => {}
            }
            memories.push(memory);
        }
        // An array that a window shows and another operand reaches: a memory that stands for it.
        for (output, input) in kernel.aliases() {
            let is_array = |&at: &usize| kernel.params[at].window().is_none();
            let number = [output, input].into_iter().find(is_array).unwrap_or(memories.len());
            if number == memories.len() {
                let shape = self.driver.binding.arrays[output].clone();
                let param = &kernel.params[output];
                memories.push(Memory::new(param.name.clone(), base, param.ty.dtype(), shape));
            }
            let memory = &mut memories[number];
            if threads && memory.touched.is_none() {
                memory.touched = Some(Touched::new(memory.elements(), agents, true)?);
            }
            for at in [output, input].into_iter().filter(|at| !is_array(at)) {
                self.behind[at] = Some(number);
            }
        }
        Ok(memories)
    }

    /// Makes a block current, and leaves the one before.
    fn turn(&mut self, at: usize, index: &[i32; MAX_RANK]) -> Result<(), RunError> {
        let Some((param, _)) = self.driver.window(at) else { return Ok(()) };
        if self.open[at] == Some(*index) || self.checked.exe.ahead && param.role == Role::Input {
            return Ok(());
        }
        self.driver.inside(at, index, &self.driver.running.grid)?;
        let declared = &self.checked.exe.kernel.params[at];
        self.turned(at)?;
        self.leave(at)?;
        let thread = self.thread();
        let Some((param, array)) = self.driver.window(at) else { return Ok(()) };
        if let Some(output) = &self.shared.borrow().outputs[at] {
            let (operand, step) = (declared.name.clone(), self.driver.running.grid.clone());
            let block = index[..param.block.len()].to_vec();
            match output.again(&block, thread) {
                Again::New => {}
                Again::Same if param.read_back => {}
                Again::Same => return Err(RunError::Revisited { operand, block, step, loc: declared.loc.clone() }),
                Again::Other(other) => return Err(self.shared_block(at, &block, other)),
            }
        }
        let (array, copy) = (*array, self.driver.memory.pointer());
        let Some((param, _)) = self.driver.window(at) else { return Ok(()) };
        if param.role == Role::Input || param.read_back {
            self.reach(at, index, false)?;
        }
        let Some((param, _)) = self.driver.window(at) else { return Ok(()) };
        // SAFETY: the memory of a run has room for the operand's copy at its offset, apart from the array; the index was found inside
        // the array.
        let slot = unsafe { param.open(&array, index, copy.add(param.offset)) };
        self.shown(at, index, slot)
    }

    /// A block of an input that was fetched comes into use.
    fn show(&mut self, at: usize, index: &[i32; MAX_RANK], slot: RefSlot) -> Result<(), RunError> {
        if self.open[at] == Some(*index) && self.refs[at].ptr == slot.ptr {
            return Ok(());
        }
        self.turned(at)?;
        self.shown(at, index, slot)
    }

    /// The memory of a window turns to another block.
    fn turned(&self, at: usize) -> Result<(), RunError> {
        let watch = self.watch.borrow();
        watch.turned(watch.number(self.agent, at), self.at(at))
    }

    /// The running step along parallel dimensions, counted from 1.
    fn thread(&self) -> u32 {
        self.watch.borrow().agents[self.agent].thread
    }

    /// What is known of a block that comes into use.
    fn shown(&mut self, at: usize, index: &[i32; MAX_RANK], slot: RefSlot) -> Result<(), RunError> {
        let Some((param, array)) = self.driver.window(at) else { return Ok(()) };
        let array = *array;
        let copy = slot.ptr;
        // SAFETY: the memory of a run has room for the block, and for the memory that says what of it is poison.
        let (inside, corner) = unsafe {
            if let Some(shadow) = self.shadow_of(at) {
                shadow.fill(1);
                if param.role == Role::Input {
                    let bytes = param.dtype.bytes();
                    param.rows(&array, index, |_, outside, length| shadow[outside / bytes..][..length / bytes].fill(0));
                } else if let Some(output) = self.shared.borrow().outputs[at].as_ref().filter(|_| param.read_back) {
                    output.read_back((param, &array), index, shadow);
                }
            }
            if let (Some(shadow), Some(garbage)) = (self.shadow_of(at), &mut self.garbage) {
                scatter(copy, param.dtype, poison_of(shadow), garbage);
            }
            within(param, &array, index)
        };
        self.refs[at] = slot;
        self.open[at] = Some(*index);
        let output = param.role == Role::Output;
        let mut watch = self.watch.borrow_mut();
        let number = watch.number(self.agent, at);
        let memory = &mut watch.memories[number];
        memory.base = slot.ptr;
        memory.inside = output.then_some(inside);
        memory.corner = corner;
        Ok(())
    }

    /// What says of an operand's elements whether they are poison.
    ///
    /// # Safety
    /// One at a time, and none while compiled code runs.
    unsafe fn shadow_of<'s>(&self, at: usize) -> Option<&'s mut [u8]> {
        let number = self.checked.roots[at].shadow?;
        let elements = self.checked.exe.windows.params[number].as_ref()?.elements;
        // SAFETY: the operand's memory has room for its elements, of a byte each.
        Some(unsafe { std::slice::from_raw_parts_mut(self.refs[number].ptr, elements) })
    }

    /// The error of a block that several parallel steps visit.
    fn shared_block(&self, at: usize, block: &[i32], other: u32) -> RunError {
        let declared = &self.checked.exe.kernel.params[at];
        let step = self.driver.running.grid.clone();
        let dimension = self.watch.borrow().dimension(other, self.thread());
        let what = format!("block {block:?} of operand `{}`", declared.name);
        RunError::Parallel { what, dimension, step, loc: declared.loc.clone() }
    }

    /// Writes the block of a window back that it shows.
    fn leave(&mut self, at: usize) -> Result<(), RunError> {
        let Some(index) = self.open[at].take() else { return Ok(()) };
        if self.driver.window(at).is_some_and(|(param, _)| param.role == Role::Output) {
            self.reach(at, &index, true)?;
        }
        let base = self.driver.memory.pointer();
        let thread = self.thread();
        // SAFETY: nothing else uses it now.
        let shadow = unsafe { self.shadow_of(at) };
        let Some((param, array)) = self.driver.window(at) else { return Ok(()) };
        // SAFETY: the index was found inside when the block was opened.
        unsafe { param.close(array, &index, base.add(param.offset)) };
        let shared = &mut *self.shared.borrow_mut();
        let Some(output) = &mut shared.outputs[at] else { return Ok(()) };
        let declared = &self.checked.exe.kernel.params[at];
        match output.leave(declared, (param, array), &index, shadow.as_deref(), (thread, self.checking.unwritten))? {
            None => Ok(()),
            Some(other) => {
                let block = index[..param.block.len()].to_vec();
                Err(self.shared_block(at, &block, other))
            }
        }
    }

    fn leave_all(&mut self) -> Result<(), RunError> {
        (0..self.open.len()).try_for_each(|at| self.leave(at))
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

/// Of a block, along each dimension of the operand: the elements that lie inside the array, and where the block begins there.
fn within(param: &Param, array: &Array, index: &[i32]) -> ([(i64, i64); MAX_RANK], [i64; MAX_RANK]) {
    let (mut inside, mut corner) = ([(0, 1); MAX_RANK], [0; MAX_RANK]);
    for (axis, kept) in param.kept.iter().enumerate() {
        if let Some(d) = *kept {
            let part = param.part(array, index, axis);
            inside[d] = (part.skip as i64, (part.skip + part.count) as i64);
            corner[d] = param.block[axis].first(index[axis]);
        }
    }
    (inside, corner)
}
