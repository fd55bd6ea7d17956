//! Which part of the language random kernels speak.

use tpu_kernel::ir::{BinaryOp, DType, ReduceOp, UnaryOp};

/// The element types and operations that the generator picks from.
#[derive(Clone, Debug)]
pub struct Words {
    pub(super) dtypes: Vec<DType>,
    pub(super) unary: Vec<UnaryOp>,
    pub(super) binary: Vec<BinaryOp>,
    pub(super) reduce: Vec<ReduceOp>,
    /// Whether tiles are moved, sorted, seen as other elements, and printed, and products general.
    pub(super) tiles: bool,
    /// Whether windows begin at any element, also in the padding.
    pub(super) elements: bool,
}

impl Words {
    /// All of it.
    pub fn all() -> Words {
        Words {
            dtypes: DType::ALL.to_vec(),
            unary: UnaryOp::ALL.to_vec(),
            binary: BinaryOp::ALL.to_vec(),
            reduce: ReduceOp::ALL.to_vec(),
            tiles: true,
            elements: true,
        }
    }

    /// What has a spelling in Mosaic text.
    pub fn mosaic() -> Words {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Sub, Xor};
        use UnaryOp::{Abs, Exp, Neg, Not, Rsqrt, Sqrt, Tanh};
        Words {
            dtypes: vec![DType::F32, DType::Bf16, DType::I32, DType::Bool],
            unary: vec![Neg, Abs, Not, Exp, Sqrt, Rsqrt, Tanh],
            binary: vec![Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor],
            reduce: vec![ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min],
            tiles: false,
            // Few of them are aligned and without low padding, which is what has a text.
            elements: false,
        }
    }
}
