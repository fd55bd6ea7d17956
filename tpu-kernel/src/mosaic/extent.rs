//! Extents of the grid that scalars of the launch decide, computed before the call.
//!
//! Rule: numbers are i32, as on the chip; `launch::bind` has computed the same in 64 bits.

use super::module::{Module, Tensor};
use crate::ir::{DType, Literal, SizeExpr, SizeId};

/// A named size before the call.
pub(super) enum Extent {
    Number(i32),
    Tensor(Tensor),
}

/// Whether each part of an expression fits the numbers in which it is computed here, of sizes with these values.
pub(super) fn fits(expr: &SizeExpr, size: &dyn Fn(SizeId) -> Option<i64>) -> bool {
    let own = expr.eval(size).is_ok_and(|value| i32::try_from(value).is_ok());
    own && match expr {
        SizeExpr::Const(_) | SizeExpr::Size(_) => true,
        SizeExpr::Add(a, b) | SizeExpr::Sub(a, b) | SizeExpr::Mul(a, b) | SizeExpr::CeilDiv(a, b) => fits(a, size) && fits(b, size),
    }
}

impl Module {
    /// A size expression as a tensor; nothing where a size has no value or a number does not fit.
    pub(super) fn extent(&mut self, expr: &SizeExpr, size: &dyn Fn(SizeId) -> Option<Extent>) -> Option<Tensor> {
        let (operation, a, b) = match expr {
            SizeExpr::Const(n) => return Some(self.constant(Literal::from(i32::try_from(*n).ok()?), &[])),
            SizeExpr::Size(id) => {
                return Some(match size(*id)? {
                    Extent::Number(n) => self.constant(Literal::from(n), &[]),
                    Extent::Tensor(tensor) => tensor,
                });
            }
            SizeExpr::Add(a, b) => ("stablehlo.add", a, b),
            SizeExpr::Sub(a, b) => ("stablehlo.subtract", a, b),
            SizeExpr::Mul(a, b) => ("stablehlo.multiply", a, b),
            SizeExpr::CeilDiv(a, b) => ("stablehlo.divide", a, b),
        };
        let (a, b) = (self.extent(a, size)?, self.extent(b, size)?);
        let whole = self.op(operation, &[&a, &b], "", DType::I32, &[]);
        if !matches!(expr, SizeExpr::CeilDiv(..)) {
            return Some(whole);
        }
        // One more where something is left.
        let rest = self.op("stablehlo.remainder", &[&a, &b], "", DType::I32, &[]);
        let zero = self.constant(Literal::from(0), &[]);
        let attributes = "comparison_direction = #stablehlo<comparison_direction GT>";
        let more = self.op("stablehlo.compare", &[&rest, &zero], attributes, DType::Bool, &[]);
        let more = self.op("stablehlo.convert", &[&more], "", DType::I32, &[]);
        Some(self.op("stablehlo.add", &[&whole, &more], "", DType::I32, &[]))
    }
}
