//! Divisions by a literal zero. A constant that is zero shows while the kernel is built.

use syn::{BinOp, Expr, Lit, UnOp};

/// Whether an operator divides by its right operand.
pub(crate) const fn divides(op: &BinOp) -> bool {
    matches!(op, BinOp::Div(_) | BinOp::Rem(_) | BinOp::DivAssign(_) | BinOp::RemAssign(_))
}

/// Whether an expression is the integer literal 0.
pub(crate) fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(lit) => matches!(&lit.lit, Lit::Int(int) if int.base10_digits() == "0" && !int.suffix().starts_with('f')),
        Expr::Paren(inner) => is_zero(&inner.expr),
        Expr::Group(inner) => is_zero(&inner.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => is_zero(&unary.expr),
        _ => false,
    }
}
