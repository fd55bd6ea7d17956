//! How the steps of a launch are split over the cores of a chip.
//!
//! Rules: the first dimension of the grid that is parallel and has more than one step is split, in parts that are as equal as can be,
//! the first core's first; a chip with two cores runs each part on one of them. All dimensions before it have one step, so that the
//! parts follow one another in the order of the grid.

use super::Binding;
use crate::ir::Kernel;
use std::ops::Range;

/// A dimension of the grid in parts, one a core. Without a dimension that is split: one part, of all steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The dimension.
    pub axis: usize,
    /// The indices along it that each core has, all with steps.
    pub parts: Vec<Range<i32>>,
}

/// How the launch is split.
pub fn split(kernel: &Kernel, binding: &Binding) -> Split {
    let mut parallel = kernel.grid.iter().zip(&binding.grid).take_while(|(dim, _)| dim.semantics.is_parallel());
    let axis = parallel.position(|(_, &extent)| extent > 1).unwrap_or(0);
    let extent = binding.grid.get(axis).copied().unwrap_or(1).max(0);
    let splits = kernel.grid.get(axis).is_some_and(|dim| dim.semantics.is_parallel());
    let cores = if splits { i64::try_from(binding.cores).unwrap_or(1).clamp(1, i64::from(extent.max(1))) } else { 1 };
    // Where core number c begins: of what is left over each of the first cores has one step more.
    let first = |core: i64| (i64::from(extent) / cores * core + core.min(i64::from(extent) % cores)) as i32;
    Split { axis, parts: (0..cores).map(|core| first(core)..first(core + 1)).collect() }
}

/// Whether steps along a dimension of the grid are seen to write different blocks of every output: else cores that share
/// them write one block, which libtpu does not catch, so that a chip is not told that they are parallel.
pub(crate) fn apart(kernel: &Kernel, axis: usize) -> bool {
    kernel.outputs().all(|(_, param)| {
        // Where copies write to a whole array is not seen.
        let Some(window) = param.window() else { return false };
        let step = window.map.args.get(axis);
        window.map.yields.iter().any(|index| Some(index) == step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Semantics, parse};

    /// The dimension, and where each part begins and ends.
    fn parts(semantics: &[Semantics], grid: &[i32], cores: usize) -> (usize, Vec<[i32; 2]>) {
        let dim = |(at, semantics): (usize, &Semantics)| format!("  grid i{at} = 1 {}\n", semantics.name());
        let dims: String = semantics.iter().enumerate().map(dim).collect();
        let kernel = parse(&format!("kernel @k() {{\n{dims}  body {{\n  }}\n}}\n")).unwrap();
        let binding = Binding { cores, sizes: vec![], grid: grid.to_vec(), arrays: vec![] };
        let Split { axis, parts } = split(&kernel, &binding);
        (axis, parts.into_iter().map(|part| [part.start, part.end]).collect())
    }

    #[test]
    fn the_first_parallel_dimension_of_several_steps_is_split() {
        use Semantics::{Arbitrary, CoreParallel, Parallel};
        assert_eq!(parts(&[Parallel], &[8], 1), (0, vec![[0, 8]]));
        assert_eq!(parts(&[Parallel], &[8], 2), (0, vec![[0, 4], [4, 8]]));
        assert_eq!(parts(&[Parallel], &[5], 2), (0, vec![[0, 3], [3, 5]]));
        assert_eq!(parts(&[Parallel], &[1], 2), (0, vec![[0, 1]]));
        assert_eq!(parts(&[Parallel, Parallel, Arbitrary], &[1, 3, 4], 2), (1, vec![[0, 2], [2, 3]]));
        assert_eq!(parts(&[Parallel, Arbitrary], &[1, 3], 2), (0, vec![[0, 1]]));
        assert_eq!(parts(&[CoreParallel, Arbitrary], &[2, 3], 2), (0, vec![[0, 1], [1, 2]]));
        assert_eq!(parts(&[Arbitrary], &[6], 2), (0, vec![[0, 6]]));
        assert_eq!(parts(&[], &[], 2), (0, vec![[0, 1]]));
        assert_eq!(parts(&[Parallel], &[i32::MAX], 2), (0, vec![[0, 1 << 30], [1 << 30, i32::MAX]]));
    }
}
