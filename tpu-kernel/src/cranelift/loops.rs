//! Emits a loop nest: outer loops, the vectorised loop over the last dimension, and reductions.
//!
//! Rules: dimensions that every access walks as one are merged; a value is computed in the outermost loop
//! in which it is known; the vectorised loop takes 16 elements at a time (four vectors side by side), then
//! four, then one. A sum over the last axis keeps 16 partial sums, element i in partial i mod 16, folded
//! by halves; over any other axis it adds in increasing order.

use super::code::{Code, Pack};
use super::context::Context;
use super::mem::{Step, Stride};
use super::nest::{Graph, Kind, Nest, Node};
use super::reduce::Reduction;
use crate::ir::{DType, OpKind};
use cranelift::codegen::ir::BlockArg;
use cranelift::prelude::*;
use std::mem::offset_of;

/// Elements at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Width {
    /// Four vectors.
    Sixteen,
    /// One vector.
    Four,
    /// One element.
    One,
}

impl Width {
    pub(super) fn vectors(self) -> usize {
        match self {
            Width::Sixteen => 4,
            Width::Four | Width::One => 1,
        }
    }
}

pub(super) struct Loop {
    pub size: usize,
    /// The dimension of the nest whose strides the loop takes: the innermost of those merged.
    dim: usize,
    /// All dimensions merged into it, a bit each.
    dims: u8,
}

pub(super) struct Stream {
    pub dtype: DType,
    /// By loop.
    pub steps: Vec<Step>,
}

/// The inside of a loop: takes the index and the carried values, gives the next ones.
type Inside<'a, L> = dyn FnMut(&mut L, Value, &[Value]) -> Vec<Value> + 'a;

/// A nest being emitted.
pub(super) struct Loops<'a, 'f, 'k> {
    pub code: &'a mut Code<'f>,
    nodes: Vec<Node<'k>>,
    levels: Vec<usize>,
    /// Whether a node differs from lane to lane.
    lanes: Vec<bool>,
    /// Whether a node that is equal in all lanes is needed in a vector.
    splat: Vec<bool>,
    pub loops: Vec<Loop>,
    pub vector: usize,
    pub streams: Vec<Stream>,
    pub pointers: Vec<Value>,
    indices: Vec<Value>,
    /// Node and stream of each output that is written at each step.
    writes: Vec<(usize, usize)>,
    pub reductions: Vec<Reduction>,
    /// Whether the reductions run over the vectorised dimension.
    across: bool,
    pub width: Width,
    packs: Vec<Option<Pack>>,
    splats: Vec<Option<Value>>,
    lane_numbers: Option<Value>,
}

