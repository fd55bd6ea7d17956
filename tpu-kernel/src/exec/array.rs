//! Borrowed host arrays: the operands of one run.

use crate::ir::{DType, Literal};

/// An array to read: dense, row-major, native byte order, any alignment.
#[derive(Clone, Copy, Debug)]
pub struct ArrayRef<'a> {
    /// Element type.
    pub dtype: DType,
    /// Shape, outermost dimension first.
    pub shape: &'a [usize],
    /// The elements: product of the shape × bytes of an element.
    pub bytes: &'a [u8],
}

/// An array to write: dense, row-major, native byte order, any alignment.
#[derive(Debug)]
pub struct ArrayMut<'a> {
    /// Element type.
    pub dtype: DType,
    /// Shape, outermost dimension first.
    pub shape: &'a [usize],
    /// The elements: product of the shape × bytes of an element.
    pub bytes: &'a mut [u8],
}

/// The operands of one run, each list in the order of the kernel's parameters of that kind, and where messages go.
pub struct Args<'a, 'b> {
    /// One array an input window.
    pub inputs: &'b [ArrayRef<'a>],
    /// One array an output window.
    pub outputs: &'b mut [ArrayMut<'a>],
    /// One value a scalar parameter.
    pub scalars: &'b [Literal],
    /// Takes what the kernel prints; [`to_stderr`](super::print::to_stderr) writes it to standard error.
    pub log: super::Log<'b>,
}
