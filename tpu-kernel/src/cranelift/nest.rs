//! A loop nest before it is emitted: what it writes, and the graph of what it computes.
//!
//! Rules: all outputs of a nest run over one shape; an output joins a waiting nest where it shares a value
//! with it and reads nothing that the nest still has to finish, so that a tile which is written and
//! summed, or summed twice, is computed once.

use super::map::Map;
use super::mem::Mem;
use super::plan::{Place, Plan, Reader};
use crate::ir::{DType, Kernel, Op, OpKind, ReduceOp, Shape, Type, Value};
use cranelift::prelude::Value as Clif;
use std::collections::{HashMap, HashSet};

/// More outputs than this in one nest run out of registers.
const MAX_OUTPUTS: usize = 4;
/// An output looks at so many waiting nests for one to join.
const LOOK_BACK: usize = 64;
/// Each sum over the last axis holds four vectors.
const MAX_REDUCTIONS: usize = 2;

/// One thing that a nest leaves in memory.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// The tile computed at each step.
    pub value: Value,
    /// Where it goes; of a reduction, where the result goes, of size 1 along the axis.
    pub mem: Mem,
    /// The reduction and its axis.
    pub reduce: Option<(ReduceOp, usize)>,
    /// Which reader of the value it is.
    pub reader: Reader,
    /// The value that this output makes available, where it is not a store.
    pub makes: Option<Value>,
    /// The memory that it stores to, by number.
    pub stores: Option<usize>,
}

/// A nest that waits for more outputs.
#[derive(Debug)]
pub(super) struct Nest {
    pub shape: Shape,
    pub outputs: Vec<Output>,
    /// Tiles computed and written here.
    own: HashSet<Value>,
    /// Results of reductions, there only when the nest is done.
    reduced: HashSet<Value>,
    visited: HashSet<Value>,
    loads: HashSet<usize>,
    stores: HashSet<usize>,
}

/// What an output reads.
struct Reads {
    visited: Vec<(Value, Map)>,
    loads: HashSet<usize>,
}

impl Output {
    fn computes_own(&self) -> bool {
        self.makes == Some(self.value)
    }

    fn reads(&self, plan: &Plan<'_>, kernel: &Kernel) -> Reads {
        let mut reads = Reads { visited: vec![], loads: HashSet::new() };
        let identity = Map::identity(kernel.ty(self.value).shape());
        plan.visit(self.value, identity, self.computes_own(), &mut |v, map| {
            reads.visited.push((v, map));
            if let Some(Op { kind: OpKind::Load(_), operands, .. }) = plan.def(v)
                && (plan.place(v) == Place::Inline || (v == self.value && self.computes_own()))
            {
                reads.loads.insert(plan.memory(operands[0]));
            }
        });
        reads
    }
}

impl Nest {
    fn new(shape: Shape) -> Nest {
        Nest {
            shape,
            outputs: vec![],
            own: HashSet::new(),
            reduced: HashSet::new(),
            visited: HashSet::new(),
            loads: HashSet::new(),
            stores: HashSet::new(),
        }
    }

    /// Whether the output could be computed inside this nest.
    fn takes(&self, output: &Output, shape: Shape, reads: &Reads) -> bool {
        let identity = Map::identity(shape);
        shape == self.shape
            && self.outputs.len() < MAX_OUTPUTS
            && self.loops_fit(output)
            && reads.visited.iter().any(|(v, _)| self.visited.contains(v))
            && !reads.visited.iter().any(|(v, map)| self.reduced.contains(v) || (self.own.contains(v) && *map != identity))
            && !self.clashes(output, reads)
    }

    /// Whether the output could be computed before this nest instead of after it.
    fn passes(&self, output: &Output, reads: &Reads) -> bool {
        !reads.visited.iter().any(|(v, _)| self.reduced.contains(v) || self.own.contains(v)) && !self.clashes(output, reads)
    }

    /// Whether one stores to a memory that the other loads from or stores to.
    fn clashes(&self, output: &Output, reads: &Reads) -> bool {
        reads.loads.iter().any(|p| self.stores.contains(p))
            || output.stores.is_some_and(|p| self.loads.contains(&p) || self.stores.contains(&p))
    }

    /// Leaves out what is written only to be read in this nest.
    pub(super) fn drop_inner(&mut self, plan: &Plan<'_>) {
        let readers: Vec<Reader> = self.outputs.iter().map(|o| o.reader).collect();
        self.outputs.retain(|o| !(o.computes_own() && plan.read_only_by(o.value, &readers)));
    }

    /// Whether the loops can be ordered for both: reductions along one axis, and writes only beside the last.
    fn loops_fit(&self, output: &Output) -> bool {
        let axes: Vec<Option<usize>> = self.outputs.iter().chain([output]).map(|o| o.reduce.map(|(_, axis)| axis)).collect();
        let reductions = axes.iter().flatten().count();
        let last = (0..self.shape.rank()).rev().find(|&d| self.shape.dim(d) > 1);
        let exact_last = self.shape.rank() - 1;
        if axes.iter().flatten().all(|&axis| Some(axis) == last && axis == exact_last) {
            return reductions <= MAX_REDUCTIONS;
        }
        reductions == axes.len() && axes.iter().all(|axis| *axis == axes[0]) && reductions <= MAX_REDUCTIONS
    }

    fn add(&mut self, output: Output, reads: Reads) {
        self.visited.extend(reads.visited.iter().map(|(v, _)| *v));
        self.loads.extend(reads.loads);
        self.stores.extend(output.stores);
        match output.makes {
            Some(v) if v == output.value => _ = self.own.insert(v),
            Some(v) => _ = self.reduced.insert(v),
            None => {}
        }
        self.outputs.push(output);
    }
}

