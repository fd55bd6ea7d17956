//! Outputs that a launch would leave unwritten in part: blocks that no step of the grid visits.
//!
//! Rule: what is reported is certain. Along each axis the index map's range over the whole grid must
//! reach every block (of a window by elements: every element), and the grid must have a step for every block; maps that skip blocks in between
//! are not found here.

use super::maps::{self, Numbers, Range};
use super::{Binding, LaunchError};
use crate::ir::{BlockDim, Kernel};

/// Every block of every output can be visited, as far as ranges and counts tell.
pub(super) fn check(kernel: &Kernel, binding: &Binding) -> Result<(), LaunchError> {
    let numbers = Numbers { sizes: &binding.sizes, grid: &binding.grid };
    let steps: Vec<Range> = binding.grid.iter().map(|&n| Range { lo: 0, hi: i64::from(n) - 1 }).collect();
    let count: i64 = binding.grid.iter().map(|&n| i64::from(n)).product();
    for (at, param) in kernel.outputs() {
        // What no step visits stays as the input has it.
        let Some(window) = param.window().filter(|_| param.alias.is_none()) else { continue };
        let unwritten = |axis: usize, visited: String| {
            let (extent, block) = (binding.arrays[at][axis], window.block[axis].size().max(1));
            let (operand, loc, blocks) = (param.name.clone(), param.loc.clone(), window.block[axis].blocks(extent));
            LaunchError::Unwritten { operand, axis, extent, block, blocks, visited, loc }
        };
        let mut all = 1i64;
        let mut widest = (0, 0);
        for (axis, range) in maps::ranges(kernel, &window.map, &numbers, &steps).into_iter().enumerate() {
            let (block, extent) = (window.block[axis], binding.arrays[at][axis]);
            let blocks = block.blocks(extent) as i64;
            if blocks == 0 {
                all = 0;
                break;
            }
            // Blocks, or elements.
            let (last, unit) = match block {
                BlockDim::Element { size, .. } => (range.hi.saturating_add(size as i64 - 1), "elements "),
                BlockDim::Blocked(_) | BlockDim::Squeezed => (range.hi, ""),
            };
            let (lo, wanted) = if unit.is_empty() { (range.lo, blocks) } else { (range.lo, extent as i64) };
            if lo > 0 || last < wanted - 1 {
                let visited = if lo == last { format!("{unit}{lo} only") } else { format!("{unit}{lo} to {last}") };
                return Err(unwritten(axis, visited));
            }
            all = all.saturating_mul(blocks);
            widest = widest.max((blocks, axis));
        }
        if count < all {
            return Err(unwritten(widest.1, format!("at most {count} of {all} blocks in all its steps")));
        }
    }
    Ok(())
}
