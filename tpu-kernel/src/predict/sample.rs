//! The grid steps that are looked at, and how many each stands for.
//!
//! Rules: a small grid is looked at whole. Of a long dimension the first and the last indices are looked at, which alone
//! differ in most kernels, and some between, evenly, that stand for the others.

/// Steps that are looked at, at most.
const STEPS: u64 = 2048;

/// An index of a grid dimension, and how many it stands for.
pub(super) type Index = (i32, f64);

/// The indices of each dimension.
pub(super) fn indices(grid: &[i32]) -> Vec<Vec<Index>> {
    let mut counts = grid.to_vec();
    let steps = |counts: &[i32]| counts.iter().fold(1u64, |n, &d| n.saturating_mul(u64::from(d.max(0).cast_unsigned())));
    while steps(&counts) > STEPS {
        let Some(longest) = counts.iter_mut().max() else { break };
        // An even number, because copies alternate between two buffers.
        *longest = if *longest > 8 { *longest / 4 * 2 } else { *longest - 1 };
    }
    grid.iter().zip(counts).map(|(&extent, count)| dimension(extent, count)).collect()
}

fn dimension(extent: i32, count: i32) -> Vec<Index> {
    if extent <= count {
        return (0..extent).map(|i| (i, 1.0)).collect();
    }
    // Indices at either end that stand for themselves.
    let ends = (count / 3).min(2);
    let between = count - 2 * ends;
    let stands_for = f64::from(extent - 2 * ends) / f64::from(between);
    let middle = (0..between).map(|i| {
        let at = (2 * i64::from(i) + 1) * i64::from(extent - 2 * ends) / (2 * i64::from(between));
        (ends + at as i32, stands_for)
    });
    let first = (0..ends).map(|i| (i, 1.0));
    let last = (extent - ends..extent).map(|i| (i, 1.0));
    first.chain(middle).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_grids_are_whole_and_large_ones_stand_for_all_steps() {
        assert_eq!(indices(&[2, 3]), vec![vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0), (1, 1.0), (2, 1.0)]]);
        assert_eq!(indices(&[]), Vec::<Vec<Index>>::new());
        for grid in [vec![1_000_000, 1, 1], vec![i32::MAX; 3], vec![100, 200, 300], vec![5, 4096, 7], vec![9; 16]] {
            let all = indices(&grid);
            assert!(all.iter().map(Vec::len).product::<usize>() <= 2048, "{grid:?}");
            for (extent, dimension) in grid.into_iter().zip(all) {
                let total: f64 = dimension.iter().map(|(_, n)| n).sum();
                assert!((total - f64::from(extent)).abs() < 1e-3, "{extent}: {total}");
                assert!(dimension.windows(2).all(|w| w[0].0 < w[1].0), "{dimension:?}");
            }
        }
    }
}
