//! Loads and stores of windows and scratch.
//!
//! Rules: a static start is free; a dynamic one is said to be a multiple of what is known, and must be
//! of what libtpu wants there. Squeezed dimensions that are not the leading ones of a block with two
//! left stay in memory as 1, because the layout of the array in HBM has them; they are added to each
//! access and taken from what it gives.

use super::function::{Function, spelled, stored};
use crate::chips::{LANES, SUBLANES};
use crate::ir::{BlockDim, DType, Literal, Op, Param, Shape, Type, Value};
use crate::legalise::{Illegal, Rule};

/// The block as memory holds it: squeezed dimensions are 1, or absent.
pub(super) fn held(param: &Param) -> Vec<(usize, bool)> {
    let Some(window) = param.window() else {
        return param.ty.shape().dims().iter().map(|&n| (n, false)).collect();
    };
    let all: Vec<(usize, bool)> = window.block.iter().map(|b| (b.size(), *b == BlockDim::Squeezed)).collect();
    let leading = all.iter().take_while(|d| d.1).count();
    match &all[leading..] {
        kept if kept.len() >= 2 && kept.iter().all(|d| !d.1) => kept.to_vec(),
        _ => all,
    }
}

/// `memref<1x64x32xf32, #tpu.memory_space<vmem>>`.
pub(super) fn memref(dtype: DType, held: &[(usize, bool)]) -> String {
    format!("memref<{}{}, #tpu.memory_space<vmem>>", shape_text(held.iter().map(|d| d.0)), stored(dtype))
}

/// `1x64x32x`.
fn shape_text(dims: impl IntoIterator<Item = usize>) -> String {
    dims.into_iter().map(|n| format!("{n}x")).collect()
}

/// One load or store.
struct Access {
    /// The name of the memory with the corner: `%x[%c0, %1]`.
    place: String,
    memref: String,
    /// Dimensions of the part, squeezed ones as 1.
    part: Vec<usize>,
}

