//! Which part of the language random kernels speak.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BinaryOp, DType, ReduceOp, UnaryOp};

/// The element types and operations that the generator picks from.
#[derive(Clone, Debug)]
pub struct Words {
    pub(super) dtypes: Vec<DType>,
    pub(super) unary: Vec<UnaryOp>,
    pub(super) binary: Vec<BinaryOp>,
    pub(super) reduce: Vec<ReduceOp>,
    /// Whether running sums and products are of floats, and products over an axis: their order changes with who computes them.
    pub(super) float_scans: bool,
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
            float_scans: true,
            elements: true,
        }
    }

    /// What a chip has a form of: the element types that it has, and windows that a block of the whole array can stand for.
    pub fn mosaic(chip: &Chip) -> Words {
        let narrow = [DType::F4E2M1Fn, DType::F8E4M3B11Fnuz];
        let has = |d: &DType| *d != DType::I2 && (!narrow.contains(d) || chip.product_floats.contains(d));
        Words { dtypes: DType::ALL.into_iter().filter(has).collect(), elements: false, ..Words::all() }
    }

    /// What has one result, to the bit, however it is lowered: without the functions that are composed of others.
    pub fn exact(chip: &Chip) -> Words {
        use UnaryOp::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cosh, ErfInv, Erfc, Expm1, Sinh};
        let composed = [Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cosh, ErfInv, Erfc, Expm1, Sinh];
        let unary = UnaryOp::ALL.iter().copied().filter(|op| !composed.contains(op));
        let binary = BinaryOp::ALL.iter().copied().filter(|op| !matches!(op, BinaryOp::Hypot));
        Words { unary: unary.collect(), binary: binary.collect(), float_scans: false, ..Words::mosaic(chip) }
    }
}
