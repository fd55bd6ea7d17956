//! Rotations and gathers.

use super::function::{Function, spelled};
use crate::ir::{RotateStride, Value};

impl Function<'_> {
    pub(super) fn rotate(&mut self, operand: Value, amount: Value, axis: usize, stride: Option<RotateStride>) -> String {
        let (x, by, text) = (self.name(operand), self.name(amount), spelled(self.ty(operand)));
        match stride {
            None => self.emit(format!("tpu.dynamic_rotate {x} by {by} dim {axis} : {text}, i32 -> {text}")),
            Some(RotateStride { by: step, axis: rows }) => self.emit(format!(
                "\"tpu.dynamic_rotate\"({x}, {by}) <{{dimension = {axis} : si32, stride = {step} : si32, \
                 stride_dimension = {rows} : si32}}> : ({text}, i32) -> {text}"
            )),
        }
    }

    pub(super) fn gather(&mut self, operand: Value, indices: Value, axis: usize) -> String {
        let (x, index) = (self.name(operand), self.name(indices));
        let (text, index_text) = (spelled(self.ty(operand)), spelled(self.ty(indices)));
        self.emit(format!("tpu.dynamic_gather {x}[{index}] in [{axis}] : {text}, {index_text} -> {text}"))
    }
}
