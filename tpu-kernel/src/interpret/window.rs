//! Blocks of arrays, to and from the windows that show them.
//!
//! Rules: a block starts at index × size along each dimension, of an element dimension at the index; what lies outside the array reads as
//! poison and is dropped on the way back. A squeezed dimension has size 1, so a block has the same
//! elements in the same order with and without it.

use super::tile::{Tile, ravel, unravel};
use crate::exec::{ArrayMut, ArrayRef};
use crate::ir::{DType, Literal, MAX_RANK, Window};

/// The bits of a block of an array of that type and shape, whose elements `element` gives.
pub(super) fn read(
    window: &Window,
    block: &[i32],
    (dtype, array): (DType, &[usize]),
    element: impl Fn(usize) -> Literal,
) -> Vec<u32> {
    let poison = Literal::poison(dtype);
    let elements: usize = window.block.iter().map(|dim| dim.size()).product();
    (0..elements).map(|position| place(window, block, array, position).map_or(poison, &element).bits()).collect()
}

/// Gives the elements of a block of an array of that shape to `element`, each with its place.
pub(super) fn write(window: &Window, block: &[i32], array: &[usize], memory: &Tile, mut element: impl FnMut(usize, Literal)) {
    for position in 0..memory.bits.len() {
        if let Some(at) = place(window, block, array, position) {
            element(at, memory.at(position));
        }
    }
}

/// Fills memory with the whole array.
pub(super) fn get_all(array: &ArrayRef<'_>, memory: &mut Tile) {
    for position in 0..memory.bits.len() {
        memory.bits[position] = get(array.dtype, array.bytes, position).bits();
    }
}

/// Writes memory to the whole array.
pub(super) fn set_all(array: &mut ArrayMut<'_>, memory: &Tile) {
    for position in 0..memory.bits.len() {
        set(array.dtype, array.bytes, position, memory.at(position));
    }
}

/// Where in the array a position of the block lies, if it lies inside.
fn place(window: &Window, block: &[i32], array: &[usize], position: usize) -> Option<usize> {
    let mut sizes = [1; MAX_RANK];
    for (size, dim) in sizes.iter_mut().zip(&window.block) {
        *size = dim.size();
    }
    let mut index = unravel(position, &sizes[..array.len()]);
    for axis in 0..array.len() {
        let element = window.block[axis].first(block[axis]) + index[axis] as i64;
        index[axis] = usize::try_from(element).ok().filter(|&i| i < array[axis])?;
    }
    Some(ravel(&index, array))
}

pub(super) fn get(dtype: DType, bytes: &[u8], at: usize) -> Literal {
    let bytes = &bytes[at * dtype.bytes()..][..dtype.bytes()];
    let bits = match *bytes {
        [a] => u32::from(a),
        [a, b] => u32::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
        _ => unreachable!("elements have 1, 2 or 4 bytes"),
    };
    Literal::from_bits(dtype, bits)
}

pub(super) fn set(dtype: DType, bytes: &mut [u8], at: usize, element: Literal) {
    let bytes = &mut bytes[at * dtype.bytes()..][..dtype.bytes()];
    let bits = element.memory();
    match dtype.bytes() {
        1 => bytes.copy_from_slice(&[bits as u8]),
        2 => bytes.copy_from_slice(&(bits as u16).to_ne_bytes()),
        _ => bytes.copy_from_slice(&bits.to_ne_bytes()),
    }
}
