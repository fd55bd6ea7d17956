//! Rewrites a kernel for the functions compiled ahead, which know few element types.
//!
//! Rules: only casts that keep every value are added, so that what the kernel means stays; narrow floats become f32
//! (factors of a product bf16 where that holds them), integers 32 bits. An f32 factor beside one that bf16 does not hold is
//! rounded here as its precision asks. The result verifies as the kernel did.

use crate::ir::{DType, Kernel, Loc, Op, OpKind, Precision, ReduceOp, Region, Type, Value};

/// The kernel with wide operands where those are needed.
pub(super) fn widen(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    let mut body = std::mem::take(&mut kernel.body);
    region(&mut kernel, &mut body);
    kernel.body = body;
    kernel
}

/// The verifier bounds the depth.
fn region(kernel: &mut Kernel, region_: &mut Region) {
    let mut ops = Vec::with_capacity(region_.ops.len());
    for mut op in std::mem::take(&mut region_.ops) {
        op.regions.iter_mut().for_each(|inner| region(kernel, inner));
        let mut out = Rewriter { kernel, ops: &mut ops };
        match op.kind {
            OpKind::Scan { .. } => out.scan(op),
            OpKind::Sort { .. } => out.sort(op),
            OpKind::Reduce { op: ReduceOp::ArgMax | ReduceOp::ArgMin, .. } => {
                op.operands[0] = out.wide(op.operands[0], &op.loc);
                out.ops.push(op);
            }
            OpKind::Dot { .. } => out.dot(op),
            _ => out.ops.push(op),
        }
    }
    region_.ops = ops;
}

/// The 32-bit type that holds every value.
fn wide(dtype: DType) -> DType {
    match dtype {
        _ if dtype.is_float() => DType::F32,
        _ if dtype.is_unsigned() => DType::U32,
        _ => DType::I32,
    }
}

/// Whether bf16 holds every value: at most 8 bits of significand, in its range.
fn fits_bf16(dtype: DType) -> bool {
    dtype.bits() <= 8 || dtype == DType::Bf16
}

struct Rewriter<'a> {
    kernel: &'a mut Kernel,
    ops: &'a mut Vec<Op>,
}

impl Rewriter<'_> {
    fn dtype(&self, v: Value) -> DType {
        self.kernel.ty(v).dtype()
    }

    fn new_value(&mut self, ty: Type) -> Value {
        self.kernel.new_value(ty)
    }

    fn cast(&mut self, v: Value, to: DType, loc: &Loc) -> Value {
        let ty = self.kernel.ty(v);
        if ty.dtype() == to {
            return v;
        }
        let result = self.new_value(ty.with_dtype(to));
        self.push_cast(v, result, to, loc);
        result
    }

    fn push_cast(&mut self, v: Value, result: Value, to: DType, loc: &Loc) {
        self.ops.push(Op { kind: OpKind::Cast(to), operands: vec![v], results: vec![result], regions: vec![], loc: loc.clone() });
    }

    fn wide(&mut self, v: Value, loc: &Loc) -> Value {
        self.cast(v, wide(self.dtype(v)), loc)
    }

    fn scan(&mut self, mut op: Op) {
        let (operand, result, loc) = (op.operands[0], op.results[0], op.loc.clone());
        let dtype = self.dtype(operand);
        op.operands[0] = self.wide(operand, &loc);
        if op.operands[0] == operand {
            self.ops.push(op);
            return;
        }
        let running = self.new_value(self.kernel.ty(op.operands[0]));
        op.results[0] = running;
        self.ops.push(op);
        self.push_cast(running, result, dtype, &loc);
    }

    /// Narrow keys order as their wide copy does, and are moved as the first payload.
    fn sort(&mut self, mut op: Op) {
        let keys = op.operands[0];
        let copy = self.wide(keys, &op.loc);
        if copy != keys {
            op.operands.insert(0, copy);
            let sorted = self.new_value(self.kernel.ty(copy));
            op.results.insert(0, sorted);
        }
        self.ops.push(op);
    }

    fn dot(&mut self, mut op: Op) {
        let OpKind::Dot { precision, .. } = &mut op.kind else { return };
        let factors = [op.operands[0], op.operands[1]];
        let dtypes = factors.map(|v| self.dtype(v));
        if dtypes.iter().all(|d| d.is_integer()) {
            op.operands = factors.map(|v| self.cast(v, DType::I32, &op.loc)).to_vec();
        } else if dtypes.iter().all(|&d| fits_bf16(d)) {
            op.operands = factors.map(|v| self.cast(v, DType::Bf16, &op.loc)).to_vec();
        } else if dtypes.contains(&DType::F32) && dtypes.iter().all(|&d| fits_bf16(d) || d == DType::F32) {
            op.operands = factors.map(|v| self.cast(v, DType::F32, &op.loc)).to_vec();
        } else {
            let rounds = *precision == Precision::Default;
            *precision = Precision::Highest;
            op.operands = factors
                .map(|v| {
                    let rounded = if rounds && self.dtype(v) == DType::F32 { self.cast(v, DType::Bf16, &op.loc) } else { v };
                    self.cast(rounded, DType::F32, &op.loc)
                })
                .to_vec();
        }
        self.ops.push(op);
    }
}
