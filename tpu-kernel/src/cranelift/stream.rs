//! Reads and writes the memory of a nest at its running position: vectors where lanes lie side by side,
//! lane by lane where they do not.

use super::code::Pack;
use super::loops::{Loops, Stream, Width};
use super::mem::Step;
use crate::ir::DType;
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

    /// Reads the running lanes.
    pub(super) fn read(&mut self, stream: usize) -> Pack {
        let dtype = self.streams[stream].dtype;
        let apart = self.apart(stream);
        let mut all = vec![];
        for vector in 0..self.width.vectors() {
            let Some(step) = apart else {
                let offset = (vector * 4 * dtype.bytes()) as i32;
                all.push(self.code.load_vector(dtype, self.pointers[stream], offset));
                continue;
            };
            let mut v = None;
            for lane in 0..4u8 {
                let (address, offset) = self.lane_address(stream, step, vector * 4 + lane as usize);
                let x = self.code.load_scalar(dtype, address, offset);
                v = Some(match v {
                    None => self.code.splat(dtype, x),
                    Some(v) => {
                        let x = if dtype == DType::Bool {
                            let wide = self.code.b.ins().uextend(types::I32, x);
                            self.code.b.ins().ineg(wide)
                        } else {
                            x
                        };
                        self.code.b.ins().insertlane(v, x, lane)
                    }
                });
            }
            all.extend(v);
        }
        Pack::from_slice(&all)
    }

    /// Writes the running lanes.
    pub(super) fn write(&mut self, stream: usize, pack: Pack) {
        let dtype = self.streams[stream].dtype;
        let apart = self.apart(stream);
        for (vector, &v) in pack.values().iter().enumerate() {
            if self.width == Width::One {
                let pointer = self.pointers[stream];
                self.code.store_scalar(dtype, v, pointer, 0);
                continue;
            }
            let Some(step) = apart else {
                let offset = (vector * 4 * dtype.bytes()) as i32;
                let pointer = self.pointers[stream];
                self.code.store_vector(dtype, v, pointer, offset);
                continue;
            };
            for lane in 0..4u8 {
                let (address, offset) = self.lane_address(stream, step, vector * 4 + lane as usize);
                let mut x = self.code.b.ins().extractlane(v, lane);
                if dtype == DType::Bool {
                    let one = self.code.b.ins().iconst(types::I32, 1);
                    let bit = self.code.b.ins().band(x, one);
                    x = self.code.b.ins().ireduce(types::I8, bit);
                }
                self.code.store_scalar(dtype, x, address, offset);
            }
        }
    }
}
