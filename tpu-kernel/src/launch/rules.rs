//! The block shapes that libtpu takes.
//!
//! Rules: of an array of rank 2 and more, a block's last dimension is a multiple of the lanes or the
//! whole axis, its second to last a multiple of the sublanes or the whole axis, for every element type;
//! the others are free. Of a vector, a block is the whole of it or a multiple of the elements of one
//! row of packed registers. A squeezed dimension counts as a block of 1.

use super::{Binding, LaunchError};
use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::{BlockDim, DType, Kernel, Param};

/// The first block dimension that breaks a rule.
pub(super) fn check(kernel: &Kernel, chip: &Chip, binding: &Binding) -> Result<(), LaunchError> {
    for (at, param) in kernel.params.iter().enumerate() {
        let Some(window) = param.window() else { continue };
        let rank = window.block.len();
        for (axis, (&block, &extent)) in window.block.iter().zip(&binding.arrays[at]).enumerate() {
            let Some(tile) = tile(param.ty.dtype(), rank, axis) else { continue };
            if block.size() != extent && (block.size() == 0 || !block.size().is_multiple_of(tile.multiple)) {
                return Err(error(chip, param, axis, block, extent, &tile));
            }
        }
    }
    Ok(())
}

/// What a block dimension must be a multiple of, unless it is the whole axis.
struct Tile {
    multiple: usize,
    place: &'static str,
}

fn tile(dtype: DType, rank: usize, axis: usize) -> Option<Tile> {
    match rank - axis {
        1 if rank == 1 => Some(Tile { multiple: LANES * 32 / dtype.bits() as usize, place: "only" }),
        1 => Some(Tile { multiple: LANES, place: "last" }),
        2 => Some(Tile { multiple: SUBLANES, place: "second to last" }),
        _ => None,
    }
}

fn error(chip: &Chip, param: &Param, axis: usize, block: BlockDim, extent: usize, tile: &Tile) -> LaunchError {
    let Tile { multiple, place } = tile;
    let whole = extent > 0 && extent <= multiple.saturating_mul(4);
    let works = match block {
        BlockDim::Squeezed => format!("do not squeeze it: a block of {multiple} works"),
        BlockDim::Blocked(n) | BlockDim::Element { size: n, .. } => {
            let near = n.div_ceil(*multiple).max(1).saturating_mul(*multiple);
            if whole { format!("{near} or {extent} works") } else { format!("{near} works") }
        }
    };
    // Rows that are looked up one by one.
    let single = block.size() == 1 && *place == "second to last";
    let rows = if single { "; for single rows give the array a dimension of 1 before its last, as in `[n, 1, c]`" } else { "" };
    let rule = format!("the {place} dimension of a block is a multiple of {multiple} or the whole axis; {works}{rows}");
    LaunchError::BlockShape {
        operand: param.name.clone(),
        axis,
        block: block.size(),
        extent,
        chip: chip.name.to_string(),
        rule,
        loc: param.loc.clone(),
    }
}
