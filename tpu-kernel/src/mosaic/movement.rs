//! Views, copies, semaphores, elements of scalar memory, and regions with memory of their own.
//!
//! Rules: a view is a slice of an operand, and a squeeze of what it lacks; a copy names both of its ends again where it is waited
//! for. Copies of parts are held to the extents of the launch here, which the legaliser does not know. What the count of a
//! DMA semaphore is on a chip, while copies are under way, is the hardware's.

use super::control::has_effect;
use super::function::{Function, spelled, stored};
use super::memory::shape_text;
use crate::ir::{Op, OpKind, Region, SemaphoreKind, Shape, Space, Type, Value};
use crate::legalise::divisible::Fact;
use crate::legalise::memory::copies::{Slice, SliceDim, with_squeezed};
use crate::legalise::memory::place::held;
use crate::legalise::{Illegal, Rule};

/// `memref<8x128xf32, #tpu.memory_space<any>>`, of dimensions as text.
fn memref_of(dims: impl IntoIterator<Item = String>, ty: Type) -> String {
    let dims: String = dims.into_iter().map(|d| d + "x").collect();
    format!("memref<{dims}{}, #tpu.memory_space<{}>>", stored(ty.dtype()), space(ty.space().unwrap_or(Space::Vmem)))
}

/// The memory space in the text.
pub(super) const fn space(space: Space) -> &'static str {
    match space {
        Space::Vmem => "vmem",
        Space::Smem => "smem",
        Space::Hbm => "any",
    }
}

/// The extents of a view as the view before it holds them.
#[derive(Clone)]
pub(super) struct Known {
    /// The operand of which it is a view.
    operand: Option<String>,
    dims: Vec<SliceDim>,
}

