//! Matrix products.
//!
//! Rules: the accumulator is always fresh zeros, never a value that a loop carries (libtpu dies of it). Its element type
//! is that of the product: one that does not fit is accepted for tpu7x, and wrong.

use super::control::commas;
use super::function::{Function, spelled};
use crate::ir::{DType, DotDims, Literal, Op, Precision};
use crate::legalise::{Illegal, Rule};

impl Function<'_> {
    pub(super) fn dot(&mut self, op: &Op, dims: &DotDims, precision: Precision) -> Result<String, Illegal> {
        let (&[result], &[left, right]) = (op.results.as_slice(), op.operands.as_slice()) else {
            return Err(self.refuse(op, Rule::Unverified("it must have two operands and one result".into())));
        };
        let [a, b, ty] = [left, right, result].map(|v| self.ty(v));
        let (rows, columns) = (dims.lhs_free(a.shape().rank()), dims.rhs_free(b.shape().rank()));
        let (Some(rows), Some(columns)) = (rows, columns) else {
            return Err(self.refuse(op, Rule::Unverified("each operand must have a dimension of its own".into())));
        };
        let (lhs_batch, rhs_batch): (Vec<usize>, Vec<usize>) = dims.batch.iter().copied().unzip();
        // Where each dimension of the result comes from: of the left operand (0) or the right (1).
        let order = lhs_batch.iter().flat_map(|&d| [0, d]).chain([0, rows, 1, columns]).collect::<Vec<_>>();
        let (lhs, rhs) = dims.contract;
        let numbers = format!(
            "<[{lhs}], [{rhs}], [{rows}], [{columns}], [{}], [{}], [{}]>",
            commas(&order),
            commas(&lhs_batch),
            commas(&rhs_batch)
        );
        let precision = match (a.dtype(), b.dtype(), precision) {
            (DType::F32, DType::F32, Precision::Highest) => ", precision = #tpu.contract_precision<fp32>",
            (DType::F32, DType::F32, Precision::High) => ", precision = #tpu.contract_precision<bf16x3>",
            _ => "",
        };
        let zero = self.literal(Literal::from_f64(ty.dtype(), 0.0), ty);
        let [left, right] = [left, right].map(|v| self.name(v));
        let [a, b, ty] = [a, b, ty].map(spelled);
        Ok(self.emit(format!(
            "tpu.matmul {left}, {right}, {zero} {{dimension_numbers = #tpu.dot_dimension_numbers{numbers}, transpose_lhs_hint = false{precision}}} : {a}, {b}, {ty} -> {ty}"
        )))
    }
}
