//! What an operation asks of each unit.
//!
//! Rules: counts are of registers, from the shapes alone; each unit's cycles come from the chip's [`Rates`]. Functions that
//! libtpu writes out as polynomials count as many operations as those have, roughly.

use super::Unit;
use super::layout::{Layout, all_registers, bits, registers};
use super::table::Rates;
use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::{BinaryOp, DType, DotDims, Precision, ReduceOp, Shape, Type, UnaryOp};

/// Cycles of each unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work(pub(super) [f64; Unit::ALL.len()]);

impl Work {
    pub(super) fn add(&mut self, unit: Unit, cycles: f64) {
        self.0[unit as usize] += cycles;
    }

    pub(super) fn plus(&mut self, other: &Work, times: f64) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b * times);
    }

    pub(super) fn of(&self, unit: Unit) -> f64 {
        self.0[unit as usize]
    }

    /// The cycles of the busiest unit.
    pub(super) fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

/// Vector operations and elementary functions for each register of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Each {
    pub(super) arithmetic: f64,
    pub(super) functions: f64,
}

const fn each(arithmetic: f64, functions: f64) -> Each {
    Each { arithmetic, functions }
}

/// An operation of one operand in 32 bits.
pub(super) fn unary(op: UnaryOp, dtype: DType, rates: &Rates) -> Each {
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not => each(1.0, 0.0),
        UnaryOp::Sign | UnaryOp::IsNan | UnaryOp::IsFinite => each(2.0, 0.0),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Trunc => each(1.0, 0.0),
        UnaryOp::Round => each(4.0, 0.0),
        UnaryOp::Popcount | UnaryOp::Clz => each(1.0, 0.0),
        UnaryOp::Exp => each(2.0, 1.0),
        UnaryOp::Exp2 => each(1.0, 1.0),
        UnaryOp::Tanh => each(1.0, 1.0),
        UnaryOp::Log | UnaryOp::Log2 => each(1.0, 1.0),
        UnaryOp::Recip => each(rates.reciprocal, 1.0),
        UnaryOp::RecipApprox => each(1.0, 1.0),
        UnaryOp::Rsqrt => each(rates.root, 1.0),
        UnaryOp::Sqrt => each(rates.root + 4.0, 1.0),
        UnaryOp::Logistic => each(3.0 + rates.reciprocal, 2.0),
        UnaryOp::Expm1 | UnaryOp::Log1p => each(10.0, 1.0),
        UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => each(20.0, 2.0),
        UnaryOp::Cbrt => each(16.0, 2.0),
        UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => each(30.0 + rates.reciprocal, 1.0),
        UnaryOp::Erf | UnaryOp::Erfc | UnaryOp::ErfInv => each(30.0 + rates.reciprocal, 1.0),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan if dtype.is_float() => each(70.0, 0.0),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => each(1.0, 0.0),
    }
}

/// An operation of two operands in 32 bits. A quotient is a product; its divisor is inverted apart.
pub(super) fn binary(op: BinaryOp, dtype: DType, rates: &Rates) -> Each {
    match op {
        BinaryOp::Div if dtype.is_float() => each(1.0, 0.0),
        BinaryOp::Mul if dtype.is_integer() && dtype.bits() == 32 => each(4.0, 0.0),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => each(20.0 + rates.reciprocal, 1.0),
        BinaryOp::Pow => each(40.0, 2.0),
        BinaryOp::Atan2 => each(40.0 + rates.reciprocal, 1.0),
        BinaryOp::Hypot => each(10.0 + rates.root, 1.0),
        BinaryOp::NextAfter => each(12.0, 0.0),
        // Masks are joined beside the vector operations.
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor if dtype == DType::Bool => each(0.0, 0.0),
        BinaryOp::Copysign => each(3.0, 0.0),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => each(1.0, 0.0),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical => each(1.0, 0.0),
    }
}

/// Whether registers of that type are computed with two elements to a lane.
pub(super) fn computes_packed(dtype: DType, rates: &Rates) -> bool {
    dtype == DType::Bf16 && rates.bf16
}

/// Elementwise work on a tile of that type. Types that the chip does not compute with are widened and narrowed.
pub(super) fn elementwise(op: Each, operands: usize, ty: Type, layout: &Layout, rates: &Rates) -> Work {
    let mut work = Work::default();
    let Type::Tile(dtype, shape) = ty else {
        work.add(Unit::Scalar, op.arithmetic.max(1.0));
        return work;
    };
    let native = dtype == DType::Bool || dtype.bits() == 32 || computes_packed(dtype, rates);
    let packed = registers(shape, bits(dtype), layout);
    let (registers, converted) = match native {
        true => (packed, 0.0),
        false => {
            let wide = registers(shape, 32, layout);
            (wide, operands as f64 * wide + packed)
        }
    };
    work.add(Unit::Vpu, (registers * op.arithmetic + converted) / rates.arithmetic);
    work.add(Unit::Eup, registers * op.functions / rates.functions);
    work
}

