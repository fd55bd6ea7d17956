//! Reads and writes the memory of a nest at its running position: vectors where lanes lie side by side,
//! lane by lane where they do not.

use super::code::Pack;
use super::loops::{Loops, Stream, Width};
use super::mem::Step;
use cranelift::prelude::*;

impl Loops<'_, '_, '_> {
    /// Whether the lanes of a stream lie side by side; else the step between them.
    fn apart(&self, stream: usize) -> Option<Step> {
        let Stream { dtype, steps } = &self.streams[stream];
        match steps[self.vector] {
            Step::Fixed(bytes) if bytes == dtype.bytes() as i64 => None,
            step => Some(step),
        }
    }

    /// Address and offset of the element so many lanes on.
    fn lane_address(&mut self, stream: usize, step: Step, lane: usize) -> (Value, i32) {
        let pointer = self.pointers[stream];
        match step {
            Step::Fixed(bytes) if i32::try_from(bytes * 16).is_ok() => (pointer, bytes as i32 * lane as i32),
            _ => {
                let n = self.code.b.ins().iconst(types::I64, lane as i64);
                let offset = self.code.times(n, step);
                (self.code.b.ins().iadd(pointer, offset), 0)
            }
        }
    }

    /// Addresses and offsets of the running lanes.
    fn places(&mut self, stream: usize, step: Step) -> Vec<(Value, i32)> {
        (0..4 * self.width.vectors()).map(|lane| self.lane_address(stream, step, lane)).collect()
    }

    /// Reads the running lanes.
    pub(super) fn read(&mut self, stream: usize) -> Pack {
        let dtype = self.streams[stream].dtype;
        match self.apart(stream) {
            None => self.code.load_vectors(dtype, self.pointers[stream], self.width.vectors()),
            Some(step) => {
                let places = self.places(stream, step);
                self.code.gather(dtype, &places)
            }
        }
    }

    /// Writes the running lanes.
    pub(super) fn write(&mut self, stream: usize, pack: Pack) {
        let dtype = self.streams[stream].dtype;
        if self.width == Width::One {
            return self.code.store_scalar(dtype, pack.values()[0], self.pointers[stream], 0);
        }
        match self.apart(stream) {
            None => self.code.store_vectors(dtype, pack, self.pointers[stream]),
            Some(step) => {
                let places = self.places(stream, step);
                self.code.scatter(dtype, pack, &places);
            }
        }
    }
}
