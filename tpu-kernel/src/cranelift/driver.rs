//! Runs a compiled kernel: checks the launch, walks the grid, moves blocks in and out.

use super::Executable;
use super::context::{ALL, Context, ErrorSlot, FIRST, HELPERS, OUTPUTS, RefSlot, VERSION};
use super::fetch::Pipeline;
use super::launch::{Ended, Running};
use super::memory::{ALIGN, Memory, poison};
use super::semaphore::Group;
use super::site::{Extent, Site};
use super::window::{Array, Param, Role, STREAMED};
use crate::exec::{Args, RunError};
use crate::ir::{self, DType, MAX_RANK, ParamKind, Revisit, SizeExpr, SizeId};
use crate::launch::{Binding, Split};
use std::marker::PhantomData;
use std::ops::Range;
use tpu_microkernels::stream;
use tpu_microkernels::tile::{self, Rng};

/// One run.
pub(super) struct Driver<'r, 'a, 'b> {
    pub exe: &'r Executable,
    pub binding: &'r Binding,
    /// One an operand; scratch and scalars have none.
    pub arrays: Vec<Option<Array>>,
    /// By operand: where in the memory of the run a prefetched array has its copy.
    prefetched: Vec<Option<usize>>,
    scalars: Vec<u32>,
    pub memory: Memory,
    pub running: Running<'r>,
    /// The number of the device.
    pub device: i32,
    /// The steps that it runs: a dimension of the grid, and the indices along it.
    pub part: (usize, Range<i32>),
    /// The arrays stay borrowed while there are addresses of them.
    borrowed: PhantomData<&'r mut Args<'a, 'b>>,
}

fn count(what: &'static str, want: usize, got: usize) -> Result<(), RunError> {
    if want == got { Ok(()) } else { Err(RunError::Count { what, want, got }) }
}

fn mismatch(param: &ir::Param, want: &[usize], got_dtype: DType, got: &[usize]) -> RunError {
    RunError::Array { operand: param.name.clone(), want_dtype: param.ty.dtype(), want: want.to_vec(), got_dtype, got: got.to_vec() }
}

/// The array of an operand, checked against the launch: of that type, shape and number of bytes.
fn array(
    param: &ir::Param,
    want: &[usize],
    (dtype, shape, bytes): (DType, &[usize], usize),
    pointer: *mut u8,
) -> Result<Array, RunError> {
    if dtype != param.ty.dtype() || shape != want {
        return Err(mismatch(param, want, dtype, shape));
    }
    let need = shape.iter().try_fold(dtype.bytes(), |n, &d| n.checked_mul(d));
    if need != Some(bytes) {
        // Bytes that do not make up the shape show as so many elements.
        return Err(mismatch(param, want, dtype, &[bytes / dtype.bytes()]));
    }
    let (mut extent, mut stride) = ([1; MAX_RANK], [0; MAX_RANK]);
    let mut step = 1;
    for axis in (0..shape.len()).rev() {
        extent[axis] = shape[axis];
        stride[axis] = step;
        step = shape[axis].max(1).saturating_mul(step);
    }
    Ok(Array { pointer, extent, stride, streamed: bytes > STREAMED })
}

/// Where the copies of prefetched arrays lie behind the first `bytes`, and how many bytes there are in all.
fn prefetched(kernel: &ir::Kernel, binding: &Binding, mut bytes: usize) -> Result<(Vec<Option<usize>>, usize), RunError> {
    let mut offsets = vec![None; kernel.params.len()];
    for (at, param) in kernel.prefetched() {
        let size = binding.arrays[at].iter().try_fold(param.ty.dtype().bytes(), |n, &d| n.checked_mul(d));
        let start = bytes.checked_next_multiple_of(ALIGN);
        let end = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        offsets[at] = start;
        bytes = end.ok_or(RunError::OutOfMemory { bytes: usize::MAX })?;
    }
    Ok((offsets, bytes))
}

