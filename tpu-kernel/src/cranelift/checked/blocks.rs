//! Blocks of windows in a checked run: each has memory of its own, and what is known of it comes and goes with it.

use super::super::context::RefSlot;
use super::super::window::{Array, Param, Role};
use super::garbage::{poison_of, scatter};
use super::outputs::Again;
use super::region::Region;
use super::run::Run;
use super::watch::At;
use crate::exec::RunError;
use crate::ir::MAX_RANK;

impl Run<'_, '_, '_, '_, '_> {
    /// A block of a window is fetched or written back, where others reach its array, too.
    pub(super) fn reach(&mut self, at: usize, index: &[i32; MAX_RANK], writes: bool) -> Result<(), RunError> {
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

    /// Makes a block current, and leaves the one before.
    pub(super) fn turn(&mut self, at: usize, index: &[i32; MAX_RANK]) -> Result<(), RunError> {
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
    pub(super) fn show(&mut self, at: usize, index: &[i32; MAX_RANK], slot: RefSlot) -> Result<(), RunError> {
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
    pub(super) unsafe fn shadow_of<'s>(&self, at: usize) -> Option<&'s mut [u8]> {
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
    pub(super) fn leave(&mut self, at: usize) -> Result<(), RunError> {
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

    pub(super) fn leave_all(&mut self) -> Result<(), RunError> {
        (0..self.open.len()).try_for_each(|at| self.leave(at))
    }
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
