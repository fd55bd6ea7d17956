//! Blocks of inputs on their way to their windows, where it shows when they are fetched.
//!
//! Rules: before the body of step s runs, a window of d buffers has fetched the blocks of the steps up to s + d - 1; with
//! lookahead, as many different blocks as it has buffers for, however far ahead their steps are. The index map is evaluated and
//! the block is read at that moment, once for each step; a block that stays is not read again.

use super::advance;
use super::arrays::Arrays;
use super::body::Machine;
use crate::exec::RunError;
use crate::ir::Kernel;
use crate::launch::Binding;
use std::collections::VecDeque;

/// The pipelines of all input windows.
pub(super) struct Fetches<'a> {
    kernel: &'a Kernel,
    binding: &'a Binding,
    grid: Vec<i32>,
    /// How many steps have begun.
    begun: u64,
    windows: Vec<Pipeline>,
}

/// The pipeline of one window.
struct Pipeline {
    /// Its operand.
    at: usize,
    /// The block in use, then those that wait for their step.
    blocks: VecDeque<Block>,
    /// The first step whose map is not evaluated yet, by its indices and by its number; no indices after the last.
    next: Option<Vec<i32>>,
    number: u64,
}

struct Block {
    /// The first step that uses it.
    from: u64,
    index: Vec<i32>,
    /// Their bits.
    elements: Vec<u32>,
}

impl Pipeline {
    /// Gives the buffers back whose steps are over.
    fn leave(&mut self, now: u64) {
        while self.blocks.get(1).is_some_and(|block| block.from <= now) {
            self.blocks.pop_front();
        }
    }
}

impl<'a> Fetches<'a> {
    /// Before the first of the steps up to these extents.
    pub(super) fn new(kernel: &'a Kernel, binding: &'a Binding, (first, grid): (&[i32], &[i32])) -> Fetches<'a> {
        let first = || Some(first.to_vec());
        let inputs = kernel.inputs().filter(|(_, param)| param.window().is_some());
        let pipeline = |(at, _)| Pipeline { at, blocks: VecDeque::new(), next: first(), number: 0 };
        Fetches { kernel, binding, grid: grid.to_vec(), begun: 0, windows: inputs.map(pipeline).collect() }
    }

    /// Fetches what is due before the machine's step runs, and shows each window its block.
    pub(super) fn step(&mut self, machine: &mut Machine<'_>, arrays: &Arrays<'_, '_>) -> Result<(), RunError> {
        let now = self.begun;
        self.begun += 1;
        for pipeline in &mut self.windows {
            let param = &self.kernel.params[pipeline.at];
            let Some(window) = param.window() else { continue };
            let depth = window.pipelining.depth();
            loop {
                pipeline.leave(now);
                let Some(next) = &pipeline.next else { break };
                let due = match window.pipelining.lookahead {
                    true => pipeline.number <= now || pipeline.blocks.len() < depth,
                    false => pipeline.number < now + depth as u64,
                };
                if !due {
                    break;
                }
                let step = std::mem::replace(&mut machine.step, next.clone());
                let index = machine.mapped(window)?;
                machine.inside(param, window, &index, &self.binding.arrays[pipeline.at])?;
                machine.step = step;
                if pipeline.blocks.back().is_none_or(|last| last.index != index) {
                    let elements = arrays.block(machine, pipeline.at, window, &index);
                    pipeline.blocks.push_back(Block { from: pipeline.number, index, elements });
                }
                pipeline.number += 1;
                pipeline.next = pipeline.next.take().and_then(|mut step| advance(&mut step, &self.grid).then_some(step));
            }
            pipeline.leave(now);
            if let Some(block) = pipeline.blocks.front().filter(|block| block.from == now) {
                machine.elements(pipeline.at).bits.clone_from(&block.elements);
            }
        }
        Ok(())
    }
}