impl Function<'_> {
    /// The extents of a memory as it lies: of an array those of the launch, of a window with its squeezed dimensions.
    fn extents(&self, memory: Value) -> Vec<(usize, bool)> {
        let memory = self.arrays.get(&memory).copied().unwrap_or(memory);
        match (self.kernel.param_of(memory), self.ty(memory)) {
            (Some((at, _)), Type::Array(..)) => {
                self.binding.arrays.get(at).map_or(&[][..], Vec::as_slice).iter().map(|&n| (n, false)).collect()
            }
            (Some((_, param)), _) => held(param),
            (None, ty) => ty.shape().dims().iter().map(|&n| (n, false)).collect(),
        }
    }

    /// The type of a memory as it lies.
    pub(super) fn memref(&self, memory: Value) -> String {
        memref_of(self.extents(memory).iter().map(|d| d.0.to_string()), self.ty(memory))
    }

    /// An i32 in the text.
    fn zero(&mut self) -> String {
        self.constant("0 : i32".to_string())
    }

    /// A start that says of which number it is a multiple.
    fn offset(&mut self, start: Value) -> String {
        let name = self.name(start);
        let known = 1usize << self.zeros(start).min(30);
        match self.fact(start).number {
            None if known > 1 => self.emit(format!("tpu.assume_multiple {name}, {known} : i32")),
            _ => name,
        }
    }

    pub(super) fn view(&mut self, op: &Op, shape: Shape) -> String {
        let (memory, starts) = (op.operands[0], &op.operands[1..]);
        let (held, ty) = (self.extents(memory), self.ty(memory));
        let (mut kept, mut names, mut sizes, mut dims) = (0, vec![], vec![], vec![]);
        for &(extent, squeezed) in &held {
            if squeezed {
                names.push(self.zero());
                sizes.push(1);
                continue;
            }
            let (start, size) = (starts[kept], shape.dim(kept));
            let start_fact = if size == extent { Fact { zeros: 31, number: Some(0) } } else { self.fact(start) };
            dims.push(SliceDim { extent: Some(extent), start: start_fact, size: Some(size), stride: 1, kept: true });
            // The whole can only begin at 0.
            names.push(if size == extent { self.zero() } else { self.offset(start) });
            sizes.push(size);
            kept += 1;
        }
        let operand = self.operand(memory);
        self.known.insert(op.results[0], Known { operand, dims: with_squeezed(&held, dims) });
        let text = memref_of(sizes.iter().map(usize::to_string), ty);
        let (name, whole) = (self.name(memory), self.memref(memory));
        let part = self.emit(format!("tpu.memref_slice {name}[{}] : {whole} -> {text}", names.join(", ")));
        let axes: Vec<usize> = (0..held.len()).filter(|&d| held[d].1).collect();
        self.squeeze(part, &sizes, &axes, ty).0
    }

    /// A memory without some of its dimensions, and its type.
    fn squeeze(&mut self, name: String, sizes: &[usize], axes: &[usize], ty: Type) -> (String, String) {
        let whole = memref_of(sizes.iter().map(usize::to_string), ty);
        if axes.is_empty() {
            return (name, whole);
        }
        let kept = (0..sizes.len()).filter(|d| !axes.contains(d)).map(|d| sizes[d].to_string());
        let text = memref_of(kept, ty);
        (self.emit(format!("tpu.memref_squeeze {name} : {whole} -> {text}")), text)
    }

    pub(super) fn view_squeezed(&mut self, op: &Op, axes: &[usize]) -> String {
        let memory = op.operands[0];
        let mut known = self.known(memory);
        let kept: Vec<usize> = (0..known.dims.len()).filter(|&d| known.dims[d].kept).collect();
        axes.iter().filter_map(|&axis| kept.get(axis)).for_each(|&d| known.dims[d].kept = false);
        self.known.insert(op.results[0], known);
        let (name, _) = self.end(memory);
        let ty = self.ty(memory);
        self.squeeze(name, ty.shape().dims(), axes, ty).0
    }

    /// The name of the operand that a memory is.
    fn operand(&self, memory: Value) -> Option<String> {
        let memory = self.arrays.get(&memory).copied().unwrap_or(memory);
        self.kernel.param_of(memory).map(|(_, param)| param.name.clone())
    }

    fn known(&self, memory: Value) -> Known {
        self.known.get(&memory).cloned().unwrap_or_else(|| {
            let start = Fact { zeros: 31, number: Some(0) };
            let held = self.extents(memory);
            let dim =
                |&(n, squeezed): &(usize, bool)| SliceDim { extent: Some(n), start, size: Some(n), stride: 1, kept: !squeezed };
            Known { operand: self.operand(memory), dims: held.iter().map(dim).collect() }
        })
    }

    /// One end of a copy without the squeezed dimensions of a window: its name and its dimensions.
    fn end(&mut self, memory: Value) -> (String, Vec<usize>) {
        let name = self.name(memory);
        if self.known.contains_key(&memory) {
            return (name, self.ty(memory).shape().dims().to_vec());
        }
        let held = self.extents(memory);
        let sizes: Vec<usize> = held.iter().map(|d| d.0).collect();
        let axes: Vec<usize> = (0..held.len()).filter(|&d| held[d].1).collect();
        let kept = held.iter().filter(|d| !d.1).map(|d| d.0).collect();
        (self.squeeze(name, &sizes, &axes, self.ty(memory)).0, kept)
    }

    pub(super) fn copy(&mut self, op: &Op) -> Result<(), Illegal> {
        let remote = matches!(op.kind, OpKind::RemoteStart { .. });
        let rows = op.operands.get(if remote { 5 } else { 3 }).copied();
        let mut ends = vec![];
        for &memory in &op.operands[..2] {
            let ty = self.ty(memory);
            let known = self.known(memory);
            let slice = Slice { name: known.operand, bits: ty.dtype().bits(), dims: known.dims, rows: rows.map(|v| self.fact(v)) };
            if let Some(rule) = slice.refusal() {
                return Err(self.refuse(op, rule));
            }
            let (mut name, dims) = self.end(memory);
            let mut text = memref_of(dims.iter().map(usize::to_string), ty);
            if let Some(rows) = rows {
                let (count, zeros) = (self.offset(rows), vec![self.zero(); dims.len()].join(", "));
                let rest = dims.iter().skip(1).map(usize::to_string);
                let part = memref_of(["?".to_string()].into_iter().chain(rest), ty);
                name = self.emit(format!("tpu.memref_slice {name}[{zeros}] <{count}> : {text} -> {part}"));
                text = part;
            }
            ends.push((name, dims, text));
        }
        let [(source, from, source_text), (target, to, target_text)] = ends.as_slice() else {
            return Err(self.refuse(op, Rule::Unverified("it must have a source and a target".into())));
        };
        if from != to {
            return Err(self.refuse(op, Rule::Binding("the two ends of a copy differ in shape")));
        }
        let (semaphore, semaphore_text) = (self.name(op.operands[2]), spelled(self.ty(op.operands[2])));
        if let OpKind::RemoteStart { priority } = op.kind {
            let (send, device) = (self.name(op.operands[3]), self.name(op.operands[4]));
            let priority = if priority == 0 { String::new() } else { format!(", priority = {priority} : i32") };
            self.effect(format!(
                "\"tpu.enqueue_dma\"({source}, {send}, {target}, {semaphore}, {device}) <{{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>{priority}}}> : ({source_text}, {semaphore_text}, {target_text}, {semaphore_text}, i32) -> ()"
            ));
            return Ok(());
        }
        let (mnemonic, attributes) = match op.kind {
            OpKind::DmaStart { priority: 0, .. } => ("enqueue", String::new()),
            OpKind::DmaStart { priority, .. } => ("enqueue", format!(" {{priority = {priority} : i32}}")),
            _ => ("wait", " {wait_target = true}".to_string()),
        };
        self.effect(format!(
            "tpu.{mnemonic}_dma source({source} : {source_text}) target({target} : {target_text}) target_semaphore({semaphore} : {semaphore_text}){attributes}"
        ));
        Ok(())
    }

    pub(super) fn semaphore_at(&mut self, op: &Op) -> String {
        let (semaphores, indices) = (op.operands[0], &op.operands[1..]);
        let name = self.name(semaphores);
        let Type::Semaphore(kind, shape) = self.ty(semaphores) else { return name };
        if shape.rank() == 0 {
            return name;
        }
        let place: Vec<String> = indices.iter().map(|&v| self.name(v)).collect();
        let text = |shape| spelled(Type::Semaphore(kind, shape));
        let (all, one, single) = (text(shape), text(Shape::new(&vec![1; shape.rank()])), text(Shape::new(&[])));
        let slice = self.emit(format!("tpu.memref_slice {name}[{}] : {all} -> {one}", place.join(", ")));
        self.emit(format!("tpu.memref_squeeze {slice} : {one} -> {single}"))
    }

    pub(super) fn semaphore(&mut self, op: &Op) {
        let (semaphore, count) = (self.name(op.operands[0]), self.name(op.operands[1]));
        if let Some(&other) = op.operands.get(2) {
            let (other, text) = (self.name(other), spelled(self.ty(op.operands[0])));
            let which = if op.kind == OpKind::CoreSignal { "0, 1" } else { "1, 0" };
            self.effect(format!(
                "\"tpu.sem_signal\"({semaphore}, {count}, {other}) <{{operandSegmentSizes = array<i32: 1, 1, {which}, 0>}}> : ({text}, i32, i32) -> ()"
            ));
            return;
        }
        let mnemonic = if op.kind == OpKind::SemaphoreSignal { "signal" } else { "wait" };
        self.effect(format!("tpu.sem_{mnemonic} {semaphore}, {count} : {}", spelled(self.ty(op.operands[0]))));
    }

    pub(super) fn semaphore_read(&mut self, op: &Op) -> String {
        let semaphore = self.name(op.operands[0]);
        self.emit(format!("tpu.sem_read {semaphore} : {} -> i32", spelled(self.ty(op.operands[0]))))
    }

    /// The place of an element of scalar memory.
    fn element(&mut self, memory: Value, indices: &[Value]) -> String {
        let place: Vec<String> = indices.iter().map(|&v| self.start(v)).collect();
        format!("{}[{}]", self.name(memory), place.join(", "))
    }

    pub(super) fn load_scalar(&mut self, op: &Op) -> String {
        let place = self.element(op.operands[0], &op.operands[1..]);
        self.emit(format!("memref.load {place} : {}", self.memref(op.operands[0])))
    }

    pub(super) fn store_scalar(&mut self, op: &Op) {
        let value = self.name(op.operands[1]);
        let place = self.element(op.operands[0], &op.operands[2..]);
        self.effect(format!("memref.store {value}, {place} : {}", self.memref(op.operands[0])));
    }

    pub(super) fn scoped(&mut self, op: &Op, region: &Region) -> Result<(), Illegal> {
        if op.results.is_empty() && !has_effect(region) {
            return Ok(());
        }
        let place = self.place();
        let names = self.names(op.results.len());
        let types = super::control::list(op.results.iter().map(|&v| self.ty(v)));
        self.line(format!("{}\"tpu.region\"() ({{", Self::results(&names)));
        self.nested(|f| {
            for &arg in &region.args {
                let ty = f.ty(arg);
                let name = match ty {
                    Type::Semaphore(..) => f.emit(format!("\"tpu.sem_alloc\"() : () -> {}", spelled(ty))),
                    _ => f.emit(format!("memref.alloca() : {}", spelled(ty))),
                };
                f.define(arg, name);
            }
            f.ops(region)?;
            f.at(&op.loc);
            let yields: Vec<String> = region.yields.iter().map(|&v| f.name(v)).collect();
            f.effect(format!("\"tpu.yield\"({}) : ({types}) -> ()", yields.join(", ")));
            Ok(())
        })?;
        self.line(format!("}}) : () -> ({types}){place}"));
        self.at(&op.loc);
        op.results.iter().zip(&names).for_each(|(&v, name)| self.define(v, name.clone()));
        Ok(())
    }
}

/// `memref<2x3x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>`.
pub(super) fn semaphores(kind: SemaphoreKind, shape: Shape) -> String {
    let name = match kind {
        SemaphoreKind::Regular | SemaphoreKind::Barrier(_) => "semaphore",
        SemaphoreKind::Dma => "dma_semaphore",
    };
    format!("memref<{}!tpu.{name}, #tpu.memory_space<semaphore_mem>>", shape_text(shape.dims().iter().copied()))
}
