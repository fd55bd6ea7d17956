//! Which elements of outputs are written, and which blocks are visited when.
//!
//! Rules: a block is visited in steps that follow one another, and only by steps with the same indices along parallel dimensions:
//! their order is open. An element inside the array is written before its block is, of blocks that
//! are read back by one of the visits. An entry for each block is kept, of
//! windows by elements and of blocks that are read back for each element; nothing for a step.

use super::super::window::{Array, Param};
use super::memory::filled;
use crate::exec::RunError;
use crate::ir::{self, BlockDim, MAX_RANK};

/// What is kept of an output window.
#[derive(Debug)]
pub(super) struct Output {
    /// By block, counted in row-major order: who has left it, counted from 1; of windows by elements by element who wrote it.
    left: Vec<u32>,
    /// Blocks along each dimension; of windows by elements the elements.
    counts: [usize; MAX_RANK],
    by_element: bool,
    /// Of blocks that are read back: which elements of the array are poison.
    poison: Vec<u8>,
}

/// How a block is visited again.
pub(super) enum Again {
    /// Never before.
    New,
    /// By the same parallel step, others between.
    Same,
    /// By another parallel step, which is this one.
    Other(u32),
}

impl Output {
    pub(super) fn new(operand: &ir::Param, (param, array): (&Param, &Array)) -> Result<Output, RunError> {
        let by_element = param.block.iter().any(|dim| matches!(dim, BlockDim::Element { .. }));
        let mut counts = [1; MAX_RANK];
        for (axis, dim) in param.block.iter().enumerate() {
            counts[axis] = if by_element { array.extent[axis] } else { dim.blocks(array.extent[axis]) };
        }
        let of = |counts: &[usize]| if counts.contains(&0) { 0 } else { counts.iter().product() };
        let left = filled(0, of(&counts[..param.block.len()]))?;
        // The elements of an input whose array the output shares are there.
        let poison = u8::from(operand.alias.is_none());
        let poison = if param.read_back { filled(poison, of(&array.extent[..param.block.len()]))? } else { vec![] };
        Ok(Output { left, counts, by_element, poison })
    }

    fn number(&self, index: &[i32]) -> usize {
        index.iter().zip(self.counts).fold(0, |n, (&i, count)| n * count + i as usize)
    }

    /// Who has visited the block before.
    pub(super) fn again(&self, index: &[i32], thread: u32) -> Again {
        if self.by_element {
            return Again::New;
        }
        match self.left.get(self.number(index)) {
            None | Some(0) => Again::New,
            Some(&one) if one == thread => Again::Same,
            Some(&other) => Again::Other(other),
        }
    }

    /// A block is read back, and with it which of its elements are poison.
    pub(super) fn read_back(&self, (param, array): (&Param, &Array), index: &[i32], shadow: &mut [u8]) {
        let bytes = param.dtype.bytes();
        param.rows(array, index, |inside, outside, length| {
            let (first, copy, count) = (inside / bytes, outside / bytes, length / bytes);
            shadow[copy..copy + count].copy_from_slice(&self.poison[first..first + count]);
        });
    }

    /// The block is left and written back; where nothing says what of it is poison, it counts as written. Gives who else wrote one of its elements, of windows by elements.
    pub(super) fn leave(
        &mut self,
        operand: &ir::Param,
        (param, array): (&Param, &Array),
        index: &[i32],
        shadow: Option<&[u8]>,
        (thread, unwritten): (u32, bool),
    ) -> Result<Option<u32>, RunError> {
        let (mut missing, mut other) = (None, None);
        if !self.by_element {
            let number = self.number(&index[..param.block.len()]);
            self.left[number] = thread;
        }
        let bytes = param.dtype.bytes();
        param.rows(array, index, |inside, outside, length| {
            let (first, copy, count) = (inside / bytes, outside / bytes, length / bytes);
            if param.read_back {
                // A later visit may write what this one has not.
                let poison = &mut self.poison[first..first + count];
                match shadow {
                    Some(shadow) => poison.copy_from_slice(&shadow[copy..copy + count]),
                    None => poison.fill(0),
                }
            } else {
                missing = missing.or_else(|| Some(first + shadow?[copy..copy + count].iter().position(|&poison| poison != 0)?));
            }
            if self.by_element {
                for left in &mut self.left[first..first + count] {
                    if *left != 0 && *left != thread {
                        other = Some(*left);
                    }
                    *left = thread;
                }
            }
        });
        match missing {
            Some(element) if !unwritten => Err(never(operand, array, element)),
            _ => Ok(other),
        }
    }

    /// That every block was visited, and of those that are read back every element written, at the end.
    pub(super) fn complete(&self, operand: &ir::Param, (param, array): (&Param, &Array)) -> Result<(), RunError> {
        if let Some(element) = self.poison.iter().position(|&poison| poison != 0) {
            return Err(never(operand, array, element));
        }
        let Some(mut number) = self.left.iter().position(|&left| left == 0) else { return Ok(()) };
        if !self.by_element {
            let mut element = 0;
            for (axis, dim) in param.block.iter().enumerate().rev() {
                element += number % self.counts[axis] * dim.size() * array.stride[axis];
                number /= self.counts[axis];
            }
            number = element;
        }
        Err(never(operand, array, number))
    }
}

/// The error for an element of an array that nothing wrote.
pub(super) fn never(operand: &ir::Param, array: &Array, element: usize) -> RunError {
    let rank = operand.array().map_or(0, <[_]>::len);
    let mut index = vec![0; rank];
    let mut rest = element;
    for axis in (0..rank).rev() {
        let extent = array.extent[axis].max(1);
        index[axis] = rest % extent;
        rest /= extent;
    }
    RunError::NeverWritten { operand: operand.name.clone(), index, loc: operand.loc.clone() }
}
