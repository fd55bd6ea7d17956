//! Rotations and gathers.
//!
//! Rules: libtpu wants amounts and indices that are not negative; those of the language count from the end, and an amount may
//! be any number.

use super::function::{Function, spelled};
use crate::ir::{CompareOp, DType, Literal, RotateStride, Type, Value};

impl Function<'_> {
    pub(super) fn rotate(&mut self, operand: Value, amount: Value, axis: usize, stride: Option<RotateStride>) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let by = self.amount(amount, ty.shape().dim(axis) as i32);
        let text = spelled(ty);
        match stride {
            None => self.emit(format!("tpu.dynamic_rotate {x} by {by} dim {axis} : {text}, i32 -> {text}")),
            Some(stride) => self.emit(format!(
                "\"tpu.dynamic_rotate\"({x}, {by}) <{{dimension = {axis} : si32, stride = {} : si32, stride_dimension = {} : si32}}> \
                 : ({text}, i32) -> {text}",
                stride.by, stride.axis
            )),
        }
    }

    /// An amount from 0 to n - 1.
    fn amount(&mut self, amount: Value, n: i32) -> String {
        let word = Type::Scalar(DType::I32);
        if let Some(by) = self.literals.get(&amount).and_then(|l| l.as_i32()) {
            return self.literal(Literal::from(by.rem_euclid(n)), word);
        }
        let (by, extent) = (self.name(amount), self.literal(Literal::from(n), word));
        let rest = self.emit(format!("arith.remsi {by}, {extent} : i32"));
        self.counted_from_the_end(&rest, &extent, word)
    }

    pub(super) fn gather(&mut self, operand: Value, indices: Value, axis: usize) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let (index, index_ty) = (self.name(indices), self.ty(indices));
        let extent = self.literal(Literal::from(ty.shape().dim(axis) as i32), index_ty);
        let index = self.counted_from_the_end(&index, &extent, index_ty);
        let (text, index_text) = (spelled(ty), spelled(index_ty));
        self.emit(format!("tpu.dynamic_gather {x}[{index}] in [{axis}] : {text}, {index_text} -> {text}"))
    }

    /// What is negative, plus the extent.
    fn counted_from_the_end(&mut self, x: &str, extent: &str, ty: Type) -> String {
        let zero = self.literal(Literal::from(0), ty);
        let negative = self.compare(CompareOp::Lt, x, &zero, ty);
        let counted = self.emit(format!("arith.addi {x}, {extent} : {}", spelled(ty)));
        self.choose(&negative, &counted, x, ty)
    }
}
