//! Memory while a kernel runs, and views of it.
//!
//! Rules: memory is a row-major list of elements with a name; a view is where its first element lies and how far apart the others
//! are, so views of views are views. What a view or an access names lies inside, or it is an error: nothing is clamped.

use super::tile::{Index, Tile, ravel, unravel};
use crate::exec::RunError;
use crate::ir::{DType, Literal, Loc, MAX_RANK, Shape};

/// All memory of a launch: windows, scratch, arrays, and that of the open regions.
#[derive(Default)]
pub(super) struct Memories {
    memories: Vec<Memory>,
}

struct Memory {
    /// The operand; of a region's memory a word for it.
    name: String,
    elements: Tile,
}

/// A part of a memory, or the whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    memory: usize,
    first: usize,
    pub(super) shape: Shape,
    strides: Index,
}

/// What an error says of the place where something is accessed.
pub(super) struct Site<'a> {
    pub(super) step: &'a [i32],
    pub(super) loc: &'a Loc,
}

impl Memories {
    /// Adds memory; the view of all of it.
    pub(super) fn add(&mut self, name: &str, elements: Tile) -> View {
        let shape = elements.shape;
        self.memories.push(Memory { name: name.to_string(), elements });
        let mut strides = [0; MAX_RANK];
        for (axis, stride) in strides.iter_mut().enumerate().take(shape.rank()) {
            // Of memory without elements the product may not fit, and is not used.
            *stride = shape.dims()[axis + 1..].iter().fold(1, |n: usize, &d| n.saturating_mul(d));
        }
        View { memory: self.memories.len() - 1, first: 0, shape, strides }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.memories.len()
    }

    /// Forgets those that were added after there were so many.
    pub(super) fn forget(&mut self, count: usize) {
        self.memories.truncate(count);
    }

    /// All elements of the memory that a view shows.
    pub(super) fn elements(&mut self, view: View) -> &mut Tile {
        &mut self.memories[view.memory].elements
    }

    pub(super) fn dtype(&self, view: View) -> DType {
        self.memories[view.memory].elements.dtype
    }

    pub(super) fn get(&self, view: View, index: &Index) -> Literal {
        self.memories[view.memory].elements.at(view.position(index))
    }

    pub(super) fn set(&mut self, view: View, index: &Index, element: Literal) {
        self.memories[view.memory].elements.bits[view.position(index)] = element.bits();
    }

    /// The elements of a view, in row-major order.
    pub(super) fn read(&self, view: View) -> Tile {
        let dims = view.shape;
        Tile::new(self.dtype(view), dims, |at| self.get(view, &unravel(at, dims.dims())))
    }

    /// Writes the elements of a view, in row-major order.
    pub(super) fn write(&mut self, view: View, tile: &Tile) {
        for at in 0..tile.bits.len() {
            self.set(view, &unravel(at, view.shape.dims()), tile.at(at));
        }
    }

    /// The part of a view that begins at `starts`, of that shape, with elements `strides` apart.
    pub(super) fn part(
        &self,
        view: View,
        starts: &[i32],
        shape: Shape,
        strides: &[usize],
        site: &Site<'_>,
    ) -> Result<View, RunError> {
        let mut part = View { shape, ..view };
        for (axis, (&start, &by)) in starts.iter().zip(strides).enumerate() {
            let (size, extent) = ((shape.dim(axis) - 1).saturating_mul(by).saturating_add(1), view.shape.dim(axis));
            let inside = usize::try_from(start).ok().filter(|&s| s.checked_add(size).is_some_and(|end| end <= extent));
            let Some(start) = inside else {
                return Err(RunError::OutOfBounds {
                    operand: self.memories[view.memory].name.clone(),
                    axis,
                    start: i64::from(start),
                    size,
                    extent,
                    step: site.step.to_vec(),
                    loc: site.loc.clone(),
                });
            };
            part.first += start * view.strides[axis];
            part.strides[axis] = view.strides[axis].saturating_mul(by);
        }
        Ok(part)
    }
}

impl View {
    fn position(&self, index: &Index) -> usize {
        let steps = index.iter().zip(&self.strides).take(self.shape.rank());
        self.first + steps.map(|(i, stride)| i * stride).sum::<usize>()
    }

    /// Without these dimensions of size 1.
    pub(super) fn squeezed(self, axes: &[usize]) -> View {
        let kept: Vec<usize> = (0..self.shape.rank()).filter(|axis| !axes.contains(axis)).collect();
        let mut strides = [0; MAX_RANK];
        for (to, &from) in kept.iter().enumerate() {
            strides[to] = self.strides[from];
        }
        let dims: Vec<usize> = kept.iter().map(|&axis| self.shape.dim(axis)).collect();
        View { shape: Shape::new(&dims), strides, ..self }
    }

    /// Its first rows.
    pub(super) fn rows(self, rows: usize) -> View {
        View { shape: self.shape.with_dim(0, rows), ..self }
    }
}

/// The row-major position of an index among semaphores, or the dimension along which it lies outside.
pub(super) fn position(index: &[i32], dims: Shape) -> Result<usize, usize> {
    let mut inside: Index = [0; MAX_RANK];
    for (axis, (&i, &extent)) in index.iter().zip(dims.dims()).enumerate() {
        inside[axis] = usize::try_from(i).ok().filter(|&i| i < extent).ok_or(axis)?;
    }
    Ok(ravel(&inside, dims.dims()))
}