impl<'r, 'a, 'b> Driver<'r, 'a, 'b> {
    /// Checks a launch; nothing has been written where it fails.
    pub(super) fn new(exe: &'r Executable, binding: &'r Binding, args: &'r mut Args<'a, 'b>) -> Result<Self, RunError> {
        let kernel = &exe.kernel;
        count("sizes", kernel.sizes.len(), binding.sizes.len())?;
        count("grid dimensions", kernel.grid.len(), binding.grid.len())?;
        count("operands", kernel.params.len(), binding.arrays.len())?;
        count("inputs", kernel.inputs().count(), args.inputs.len())?;
        count("outputs", kernel.outputs().count(), args.outputs.len())?;
        let wanted = kernel.params.iter().filter(|p| p.kind == ParamKind::Scalar).count();
        count("scalars", wanted, args.scalars.len())?;
        let size = |id: SizeId| binding.sizes.get(id.0 as usize).map(|&n| i64::from(n));
        let eval = |expr: &SizeExpr| expr.eval(&size).ok().and_then(|n| usize::try_from(n).ok());
        for (dim, &extent) in kernel.grid.iter().zip(&binding.grid) {
            let want = eval(&dim.extent).unwrap_or(0);
            count("steps along a grid dimension", want, usize::try_from(extent).unwrap_or(0))?;
        }
        let (mut inputs, mut outputs, mut given) = (args.inputs.iter(), args.outputs.iter_mut(), args.scalars.iter());
        let (mut arrays, mut scalars) = (vec![], vec![0; kernel.params.len()]);
        for (at, param) in kernel.params.iter().enumerate() {
            let bound = binding.arrays[at].as_slice();
            let declared: Option<Vec<usize>> = param.array().unwrap_or_default().iter().map(eval).collect();
            if declared.as_deref() != Some(bound) {
                return Err(mismatch(param, &declared.unwrap_or_default(), param.ty.dtype(), bound));
            }
            let found = match &param.kind {
                ParamKind::In(_) | ParamKind::InArray(_) | ParamKind::Prefetch(_) => {
                    inputs.next().map(|a| array(param, bound, (a.dtype, a.shape, a.bytes.len()), a.bytes.as_ptr().cast_mut()))
                }
                ParamKind::Out(_) | ParamKind::OutArray(_) => {
                    outputs.next().map(|a| array(param, bound, (a.dtype, a.shape, a.bytes.len()), a.bytes.as_mut_ptr()))
                }
                ParamKind::Scratch => None,
                ParamKind::Scalar => {
                    if let Some(literal) = given.next() {
                        if literal.dtype() != param.ty.dtype() {
                            return Err(mismatch(param, &[], literal.dtype(), &[]));
                        }
                        scalars[at] = literal.bits();
                    }
                    None
                }
            };
            arrays.push(found.transpose()?);
        }
        for (size, at) in kernel.given() {
            let given = usize::try_from(scalars[at].cast_signed()).unwrap_or(usize::MAX);
            count("steps that a scalar gives", binding.sizes[size.0 as usize].max(0) as usize, given)?;
        }
        if let Some((output, input)) = kernel.aliases().find(|&(output, input)| binding.arrays[output] != binding.arrays[input]) {
            let (param, got) = (&kernel.params[output], &binding.arrays[output]);
            return Err(mismatch(param, &binding.arrays[input], param.ty.dtype(), got));
        }
        let (prefetched, bytes) = prefetched(kernel, binding, exe.windows.bytes)?;
        let memory = exe.pool.take(bytes)?;
        let running = Running {
            sites: &exe.tables.sites,
            extents: &binding.arrays,
            semaphores: exe.tables.semaphores.clone(),
            grid: vec![0; binding.grid.len()],
            log: &raw mut *args.log,
            seat: None,
            world: None,
            watched: None,
            ended: None,
        };
        Ok(Driver {
            exe,
            binding,
            arrays,
            prefetched,
            scalars,
            memory,
            running,
            device: 0,
            part: (0, 0..i32::MAX),
            borrowed: PhantomData,
        })
    }

    /// Another core of the same device, which shares its arrays.
    pub(super) fn core(&self) -> Result<Self, RunError> {
        let memory = self.exe.pool.take(prefetched(&self.exe.kernel, self.binding, self.exe.windows.bytes)?.1)?;
        let running = Running {
            semaphores: self.exe.tables.semaphores.clone(),
            grid: self.running.grid.clone(),
            seat: None,
            world: None,
            watched: None,
            ended: None,
            ..self.running
        };
        let (arrays, prefetched, scalars) = (self.arrays.clone(), self.prefetched.clone(), self.scalars.clone());
        Ok(Driver { arrays, prefetched, scalars, memory, running, part: self.part.clone(), ..*self })
    }

    /// Runs every step of the grid.
    pub(super) fn run(mut self, split: &Split) -> Result<(), RunError> {
        self.share();
        let result = if self.binding.grid.iter().any(|&n| n <= 0) { Ok(()) } else { self.parts(split) };
        // Also after an error: what was written may be looked at.
        stream::done();
        self.exe.pool.give(std::mem::take(&mut self.memory));
        result
    }

