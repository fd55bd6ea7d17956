//! Launches that were bound already: the numbers of a launch depend on the shapes of its inputs and the
//! sizes of its configuration alone, so the latest few of each kernel are kept and found again.

use crate::{ArgSpec, DeviceError};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BlockDim, Kernel, Window};
use tpu_kernel::launch::{Binding, Config, bind};

/// How many launches a kernel keeps.
const KEPT: usize = 16;

/// The launches kept for one kernel, latest last.
#[derive(Default)]
pub(crate) struct Bindings(RwLock<VecDeque<Arc<Bound>>>);

/// A launch that was checked.
pub(crate) struct Bound {
    inputs: Vec<Vec<usize>>,
    sizes: Vec<(&'static str, usize)>,
    pub(crate) binding: Binding,
    /// For each output: whether grid steps visit every block of it.
    pub(crate) covered: Vec<bool>,
}

impl Bindings {
    /// The checked launch for these arguments, which fit the kernel in number and kind.
    pub(crate) fn get(
        &self,
        kernel: &Kernel,
        config: &Config,
        chip: &Chip,
        args: &[ArgSpec<'_>],
    ) -> Result<Arc<Bound>, DeviceError> {
        let is_same = |bound: &&Arc<Bound>| bound.sizes == config.sizes && shapes(args).eq(bound.inputs.iter().map(Vec::as_slice));
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner).iter().rev().find(is_same).cloned();
        if let Some(bound) = kept {
            return Ok(bound);
        }
        let inputs: Vec<_> = args.iter().filter_map(|arg| arg.array().map(|(dtype, dims)| (dtype, dims.to_vec()))).collect();
        let binding = bind(kernel, chip, &inputs, config)?;
        let covered = kernel
            .outputs()
            // A whole array is filled with poison before the first step, one that is shared with what the input has.
            .map(|(at, param)| {
                param
                    .window()
                    .filter(|_| param.alias.is_none())
                    .is_none_or(|window| is_covered(window, &binding.arrays[at], &binding.grid))
            })
            .collect();
        let inputs = inputs.into_iter().map(|(_, dims)| dims).collect();
        let bound = Arc::new(Bound { inputs, sizes: config.sizes.clone(), binding, covered });
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(bound.clone());
        Ok(bound)
    }
}

fn shapes<'a>(args: &'a [ArgSpec<'_>]) -> impl Iterator<Item = &'a [usize]> {
    args.iter().filter_map(|arg| arg.array().map(|(_, dims)| dims))
}

/// Whether every block of the array is surely visited: along each axis there is one block, or the block
/// index is a grid index of its own that counts all blocks. A `false` may be wrong, a `true` is not.
fn is_covered(window: &Window, array: &[usize], grid: &[i32]) -> bool {
    let mut used = vec![false; grid.len()];
    window.map.yields.len() == array.len()
        && window.block.len() == array.len()
        && window.map.yields.iter().zip(array).zip(&window.block).all(|((index, &extent), block)| {
            if matches!(block, BlockDim::Element { .. }) {
                return extent == 0;
            }
            let blocks = extent.div_ceil(block.size().max(1));
            let axis = window.map.args.iter().position(|arg| arg == index);
            blocks <= 1
                || axis.is_some_and(|axis| {
                    let counts_all = grid.get(axis).is_some_and(|&n| usize::try_from(n) == Ok(blocks));
                    counts_all && !std::mem::replace(&mut used[axis], true)
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_kernel::ir::{Pipelining, Region, Value};

    fn window(block: &[usize], yields: &[u32]) -> Window {
        let block = block.iter().map(|&n| if n == 0 { BlockDim::Squeezed } else { BlockDim::Blocked(n) }).collect();
        let yields = yields.iter().map(|&v| Value(v)).collect();
        // Values 0 and 1 are the grid indices; any other is computed.
        Window {
            array: vec![],
            block,
            map: Region { args: vec![Value(0), Value(1)], ops: vec![], yields },
            pipelining: Pipelining::default(),
        }
    }

    #[test]
    fn blocks_are_covered_by_grid_indices_of_their_own() {
        let covered = |block: &[usize], yields: &[u32], array: &[usize]| is_covered(&window(block, yields), array, &[2, 3]);
        assert!(covered(&[8, 8], &[0, 1], &[16, 17]));
        assert!(covered(&[8, 8], &[1, 0], &[20, 9]));
        assert!(covered(&[0, 8], &[0, 1], &[2, 24]), "squeezed");
        assert!(covered(&[8, 8], &[0, 9], &[16, 8]), "a single block, wherever the index comes from");
        assert!(!covered(&[8, 8], &[0, 9], &[16, 16]), "a computed index");
        assert!(!covered(&[8, 8], &[0, 0], &[16, 16]), "the diagonal");
        assert!(!covered(&[8, 8], &[0, 1], &[24, 24]), "fewer steps than blocks");
        assert!(!covered(&[8, 8], &[0, 1], &[8, 25]), "fewer steps than blocks");
        let mut elements = window(&[8], &[0]);
        elements.block = vec![BlockDim::Element { size: 8, low: 0, high: 0 }];
        assert!(!is_covered(&elements, &[9], &[2]), "windows by elements, where it is not known");
    }
}