/// Nests that wait, in the order in which they will run.
#[derive(Debug, Default)]
pub(super) struct Queue(Vec<Nest>);

impl Queue {
    /// Adds an output to the last nest that takes it, past nests with which it has nothing to do; else as a new nest.
    pub(super) fn push(&mut self, plan: &Plan<'_>, kernel: &Kernel, output: Output) {
        let reads = output.reads(plan, kernel);
        let shape = kernel.ty(output.value).shape();
        for nest in self.0.iter_mut().rev().take(LOOK_BACK) {
            if nest.takes(&output, shape, &reads) {
                return nest.add(output, reads);
            }
            if !nest.passes(&output, &reads) {
                break;
            }
        }
        let mut nest = Nest::new(shape);
        nest.add(output, reads);
        self.0.push(nest);
    }

    /// The nests, none of which waits any longer.
    pub(super) fn take(&mut self) -> Vec<Nest> {
        std::mem::take(&mut self.0)
    }
}

/// What a node of the graph does.
#[derive(Clone, Debug)]
pub(super) enum Kind<'k> {
    /// A scalar in a register.
    Scalar(Clif),
    /// Read from that stream.
    Leaf(usize),
    /// The index along that dimension of the nest.
    Iota(Option<usize>),
    /// An elementwise operation on other nodes.
    Op(&'k Op),
}

/// A value at the running position of the nest.
#[derive(Clone, Debug)]
pub(super) struct Node<'k> {
    pub kind: Kind<'k>,
    pub dtype: DType,
    pub args: Vec<usize>,
    /// Dimensions of the nest on which it depends, a bit each.
    pub deps: u8,
}

/// The graph of a nest: nodes in the order of computation, and the memory that they read.
pub(super) struct Graph<'k> {
    pub nodes: Vec<Node<'k>>,
    pub streams: Vec<(Mem, Map)>,
    /// The node of each output.
    pub roots: Vec<usize>,
    known: HashMap<(Value, Map), usize>,
}

/// What the graph asks of the code generator.
pub(super) trait Lookup {
    /// The register of a scalar.
    fn scalar(&mut self, v: Value) -> Clif;
    /// The memory of a tile.
    fn memory(&self, v: Value) -> Mem;
    /// The memory from which a load or slice takes a tile that is then held in memory of its own.
    fn loaded(&self, v: Value) -> Mem;
}

impl<'k> Graph<'k> {
    /// Builds the graph of a nest.
    pub(super) fn new(nest: &Nest, plan: &Plan<'k>, kernel: &Kernel, lookup: &mut dyn Lookup) -> Graph<'k> {
        let mut graph = Graph { nodes: vec![], streams: vec![], roots: vec![], known: HashMap::new() };
        let identity = Map::identity(nest.shape);
        for output in &nest.outputs {
            let root = graph.build(output.value, identity, nest, plan, kernel, lookup);
            graph.roots.push(root);
        }
        graph
    }

    fn build(&mut self, v: Value, map: Map, nest: &Nest, plan: &Plan<'k>, kernel: &Kernel, lookup: &mut dyn Lookup) -> usize {
        let ty = kernel.ty(v);
        let Type::Tile(dtype, shape) = ty else {
            let map = Map::OPAQUE;
            if let Some(&node) = self.known.get(&(v, map)) {
                return node;
            }
            let kind = Kind::Scalar(lookup.scalar(v));
            return self.add(v, map, Node { kind, dtype: ty.dtype(), args: vec![], deps: 0 });
        };
        if let Some(&node) = self.known.get(&(v, map)) {
            return node;
        }
        let own = nest.own.contains(&v);
        let op = plan.def(v).filter(|op| own || (plan.place(v) == Place::Inline && !matches!(op.kind, OpKind::Load(_))));
        let Some(op) = op.filter(|op| !matches!(op.kind, OpKind::Load(_) | OpKind::Slice { .. })) else {
            let mem = if own { lookup.loaded(v) } else { lookup.memory(v) };
            let deps = (0..shape.rank()).filter_map(|d| map.get(d)).fold(0, |deps, d| deps | 1 << d);
            self.streams.push((mem, map));
            let kind = Kind::Leaf(self.streams.len() - 1);
            return self.add(v, map, Node { kind, dtype, args: vec![], deps });
        };
        match &op.kind {
            OpKind::Iota { axis, .. } => {
                let dim = map.get(*axis);
                let deps = dim.map_or(0, |d| 1 << d);
                self.add(v, map, Node { kind: Kind::Iota(dim), dtype, args: vec![], deps })
            }
            OpKind::Broadcast(_) | OpKind::Transpose(_) | OpKind::Reshape(_) => {
                let operand = op.operands[0];
                let inner = map.of_operand(&op.kind, kernel.ty(operand).shape(), shape);
                self.build(operand, inner, nest, plan, kernel, lookup)
            }
            _ => {
                let args: Vec<usize> =
                    op.operands.iter().map(|&operand| self.build(operand, map, nest, plan, kernel, lookup)).collect();
                let deps = args.iter().fold(0, |deps, &arg| deps | self.nodes[arg].deps);
                self.add(v, map, Node { kind: Kind::Op(op), dtype, args, deps })
            }
        }
    }

    fn add(&mut self, v: Value, map: Map, node: Node<'k>) -> usize {
        self.nodes.push(node);
        self.known.insert((v, map), self.nodes.len() - 1);
        self.nodes.len() - 1
    }
}