    /// Runs the parts of all cores, one after the other: what a core begins with, the next one begins with, too.
    fn parts(&mut self, split: &Split) -> Result<(), RunError> {
        for (core, part) in split.parts.iter().enumerate() {
            self.part = (split.axis, part.clone());
            self.steps(core == 0)?;
        }
        Ok(())
    }

    /// The first step, and the extents up to which it counts.
    pub(super) fn extents(&self) -> (Vec<i32>, Vec<i32>) {
        let (mut first, mut extents) = (vec![0; self.binding.grid.len()], self.binding.grid.clone());
        let (axis, part) = &self.part;
        if let (Some(first), Some(end)) = (first.get_mut(*axis), extents.get_mut(*axis)) {
            (*first, *end) = (part.start, part.end.min(*end));
        }
        (first, extents)
    }

    /// Gives scratch what it holds before the first step, and whole arrays, if they are `fresh`: cores share them. Returns where each
    /// operand's memory is, and the extents of arrays.
    pub(super) fn enter(&mut self, fresh: bool) -> (Vec<RefSlot>, Vec<[i64; MAX_RANK]>) {
        let params = self.exe.kernel.params.len();
        let base = self.memory.pointer();
        let mut refs = vec![RefSlot { ptr: base, strides: [0; MAX_RANK] }; params];
        for (at, param) in self.exe.windows.params.iter().enumerate() {
            if let Some(param) = param.as_ref().filter(|p| p.role == Role::Scratch) {
                // SAFETY: the memory of a run has room for every operand at its offset.
                unsafe {
                    let ptr = base.add(param.offset);
                    poison(ptr, param.dtype, param.elements);
                    refs[at] = RefSlot { ptr, strides: param.dense() };
                }
            }
        }
        let mut extents = vec![[0; MAX_RANK]; params];
        for (at, param) in self.exe.kernel.params.iter().enumerate() {
            let (Some(array), None) = (self.arrays[at], param.window()) else { continue };
            extents[at] = array.extent.map(|n| n as i64);
            let mut slot = RefSlot { ptr: array.pointer, strides: array.stride.map(|n| n as i64) };
            let elements = self.elements(at);
            // SAFETY: an array has the elements of its shape, and the memory of a run has room for the copies of prefetched ones.
            unsafe {
                if let Some(offset) = self.prefetched[at] {
                    slot.ptr = base.add(offset);
                    std::ptr::copy_nonoverlapping(array.pointer, slot.ptr, elements * param.ty.dtype().bytes());
                } else if fresh && param.is_output() && param.alias.is_none() {
                    poison(slot.ptr, param.ty.dtype(), elements);
                }
            }
            refs[at] = slot;
        }
        (refs, extents)
    }

    /// The table for compiled code, but for what changes from step to step. Once a run: the table of helpers is long.
    pub(super) fn context(&mut self, extents: &[[i64; MAX_RANK]], rng: *mut Rng) -> Context {
        Context {
            version: VERSION,
            wanted: ALL,
            arena: self.memory.pointer(),
            refs: std::ptr::null(),
            arrays: extents.as_ptr(),
            grid: std::ptr::null(),
            extents: self.binding.grid.as_ptr(),
            sizes: self.binding.sizes.as_ptr(),
            scalars: self.scalars.as_ptr(),
            blocks: std::ptr::null_mut(),
            tasks: self.exe.tables.tasks.as_ptr(),
            rng,
            device: self.device,
            launch: std::ptr::null_mut(),
            error: ErrorSlot::default(),
            helpers: *HELPERS,
        }
    }

