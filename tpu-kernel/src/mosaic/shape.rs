//! Shapes: iota, broadcast, reshape, transpose, slice, concat, extract, and reductions.

use super::function::{Function, spelled};
use crate::ir::{DType, Literal, ReduceOp, Shape, Type, Value};

impl Function<'_> {
    pub(super) fn iota(&mut self, shape: Shape, axis: usize) -> String {
        let ty = Type::Tile(DType::I32, shape);
        self.emit(format!("tpu.iota {{dimensions = array<i32: {axis}>}} : {}", spelled(ty)))
    }

    pub(super) fn shape_cast(&mut self, x: &str, from: Type, to: Shape) -> String {
        if from.shape() == to {
            return x.to_string();
        }
        let want = Type::Tile(from.dtype(), to);
        self.emit(format!("vector.shape_cast {x} : {} to {}", spelled(from), spelled(want)))
    }

    pub(super) fn broadcast(&mut self, operand: Value, shape: Shape) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let want = Type::Tile(ty.dtype(), shape);
        self.emit(format!("vector.broadcast {x} : {} to {}", spelled(ty), spelled(want)))
    }

    pub(super) fn transpose(&mut self, operand: Value, perm: &[usize]) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let dims: Vec<usize> = perm.iter().map(|&d| ty.shape().dim(d)).collect();
        let want = Type::Tile(ty.dtype(), Shape::new(&dims));
        self.emit(format!("tpu.transpose {x}, {perm:?} : {} -> {}", spelled(ty), spelled(want)))
    }

    pub(super) fn reshape(&mut self, operand: Value, to: Shape) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        self.shape_cast(&x, ty, to)
    }

    pub(super) fn slice(&mut self, operand: Value, starts: &[usize], shape: Shape) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let want = Type::Tile(ty.dtype(), shape);
        let (sizes, strides) = (shape.dims(), vec![1; starts.len()]);
        self.emit(format!(
            "vector.extract_strided_slice {x} offsets = {starts:?}, sizes = {sizes:?}, strides = {strides:?} : {} to {}",
            spelled(ty),
            spelled(want)
        ))
    }

    pub(super) fn concat(&mut self, operands: &[Value], axis: usize, result: Value) -> String {
        let names: Vec<String> = operands.iter().map(|&v| self.name(v)).collect();
        let types: Vec<String> = operands.iter().map(|&v| spelled(self.ty(v))).collect();
        let want = spelled(self.ty(result));
        self.emit(format!("tpu.concatenate {} in {axis} : {} -> {want}", names.join(", "), types.join(", ")))
    }

    pub(super) fn extract(&mut self, operand: Value, index: &[usize]) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let element = spelled(Type::Scalar(ty.dtype()));
        self.emit(format!("vector.extract {x}{index:?} : {element} from {}", spelled(ty)))
    }

    /// The accumulator is the neutral element; the reduced dimension is put back as 1.
    pub(super) fn reduce(&mut self, op: ReduceOp, operand: Value, axis: usize) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let (dtype, shape) = (ty.dtype(), ty.shape());
        let (kind, neutral) = match (op, dtype.is_float()) {
            (ReduceOp::Sum, _) => ("add", Literal::from_f64(dtype, 0.0)),
            (ReduceOp::Max, true) => ("maximumf", Literal::from_f64(dtype, f64::NEG_INFINITY)),
            (ReduceOp::Max, false) => ("maxsi", Literal::from(i32::MIN)),
            (ReduceOp::Min, true) => ("minimumf", Literal::from_f64(dtype, f64::INFINITY)),
            (ReduceOp::Min, false) => ("minsi", Literal::from(i32::MAX)),
            (other, _) => unreachable!("`{other}` is not native"),
        };
        let left: Vec<usize> = shape.dims().iter().enumerate().filter(|&(d, _)| d != axis).map(|(_, &n)| n).collect();
        let reduced = Type::Tile(dtype, Shape::new(&left));
        let start = self.literal(neutral, reduced);
        let (from, to) = (spelled(ty), spelled(reduced));
        let result = self.emit(format!("vector.multi_reduction <{kind}>, {x}, {start} [{axis}] : {from} to {to}"));
        self.shape_cast(&result, reduced, shape.with_dim(axis, 1))
    }
}
