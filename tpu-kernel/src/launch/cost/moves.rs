//! How often a window's block changes from one grid step to the next.

use crate::ir::{Kernel, OpKind, Region, Window};
use crate::launch::maps::{self, Abstract, Numbers, Range};

/// How often a window's block changes, with its first; whether that is exact.
pub(super) fn moves(kernel: &Kernel, window: &Window, numbers: &Numbers<'_>, steps: &[Range]) -> (u128, bool) {
    let forms = maps::forms(kernel, &window.map, numbers, steps);
    let extents: Vec<u128> = numbers.grid.iter().map(|&n| n as u128).collect();
    let linear: Option<Vec<&[i64]>> = forms
        .iter()
        .map(|form| match form {
            Abstract::Linear { coef, .. } => Some(coef.as_slice()),
            _ => None,
        })
        .collect();
    let Some(linear) = linear else {
        // It may change wherever one of the indices that it depends on does, or one of a slower dimension.
        let depends = dependencies(kernel, &window.map);
        let inner = (0..extents.len()).rev().find(|&axis| depends[axis] && extents[axis] > 1);
        let most = inner.map_or(1, |axis| extents[..=axis].iter().fold(1u128, |n, &d| n.saturating_mul(d)));
        return (most, false);
    };
    let at = |coef: &[i64], axis: usize| i128::from(coef.get(axis).copied().unwrap_or(0));
    let mut total = 1u128;
    let mut outer = 1u128;
    for axis in 0..extents.len() {
        // From one step to the next, this index grows by one and all faster ones return to 0.
        let change = |coef: &&[i64]| {
            let back: i128 = (axis + 1..extents.len()).map(|d| at(coef, d) * (extents[d] as i128 - 1)).sum();
            at(coef, axis) != back
        };
        if linear.iter().any(change) {
            total = total.saturating_add(outer.saturating_mul(extents[axis] - 1));
        }
        outer = outer.saturating_mul(extents[axis]);
    }
    (total, true)
}

/// The grid dimensions that an index map's results are computed from.
fn dependencies(kernel: &Kernel, map: &Region) -> Vec<bool> {
    let rank = kernel.grid.len();
    let mut of: Vec<Vec<bool>> = vec![vec![false; rank]; kernel.types.len()];
    for (axis, arg) in map.args.iter().take(rank).enumerate() {
        of[arg.0 as usize][axis] = true;
    }
    for op in &map.ops {
        let mut axes = vec![false; rank];
        if let OpKind::ProgramId(axis) = op.kind {
            axes[axis] = true;
        }
        if op.kind == OpKind::LoadScalar {
            // What the body writes between two steps is read by the second.
            axes.fill(true);
        }
        for operand in &op.operands {
            axes.iter_mut().zip(&of[operand.0 as usize]).for_each(|(a, b)| *a |= b);
        }
        op.results.iter().for_each(|r| of[r.0 as usize].clone_from(&axes));
    }
    (0..rank).map(|axis| map.yields.iter().any(|v| of[v.0 as usize][axis])).collect()
}