/// A conversion between element types: the wider registers are each packed or unpacked once.
pub(super) fn cast(from: DType, to: DType, shape: Shape, layout: &Layout, rates: &Rates) -> Work {
    let mut work = Work::default();
    let wide = registers(shape, bits(from).max(bits(to)), layout);
    let narrow = registers(shape, bits(from).min(bits(to)), layout);
    let operations = match (from.is_float(), to.is_float()) {
        _ if from == DType::Bool || to == DType::Bool => wide,
        (true, true) if bits(to) < bits(from) => narrow,
        (true, false) if bits(from) == 32 => 3.0 * wide,
        _ => wide,
    };
    work.add(Unit::Vpu, operations / rates.arithmetic);
    work
}

/// A reduction: the work before lanes or sublanes are combined within a register, and that of combining them.
pub(super) fn reduce(op: ReduceOp, ty: Type, axis: usize, rates: &Rates) -> (Work, Work) {
    let (mut before, mut across) = (Work::default(), Work::default());
    let (shape, rank) = (ty.shape(), ty.shape().rank());
    let mut layout = Layout::default();
    let from = registers(shape, 32, &layout);
    layout.constant[axis] = true;
    let to = registers(shape, 32, &layout);
    // With the index of the best one, a comparison and two selections stand for one operation.
    let operations = match op {
        ReduceOp::ArgMax | ReduceOp::ArgMin => 3.0,
        _ => 1.0,
    };
    let widened = if bits(ty.dtype()) < 32 { from } else { 0.0 };
    before.add(Unit::Vpu, (operations * (from - to) + widened) / rates.arithmetic);
    match rank - axis {
        1 => across.add(Unit::Xlu, operations.min(2.0) * to * rates.across),
        2 => across.add(Unit::Vpu, operations * 8.0 * to / rates.arithmetic),
        _ => {}
    }
    (before, across)
}

/// Elements that move across lanes or sublanes: each register once through the XLU.
pub(super) fn moved(ty: Type, times: f64, rates: &Rates) -> Work {
    let mut work = Work::default();
    work.add(Unit::Xlu, all_registers(ty) * times * rates.across);
    work
}

/// How a product meets the matrix units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Product {
    /// Products of matrices side by side.
    pub(super) batch: usize,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Passes through the units for the precision of the operands.
    pub(super) passes: f64,
}

impl Product {
    pub(super) fn of(dims: &DotDims, precision: Precision, lhs: Type, rhs: Type, rates: &Rates) -> Product {
        let (l, r) = (lhs.shape(), rhs.shape());
        let free = |shape: Shape, axis: Option<usize>| axis.map_or(1, |axis| shape.dim(axis));
        let wide = lhs.dtype().bits() == 32 || rhs.dtype().bits() == 32;
        let integers = lhs.dtype().is_integer() && rhs.dtype().is_integer();
        let floats = lhs.dtype().is_float() && rhs.dtype().is_float();
        let bytes = lhs.dtype().bits() <= 8 && rhs.dtype().bits() <= 8;
        Product {
            batch: dims.batch.iter().map(|&(axis, _)| l.dim(axis)).product(),
            m: free(l, dims.lhs_free(l.rank())),
            n: free(r, dims.rhs_free(r.rank())),
            k: l.dim(dims.contract.0),
            passes: match precision {
                // Ten products of bytes.
                _ if wide && integers => 10.0,
                Precision::Highest if wide => 6.0,
                Precision::High if wide => 3.0,
                _ if bytes && integers => rates.integers,
                _ if bytes && floats => rates.floats,
                _ => 1.0,
            },
        }
    }

    /// Cycles in which the rows of the left operand pass by, and in which the right one is brought in: they overlap.
    pub(super) fn parts(&self, chip: &Chip, rates: &Rates) -> (f64, f64) {
        let side = chip.mxu_size;
        let depth = self.k.div_ceil(side) as f64;
        // Half a tile of columns costs half.
        let width = (self.n.div_ceil(LANES) * LANES) as f64 / side as f64;
        let rows = self.m.next_multiple_of(SUBLANES) as f64;
        let times = self.batch as f64 * self.passes;
        (times * rows * depth * width * rates.row, times * depth * self.n.div_ceil(side) as f64 * rates.weights)
    }

    /// The work, operands in registers.
    pub(super) fn work(&self, chip: &Chip, rates: &Rates) -> Work {
        let mut work = Work::default();
        let (stream, weights) = self.parts(chip, rates);
        work.add(Unit::Mxu, stream.max(weights));
        work
    }
}
