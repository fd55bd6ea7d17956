//! Operations that move elements without changing them.

use super::tile::{Data, Tile, ravel, unravel};
use crate::ir::{DType, Literal, MAX_RANK, RotateStride, Shape};

/// The index along `axis` of each element.
pub(super) fn iota(shape: Shape, axis: usize) -> Tile {
    Tile::new(DType::I32, shape, |at| Literal::from(unravel(at, shape.dims())[axis] as i32))
}

/// A scalar, or the dimensions of 1 of a tile, repeated.
pub(super) fn broadcast(from: &Data, dtype: DType, to: Shape) -> Tile {
    let Data::Tile(tile) = from else {
        return Tile::new(dtype, to, |_| from.scalar());
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

/// The elements `starts + i · strides`.
pub(super) fn slice(from: &Tile, starts: &[usize], strides: &[usize], to: Shape) -> Tile {
    Tile::new(from.dtype, to, |at| {
        let mut index = unravel(at, to.dims());
        for (i, (start, stride)) in index.iter_mut().zip(starts.iter().zip(strides)) {
            *i = start + *i * stride;
        }
        from.at(ravel(&index, from.shape.dims()))
    })
}

/// Tiles one after the other along `axis`.
pub(super) fn concat(tiles: &[&Tile], axis: usize, dtype: DType, to: Shape) -> Tile {
    // By position along the axis: the tile, and the position in it.
    let along: Vec<(&Tile, usize)> = tiles.iter().flat_map(|&tile| (0..tile.shape.dim(axis)).map(move |i| (tile, i))).collect();
    Tile::new(dtype, to, |at| {
        let mut index = unravel(at, to.dims());
        let (tile, i) = along[index[axis]];
        index[axis] = i;
        tile.at(ravel(&index, tile.shape.dims()))
    })
}

/// Element i along `axis` comes to (i + amount) mod n, in row r of the stride's axis r · stride further.
pub(super) fn rotate(from: &Tile, amount: i32, axis: usize, stride: Option<RotateStride>) -> Tile {
    let n = from.shape.dim(axis) as i64;
    Tile::new(from.dtype, from.shape, |at| {
        let mut index = unravel(at, from.shape.dims());
        let further = stride.map_or(0, |stride| index[stride.axis] as i64 * i64::from(stride.by));
        index[axis] = (index[axis] as i64 - i64::from(amount) - further).rem_euclid(n) as usize;
        from.at(ravel(&index, from.shape.dims()))
    })
}

/// Element `indices[i]` along `axis`; or the first index, in row-major order, that is not from -n to n - 1.
pub(super) fn gather(from: &Tile, indices: &Tile, axis: usize) -> Result<Tile, i32> {
    let n = from.shape.dim(axis) as i64;
    let index = |at: usize| indices.at(at).as_i32().expect("verified: i32 indices");
    if let Some(outside) = (0..indices.bits.len()).map(index).find(|&i| !(-n..n).contains(&i64::from(i))) {
        return Err(outside);
    }
    Ok(Tile::new(from.dtype, indices.shape, |at| {
        let mut place = unravel(at, indices.shape.dims());
        place[axis] = i64::from(index(at)).rem_euclid(n) as usize;
        from.at(ravel(&place, from.shape.dims()))
    }))
}

/// The same bits as elements of another type. Between widths, the rows of each column of the last two dimensions are read
/// as one string of bits, low ones first.
pub(super) fn bitcast(from: &Tile, dtype: DType, to: Shape) -> Tile {
    let (old, new) = (from.dtype.bits() as usize, dtype.bits() as usize);
    if old == new {
        return Tile { dtype, shape: to, bits: from.bits.clone() };
    }
    let row = to.rank() - 2;
    let bits = |mut index: [usize; MAX_RANK], r: usize| {
        index[row] = r;
        from.at(ravel(&index, from.shape.dims())).bits()
    };
    Tile::new(dtype, to, |at| {
        let index = unravel(at, to.dims());
        let first = index[row] * new;
        let bits = if new < old {
            bits(index, first / old) >> (first % old)
        } else {
            (0..new / old).map(|i| bits(index, first / old + i) << (i * old)).sum()
        };
        Literal::from_bits(dtype, bits)
    })
}
