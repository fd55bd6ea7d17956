//! Arithmetic, functions, comparison and selection that Mosaic has.
//!
//! Rules: bf16 has as its own what gives the same bits as f32 rounded once; what is a function goes through f32. Integers
//! narrower than 16 bits have bitwise operations alone. Scalars are f32, i32, u32 and bool.

use crate::chips::Chip;
use crate::ir::{BinaryOp, CompareOp, DType, Type, UnaryOp};

/// Whether the chip has the operation of one operand.
pub(super) fn unary(chip: &Chip, op: UnaryOp, ty: Type) -> bool {
    use UnaryOp::{
        Abs, Ceil, Clz, Cos, Erf, Exp, Exp2, Floor, Log, Log1p, Log2, Logistic, Neg, Not, Popcount, RecipApprox, Round, RoundEven,
        Rsqrt, Sin, Sqrt, Tan, Tanh, Trunc,
    };
    let tile = ty.is_tile();
    match ty.dtype() {
        DType::F32 => match op {
            Neg | Abs | Exp | Exp2 | Log | Log2 | Log1p | Sqrt | Rsqrt | Sin | Cos | Tan | Tanh | Erf => true,
            Floor | Ceil | Round | RoundEven => true,
            Logistic | Trunc | RecipApprox => tile,
            _ => false,
        },
        DType::Bf16 => match op {
            Neg | Abs | Floor | Ceil | Round | RoundEven => tile,
            RecipApprox => tile && chip.bf16_reciprocal,
            _ => false,
        },
        DType::I32 => matches!(op, Neg | Abs | Not | Clz) || (op == Popcount && tile),
        DType::U32 => matches!(op, Neg | Not | Clz) || (op == Popcount && tile),
        DType::I16 | DType::U16 => tile && matches!(op, Neg | Not),
        DType::I8 | DType::I4 | DType::U8 | DType::U4 => tile && op == Not,
        DType::Bool => op == Not,
        DType::F16 | DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::F4E2M1Fn | DType::I2 => false,
    }
}

/// Whether the chip has the operation of two operands.
pub(super) fn binary(chip: &Chip, op: BinaryOp, ty: Type) -> bool {
    use BinaryOp::{Add, And, Atan2, Div, Max, Min, Mul, Or, Pow, Rem, Shl, Shr, ShrLogical, Sub, Xor};
    let tile = ty.is_tile();
    match ty.dtype() {
        DType::F32 => matches!(op, Add | Sub | Mul | Div | Rem | Min | Max) || (tile && matches!(op, Pow | Atan2)),
        DType::Bf16 => tile && matches!(op, Add | Sub | Mul | Min | Max),
        DType::I32 => matches!(op, Add | Sub | Mul | Div | Rem | Min | Max | And | Or | Xor | Shl | Shr | ShrLogical),
        DType::U32 => match op {
            Add | Sub | Mul | Div | Rem | And | Or | Xor | Shl | Shr | ShrLogical => true,
            Min | Max => !tile,
            _ => false,
        },
        DType::I16 | DType::U16 => tile && matches!(op, Add | Sub | Mul | And | Or | Xor | Shl | Shr | ShrLogical),
        DType::I8 | DType::I4 | DType::U8 | DType::U4 => match op {
            And | Or | Xor => tile,
            Shl | Shr | ShrLogical => tile && chip.byte_shifts,
            _ => false,
        },
        DType::Bool => matches!(op, And | Or | Xor),
        DType::F16 | DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::F4E2M1Fn | DType::I2 => false,
    }
}

/// Whether the chip has the comparison: of floats by ordered predicates, which `ne` is not.
pub(super) fn compare(op: CompareOp, ty: Type) -> bool {
    match ty.dtype() {
        DType::F32 => op != CompareOp::Ne,
        DType::Bf16 => ty.is_tile() && op != CompareOp::Ne,
        DType::I32 | DType::U32 => true,
        DType::I16 | DType::I8 | DType::I4 | DType::U16 | DType::U8 | DType::U4 => ty.is_tile(),
        DType::F16 | DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::F4E2M1Fn => false,
        DType::I2 | DType::Bool => false,
    }
}

/// Whether the chip chooses between values of the type, element by element.
pub(super) fn select(ty: Type) -> bool {
    match ty.dtype() {
        DType::F32 | DType::I32 | DType::U32 => true,
        DType::F16 | DType::Bool | DType::I2 => false,
        _ => ty.is_tile(),
    }
}
