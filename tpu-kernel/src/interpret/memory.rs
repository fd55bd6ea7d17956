//! Memory while a kernel runs, and views of it.
//!
//! Rules: memory is a row-major list of elements with a name; a view is where its first element lies and how far apart the others
//! are, so views of views are views. What a view or an access names lies inside, or it is an error: nothing is clamped.

use super::tile::{Index, Tile, ravel, unravel};
use crate::exec::RunError;
use crate::ir::{DType, Literal, Loc, MAX_RANK, Shape};
use std::rc::Rc;

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
#[derive(Clone, Debug)]
pub(super) struct View {
    memory: usize,
    first: usize,
    pub(super) shape: Shape,
    strides: Index,
    /// Where its elements are others than those of the memory: first and strides are in these.
    cast: Option<Rc<Cast>>,
}

/// A view as elements of another type, row-major.
#[derive(Debug)]
struct Cast {
    of: View,
    from: DType,
    to: DType,
    /// The shape of the whole in these elements.
    shape: Shape,
}

impl Cast {
    /// Where the bits of the element at a row-major position begin: an index of the view below, and a bit of that element.
    fn place(&self, position: usize) -> (Index, usize) {
        let mut index = unravel(position, self.shape.dims());
        let (old, new) = (self.from.bits() as usize, self.to.bits() as usize);
        if old == new {
            return (index, 0);
        }
        let row = self.shape.rank() - 2;
        let first = index[row] * new;
        index[row] = first / old;
        (index, first % old)
    }

    /// How many elements of the view below an element covers.
    fn covers(&self) -> usize {
        (self.to.bits() as usize / self.from.bits() as usize).max(1)
    }

    /// The index so many rows further on.
    fn further(&self, mut index: Index, rows: usize) -> Index {
        if rows > 0 {
            index[self.shape.rank() - 2] += rows;
        }
        index
    }
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
        let strides = dense(shape);
        View { memory: self.memories.len() - 1, first: 0, shape, strides, cast: None }
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
    pub(super) fn elements(&mut self, view: &View) -> &mut Tile {
        &mut self.memories[view.memory].elements
    }

    pub(super) fn dtype(&self, view: &View) -> DType {
        view.cast.as_ref().map_or_else(|| self.memories[view.memory].elements.dtype, |cast| cast.to)
    }

    pub(super) fn get(&self, view: &View, index: &Index) -> Literal {
        let position = view.position(index);
        let Some(cast) = &view.cast else { return self.memories[view.memory].elements.at(position) };
        let (at, bit) = cast.place(position);
        let width = cast.from.bits() as usize;
        let parts = (0..cast.covers()).map(|i| self.get(&cast.of, &cast.further(at, i)).bits() << (i * width));
        Literal::from_bits(cast.to, parts.sum::<u32>() >> bit)
    }

    pub(super) fn set(&mut self, view: &View, index: &Index, element: Literal) {
        let position = view.position(index);
        let Some(cast) = &view.cast else {
            self.memories[view.memory].elements.bits[position] = element.bits();
            return;
        };
        let (at, bit) = cast.place(position);
        let (old, new) = (cast.from.bits() as usize, cast.to.bits() as usize);
        if new < old {
            let (there, mask) = (self.get(&cast.of, &at).bits(), ((1u32 << new) - 1) << bit);
            let bits = (there & !mask) | (element.bits() << bit);
            return self.set(&cast.of, &at, Literal::from_bits(cast.from, bits));
        }
        for i in 0..cast.covers() {
            self.set(&cast.of, &cast.further(at, i), Literal::from_bits(cast.from, element.bits() >> (i * old)));
        }
    }

    /// The view as elements of another type.
    pub(super) fn cast(&self, view: View, to: DType, shape: Shape) -> View {
        let from = self.dtype(&view);
        View {
            memory: view.memory,
            first: 0,
            shape,
            strides: dense(shape),
            cast: Some(Rc::new(Cast { of: view, from, to, shape })),
        }
    }

    /// The elements of a view, in row-major order.
    pub(super) fn read(&self, view: &View) -> Tile {
        let dims = view.shape;
        Tile::new(self.dtype(view), dims, |at| self.get(view, &unravel(at, dims.dims())))
    }

    /// Writes the elements of a view, in row-major order.
    pub(super) fn write(&mut self, view: &View, tile: &Tile) {
        for at in 0..tile.bits.len() {
            self.set(view, &unravel(at, view.shape.dims()), tile.at(at));
        }
    }

    /// That an access leaves a view.
    pub(super) fn outside(&self, view: &View, axis: usize, start: i64, size: usize, extent: usize, site: &Site<'_>) -> RunError {
        let (step, loc) = (site.step.to_vec(), site.loc.clone());
        RunError::OutOfBounds { operand: self.memories[view.memory].name.clone(), axis, start, size, extent, step, loc }
    }

    /// The part of a view that begins at `starts`, of that shape, with elements `strides` apart.
    pub(super) fn part(
        &self,
        view: &View,
        starts: &[i32],
        shape: Shape,
        strides: &[usize],
        site: &Site<'_>,
    ) -> Result<View, RunError> {
        let mut part = View { shape, ..view.clone() };
        for (axis, (&start, &by)) in starts.iter().zip(strides).enumerate() {
            let (size, extent) = ((shape.dim(axis) - 1).saturating_mul(by).saturating_add(1), view.shape.dim(axis));
            let inside = usize::try_from(start).ok().filter(|&s| s.checked_add(size).is_some_and(|end| end <= extent));
            let Some(start) = inside else {
                return Err(self.outside(view, axis, i64::from(start), size, extent, site));
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

    /// With its dimensions in another order.
    pub(super) fn transposed(self, perm: &[usize]) -> View {
        let mut strides = [0; MAX_RANK];
        for (to, &from) in perm.iter().enumerate() {
            strides[to] = self.strides[from];
        }
        let dims: Vec<usize> = perm.iter().map(|&axis| self.shape.dim(axis)).collect();
        View { shape: Shape::new(&dims), strides, ..self }
    }

    /// The same elements in row-major order under another shape. Verified: along each of its dimensions they lie at one distance,
    /// which is that from the first to the second.
    pub(super) fn reshaped(self, shape: Shape) -> View {
        let mut strides = [0; MAX_RANK];
        let mut step = 1;
        for axis in (0..shape.rank()).rev() {
            if shape.dim(axis) > 1 {
                strides[axis] = self.position(&unravel(step, self.shape.dims())) - self.first;
            }
            step *= shape.dim(axis);
        }
        View { shape, strides, ..self }
    }

    /// Its first rows.
    pub(super) fn rows(self, rows: usize) -> View {
        View { shape: self.shape.with_dim(0, rows), ..self }
    }
}

/// Row-major strides. Of memory without elements a product may not fit, and is not used.
fn dense(shape: Shape) -> Index {
    let mut strides = [0; MAX_RANK];
    for (axis, stride) in strides.iter_mut().enumerate().take(shape.rank()) {
        *stride = shape.dims()[axis + 1..].iter().fold(1, |n: usize, &d| n.saturating_mul(d));
    }
    strides
}

/// The row-major position of an index among semaphores, or the dimension along which it lies outside.
pub(super) fn position(index: &[i32], dims: Shape) -> Result<usize, usize> {
    let mut inside: Index = [0; MAX_RANK];
    for (axis, (&i, &extent)) in index.iter().zip(dims.dims()).enumerate() {
        inside[axis] = usize::try_from(i).ok().filter(|&i| i < extent).ok_or(axis)?;
    }
    Ok(ravel(&inside, dims.dims()))
}
