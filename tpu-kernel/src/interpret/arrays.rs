//! The arrays behind windows: those of the launch where they lie, and those that an output shares with an input in memory.
//!
//! Rules: an output that shares an input's array starts as that array and is it from then on, so that what a block of the input
//! shows is what the array holds when the block is fetched. The launch's input stays as it is.

use super::body::Machine;
use super::tile::Tile;
use super::window;
use crate::exec::{ArrayMut, ArrayRef, RunError};
use crate::ir::{Kernel, Revisit, Shape, Window};
use crate::launch::Binding;

/// The arrays of a launch, by operand.
pub(super) struct Arrays<'r, 'a> {
    inputs: &'r [ArrayRef<'a>],
    outputs: &'r mut [ArrayMut<'a>],
    places: Vec<Place>,
}

/// Where an operand's array is.
#[derive(Clone, Copy)]
enum Place {
    /// There is none.
    Nowhere,
    Input(usize),
    Output(usize),
    /// In memory, as the array of this output.
    Shared(usize),
}

impl<'r, 'a> Arrays<'r, 'a> {
    pub(super) fn new(kernel: &Kernel, inputs: &'r [ArrayRef<'a>], outputs: &'r mut [ArrayMut<'a>]) -> Arrays<'r, 'a> {
        let mut places = vec![Place::Nowhere; kernel.params.len()];
        kernel.inputs().enumerate().for_each(|(nth, (at, _))| places[at] = Place::Input(nth));
        kernel.outputs().enumerate().for_each(|(nth, (at, _))| places[at] = Place::Output(nth));
        for (output, input) in kernel.aliases() {
            places[output] = Place::Shared(output);
            places[input] = Place::Shared(output);
        }
        Arrays { inputs, outputs, places }
    }

    /// The elements of the array that the output shares with an input, before anything runs.
    pub(super) fn shared(&self, kernel: &Kernel, output: usize) -> Option<Result<Tile, RunError>> {
        let (_, input) = kernel.aliases().find(|&(at, _)| at == output)?;
        let nth = kernel.inputs().position(|(at, _)| at == input)?;
        Some(whole(&self.inputs[nth]))
    }

    /// The whole array of an input, as the launch has it.
    pub(super) fn input(&self, nth: usize) -> Result<Tile, RunError> {
        whole(&self.inputs[nth])
    }

    /// Outputs that show what they held before start as poison.
    pub(super) fn unvisited(&mut self, kernel: &Kernel, binding: &Binding) -> Result<(), RunError> {
        for (at, param) in kernel.outputs() {
            let read_back = param.window().is_some_and(|window| window.pipelining.revisit == Revisit::Any);
            if let (Place::Output(nth), true) = (self.places[at], read_back) {
                let shape = Shape::try_new(&binding.arrays[at]).expect("a binding has extents of 31 bits");
                window::set_all(&mut self.outputs[nth], &Tile::poison(param.ty.dtype(), shape)?);
            }
        }
        Ok(())
    }

    /// Fills an operand's window with a block of its array.
    pub(super) fn read(&self, machine: &mut Machine<'_>, at: usize, window: &Window, block: &[i32]) {
        let elements = self.block(machine, at, window, block);
        machine.elements(at).bits = elements;
    }

    /// A block of an operand's array.
    pub(super) fn block(&self, machine: &mut Machine<'_>, at: usize, window: &Window, block: &[i32]) -> Vec<u32> {
        match self.places[at] {
            Place::Nowhere => unreachable!("a window has an array"),
            Place::Input(nth) => {
                let ArrayRef { dtype, shape, bytes } = self.inputs[nth];
                window::read(window, block, (dtype, shape), |at| window::get(dtype, bytes, at))
            }
            Place::Output(nth) => {
                let ArrayMut { dtype, shape, bytes } = &self.outputs[nth];
                window::read(window, block, (*dtype, shape), |at| window::get(*dtype, bytes, at))
            }
            Place::Shared(output) => {
                let array = machine.shared(output);
                window::read(window, block, (array.dtype, array.shape.dims()), |at| array.at(at))
            }
        }
    }

    /// Writes an output's window to a block of its array.
    pub(super) fn write(&mut self, machine: &mut Machine<'_>, at: usize, window: &Window, block: &[i32]) {
        match self.places[at] {
            Place::Nowhere | Place::Input(_) => unreachable!("an output has an array"),
            Place::Output(nth) => {
                let ArrayMut { dtype, shape, bytes } = &mut self.outputs[nth];
                window::write(window, block, shape, machine.elements(at), |at, element| window::set(*dtype, bytes, at, element));
            }
            Place::Shared(output) => {
                let memory = machine.elements(at).clone();
                let array = machine.shared(output);
                let shape = array.shape;
                window::write(window, block, shape.dims(), &memory, |at, element| array.bits[at] = element.bits());
            }
        }
    }

    /// Gives the launch what lies in memory, also after an error.
    pub(super) fn finish(self, kernel: &Kernel, machine: &mut Machine<'_>) {
        for ((at, param), array) in kernel.outputs().zip(self.outputs.iter_mut()) {
            match self.places[at] {
                Place::Shared(output) => window::set_all(array, machine.shared(output)),
                _ if param.window().is_none() => window::set_all(array, machine.elements(at)),
                _ => {}
            }
        }
    }
}

fn whole(array: &ArrayRef<'_>) -> Result<Tile, RunError> {
    let shape = Shape::try_new(array.shape).expect("a binding has extents of 31 bits");
    let mut elements = Tile::poison(array.dtype, shape)?;
    window::get_all(array, &mut elements);
    Ok(elements)
}
