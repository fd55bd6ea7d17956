//! Blocks of one input on their way to its window, where it shows when they are fetched.
//!
//! Rules: before the body of step s runs, a window of d buffers has fetched the blocks of the steps up to s + d - 1; with
//! lookahead, as many different blocks as it has buffers for, however far ahead their steps are. A block that stays is not
//! fetched again.

use super::context::RefSlot;
use crate::ir::{Kernel, MAX_RANK};
use std::collections::VecDeque;

/// The pipeline of a window.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// The operand.
    pub at: usize,
    depth: usize,
    lookahead: bool,
    /// How many steps have begun.
    begun: u64,
    /// The block in use, then those that wait for their step.
    blocks: VecDeque<Block>,
    /// How many blocks were fetched.
    pub fetched: usize,
    /// The first step whose block is not known yet, by its indices and by its number, and whether it lies behind the last.
    pub next: Vec<i32>,
    pub number: u64,
    pub ended: bool,
}

#[derive(Debug)]
struct Block {
    /// The first step that uses it.
    from: u64,
    index: [i32; MAX_RANK],
    slot: RefSlot,
}

impl Pipeline {
    /// Those of all input windows, before the first step.
    pub(super) fn all(kernel: &Kernel, first: &[i32]) -> Vec<Pipeline> {
        let windows = kernel.inputs().filter_map(|(at, param)| Some((at, param.window()?.pipelining)));
        let pipeline = |(at, pipelining): (usize, crate::ir::Pipelining)| Pipeline {
            at,
            depth: pipelining.depth(),
            lookahead: pipelining.lookahead,
            begun: 0,
            blocks: VecDeque::new(),
            fetched: 0,
            next: first.to_vec(),
            number: 0,
            ended: false,
        };
        windows.map(pipeline).collect()
    }

    /// Whether the next block is to be fetched before the step that begins runs.
    pub(super) fn due(&mut self) -> bool {
        self.leave();
        let due = match self.lookahead {
            true => self.number <= self.begun || self.blocks.len() < self.depth,
            false => self.number < self.begun + self.depth as u64,
        };
        due && !self.ended
    }

    /// Whether the next step uses another block than the step before it.
    pub(super) fn changes(&self, index: &[i32; MAX_RANK]) -> bool {
        self.blocks.back().is_none_or(|last| last.index != *index)
    }

    /// Takes the block of the next step, which is there.
    pub(super) fn push(&mut self, index: [i32; MAX_RANK], slot: RefSlot) {
        self.blocks.push_back(Block { from: self.number, index, slot });
        self.fetched += 1;
    }

    /// Begins a step: where its block is.
    pub(super) fn begin(&mut self) -> RefSlot {
        self.leave();
        self.begun += 1;
        self.blocks[0].slot
    }

    /// The block of the step that has begun.
    pub(super) fn index(&self) -> [i32; MAX_RANK] {
        self.blocks[0].index
    }

    /// Gives the buffers back whose steps are over.
    fn leave(&mut self) {
        while self.blocks.get(1).is_some_and(|block| block.from <= self.begun) {
            self.blocks.pop_front();
        }
    }
}