/// Emits the nest.
pub(super) fn emit(code: &mut Code<'_>, nest: &Nest, graph: Graph<'_>) {
    code.begin_nest();
    let axis = nest.outputs.iter().find_map(|o| o.reduce.map(|(_, axis)| axis));
    let across = axis.is_some_and(|axis| axis == nest.shape.rank() - 1);
    let mut memories: Vec<_> = graph.streams.iter().map(|(mem, map)| (mem.clone(), mem.mapped(*map))).collect();
    let outputs = memories.len();
    for output in &nest.outputs {
        let map = super::map::Map::identity(output.mem.shape);
        memories.push((output.mem.clone(), output.mem.mapped(map)));
    }

    let mut fixed: u8 = axis.map_or(0, |axis| 1 << axis);
    for node in &graph.nodes {
        if let Kind::Iota(Some(dim)) = node.kind {
            fixed |= 1 << dim;
        }
    }
    let mut order: Vec<usize> = (0..nest.shape.rank()).filter(|&d| nest.shape.dim(d) > 1).collect();
    if let Some(axis) = axis.filter(|_| !across) {
        order.retain(|&d| d != axis);
    }
    let mut loops: Vec<Loop> = order.iter().map(|&d| Loop { size: nest.shape.dim(d), dim: d, dims: 1 << d }).collect();
    merge(&mut loops, fixed, &memories.iter().map(|(_, strides)| *strides).collect::<Vec<_>>());
    if loops.is_empty() {
        // A single element: a loop of one step over no dimension.
        loops.push(Loop { size: 1, dim: crate::ir::MAX_RANK, dims: 0 });
    }
    let vector = loops.len() - 1;
    if let Some(axis) = axis.filter(|_| !across) {
        loops.push(Loop { size: nest.shape.dim(axis), dim: axis, dims: 1 << axis });
    }

    let level = |deps: u8| loops.iter().rposition(|l| l.dims & deps != 0).map_or(0, |at| at + 1);
    let levels: Vec<usize> = graph.nodes.iter().map(|node| level(node.deps)).collect();
    let lanes: Vec<bool> = graph.nodes.iter().map(|node| node.deps & loops[vector].dims != 0).collect();
    let mut splat = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        if lanes[at] {
            node.args.iter().for_each(|&arg| splat[arg] = true);
        }
    }
    graph.roots.iter().for_each(|&root| splat[root] = true);

    let mut streams = vec![];
    let mut pointers = vec![];
    for (mem, strides) in &memories {
        pointers.push(code.address(mem, offset_of!(Context, arena)));
        let steps = loops.iter().map(|l| code.stride_bytes(*strides.get(l.dim).unwrap_or(&Stride::Fixed(0)), mem.dtype)).collect();
        streams.push(Stream { dtype: mem.dtype, steps });
    }
    let (mut writes, mut reductions) = (vec![], vec![]);
    for (at, output) in nest.outputs.iter().enumerate() {
        let (node, stream) = (graph.roots[at], outputs + at);
        match output.reduce {
            None => writes.push((node, stream)),
            Some((op, _)) => reductions.push(Reduction { op, dtype: graph.nodes[node].dtype, node, stream }),
        }
    }
    let lane_numbers = graph.nodes.iter().any(|n| matches!(n.kind, Kind::Iota(Some(_)))).then(|| code.lane_numbers());
    let zero = code.b.ins().iconst(types::I64, 0);
    let count = graph.nodes.len();
    let mut nest = Loops {
        code,
        nodes: graph.nodes,
        levels,
        lanes,
        splat,
        indices: vec![zero; loops.len()],
        loops,
        vector,
        streams,
        pointers,
        writes,
        reductions,
        across,
        width: Width::One,
        packs: vec![None; count],
        splats: vec![None; count],
        lane_numbers,
    };
    nest.evaluate(0);
    nest.run(0);
    nest.code.end_nest();
}

/// Merges loops that every access walks as one.
fn merge(loops: &mut Vec<Loop>, fixed: u8, accesses: &[[Stride; crate::ir::MAX_RANK]]) {
    for at in (1..loops.len()).rev() {
        let (outer, inner) = (&loops[at - 1], &loops[at]);
        let one_walk = accesses.iter().all(|strides| match (strides[outer.dim], strides[inner.dim]) {
            (Stride::Fixed(o), Stride::Fixed(i)) => o == i * inner.size as i64,
            _ => false,
        });
        if one_walk && (outer.dims | inner.dims) & fixed == 0 {
            let merged = Loop { size: outer.size * inner.size, dim: inner.dim, dims: outer.dims | inner.dims };
            loops.splice(at - 1..=at, [merged]);
        }
    }
}

