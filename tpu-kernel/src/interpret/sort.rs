//! Sorting along one dimension: stable, NaN above all numbers, -0 equal to +0.

use super::tile::Tile;
use crate::ir::{CompareOp, Literal, eval};
use std::cmp::Ordering;

/// Keys and payloads in the order of the keys.
pub(super) fn sort(tiles: &[&Tile], axis: usize, descending: bool) -> Vec<Tile> {
    let keys = tiles[0];
    let n = keys.shape.dim(axis);
    let inner: usize = keys.shape.dims()[axis + 1..].iter().product();
    // By position in the result: the position that its elements come from.
    let mut from = vec![0; keys.bits.len()];
    for lane in 0..keys.bits.len() / n {
        let first = lane / inner * n * inner + lane % inner;
        let mut places: Vec<usize> = (0..n).map(|i| first + i * inner).collect();
        places.sort_by(|&a, &b| {
            let order = order(keys.at(a), keys.at(b));
            if descending { order.reverse() } else { order }
        });
        for (i, place) in places.into_iter().enumerate() {
            from[first + i * inner] = place;
        }
    }
    tiles.iter().map(|tile| Tile::new(tile.dtype, tile.shape, |at| tile.at(from[at]))).collect()
}

fn order(a: Literal, b: Literal) -> Ordering {
    let nan = |x: Literal| x.as_f32().is_some_and(f32::is_nan);
    let less = |a, b| eval::compare(CompareOp::Lt, a, b).expect("verified: numbers");
    match (nan(a), nan(b)) {
        (false, false) if less(a, b) => Ordering::Less,
        (false, false) if less(b, a) => Ordering::Greater,
        (false, false) => Ordering::Equal,
        (a, b) => a.cmp(&b),
    }
}
