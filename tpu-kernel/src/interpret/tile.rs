//! Values while a kernel runs: scalars, tiles and memory.

use super::memory::View;
use super::semaphore::Semaphores;
use crate::exec::RunError;
use crate::ir::{DType, Literal, MAX_RANK, Shape};
use std::rc::Rc;

/// A block of elements, row-major: a tile, a window or scratch.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    /// The bits of each element, as [`Literal::bits`].
    pub(super) bits: Vec<u32>,
}

impl Tile {
    /// The tile whose element at each row-major position is given.
    pub(super) fn new(dtype: DType, shape: Shape, element: impl FnMut(usize) -> Literal) -> Tile {
        let mut element = element;
        let bits = (0..shape.elements()).map(|at| element(at).bits()).collect();
        Tile { dtype, shape, bits }
    }

    /// Memory that nothing has written.
    pub(super) fn poison(dtype: DType, shape: Shape) -> Result<Tile, RunError> {
        let mut bits = Vec::new();
        let elements = shape.elements();
        bits.try_reserve_exact(elements).map_err(|_| RunError::OutOfMemory { bytes: elements.saturating_mul(4) })?;
        bits.resize(elements, Literal::poison(dtype).bits());
        Ok(Tile { dtype, shape, bits })
    }

    pub(super) fn fill_with_poison(&mut self) {
        self.bits.fill(Literal::poison(self.dtype).bits());
    }

    /// The element at a row-major position.
    pub(super) fn at(&self, position: usize) -> Literal {
        Literal::from_bits(self.dtype, self.bits[position])
    }
}

/// A value of the kernel.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Scalar(Literal),
    Tile(Rc<Tile>),
    Memory(View),
    Semaphores(Semaphores),
}

impl Data {
    pub(super) fn tile(&self) -> &Tile {
        match self {
            Data::Tile(tile) => tile,
            _ => panic!("verified: a tile"),
        }
    }

    pub(super) fn scalar(&self) -> Literal {
        match self {
            Data::Scalar(literal) => *literal,
            _ => panic!("verified: a scalar"),
        }
    }

    pub(super) fn memory(&self) -> View {
        match self {
            Data::Memory(view) => view.clone(),
            _ => panic!("verified: memory"),
        }
    }

    pub(super) fn semaphores(&self) -> Semaphores {
        match self {
            Data::Semaphores(semaphores) => *semaphores,
            _ => panic!("verified: semaphores"),
        }
    }

    pub(super) fn i32(&self) -> i32 {
        self.scalar().as_i32().expect("verified: an i32")
    }

    pub(super) fn bool(&self) -> bool {
        self.scalar().as_bool().expect("verified: a bool")
    }

    /// The element at a row-major position; a scalar is the same everywhere.
    pub(super) fn at(&self, position: usize) -> Literal {
        match self {
            Data::Tile(tile) => tile.at(position),
            scalar => scalar.scalar(),
        }
    }
}

impl From<Tile> for Data {
    fn from(tile: Tile) -> Data {
        Data::Tile(Rc::new(tile))
    }
}

/// An index along each dimension; 0 beyond the rank.
pub(super) type Index = [usize; MAX_RANK];

/// The index of a row-major position.
pub(super) fn unravel(position: usize, dims: &[usize]) -> Index {
    let mut rest = position;
    let mut index = [0; MAX_RANK];
    for (i, &dim) in index.iter_mut().zip(dims).rev() {
        *i = rest % dim;
        rest /= dim;
    }
    index
}

/// The row-major position of an index.
pub(super) fn ravel(index: &Index, dims: &[usize]) -> usize {
    index.iter().zip(dims).fold(0, |position, (&i, &dim)| position * dim + i)
}
