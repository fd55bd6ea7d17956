//! Operations that move elements without changing them.

use super::tile::{Data, Tile, ravel, unravel};
use crate::ir::{DType, Literal, MAX_RANK, Shape};

/// The index along `axis` of each element.
pub(super) fn iota(shape: Shape, axis: usize) -> Tile {
    Tile::new(DType::I32, shape, |at| Literal::from(unravel(at, shape.dims())[axis] as i32))
}

/// A scalar, or the dimensions of 1 of a tile, repeated.
pub(super) fn broadcast(from: &Data, dtype: DType, to: Shape) -> Tile {
    let tile = match from {
        Data::Scalar(literal) => return Tile::new(dtype, to, |_| *literal),
        Data::Tile(tile) => tile,
    };
    Tile::new(dtype, to, |at| {
        let mut index = unravel(at, to.dims());
        for (i, &dim) in index.iter_mut().zip(tile.shape.dims()) {
            if dim == 1 {
                *i = 0;
            }
        }
        tile.at(ravel(&index, tile.shape.dims()))
    })
}

/// The same elements in row-major order.
pub(super) fn reshape(from: &Tile, to: Shape) -> Tile {
    Tile { dtype: from.dtype, shape: to, bits: from.bits.clone() }
}

/// Dimension `d` of the result is dimension `perm[d]` of the operand.
pub(super) fn transpose(from: &Tile, perm: &[usize], to: Shape) -> Tile {
    Tile::new(from.dtype, to, |at| {
        let mut index = [0; MAX_RANK];
        for (&d, i) in perm.iter().zip(unravel(at, to.dims())) {
            index[d] = i;
        }
        from.at(ravel(&index, from.shape.dims()))
    })
}
