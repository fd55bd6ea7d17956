//! Memory as compiled code sees it: where a tile begins and how its dimensions stride.

use super::code::Code;
use super::map::{Map, same_but_units};
use crate::ir::layout::reshaped;
use crate::ir::{DType, Kernel, MAX_RANK, OpKind, Region, Shape, Type};
use cranelift::prelude::*;
use std::rc::Rc;

/// A block whose rows are shorter is always copied: its strides are then known, and the loops over it merge.
const MIN_ROW: usize = 16;

/// Where memory begins.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// So many bytes into the arena.
    Arena(usize),
    /// An address in a register.
    Pointer(Value),
    /// An operand's window or scratch.
    Param(usize),
    /// Other memory, seen as elements of another width: starts and strides count these, row-major in that shape. It has no address.
    Cast(Rc<Mem>, Shape),
}

/// The distance of neighbours along a dimension, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stride {
    /// Known now.
    Fixed(i64),
    /// Of that dimension of that operand, known when the step runs, so many times.
    Param(u32, u32, i64),
}

impl Stride {
    /// Of every so many-th element. Elements lie inside memory, so that the product of a stride that is used fits.
    fn times(self, step: usize) -> Stride {
        match self {
            Stride::Fixed(n) => Stride::Fixed(n.wrapping_mul(step as i64)),
            Stride::Param(param, axis, times) => Stride::Param(param, axis, times.wrapping_mul(step as i64)),
        }
    }
}

/// The first element along a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// Known now.
    Fixed(i64),
    /// An i32 in a register, checked.
    Dynamic(Value),
}

/// A tile in memory.
#[derive(Clone, Debug)]
pub(super) struct Mem {
    pub origin: Origin,
    /// What to add to the origin: a start and the stride of its dimension.
    pub starts: Vec<(Start, Stride)>,
    pub dtype: DType,
    pub shape: Shape,
    /// One a dimension.
    pub strides: [Stride; MAX_RANK],
}

/// Row-major strides.
pub(super) fn dense(shape: Shape) -> [Stride; MAX_RANK] {
    let mut strides = [Stride::Fixed(0); MAX_RANK];
    let mut step = 1i64;
    for d in (0..shape.rank()).rev() {
        strides[d] = Stride::Fixed(step);
        step *= shape.dim(d) as i64;
    }
    strides
}

/// Whether blocks of that operand may be used inside the array: its rows lie along the array's last dimension.
pub(super) fn may_stay_in_place(kernel: &Kernel, param: usize) -> bool {
    let param = &kernel.params[param];
    let last = param.window().and_then(|window| window.block.last()?.kept());
    last.is_some_and(|n| n >= MIN_ROW) && !reshapes(&kernel.body)
}

/// Whether memory is seen under another shape: its rows then lie one after the other.
fn reshapes(region: &Region) -> bool {
    region.ops.iter().any(|op| matches!(op.kind, OpKind::ViewReshaped(_)) || op.regions.iter().any(reshapes))
}

/// The strides of an operand as compiled code may assume them.
fn param_strides(kernel: &Kernel, param: usize) -> [Stride; MAX_RANK] {
    let ty = kernel.params[param].ty;
    let (mut strides, rank) = match ty {
        // Row-major, of a shape that the launch brings.
        Type::Array(_, _, rank) => {
            let mut strides = [Stride::Fixed(0); MAX_RANK];
            strides[rank - 1] = Stride::Fixed(1);
            (strides, rank)
        }
        _ => (dense(ty.shape()), ty.shape().rank()),
    };
    let in_place = kernel.params[param].window().is_some() && may_stay_in_place(kernel, param);
    if in_place || matches!(ty, Type::Array(..)) {
        for (d, stride) in strides.iter_mut().enumerate().take(rank - 1) {
            *stride = Stride::Param(param as u32, d as u32, 1);
        }
    }
    strides
}

impl Mem {
    /// A dense tile.
    pub(super) fn dense(origin: Origin, dtype: DType, shape: Shape) -> Mem {
        Mem { origin, starts: vec![], dtype, shape, strides: dense(shape) }
    }