    /// Runs the steps of its part. Whole arrays are `fresh` where no other part was run before.
    pub(super) fn steps(&mut self, fresh: bool) -> Result<(), RunError> {
        let params = self.exe.kernel.params.len();
        let base = self.memory.pointer();
        let (mut refs, array_extents) = self.enter(fresh);
        let (first, extents) = self.extents();
        self.running.grid.clone_from(&first);
        let mut rng = Rng::default();
        let mut blocks = vec![[0i32; MAX_RANK]; params];
        let mut open: Vec<Option<[i32; MAX_RANK]>> = vec![None; params];
        let mut context = self.context(&array_extents, &raw mut rng);
        if fresh {
            self.unvisited();
        }
        self.arrive(&refs)?;
        let mut pipelines = if self.exe.ahead { Pipeline::all(&self.exe.kernel, &first) } else { vec![] };
        loop {
            // What is written between two steps is addressed anew.
            context.refs = refs.as_ptr();
            self.maps(&mut context, &mut blocks, if self.exe.ahead { OUTPUTS } else { ALL })?;
            self.turn(&blocks, &mut open, &mut refs, base, &self.running.grid)?;
            for pipeline in &mut pipelines {
                while pipeline.due() {
                    self.fetch(pipeline, &mut context, &mut blocks, (&first, &extents))?;
                }
                refs[pipeline.at] = pipeline.begin();
            }
            context.refs = refs.as_ptr();
            context.grid = self.running.grid.as_ptr();
            context.launch = (&raw mut self.running).cast();
            // SAFETY: as above; each operand's memory holds its block or scratch with the strides given, the
            // arena has the size that the code was compiled for, starts are checked by the code, and nothing else
            // uses the running launch or the generator meanwhile.
            let status = unsafe { (self.exe.code.body)(&mut context) };
            if status != 0 {
                return Err(self.failure(context.error, &self.exe.tables.sites));
            }
            if !advance(&mut self.running.grid, &first, &extents) {
                break;
            }
        }
        for (at, index) in open.iter().enumerate() {
            if let (Some((param, array)), Some(index)) = (self.window(at), index) {
                // SAFETY: the index was found inside when the block was opened.
                unsafe { param.close(array, index, base.add(param.offset)) };
            }
        }
        match self.running.seat {
            // Others may still signal.
            Some(_) => Ok(()),
            None => self.running.semaphores.iter().try_for_each(Group::end),
        }
    }

    /// The same for the cores of a device: once, and all of them know it.
    pub(super) fn share_all(cores: &mut [Self]) {
        if let [first, others @ ..] = cores {
            first.share();
            others.iter_mut().for_each(|core| core.arrays.clone_from(&first.arrays));
        }
    }

    /// Outputs that share the array of an input start as it, and the input is that array from then on.
    pub(super) fn share(&mut self) {
        for (output, input) in self.exe.kernel.aliases() {
            let (Some(to), Some(from)) = (self.arrays[output], self.arrays[input]) else { continue };
            let dtype = self.exe.kernel.params[output].ty.dtype();
            // SAFETY: both arrays have the elements of one shape and type, and an array to write is apart from all others.
            unsafe { std::ptr::copy_nonoverlapping(from.pointer, to.pointer, self.elements(output) * dtype.bytes()) };
            self.arrays[input] = Some(to);
        }
    }

    /// How many elements the array of an operand has.
    fn elements(&self, at: usize) -> usize {
        let dims = &self.binding.arrays[at];
        if dims.contains(&0) { 0 } else { dims.iter().product() }
    }

    /// Outputs that may be visited in any step start as poison, also where no step reads what is there.
    pub(super) fn unvisited(&self) {
        for (at, declared) in self.exe.kernel.outputs().filter(|(_, param)| param.alias.is_none()) {
            let read_back = declared.window().is_some_and(|window| window.pipelining.revisit == Revisit::Any);
            if let Some((param, array)) = self.window(at).filter(|_| read_back) {
                let elements = self.elements(at);
                // SAFETY: an array has the elements of its shape.
                unsafe { poison(array.pointer, param.dtype, elements) };
            }
        }
    }

    /// Fetches the next block of an input.
    fn fetch(
        &mut self,
        pipeline: &mut Pipeline,
        context: &mut Context,
        blocks: &mut [[i32; MAX_RANK]],
        (first, extents): (&[i32], &[i32]),
    ) -> Result<(), RunError> {
        let (at, base) = (pipeline.at, self.memory.pointer());
        std::mem::swap(&mut pipeline.next, &mut self.running.grid);
        self.maps(context, blocks, FIRST + at as u32)?;
        self.inside(at, &blocks[at], &self.running.grid)?;
        std::mem::swap(&mut pipeline.next, &mut self.running.grid);
        if let Some((param, array)) = self.window(at).filter(|_| pipeline.changes(&blocks[at])) {
            // SAFETY: the memory of a run has room for each copy of the operand, apart from the array, and the index was found
            // inside the array. No block in use or on its way has this copy: there is one more than there are such blocks.
            let slot = unsafe { param.open(array, &blocks[at], base.add(param.copy(pipeline.fetched))) };
            pipeline.push(blocks[at], slot);
        }
        pipeline.ended = !advance(&mut pipeline.next, first, extents);
        pipeline.number += 1;
        Ok(())
    }

    pub(super) fn window(&self, at: usize) -> Option<(&Param, &Array)> {
        self.exe.windows.params[at].as_ref().zip(self.arrays[at].as_ref())
    }

