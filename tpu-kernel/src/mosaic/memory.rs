//! Loads and stores of windows and scratch.
//!
//! Rules: a static start is free; a dynamic one is said to be a multiple of what is known, and must be
//! of what libtpu wants there.

use super::Unsupported;
use super::function::{Function, refuse, spelled, stored};
use crate::chips::{LANES, SUBLANES};
use crate::ir::{DType, Op, Shape, Type, Value};

impl Function<'_> {
    /// The corner of an access of that shape, as index values.
    fn starts(&mut self, op: &Op, memory: Type, accessed: Shape, starts: &[Value]) -> Result<String, Unsupported> {
        let mut texts = vec![];
        for (axis, &start) in starts.iter().enumerate() {
            if let Some(n) = self.literals.get(&start).and_then(|l| l.as_i32()) {
                texts.push(self.constant(format!("{n} : index")));
                continue;
            }
            let known = 1usize << self.zeros(start).min(30);
            let wanted = alignment(memory.dtype(), memory.shape(), accessed, axis);
            if known < wanted {
                let reason = format!(
                    "a dynamic start along axis {axis} of [{}] {} must be a multiple of {wanted} that can be seen, as in `i * {wanted}`",
                    memory.shape(),
                    memory.dtype()
                );
                return Err(refuse(op, reason));
            }
            let mut name = self.name(start);
            if known > 1 {
                name = self.emit(format!("tpu.assume_multiple {name}, {known} : i32"));
            }
            texts.push(self.emit(format!("arith.index_cast {name} : i32 to index")));
        }
        Ok(texts.join(", "))
    }

    pub(super) fn load(&mut self, op: &Op, shape: Shape) -> Result<String, Unsupported> {
        let memory = self.ty(op.operands[0]);
        let (from, starts) = (self.name(op.operands[0]), self.starts(op, memory, shape, &op.operands[1..])?);
        let vector = format!("vector<{shape}x{}>", stored(memory.dtype()));
        let loaded = self.emit(format!("vector.load {from}[{starts}] : {}, {vector}", spelled(memory)));
        if memory.dtype() != DType::Bool {
            return Ok(loaded);
        }
        let zero = self.constant(format!("dense<0> : {vector}"));
        Ok(self.emit(format!("arith.cmpi ne, {loaded}, {zero} : {vector}")))
    }

    pub(super) fn store(&mut self, op: &Op) -> Result<(), Unsupported> {
        let (memory, tile) = (self.ty(op.operands[0]), self.ty(op.operands[1]));
        let mut value = self.name(op.operands[1]);
        if tile.dtype() == DType::Bool {
            value = self.mask_to_i8(&value, tile);
        }
        let (to, starts) = (self.name(op.operands[0]), self.starts(op, memory, tile.shape(), &op.operands[2..])?);
        let vector = format!("vector<{}x{}>", tile.shape(), stored(tile.dtype()));
        self.effect(format!("vector.store {value}, {to}[{starts}] : {}, {vector}", spelled(memory)));
        Ok(())
    }
}

/// What a dynamic start along `axis` must be a multiple of, so that libtpu takes it.
fn alignment(dtype: DType, memory: Shape, accessed: Shape, axis: usize) -> usize {
    let bytes = dtype.bytes();
    match (memory.rank() - axis, memory.dims()) {
        (1, [_]) => {
            if bytes == 4 {
                LANES
            } else {
                8 * LANES
            }
        }
        (1, _) => LANES,
        (2, &[.., rows, columns]) => {
            let one_row = accessed.dim(axis) == 1 && accessed.dim(axis + 1) == columns;
            match bytes {
                4 if columns <= LANES || one_row => 1,
                1 if rows >= 4 * SUBLANES => 4 * SUBLANES,
                _ => SUBLANES,
            }
        }
        _ => 1,
    }
}
