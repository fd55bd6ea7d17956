//! Shapes: iota, broadcast, reshape, transpose, reduction.
//!
//! Rules: masks change shape as i32. libtpu casts shapes only along whole rows of lanes; what it does
//! not cast is cut into rows that are laid end to end in one row, and that row is cut again.

use super::function::{Function, spelled};
use crate::chips::{Chip, LANES};
use crate::ir::{DType, Literal, Op, ReduceOp, Shape, Type, Value};
use crate::legalise::{Illegal, Rule};

/// Rows that a reshape may be cut into.
const MAX_PIECES: usize = 512;

impl Function<'_> {
    pub(super) fn iota(&mut self, shape: Shape, axis: usize) -> String {
        if shape.rank() > 1 {
            let ty = Type::Tile(DType::I32, shape);
            return self.emit(format!("tpu.iota {{dimensions = array<i32: {axis}>}} : {}", spelled(ty)));
        }
        let row = Type::Tile(DType::I32, Shape::new(&[1, shape.dim(0)]));
        let counted = self.emit(format!("tpu.iota {{dimensions = array<i32: 1>}} : {}", spelled(row)));
        self.shape_cast(&counted, row, shape)
    }

    pub(super) fn shape_cast(&mut self, x: &str, from: Type, to: Shape) -> String {
        if from.shape() == to {
            return x.to_string();
        }
        let want = Type::Tile(from.dtype(), to);
        self.emit(format!("vector.shape_cast {x} : {} to {}", spelled(from), spelled(want)))
    }

    /// Applies `change` to a value; masks go through i32, and so does their result.
    fn unmasked(&mut self, x: &str, ty: Type, want: Type, change: impl FnOnce(&mut Self, &str, Type) -> String) -> String {
        if ty.dtype() != DType::Bool {
            return change(self, x, ty);
        }
        let wide = self.mask_to_i32(x, ty);
        let changed = change(self, &wide, ty.with_dtype(DType::I32));
        self.i32_to_mask(&changed, want)
    }

    pub(super) fn broadcast(&mut self, operand: Value, shape: Shape) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let want = Type::Tile(ty.dtype(), shape);
        if ty == want {
            return x;
        }
        if ty == Type::Scalar(DType::Bf16) {
            let wide = want.with_dtype(DType::F32);
            let repeated = self.emit(format!("vector.broadcast {x} : f32 to {}", spelled(wide)));
            return self.narrow(&repeated, want);
        }
        self.unmasked(&x, ty, want, |f, x, ty| {
            let want = Type::Tile(ty.dtype(), shape);
            f.emit(format!("vector.broadcast {x} : {} to {}", spelled(ty), spelled(want)))
        })
    }

    pub(super) fn transpose(&mut self, operand: Value, perm: &[usize]) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        if perm.iter().enumerate().all(|(at, &d)| at == d) {
            return x;
        }
        let dims: Vec<usize> = perm.iter().map(|&d| ty.shape().dim(d)).collect();
        let want = Type::Tile(ty.dtype(), Shape::new(&dims));
        self.unmasked(&x, ty, want, |f, x, ty| {
            f.emit(format!("tpu.transpose {x}, {perm:?} : {} -> {}", spelled(ty), spelled(want.with_dtype(ty.dtype()))))
        })
    }

    pub(super) fn reduce(&mut self, op: ReduceOp, operand: Value, axis: usize) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let kept = ty.shape().with_dim(axis, 1);
        if ty.shape().dim(axis) == 1 {
            return x;
        }
        // A sum of bf16 accumulates in f32 and is rounded once; extrema need no rounding.
        let (x, wide) = if op == ReduceOp::Sum { self.widen(&x, ty) } else { (x, ty) };
        let wide = if ty.dtype().is_float() { wide } else { ty };
        let (x, from, axis) = match ty.shape().dims() {
            &[n] => {
                let row = Shape::new(&[1, n]);
                (self.shape_cast(&x, wide, row), Type::Tile(wide.dtype(), row), 1)
            }
            _ => (x, wide, axis),
        };
        let (kind, neutral) = match (op, wide.dtype().is_float()) {
            (ReduceOp::Sum, true) => ("add", Literal::from_f64(wide.dtype(), 0.0)),
            (ReduceOp::Sum, false) => ("add", Literal::from(0)),
            (ReduceOp::Max, true) => ("maximumf", Literal::from_f64(wide.dtype(), f64::NEG_INFINITY)),
            (ReduceOp::Max, false) => ("maxsi", Literal::from(i32::MIN)),
            (ReduceOp::Min, true) => ("minimumf", Literal::from_f64(wide.dtype(), f64::INFINITY)),
            (ReduceOp::Min, false) => ("minsi", Literal::from(i32::MAX)),
            (other, _) => unreachable!("`{other}` is not native"),
        };
        let left: Vec<usize> = from.shape().dims().iter().enumerate().filter(|&(d, _)| d != axis).map(|(_, &n)| n).collect();
        let reduced = Type::Tile(wide.dtype(), Shape::new(&left));
        let start = self.literal(neutral, reduced);
        let result = self.emit(format!(
            "vector.multi_reduction <{kind}>, {x}, {start} [{axis}] : {} to {}",
            spelled(from),
            spelled(reduced)
        ));
        let result = self.shape_cast(&result, reduced, kept);
        if wide.dtype() == ty.dtype() { result } else { self.narrow(&result, Type::Tile(ty.dtype(), kept)) }
    }

    pub(super) fn reshape(&mut self, op: &Op, to: Shape) -> Result<String, Illegal> {
        // The compiler merges casts of casts, also into one that it then refuses: start from the first.
        let source = self.reshaped.get(&op.operands[0]).copied().unwrap_or(op.operands[0]);
        if let Some(&result) = op.results.first() {
            self.reshaped.insert(result, source);
        }
        let (x, ty) = (self.name(source), self.ty(source));
        let from = ty.shape();
        if from == to {
            return Ok(x);
        }
        let want = Type::Tile(ty.dtype(), to);
        match ty.dtype() {
            DType::Bool => {
                let wide = self.mask_to_i32(&x, ty);
                let changed = self.recast(op, &wide, ty.with_dtype(DType::I32), to)?;
                Ok(self.i32_to_mask(&changed, want))
            }
            // Two rows share a word of bf16: the compiler splits them only in whole rows of lanes.
            DType::Bf16 if last(from) != last(to) => {
                let (wide, wide_ty) = self.widen(&x, ty);
                let changed = self.recast(op, &wide, wide_ty, to)?;
                Ok(self.narrow(&changed, want))
            }
            _ => self.recast(op, &x, ty, to),
        }
    }

    /// A reshape of 32-bit elements.
    fn recast(&mut self, op: &Op, x: &str, ty: Type, to: Shape) -> Result<String, Illegal> {
        let from = ty.shape();
        if castable(self.chip, from, to) {
            return Ok(self.shape_cast(x, ty, to));
        }
        let n = from.elements();
        let row = Shape::new(&[1, n]);
        let (rows, new_rows) = (n / last(from), n / last(to));
        if rows + new_rows > MAX_PIECES {
            return Err(self.refuse(op, Rule::Reshape { from, to, rows, new_rows, limit: MAX_PIECES }));
        }
        let flat = Shape::new(&[rows, last(from)]);
        let x = self.shape_cast(x, ty, flat);
        let line = self.pieces(&x, Type::Tile(ty.dtype(), flat), Shape::new(&[1, last(from)]), 0, 1);
        let row = Type::Tile(ty.dtype(), row);
        if castable(self.chip, row.shape(), to) {
            return Ok(self.shape_cast(&line, row, to));
        }
        let stacked = self.pieces(&line, row, Shape::new(&[1, last(to)]), 1, 0);
        Ok(self.shape_cast(&stacked, Type::Tile(ty.dtype(), Shape::new(&[new_rows, last(to)])), to))
    }

    /// A rank-2 tile cut into `piece`s along one axis, laid end to end along the other.
    fn pieces(&mut self, x: &str, ty: Type, piece: Shape, cut: usize, join: usize) -> String {
        let (size, count) = (piece.dim(cut), ty.shape().dim(cut) / piece.dim(cut));
        if count == 1 {
            return x.to_string();
        }
        let part = Type::Tile(ty.dtype(), piece);
        let mut parts = vec![];
        for at in 0..count {
            let mut offsets = [0, 0];
            offsets[cut] = at * size;
            parts.push(self.emit(format!(
                "vector.extract_strided_slice {x} offsets = {offsets:?}, sizes = {:?}, strides = [1, 1] : {} to {}",
                piece.dims(),
                spelled(ty),
                spelled(part)
            )));
        }
        let types = vec![spelled(part); count].join(", ");
        let whole = Type::Tile(ty.dtype(), piece.with_dim(join, piece.dim(join) * count));
        self.emit(format!("tpu.concatenate {} in {join} : {types} -> {}", parts.join(", "), spelled(whole)))
    }
}

fn last(shape: Shape) -> usize {
    shape.dims().last().copied().unwrap_or(1)
}

/// Whether libtpu casts one shape to the other, for elements of 32 bits.
fn castable(chip: &Chip, from: Shape, to: Shape) -> bool {
    let bare = |shape: Shape| shape.dims().iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
    let column = |shape: Shape| last(shape) == 1;
    if !chip.sublane_gather && column(from) != column(to) {
        return false;
    }
    let (wide, narrow) = (last(from).max(last(to)), last(from).min(last(to)));
    wide == narrow || bare(from) == bare(to) || (wide.is_multiple_of(LANES) && wide.is_multiple_of(narrow))
}
