//! How the dimensions of a tile lie in the dimensions of a loop nest.
//!
//! Broadcasts, transposes and reshapes that only add or drop dimensions of 1 are no work: they change
//! the map under which their operand is read.

use crate::ir::{MAX_RANK, OpKind, Shape};

/// For each dimension of a tile the dimension of the nest that runs over it; `NONE` where only index 0 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Map([u8; MAX_RANK]);

const NONE: u8 = u8::MAX;

impl Map {
    /// A map that is no other: the reader goes its own way through memory.
    pub(super) const OPAQUE: Map = Map([NONE - 1; MAX_RANK]);

    /// The map of the tile that the nest runs over.
    pub(super) fn identity(shape: Shape) -> Map {
        let mut map = Map([NONE; MAX_RANK]);
        for (d, &n) in shape.dims().iter().enumerate() {
            if n > 1 {
                map.0[d] = d as u8;
            }
        }
        map
    }

    /// The nest's dimension for that dimension of the tile.
    pub(super) fn get(&self, dim: usize) -> Option<usize> {
        (self.0[dim] != NONE).then_some(self.0[dim] as usize)
    }

    /// The map of the operand of a broadcast, transpose or reshape of tiles, from the map of the result.
    pub(super) fn of_operand(&self, kind: &OpKind, operand: Shape, result: Shape) -> Map {
        let mut map = Map([NONE; MAX_RANK]);
        match kind {
            OpKind::Transpose(perm) => {
                for (d, &from) in perm.iter().enumerate() {
                    map.0[from] = self.0[d];
                }
            }
            OpKind::Reshape(_) => {
                let kept = |shape: Shape| (0..shape.rank()).filter(move |&d| shape.dim(d) > 1);
                for (from, to) in kept(operand).zip(kept(result)) {
                    map.0[from] = self.0[to];
                }
            }
            _ => {
                for d in 0..operand.rank() {
                    if operand.dim(d) > 1 {
                        map.0[d] = self.0[d];
                    }
                }
            }
        }
        map
    }
}

/// Whether two shapes are equal but for dimensions of 1.
pub(super) fn same_but_units(a: Shape, b: Shape) -> bool {
    let kept = |shape: Shape| (0..shape.rank()).map(move |d| shape.dim(d)).filter(|&n| n > 1);
    kept(a).eq(kept(b))
}