    /// The memory of an operand: its window, scratch or array. An array has no shape yet: parts of it have.
    pub(super) fn of_param(kernel: &Kernel, param: usize) -> Mem {
        let ty = kernel.params[param].ty;
        let strides = param_strides(kernel, param);
        Mem { origin: Origin::Param(param), starts: vec![], dtype: ty.dtype(), shape: ty.shape(), strides }
    }

    /// The elements `starts + i · steps`.
    pub(super) fn part(&self, starts: &[Start], shape: Shape, steps: &[usize]) -> Mem {
        let mut part = Mem { shape, ..self.clone() };
        for (d, (&start, &step)) in starts.iter().zip(steps).enumerate() {
            match start {
                Start::Fixed(n) => part.advance(n, self.strides[d]),
                Start::Dynamic(_) => part.starts.push((start, self.strides[d])),
            }
            part.strides[d] = self.strides[d].times(if shape.dim(d) == 1 { 1 } else { step });
        }
        part
    }

    /// The same memory without these dimensions.
    pub(super) fn squeezed(&self, axes: &[usize], shape: Shape) -> Mem {
        let mut squeezed = Mem { shape, strides: [Stride::Fixed(0); MAX_RANK], ..self.clone() };
        let kept = (0..self.shape.rank()).filter(|axis| !axes.contains(axis));
        for (to, from) in kept.enumerate() {
            squeezed.strides[to] = self.strides[from];
        }
        squeezed
    }

    /// The same memory with its dimensions in another order.
    pub(super) fn transposed(&self, perm: &[usize], shape: Shape) -> Mem {
        let mut transposed = Mem { shape, strides: [Stride::Fixed(0); MAX_RANK], ..self.clone() };
        for (to, &from) in perm.iter().enumerate() {
            transposed.strides[to] = self.strides[from];
        }
        transposed
    }

    /// The same memory under another shape; `None` where it has no strides for it.
    pub(super) fn reshaped(&self, shape: Shape) -> Option<Mem> {
        let own = &self.strides[..self.shape.rank()];
        let strides = reshaped(self.shape.dims(), own, shape.dims(), Stride::times, Stride::Fixed(1))?;
        let mut view = Mem { shape, strides: [Stride::Fixed(0); MAX_RANK], ..self.clone() };
        view.strides[..strides.len()].copy_from_slice(&strides);
        Some(view)
    }

    /// The same memory as elements of another type.
    pub(super) fn cast(&self, dtype: DType, shape: Shape) -> Mem {
        match self.dtype.bits() == dtype.bits() {
            true => Mem { dtype, ..self.clone() },
            false => Mem::dense(Origin::Cast(Rc::new(self.clone()), shape), dtype, shape),
        }
    }

    /// The operand of which it is a view.
    pub(super) fn param(&self) -> Option<usize> {
        match &self.origin {
            Origin::Param(param) => Some(*param),
            Origin::Cast(below, _) => below.param(),
            Origin::Arena(_) | Origin::Pointer(_) => None,
        }
    }

    /// The elements `starts + i · steps` of the tile.
    pub(super) fn slice(&self, starts: &[usize], shape: Shape, steps: &[usize]) -> Mem {
        let mut slice = Mem { shape, ..self.clone() };
        for (d, (&start, &step)) in starts.iter().zip(steps).enumerate() {
            slice.advance(start as i64, self.strides[d]);
            slice.strides[d] = match self.strides[d] {
                // Nothing is read beyond the first element, and the product may be anything.
                _ if shape.dim(d) == 1 => Stride::Fixed(0),
                stride => stride.times(step),
            };
        }
        slice
    }

    /// Moves the first element; what is known of it stays one number a stride, however often it moves.
    fn advance(&mut self, start: i64, stride: Stride) {
        let (by, unit) = match stride {
            Stride::Fixed(n) => (start.wrapping_mul(n), Stride::Fixed(1)),
            Stride::Param(param, axis, times) => (start.wrapping_mul(times), Stride::Param(param, axis, 1)),
        };
        if by == 0 {
            return;
        }
        for (known, stride) in &mut self.starts {
            if let (Start::Fixed(n), true) = (known, *stride == unit) {
                *n = n.wrapping_add(by);
                return;
            }
        }
        self.starts.push((Start::Fixed(by), unit));
    }

