//! Loads and stores of windows and scratch.
//!
//! Rules: a static start is free; a dynamic one is said to be a multiple of what is known, which the legaliser has found
//! to be enough. Squeezed dimensions that memory has as 1 are added to each access and taken from what it gives; where
//! the last one is such, the kept ones are moved behind it first, because v4 cannot turn a column into a row otherwise.

use super::control::commas;
use super::function::{Function, spelled, stored};
use super::movement::space;
use crate::ir::{DType, Op, Shape, Space, Type, Value};
use crate::legalise::memory::place::{held, part};

/// `memref<1x64x32xf32, #tpu.memory_space<vmem>>`.
pub(super) fn memref(place: Space, dtype: DType, held: &[(usize, bool)]) -> String {
    format!("memref<{}{}, #tpu.memory_space<{}>>", shape_text(held.iter().map(|d| d.0)), stored(dtype), space(place))
}

/// `1x64x32x`.
pub(super) fn shape_text(dims: impl IntoIterator<Item = usize>) -> String {
    dims.into_iter().map(|n| format!("{n}x")).collect()
}

/// One load or store.
struct Access {
    /// The name of the memory with the corner: `%x[%c0, %1]`.
    place: String,
    memref: String,
    dtype: DType,
    /// Dimensions of the part, squeezed ones as 1.
    part: Vec<usize>,
    /// The squeezed dimensions first, where the last one is.
    moved: Option<Vec<usize>>,
}

impl Access {
    fn vector(&self, dims: impl IntoIterator<Item = usize>) -> String {
        format!("vector<{}{}>", shape_text(dims), stored(self.dtype))
    }

    /// The type of what is loaded or stored.
    fn held(&self) -> String {
        self.vector(self.part.iter().copied())
    }

    /// The same with its dimensions moved.
    fn turned(&self, order: &[usize]) -> String {
        self.vector(order.iter().map(|&d| self.part[d]))
    }
}

impl Function<'_> {
    fn access(&mut self, op: &Op, shape: Shape, starts: &[Value]) -> Access {
        let memory = op.operands[0];
        let dtype = self.ty(memory).dtype();
        let held = match self.kernel.param_of(memory) {
            Some((_, param)) => held(param),
            None => self.ty(memory).shape().dims().iter().map(|&n| (n, false)).collect(),
        };
        let (mut corner, mut starts) = (vec![], starts.iter());
        for &(_, squeezed) in &held {
            let start = if squeezed { None } else { starts.next() };
            corner.push(match start {
                None => self.constant("0 : index".to_string()),
                Some(&start) => self.start(start),
            });
        }
        let moved = held.last().is_some_and(|d| d.1).then(|| {
            let (squeezed, kept): (Vec<usize>, Vec<usize>) = (0..held.len()).partition(|&d| held[d].1);
            [squeezed, kept].concat()
        });
        let place = format!("{}[{}]", self.name(memory), corner.join(", "));
        Access { place, memref: memref(Space::Vmem, dtype, &held), dtype, part: part(&held, shape), moved }
    }

    /// A start as an index value.
    pub(super) fn start(&mut self, start: Value) -> String {
        if let Some(n) = self.literals.get(&start).and_then(|l| l.as_i32()) {
            return self.constant(format!("{n} : index"));
        }
        let known = 1usize << self.zeros(start).min(30);
        let mut name = self.name(start);
        if known > 1 {
            name = self.emit(format!("tpu.assume_multiple {name}, {known} : i32"));
        }
        self.emit(format!("arith.index_cast {name} : i32 to index"))
    }

    pub(super) fn load(&mut self, op: &Op, shape: Shape) -> String {
        let access = self.access(op, shape, &op.operands[1..]);
        let (mut ty, kept) = (access.held(), spelled(Type::Tile(access.dtype, shape)));
        let mut loaded = self.emit(format!("vector.load {} : {}, {ty}", access.place, access.memref));
        if let Some(order) = &access.moved {
            let turned = access.turned(order);
            loaded = self.emit(format!("tpu.transpose {loaded}, [{}] : {ty} -> {turned}", commas(order)));
            ty = turned;
        }
        if ty == kept { loaded } else { self.emit(format!("vector.shape_cast {loaded} : {ty} to {kept}")) }
    }

    pub(super) fn store(&mut self, op: &Op) {
        let tile = self.ty(op.operands[1]);
        let access = self.access(op, tile.shape(), &op.operands[2..]);
        let mut value = self.name(op.operands[1]);
        let (held, kept) = (access.held(), spelled(tile));
        let turned = access.moved.as_ref().map_or_else(|| held.clone(), |order| access.turned(order));
        if turned != kept {
            value = self.emit(format!("vector.shape_cast {value} : {kept} to {turned}"));
        }
        if let Some(order) = &access.moved {
            let mut back = vec![0; order.len()];
            order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
            value = self.emit(format!("tpu.transpose {value}, [{}] : {turned} -> {held}", commas(&back)));
        }
        self.effect(format!("vector.store {value}, {} : {}, {held}", access.place, access.memref));
    }

    /// A scalar of the launch from scalar memory.
    pub(super) fn scalar(&mut self, place: &str, memref: &str) -> String {
        let zero = self.constant("0 : index".to_string());
        self.emit(format!("memref.load {place}[{zero}] : {memref}"))
    }
}
