//! What is known of a memory while a launch is watched: where it is, which of its elements are poison, and which a copy is about
//! to read or write.
//!
//! Rules: a memory is dense; elements are counted from its first. What is kept of each element is kept only where it can matter, and
//! goes when the memory goes.

use super::region::Region;
use super::touched::Touched;
use crate::exec::RunError;
use crate::ir::{DType, MAX_RANK};
use std::borrow::Cow;
use tpu_microkernels::tile::{RANK, Slot};

/// Which elements are poison.
#[derive(Debug)]
pub(super) enum Shadow {
    /// None ever is.
    Defined,
    /// Those for which that memory, by number, holds true.
    Memory(usize),
    /// Those with a 1.
    Own(Vec<u8>),
}

/// So many of these, or an error where the host has no room for them.
pub(super) fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, RunError> {
    let mut all = vec![];
    all.try_reserve_exact(count).map_err(|_| RunError::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) })?;
    all.resize(count, value);
    Ok(all)
}

/// A memory.
#[derive(Debug)]
pub(super) struct Memory {
    pub name: String,
    /// Its first element; null before its region is entered.
    pub base: *mut u8,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub shadow: Shadow,
    /// Of each element, the copies under way there: [`WRITTEN`], and how many read it. Empty until the first one; all 0 while there
    /// is none.
    marks: Vec<u32>,
    /// Copies under way here.
    pub flying: usize,
    pub touched: Option<Touched>,
    /// Of an output window: along each of its dimensions the elements that lie inside the array.
    pub inside: Option<[(i64, i64); MAX_RANK]>,
    /// The first element of an output window's block in the array, to name elements.
    pub corner: [i64; MAX_RANK],
}

/// A mark: a copy writes the element.
const WRITTEN: u32 = 1 << 31;

impl Memory {
    pub(super) fn elements(&self) -> usize {
        if self.shape.contains(&0) { 0 } else { self.shape.iter().product() }
    }

    /// What is known of a memory at the start of a launch, but for what comes in from outside.
    pub(super) fn new(name: String, base: *mut u8, dtype: DType, shape: Vec<usize>) -> Memory {
        let (shadow, corner) = (Shadow::Defined, [0; MAX_RANK]);
        Memory { name, base, dtype, shape, shadow, marks: vec![], flying: 0, touched: None, inside: None, corner }
    }

    /// The number of the element at an address. Memory begins at or before each of its parts.
    pub(super) fn element(&self, address: *const u8) -> i64 {
        (address.addr().wrapping_sub(self.base.addr()) / self.dtype.bytes()) as i64
    }

    /// The elements that a part of it has.
    pub(super) fn region(&self, slot: &Slot, dims: [usize; RANK]) -> Region {
        Region { start: self.element(slot.ptr), dims, strides: slot.strides }
    }

    /// The index of an element.
    pub(super) fn index(&self, element: usize) -> Vec<usize> {
        let mut index = vec![0; self.shape.len()];
        let mut rest = element;
        for axis in (0..self.shape.len()).rev() {
            let extent = self.shape[axis].max(1);
            index[axis] = rest % extent;
            rest /= extent;
        }
        index
    }

    /// Whether the element lies inside the array that an output window shows.
    pub(super) fn is_inside(&self, element: usize) -> bool {
        let Some(inside) = &self.inside else { return true };
        self.index(element).iter().zip(inside).all(|(&i, &(low, high))| (low..high).contains(&(i as i64)))
    }

    /// What errors call it.
    pub(super) fn called(&self) -> Cow<'_, str> {
        if self.name == super::super::body::OWN {
            Cow::Borrowed(&self.name)
        } else {
            Cow::Owned(format!("operand `{}`", self.name))
        }
    }

    /// Marks the elements of a copy that begins.
    pub(super) fn mark(&mut self, part: &[Region], writes: bool) -> Result<(), RunError> {
        if self.marks.is_empty() {
            self.marks = filled(0, self.elements())?;
        }
        self.flying += 1;
        for region in part {
            region.each(&mut self.marks, |_, mark| *mark = if writes { *mark | WRITTEN } else { mark.saturating_add(1) });
        }
        Ok(())
    }

    /// Takes the marks of a copy off that is known to be done.
    pub(super) fn unmark(&mut self, part: &[Region], writes: bool) {
        self.flying = self.flying.saturating_sub(1);
        for region in part {
            region.each(&mut self.marks, |_, mark| *mark = if writes { *mark & !WRITTEN } else { mark.saturating_sub(1) });
        }
    }

    /// The first element of a part where an access meets a copy.
    pub(super) fn met(&self, region: &Region, writes: bool) -> Option<(usize, bool)> {
        if self.flying == 0 {
            return None;
        }
        let found = region.find(&self.marks, |_, mark| if writes { mark != 0 } else { mark & WRITTEN != 0 })?;
        Some((found, self.marks[found] & WRITTEN != 0))
    }
}