    /// The same memory as the result of a transpose or reshape of the tile.
    pub(super) fn view(&self, kind: &OpKind, result: Shape) -> Mem {
        let mut view = Mem { shape: result, ..self.clone() };
        if matches!(kind, OpKind::Reshape(_)) && !same_but_units(self.shape, result) {
            view.strides = dense(result);
            return view;
        }
        view.strides = [Stride::Fixed(0); MAX_RANK];
        let map = Map::identity(result).of_operand(kind, self.shape, result);
        for d in 0..self.shape.rank() {
            if let Some(to) = map.get(d) {
                view.strides[to] = self.strides[d];
            }
        }
        view
    }

    /// The strides in the dimensions of a nest that reads or writes the tile under that map.
    pub(super) fn mapped(&self, map: Map) -> [Stride; MAX_RANK] {
        let mut strides = [Stride::Fixed(0); MAX_RANK];
        for d in 0..self.shape.rank() {
            if let Some(to) = map.get(d) {
                strides[to] = self.strides[d];
            }
        }
        strides
    }
}

impl Code<'_> {
    /// The address of the tile's first element.
    pub(super) fn address(&mut self, mem: &Mem, arena: usize) -> Value {
        let (base, mut fixed) = match mem.origin {
            Origin::Arena(offset) => (self.field(types::I64, arena), offset as i64),
            Origin::Pointer(v) => (v, 0),
            Origin::Param(param) => (self.ref_pointer(param), 0),
            // The number of the first element: what reaches these takes its slot apart.
            Origin::Cast(..) => (self.b.ins().iconst(types::I64, 0), 0),
        };
        let bytes = if matches!(mem.origin, Origin::Cast(..)) { 1 } else { mem.dtype.bytes() as i64 };
        let mut address = base;
        for &(start, stride) in &mem.starts {
            match (start, stride) {
                // What wraps is never used: a check before it has failed.
                (Start::Fixed(n), Stride::Fixed(s)) => fixed = fixed.wrapping_add(n.wrapping_mul(s).wrapping_mul(bytes)),
                (start, stride) => {
                    let start = match start {
                        Start::Fixed(n) => self.b.ins().iconst(types::I64, n),
                        Start::Dynamic(v) => self.b.ins().sextend(types::I64, v),
                    };
                    let stride = match (&mem.origin, stride) {
                        (Origin::Cast(..), Stride::Fixed(n)) => Step::Fixed(n),
                        _ => self.stride_bytes(stride, mem.dtype),
                    };
                    let offset = self.times(start, stride);
                    address = self.b.ins().iadd(address, offset);
                }
            }
        }
        if fixed == 0 { address } else { self.b.ins().iadd_imm_s(address, fixed) }
    }

    /// A stride in bytes.
    pub(super) fn stride_bytes(&mut self, stride: Stride, dtype: DType) -> Step {
        match stride {
            Stride::Fixed(n) => Step::Fixed(n.wrapping_mul(dtype.bytes() as i64)),
            Stride::Param(..) => {
                let v = self.stride_elements(stride);
                let by = self.b.ins().iconst(types::I64, i64::from(dtype.bytes().trailing_zeros()));
                Step::Dynamic(self.b.ins().ishl(v, by))
            }
        }
    }

    /// A stride in elements.
    pub(super) fn stride_elements(&mut self, stride: Stride) -> Value {
        match stride {
            Stride::Fixed(n) => self.b.ins().iconst(types::I64, n),
            Stride::Param(param, axis, 1) => self.ref_stride(param as usize, axis as usize),
            Stride::Param(param, axis, times) => {
                let v = self.ref_stride(param as usize, axis as usize);
                self.b.ins().imul_imm_s(v, times)
            }
        }
    }

    /// A number of steps, in bytes.
    pub(super) fn times(&mut self, n: Value, step: Step) -> Value {
        match step {
            Step::Fixed(bytes) if bytes > 0 && bytes.count_ones() == 1 => {
                let by = self.b.ins().iconst(types::I64, i64::from(bytes.trailing_zeros()));
                self.b.ins().ishl(n, by)
            }
            Step::Fixed(bytes) => self.b.ins().imul_imm_s(n, bytes),
            Step::Dynamic(v) => self.b.ins().imul(n, v),
        }
    }
}

/// A stride in bytes, as code multiplies with it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Fixed(i64),
    Dynamic(Value),
}
