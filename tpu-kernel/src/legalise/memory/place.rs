//! Where a block lies in memory, and from where libtpu can start to access it.
//!
//! Rules: squeezed dimensions that are not the leading ones of a block with two left stay in memory as 1, because the
//! layout of the array in HBM has them. A static start is free; a dynamic one must be a multiple that depends on the
//! element type, the memory and the part.

use crate::chips::{LANES, SUBLANES};
use crate::ir::{BlockDim, DType, Param, Shape};

/// The block as memory holds it: squeezed dimensions are 1, or absent.
pub(crate) fn held(param: &Param) -> Vec<(usize, bool)> {
    let Some(window) = param.window() else {
        return param.ty.shape().dims().iter().map(|&n| (n, false)).collect();
    };
    let all: Vec<(usize, bool)> = window.block.iter().map(|b| (b.size(), *b == BlockDim::Squeezed)).collect();
    let leading = all.iter().take_while(|d| d.1).count();
    match &all[leading..] {
        kept if kept.len() >= 2 && kept.iter().all(|d| !d.1) => kept.to_vec(),
        _ => all,
    }
}

/// A part of a block as memory holds it: 1 along squeezed dimensions.
pub(crate) fn part(held: &[(usize, bool)], part: Shape) -> Vec<usize> {
    let mut kept = part.dims().iter();
    held.iter().map(|&(_, squeezed)| if squeezed { 1 } else { kept.next().copied().unwrap_or(1) }).collect()
}

/// What a dynamic start along each dimension of the memory must be a multiple of.
pub(super) fn multiples(dtype: DType, held: &[(usize, bool)], shape: Shape) -> Vec<usize> {
    let (sizes, part) = (held.iter().map(|d| d.0).collect::<Vec<_>>(), part(held, shape));
    let kept = (0..held.len()).filter(|&axis| !held[axis].1);
    kept.map(|axis| multiple(dtype, &sizes, &part, axis)).collect()
}

fn multiple(dtype: DType, memory: &[usize], part: &[usize], axis: usize) -> usize {
    let bits = dtype.bits();
    match (memory.len() - axis, memory) {
        (1, [_]) if bits == 32 => LANES,
        (1, [_]) => 8 * LANES,
        (1, _) => LANES,
        (2, &[.., rows, columns]) => {
            let one_row = part[axis] == 1 && part[axis + 1] == columns;
            // Rows of a full register, where there are so many.
            let full = SUBLANES * (32 / bits) as usize;
            match bits {
                32 if columns <= LANES || one_row => 1,
                4 | 8 if rows >= full => full,
                _ => SUBLANES,
            }
        }
        _ => 1,
    }
}