    /// Computes the block indices of the running step, of inputs, outputs or both.
    pub(super) fn maps(&mut self, context: &mut Context, blocks: &mut [[i32; MAX_RANK]], wanted: u32) -> Result<(), RunError> {
        context.wanted = wanted;
        context.grid = self.running.grid.as_ptr();
        context.blocks = blocks.as_mut_ptr().cast();
        // SAFETY: the table is complete: every list has an entry for each index that the verified kernel
        // names, and the maps write only the list of block indices.
        match unsafe { (self.exe.code.maps)(context) } {
            0 => Ok(()),
            _ => Err(self.failure(context.error, &self.exe.map_sites)),
        }
    }

    /// Whether a block lies inside its array.
    pub(super) fn inside(&self, at: usize, index: &[i32; MAX_RANK], grid: &[i32]) -> Result<(), RunError> {
        let (Some((param, array)), declared) = (self.window(at), &self.exe.kernel.params[at]) else { return Ok(()) };
        match param.outside(array, index) {
            None => Ok(()),
            Some((axis, index)) => Err(RunError::BlockIndex {
                operand: declared.name.clone(),
                axis,
                index,
                block: param.block[axis],
                extent: array.extent[axis],
                step: grid.to_vec(),
                loc: declared.loc.clone(),
            }),
        }
    }

    /// Changes blocks: writes back those that the step leaves, fills those that it enters.
    fn turn(
        &self,
        blocks: &[[i32; MAX_RANK]],
        open: &mut [Option<[i32; MAX_RANK]>],
        refs: &mut [RefSlot],
        base: *mut u8,
        grid: &[i32],
    ) -> Result<(), RunError> {
        for (at, index) in blocks.iter().enumerate() {
            let Some((param, array)) = self.window(at) else { continue };
            if open[at] == Some(*index) || self.exe.ahead && param.role == Role::Input {
                continue;
            }
            self.inside(at, index, grid)?;
            // SAFETY: the memory of a run has room for the operand's copy at its offset, apart from the array;
            // both indices were found inside the array.
            unsafe {
                let copy = base.add(param.offset);
                if let Some(old) = open[at].take() {
                    param.close(array, &old, copy);
                }
                refs[at] = param.open(array, index, copy);
            }
            open[at] = Some(*index);
        }
        Ok(())
    }

    /// The error that a failed check stands for; a panic of the log goes on.
    pub(super) fn failure(&mut self, error: ErrorSlot, sites: &[Site]) -> RunError {
        let step = self.running.grid.clone();
        match &sites[error.site as usize] {
            Site::Start { operand, axis, size, extent, loc } => RunError::OutOfBounds {
                operand: operand.clone(),
                axis: *axis,
                start: error.value,
                size: *size,
                extent: match *extent {
                    Extent::Fixed(extent) => extent,
                    Extent::Array(param) => self.binding.arrays[param][*axis],
                },
                step,
                loc: loc.clone(),
            },
            Site::Step { loc } => RunError::LoopStep { by: error.value as i32, loc: loc.clone() },
            Site::Helper { axis, extent, loc } => match tile::code(error.value) {
                (tile::INDEX, index) => RunError::GatherIndex { axis: *axis, index, extent: *extent, step, loc: loc.clone() },
                (tile::UNSEEDED, _) => RunError::Unseeded { step, loc: loc.clone() },
                (code, _) => unreachable!("descriptions are made from verified shapes, but a function refused one: {code}"),
            },
            Site::Check { message, loc } => RunError::Check { message: message.clone(), step, loc: loc.clone() },
            Site::Defined { what, loc } => RunError::Poison { what: what.clone(), step, loc: loc.clone() },
            Site::Print { .. }
            | Site::Copy(_)
            | Site::Reach(_)
            | Site::Remote(_)
            | Site::Semaphore { .. }
            | Site::Poison { .. }
            | Site::Access(_) => match self.running.ended.take() {
                Some(Ended::Error(error)) => error,
                Some(Ended::Panic(panic)) => std::panic::resume_unwind(panic),
                None => unreachable!("what is asked of the launch fails for a reason"),
            },
        }
    }
}

/// The next step, last dimension fastest, counting from the first up to these extents; false after the last.
pub(super) fn advance(grid: &mut [i32], first: &[i32], extents: &[i32]) -> bool {
    for ((index, &first), &extent) in grid.iter_mut().zip(first).zip(extents).rev() {
        *index += 1;
        if *index < extent {
            return true;
        }
        *index = first;
    }
    false
}