impl Loops<'_, '_, '_> {
    /// A loop from `from` in steps of `by`, at least once; the body takes index and carried values, and gives the next ones.
    pub(super) fn counted(&mut self, [from, to, by]: [usize; 3], carried: &[Value], body: &mut Inside<'_, Self>) -> Vec<Value> {
        let first = self.code.b.ins().iconst(types::I64, from as i64);
        if from + by >= to {
            return body(self, first, carried);
        }
        let (header, exit) = (self.code.b.create_block(), self.code.b.create_block());
        let index = self.code.b.append_block_param(header, types::I64);
        for &v in carried {
            let ty = self.code.b.func.dfg.value_type(v);
            self.code.b.append_block_param(header, ty);
            self.code.b.append_block_param(exit, ty);
        }
        let args: Vec<BlockArg> = [first].iter().chain(carried).map(|&v| v.into()).collect();
        self.code.b.ins().jump(header, &args);
        self.code.b.switch_to_block(header);
        let inside = self.code.b.block_params(header)[1..].to_vec();
        let next = body(self, index, &inside);
        let step = self.code.b.ins().iadd_imm_s(index, by as i64);
        let limit = self.code.b.ins().iconst(types::I64, to as i64);
        let more = self.code.b.ins().icmp(IntCC::UnsignedLessThan, step, limit);
        let again: Vec<BlockArg> = [step].iter().chain(&next).map(|&v| v.into()).collect();
        let done: Vec<BlockArg> = next.iter().map(|&v| v.into()).collect();
        self.code.b.ins().brif(more, header, &again, exit, &done);
        self.code.b.switch_to_block(exit);
        self.code.b.block_params(exit).to_vec()
    }

    /// Enters a loop at an index: moves the pointers, computes what is known there. Returns the pointers before.
    pub(super) fn enter(&mut self, at: usize, index: Value) -> Vec<Value> {
        let before = self.pointers.clone();
        self.indices[at] = index;
        let mut offsets: Vec<(i64, Value)> = vec![];
        for (stream, &pointer) in before.iter().enumerate() {
            let step = self.streams[stream].steps[at];
            let offset = match step {
                Step::Fixed(0) => continue,
                Step::Fixed(bytes) => match offsets.iter().find(|(b, _)| *b == bytes) {
                    Some(&(_, v)) => v,
                    None => {
                        let v = self.code.times(index, step);
                        offsets.push((bytes, v));
                        v
                    }
                },
                Step::Dynamic(_) => self.code.times(index, step),
            };
            self.pointers[stream] = self.code.b.ins().iadd(pointer, offset);
        }
        self.evaluate(at + 1);
        before
    }

    /// Emits the loops from that one inwards.
    fn run(&mut self, at: usize) {
        if at == self.vector {
            return self.vectorised();
        }
        let size = self.loops[at].size;
        self.counted([0, size, 1], &[], &mut |nest, index, _| {
            let before = nest.enter(at, index);
            nest.run(at + 1);
            nest.pointers = before;
            vec![]
        });
    }

    fn vectorised(&mut self) {
        let size = self.loops[self.vector].size;
        let (main, fours) = (size / 16 * 16, size / 4 * 4);
        let along = !self.reductions.is_empty() && !self.across;
        let mut sums: Vec<Value> = if along { vec![] } else { self.partials() };
        if main > 0 {
            self.width = Width::Sixteen;
            sums = self.counted([0, main, 16], &sums, &mut |nest, i, sums| nest.strip(i, sums, 0));
        }
        if self.reductions.is_empty() || along {
            if fours > main {
                self.width = Width::Four;
                self.counted([main, fours, 4], &[], &mut |nest, i, sums| nest.strip(i, sums, 0));
            }
            if size > fours {
                self.width = Width::One;
                self.counted([fours, size, 1], &[], &mut |nest, i, sums| nest.strip(i, sums, 0));
            }
            return;
        }
        self.width = Width::Four;
        for i in (main..fours).step_by(4) {
            let index = self.code.b.ins().iconst(types::I64, i as i64);
            sums = self.strip(index, &sums, i - main);
        }
        self.width = Width::One;
        for i in fours..size {
            let index = self.code.b.ins().iconst(types::I64, i as i64);
            sums = self.strip(index, &sums, i - main);
        }
        self.fold(&sums);
    }

    /// One step of the vectorised loop; `partial` is the first partial sum that its elements belong to.
    fn strip(&mut self, index: Value, sums: &[Value], partial: usize) -> Vec<Value> {
        let before = self.enter(self.vector, index);
        let mut sums = sums.to_vec();
        if self.reductions.is_empty() || self.across {
            for at in 0..self.writes.len() {
                let (node, stream) = self.writes[at];
                let pack = self.operand(node);
                self.write(stream, pack);
            }
            self.accumulate(&mut sums, partial);
        } else {
            self.along();
        }
        self.pointers = before;
        sums
    }

    /// Computes the nodes that are known at that level: once for all lanes, or for each.
    fn evaluate(&mut self, level: usize) {
        for at in 0..self.nodes.len() {
            if self.levels[at] != level {
                continue;
            }
            let lanes = self.lanes[at] && self.width != Width::One;
            let pack = self.node(at, lanes);
            self.packs[at] = Some(pack);
            if !self.lanes[at] && self.splat[at] {
                let (dtype, v) = (self.nodes[at].dtype, pack.values()[0]);
                self.splats[at] = (self.loops[self.vector].size >= 4).then(|| self.code.splat(dtype, v));
            }
        }
    }

    /// A node's value for the running lanes.
    pub(super) fn operand(&mut self, node: usize) -> Pack {
        match self.splats[node] {
            Some(v) if self.width != Width::One && !self.lanes[node] => Pack::repeated(v, self.width.vectors()),
            _ => self.packs[node].expect("nodes are computed in order, outer levels first"),
        }
    }

    fn node(&mut self, at: usize, lanes: bool) -> Pack {
        let Node { kind, dtype, args, .. } = self.nodes[at].clone();
        let operands: Vec<Pack> = args
            .iter()
            .map(|&arg| if lanes { self.operand(arg) } else { self.packs[arg].expect("operands come before users") })
            .collect();
        match kind {
            Kind::Scalar(v) => Pack::one(v),
            Kind::Leaf(stream) if lanes => self.read(stream),
            Kind::Leaf(stream) => Pack::one(self.code.load_scalar(dtype, self.pointers[stream], 0)),
            Kind::Iota(dim) => self.iota(dim, lanes),
            Kind::Op(op) => {
                let from = args.first().map_or(dtype, |&arg| self.nodes[arg].dtype);
                match &op.kind {
                    OpKind::Unary(op) => self.code.unary(*op, from, operands[0]),
                    OpKind::Binary(op) => self.code.binary(*op, dtype, operands[0], operands[1]),
                    OpKind::Compare(op) => self.code.compare(*op, from, operands[0], operands[1]),
                    OpKind::Select => self.code.select_lanes(operands[0], operands[1], operands[2]),
                    OpKind::Cast(to) => self.code.cast(from, *to, operands[0]),
                    OpKind::Bitcast(to) => self.code.reinterpret(from, *to, operands[0]),
                    OpKind::StochasticRound(to) => self.code.stochastic_round(*to, operands[0], operands[1]),
                    other => unreachable!("`{}` is not computed inside a loop", other.mnemonic()),
                }
            }
        }
    }

    fn iota(&mut self, dim: Option<usize>, lanes: bool) -> Pack {
        let running = dim.and_then(|d| self.loops.iter().position(|l| l.dims == 1 << d));
        let Some(at) = running else { return Pack::one(self.code.bits(0, types::I32)) };
        let index = self.code.b.ins().ireduce(types::I32, self.indices[at]);
        if !lanes {
            return Pack::one(index);
        }
        let base = self.code.b.ins().splat(types::I32X4, index);
        let numbers = self.lane_numbers.unwrap_or(base);
        let first = self.code.b.ins().iadd(base, numbers);
        let mut all = vec![first];
        for vector in 1..self.width.vectors() {
            let by = self.code.bits(4 * vector as u32, types::I32X4);
            all.push(self.code.b.ins().iadd(first, by));
        }
        Pack::from_slice(&all)
    }
}