impl Function<'_> {
    fn access(&mut self, op: &Op, part: Shape, starts: &[Value]) -> Result<Access, Illegal> {
        let memory = op.operands[0];
        let dtype = self.ty(memory).dtype();
        let held = self.kernel.param_of(memory).map_or_else(Vec::new, |(_, param)| held(param));
        let sizes: Vec<usize> = held.iter().map(|d| d.0).collect();
        let mut kept = part.dims().iter();
        let part: Vec<usize> = held.iter().map(|d| if d.1 { 1 } else { kept.next().copied().unwrap_or(1) }).collect();
        let (mut corner, mut starts) = (vec![], starts.iter());
        for (axis, &(_, squeezed)) in held.iter().enumerate() {
            let start = if squeezed { None } else { starts.next() };
            corner.push(match start {
                None => self.constant("0 : index".to_string()),
                Some(&start) => self.start(op, start, alignment(dtype, &sizes, &part, axis), (axis, &sizes))?,
            });
        }
        Ok(Access { place: format!("{}[{}]", self.name(memory), corner.join(", ")), memref: memref(dtype, &held), part })
    }

    /// A start as an index value.
    fn start(&mut self, op: &Op, start: Value, wanted: usize, (axis, sizes): (usize, &[usize])) -> Result<String, Illegal> {
        if let Some(n) = self.literals.get(&start).and_then(|l| l.as_i32()) {
            return Ok(self.constant(format!("{n} : index")));
        }
        let known = 1usize << self.zeros(start).min(30);
        if known < wanted {
            let memory = shape_text(sizes.iter().copied()).trim_end_matches('x').to_string();
            return Err(self.refuse(op, Rule::Start { axis, memory, multiple: wanted }));
        }
        let mut name = self.name(start);
        if known > 1 {
            name = self.emit(format!("tpu.assume_multiple {name}, {known} : i32"));
        }
        Ok(self.emit(format!("arith.index_cast {name} : i32 to index")))
    }

    pub(super) fn load(&mut self, op: &Op, shape: Shape) -> Result<String, Illegal> {
        let dtype = self.ty(op.operands[0]).dtype();
        let Access { place, memref, part } = self.access(op, shape, &op.operands[1..])?;
        let vector = |element: &str| format!("vector<{}{element}>", shape_text(part.iter().copied()));
        let held = vector(stored(dtype));
        let loaded = self.emit(format!("vector.load {place} : {memref}, {held}"));
        let squeezed = part != shape.dims();
        match dtype {
            DType::Bool if squeezed => {
                let wide = self.emit(format!("arith.extsi {loaded} : {held} to {}", vector("i32")));
                let kept = Type::Tile(DType::I32, shape);
                let wide = self.emit(format!("vector.shape_cast {wide} : {} to {}", vector("i32"), spelled(kept)));
                Ok(self.i32_to_mask(&wide, Type::Tile(DType::Bool, shape)))
            }
            DType::Bool => {
                let zero = self.constant(format!("dense<0> : {held}"));
                Ok(self.emit(format!("arith.cmpi ne, {loaded}, {zero} : {held}")))
            }
            // A column of bf16 turns into a row only in words of 32 bits.
            DType::Bf16 if squeezed => {
                let wide = self.emit(format!("arith.extf {loaded} : {held} to {}", vector("f32")));
                let kept = Type::Tile(DType::F32, shape);
                let wide = self.emit(format!("vector.shape_cast {wide} : {} to {}", vector("f32"), spelled(kept)));
                Ok(self.narrow(&wide, Type::Tile(dtype, shape)))
            }
            _ if squeezed => Ok(self.emit(format!("vector.shape_cast {loaded} : {held} to {}", spelled(Type::Tile(dtype, shape))))),
            _ => Ok(loaded),
        }
    }

    pub(super) fn store(&mut self, op: &Op) -> Result<(), Illegal> {
        let tile = self.ty(op.operands[1]);
        let Access { place, memref, part } = self.access(op, tile.shape(), &op.operands[2..])?;
        let vector = |element: &str| format!("vector<{}{element}>", shape_text(part.iter().copied()));
        let held = vector(stored(tile.dtype()));
        let mut value = self.name(op.operands[1]);
        let squeezed = part != tile.shape().dims();
        match tile.dtype() {
            DType::Bool => {
                let wide = tile.with_dtype(DType::I32);
                value = self.mask_to_i32(&value, tile);
                if squeezed {
                    value = self.emit(format!("vector.shape_cast {value} : {} to {}", spelled(wide), vector("i32")));
                }
                value = self.emit(format!("arith.trunci {value} : {} to {held}", vector("i32")));
            }
            DType::Bf16 if squeezed => {
                let (wide, wide_type) = self.widen(&value, tile);
                let wide = self.emit(format!("vector.shape_cast {wide} : {} to {}", spelled(wide_type), vector("f32")));
                value = self.emit(format!("arith.truncf {wide} : {} to {held}", vector("f32")));
            }
            _ if squeezed => value = self.emit(format!("vector.shape_cast {value} : {} to {held}", spelled(tile))),
            _ => {}
        }
        self.effect(format!("vector.store {value}, {place} : {memref}, {held}"));
        Ok(())
    }

    /// A scalar of the launch from scalar memory.
    pub(super) fn scalar(&mut self, place: &str, memref: &str, ty: Type) -> String {
        let zero = self.constant("0 : index".to_string());
        let loaded = self.emit(format!("memref.load {place}[{zero}] : {memref}"));
        if ty.dtype() != DType::Bool {
            return loaded;
        }
        let none = self.literal(Literal::from(0), Type::Scalar(DType::I32));
        self.emit(format!("arith.cmpi ne, {loaded}, {none} : i32"))
    }
}

/// What a dynamic start along `axis` must be a multiple of, so that libtpu takes it.
fn alignment(dtype: DType, memory: &[usize], part: &[usize], axis: usize) -> usize {
    let bytes = dtype.bytes();
    match (memory.len() - axis, memory) {
        (1, [_]) if bytes == 4 => LANES,
        (1, [_]) => 8 * LANES,
        (1, _) => LANES,
        (2, &[.., rows, columns]) => {
            let one_row = part[axis] == 1 && part[axis + 1] == columns;
            match bytes {
                4 if columns <= LANES || one_row => 1,
                1 if rows >= 4 * SUBLANES => 4 * SUBLANES,
                _ => SUBLANES,
            }
        }
        _ => 1,
    }
}
