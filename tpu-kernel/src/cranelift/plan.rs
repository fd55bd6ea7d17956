//! Decides for every tile whether it is computed inside the loops that consume it or held in memory.
//!
//! Rules: a tile consumed by one loop nest is computed there; one consumed by several is held in memory
//! unless computing it again is as cheap as reading it; what a `dot` reads, what control flow carries and
//! what a reduction gives lies in memory, as does what a function compiled ahead reads or gives; a `load` is read where
//! it stands unless a store comes between, and a `slice` is read where its operand lies.
//! The decisions are made from the last operation to the first, since they follow the consumers.

mod alias;

use super::cost::costs;
use super::map::{Map, same_but_units};
use crate::ir::{Kernel, Op, OpKind, ReduceOp, Region, Roots, Type, Value};
use alias::Direct;
use std::collections::{HashMap, HashSet};

/// Where a tile lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In registers of the nests that consume it; a `load` is read from its operand.
    Inline,
    /// In memory of its own.
    Memory,
    /// In the memory of its operand, under other strides.
    View,
}

/// Recomputing this many simple operations is as good as a store and a load.
const CHEAP: u32 = 4;
/// Longer chains are cut, so that nests stay small and recursion over them shallow.
const MAX_DEPTH: u32 = 48;

/// An operation with its place in the kernel; positions count operations and ends of regions in order.
#[derive(Debug)]
pub(super) struct OpInfo<'k> {
    pub op: &'k Op,
    pub pos: u32,
    /// Beyond the last position inside its regions.
    end: u32,
    region: usize,
}

#[derive(Debug)]
struct RegionInfo {
    parent: Option<usize>,
    end: u32,
}

#[derive(Clone, Copy, Debug)]
enum Use {
    Op(usize, usize),
    Yield(usize, usize),
}

/// What reads a tile in a nest: a position, and a number there.
pub(super) type Reader = (u32, u32);

/// What the consumers of a tile ask of it.
#[derive(Clone, Debug, Default)]
struct Demand {
    /// The nests that read it: position and number there.
    nests: Vec<Reader>,
    /// Read by a helper that takes an address.
    memory: bool,
    /// Read under a reshape: its memory must be dense.
    dense: bool,
    /// Read in a region inside that of its definition.
    crossing: bool,
    /// Repeated by a broadcast.
    expanded: bool,
    /// The last position at which it is read.
    end: u32,
    /// Operations between it and the farthest consumer.
    depth: u32,
}

/// The decisions for a kernel.
#[derive(Debug)]
pub(super) struct Plan<'k> {
    kernel: &'k Kernel,
    ops: Vec<OpInfo<'k>>,
    regions: Vec<RegionInfo>,
    uses: Vec<Vec<Use>>,
    /// The operation that defines a value.
    def: Vec<Option<usize>>,
    place: Vec<Place>,
    demand: Vec<Demand>,
    /// By value of memory: the number of the operand, or of the region's own memory, that it is a view of.
    memory: Vec<usize>,
    /// By value: whether it is memory seen as elements of another width.
    cast: Vec<bool>,
    /// Positions of what writes each of these memories.
    stores: Vec<Vec<u32>>,
    /// Memories that copies of other devices write.
    received: Vec<usize>,
    /// Positions of operations and of the ends of regions, by address in the kernel.
    positions: HashMap<*const Op, u32>,
    ends: HashMap<*const Region, u32>,
    /// Products that a store takes straight to their place, by the value stored.
    direct: HashMap<Value, Direct<'k>>,
    /// The position of that store, by product.
    direct_at: HashMap<Value, u32>,
}

impl<'k> Plan<'k> {
    /// Plans a verified kernel.
    pub(super) fn new(kernel: &'k Kernel) -> Plan<'k> {
        let values = kernel.types.len();
        let mut plan = Plan {
            kernel,
            ops: vec![],
            regions: vec![],
            uses: vec![vec![]; values],
            def: vec![None; values],
            place: vec![Place::Inline; values],
            demand: vec![Demand::default(); values],
            memory: vec![],
            cast: vec![false; values],
            stores: vec![],
            received: vec![],
            positions: HashMap::new(),
            ends: HashMap::new(),
            direct: HashMap::new(),
            direct_at: HashMap::new(),
        };
        (plan.memory, plan.stores) = memories(kernel);
        plan.receive(&kernel.body.ops);
        let mut pos = 0;
        plan.number(&kernel.body, None, &mut pos);
        plan.find_direct();
        let costs = costs(kernel, plan.ops.iter().map(|info| info.op));
        for at in (0..plan.ops.len()).rev() {
            let op = plan.ops[at].op;
            for &v in &op.results {
                if kernel.ty(v).is_tile() {
                    let demand = plan.demand_on(v, plan.ops[at].region);
                    plan.place[v.0 as usize] = plan.decide(at, v, &demand, costs[v.0 as usize]);
                    plan.demand[v.0 as usize] = demand;
                }
            }
        }
        plan
    }

    /// Where a tile lives.
    pub(super) fn place(&self, v: Value) -> Place {
        self.place[v.0 as usize]
    }

    /// The operation that defines a value; `None` for operands and region arguments.
    pub(super) fn def(&self, v: Value) -> Option<&'k Op> {
        self.def[v.0 as usize].map(|at| self.ops[at].op)
    }

    /// The slice that is all that reads a value.
    pub(super) fn only_slice(&self, v: Value) -> Option<&'k Op> {
        match self.uses[v.0 as usize].as_slice() {
            &[Use::Op(at, _)] => Some(self.ops[at].op).filter(|op| matches!(op.kind, OpKind::Slice { .. })),
            _ => None,
        }
    }

    /// Whether nothing reads a value.
    pub(super) fn unused(&self, v: Value) -> bool {
        let demand = &self.demand[v.0 as usize];
        demand.nests.is_empty() && !demand.memory
    }

    /// The reader that an operation is of its operand so many on (0 for its result).
    pub(super) fn reader(&self, op: &'k Op, operand: usize) -> Reader {
        (self.positions[&std::ptr::from_ref(op)], operand as u32)
    }

    /// The reader that a region is of the value that it yields so many on.
    pub(super) fn yielding(&self, region: &'k Region, index: usize) -> Reader {
        (self.ends[&std::ptr::from_ref(region)], index as u32)
    }

    /// Whether only these nests read a tile, and none by its address.
    pub(super) fn read_only_by(&self, v: Value, nests: &[Reader]) -> bool {
        let demand = &self.demand[v.0 as usize];
        !demand.memory && demand.nests.iter().all(|reader| nests.contains(reader))
    }

    /// The number of the memory that a value is, or is a view of: an operand's is its position.
    pub(super) fn memory(&self, v: Value) -> usize {
        self.memory[v.0 as usize]
    }

    /// Whether a value is memory seen as elements of another width, which have no address.
    pub(super) fn is_cast(&self, v: Value) -> bool {
        self.cast[v.0 as usize]
    }

    /// Whether copies of other devices come here.
    pub(super) fn receives(&self) -> bool {
        !self.received.is_empty()
    }

    fn receive(&mut self, ops: &[Op]) {
        for op in ops {
            if let OpKind::RemoteStart { .. } = op.kind {
                self.received.push(self.memory(op.operands[1]));
            }
            op.regions.iter().for_each(|region| self.receive(&region.ops));
        }
    }

    fn number(&mut self, region: &'k Region, parent: Option<usize>, pos: &mut u32) {
        let at = self.regions.len();
        self.regions.push(RegionInfo { parent, end: 0 });
        for op in &region.ops {
            let index = self.ops.len();
            self.positions.insert(op, *pos);
            self.ops.push(OpInfo { op, pos: *pos, end: 0, region: at });
            for (i, v) in op.operands.iter().enumerate() {
                self.uses[v.0 as usize].push(Use::Op(index, i));
            }
            for v in &op.results {
                self.def[v.0 as usize] = Some(index);
            }
            if let (true, &[view]) = (op.kind.is_view(), op.results.as_slice()) {
                let [from, to] = [op.operands[0], view].map(|v| self.kernel.ty(v).dtype().bits());
                self.cast[view.0 as usize] = self.is_cast(op.operands[0]) || from != to;
            }
            if let Some(written) = op.kind.writes() {
                let memory = self.memory(op.operands[written]);
                self.stores[memory].push(*pos);
            }
            // While one device waits, another may write what it reads.
            if let OpKind::RemoteStart { .. }
            | OpKind::DmaWait
            | OpKind::SemaphoreSignal
            | OpKind::CoreSignal
            | OpKind::SemaphoreWait = op.kind
            {
                self.received.iter().for_each(|&memory| self.stores[memory].push(*pos));
            }
            *pos += 1;
            for inner in &op.regions {
                self.number(inner, Some(index), pos);
            }
            self.ops[index].end = *pos;
        }
        for (i, v) in region.yields.iter().enumerate() {
            self.uses[v.0 as usize].push(Use::Yield(at, i));
        }
        self.regions[at].end = *pos;
        self.ends.insert(region, *pos);
        *pos += 1;
    }

    /// The operation of `region` that holds the inner region, or `None` where they are the same.
    fn holder(&self, mut inner: usize, region: usize) -> Option<usize> {
        let mut holder = None;
        while inner != region {
            let parent = self.regions[inner].parent?;
            holder = Some(parent);
            inner = self.ops[parent].region;
        }
        holder
    }

    fn demand_on(&self, v: Value, region: usize) -> Demand {
        let mut demand = Demand::default();
        for &used in &self.uses[v.0 as usize] {
            let (at, end) = match used {
                Use::Yield(inner, index) => {
                    let end = self.regions[inner].end;
                    demand.nests.push((end, index as u32));
                    (inner, end)
                }
                Use::Op(user, index) => {
                    let OpInfo { op, pos, region: at, .. } = self.ops[user];
                    (at, self.demand_of_op(&mut demand, op, index, pos))
                }
            };
            let end = match self.holder(at, region) {
                Some(holder) => {
                    demand.crossing = true;
                    self.ops[holder].end
                }
                None => end,
            };
            demand.end = demand.end.max(end);
        }
        demand.nests.sort_unstable();
        demand.nests.dedup();
        demand
    }

    /// Adds what one operation asks of its operand; returns the last position at which it is read for it.
    fn demand_of_op(&self, demand: &mut Demand, op: &Op, index: usize, pos: u32) -> u32 {
        if self.by_address(op) {
            demand.memory = true;
            demand.nests.push((pos, 0));
            return pos;
        }
        let Some(&result) = op.results.first().filter(|_| op.regions.is_empty()) else {
            demand.nests.push((pos, index as u32));
            return pos;
        };
        match op.kind {
            OpKind::Dot { .. } => {
                // A store that computes the product overwrites nothing that the product reads.
                let end = self.direct_at.get(&result).map_or(pos, |&store| store + 1);
                demand.memory = true;
                demand.nests.push((pos, 0));
                return end;
            }
            OpKind::Reduce { .. } => {
                demand.nests.push((pos, 0));
                return pos;
            }
            OpKind::Concat { .. } => {
                demand.nests.push((pos, index as u32));
                return pos;
            }
            OpKind::Slice { .. } => demand.memory = true,
            _ => {}
        }
        let inner = &self.demand[result.0 as usize];
        if let OpKind::Broadcast(_) = op.kind {
            demand.expanded |= !same_but_units(self.kernel.ty(op.operands[0]).shape(), self.kernel.ty(result).shape());
        }
        match self.place(result) {
            Place::Memory => {
                demand.nests.push((pos, 0));
                pos
            }
            Place::Inline => {
                demand.nests.extend(&inner.nests);
                demand.crossing |= inner.crossing;
                demand.expanded |= inner.expanded;
                demand.depth = demand.depth.max(inner.depth + 1);
                inner.end
            }
            Place::View => {
                demand.nests.extend(&inner.nests);
                demand.memory = true;
                demand.dense |= inner.dense || !self.keeps_strides(op);
                demand.crossing |= inner.crossing;
                inner.end
            }
        }
    }

    /// Whether a function that takes addresses reads the operands.
    fn by_address(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Rotate { .. } | OpKind::Gather { .. } | OpKind::Scan { .. } | OpKind::Sort { .. } => true,
            OpKind::Reduce { op: ReduceOp::ArgMax | ReduceOp::ArgMin, .. } => true,
            OpKind::Extract(_) | OpKind::Print(_) => true,
            OpKind::Bitcast(_) => self.folds(op),
            OpKind::Store => self.is_cast(op.operands[0]),
            OpKind::LoadMasked(_) | OpKind::StoreMasked => true,
            _ => false,
        }
    }

    /// Whether a bitcast changes the width of its elements.
    pub(super) fn folds(&self, op: &Op) -> bool {
        let [from, to] = [op.operands[0], op.results[0]].map(|v| self.kernel.ty(v).dtype().bits());
        from != to
    }

    /// Whether a transpose or reshape only renames dimensions.
    fn keeps_strides(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Reshape(to) => same_but_units(self.kernel.ty(op.operands[0]).shape(), *to),
            _ => true,
        }
    }

    fn decide(&self, at: usize, v: Value, demand: &Demand, cost: u32) -> Place {
        let OpInfo { op, pos, .. } = self.ops[at];
        match &op.kind {
            OpKind::Bitcast(_) if self.folds(op) => Place::Memory,
            OpKind::Load(_) => {
                if demand.dense || self.is_cast(op.operands[0]) || self.overwritten(op, v, pos, demand.end) {
                    Place::Memory
                } else {
                    Place::Inline
                }
            }
            OpKind::Iota { .. }
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Cast(_)
            | OpKind::StochasticRound(_)
            | OpKind::Bitcast(_)
            | OpKind::Broadcast(_) => {
                if demand.memory || demand.depth > MAX_DEPTH {
                    Place::Memory
                } else if cost <= CHEAP || self.direct.contains_key(&v) {
                    Place::Inline
                } else if demand.crossing || demand.expanded || demand.nests.len() > 1 {
                    Place::Memory
                } else {
                    Place::Inline
                }
            }
            OpKind::Transpose(_) => match demand {
                Demand { dense: true, .. } => Place::Memory,
                Demand { memory: true, .. } => Place::View,
                _ if demand.depth > MAX_DEPTH => Place::Memory,
                _ => Place::Inline,
            },
            OpKind::Reshape(_) => {
                if demand.memory || !self.keeps_strides(op) {
                    Place::View
                } else if demand.depth > MAX_DEPTH {
                    Place::Memory
                } else {
                    Place::Inline
                }
            }
            OpKind::Dot { .. } if self.is_direct(v) => Place::Inline,
            OpKind::Slice { .. } if demand.dense => Place::Memory,
            OpKind::Slice { .. } => Place::View,
            OpKind::Concat { .. } => Place::Memory,
            OpKind::Rotate { .. } | OpKind::Gather { .. } | OpKind::Scan { .. } | OpKind::Sort { .. } => Place::Memory,
            OpKind::Extract(_)
            | OpKind::PrngSeed
            | OpKind::PrngBits(_)
            | OpKind::Print(_)
            | OpKind::Check(_)
            | OpKind::Defined(_) => Place::Memory,
            OpKind::Reduce { .. } | OpKind::Dot { .. } | OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => Place::Memory,
            OpKind::LoadMasked(_) => Place::Memory,
            OpKind::LoadScalar
            | OpKind::StoreScalar
            | OpKind::StoreMasked
            | OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_)
            | OpKind::SemaphoreAt => Place::Inline,
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait | OpKind::DeviceId => Place::Inline,
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => Place::Inline,
            OpKind::Const(_) | OpKind::Store | OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) => Place::Inline,
        }
    }

    /// Calls `f` with every tile that a nest over `v` reads, each once for every map under which it does.
    /// Memory is not looked into, but for `v` itself where the nest is what computes it (`own`); what lies under
    /// views, or is copied by a slice, is given with [`Map::OPAQUE`].
    pub(super) fn visit(&self, v: Value, map: Map, own: bool, f: &mut dyn FnMut(Value, Map)) {
        let mut seen = HashSet::new();
        let mut open = vec![(v, map)];
        while let Some((at, map)) = open.pop() {
            let Type::Tile(_, shape) = self.kernel.ty(at) else { continue };
            if !seen.insert((at, map)) {
                continue;
            }
            f(at, map);
            let Some(op) = self.def(at) else { continue };
            let reads = matches!(op.kind, OpKind::Load(_) | OpKind::Reduce { .. } | OpKind::Dot { .. });
            if reads || !op.regions.is_empty() || (self.place(at) == Place::Memory && !(own && at == v)) {
                continue;
            }
            if self.place(at) == Place::View || matches!(op.kind, OpKind::Slice { .. }) {
                open.push((self.viewed(op.operands[0]), Map::OPAQUE));
                continue;
            }
            for &operand in &op.operands {
                if let Type::Tile(_, from) = self.kernel.ty(operand) {
                    open.push((operand, map.of_operand(&op.kind, from, shape)));
                }
            }
        }
    }

    /// What lies under views of views.
    fn viewed(&self, mut v: Value) -> Value {
        while let Some(op) = self.def(v).filter(|_| self.place(v) == Place::View) {
            v = op.operands[0];
        }
        v
    }
}

/// The number of each memory: operands, then the memory of regions.
pub(super) fn numbers(kernel: &Kernel) -> HashMap<Value, usize> {
    fn own(region: &Region, numbers: &mut HashMap<Value, usize>) {
        for op in &region.ops {
            for inner in &op.regions {
                if op.kind == OpKind::Scoped {
                    for &arg in &inner.args {
                        let next = numbers.len();
                        numbers.insert(arg, next);
                    }
                }
                own(inner, numbers);
            }
        }
    }
    let mut numbers: HashMap<Value, usize> = kernel.body.args.iter().enumerate().map(|(at, &v)| (v, at)).collect();
    own(&kernel.body, &mut numbers);
    numbers
}

/// By value the number of its memory, and a list for each memory.
fn memories(kernel: &Kernel) -> (Vec<usize>, Vec<Vec<u32>>) {
    let numbers = numbers(kernel);
    let roots = Roots::of(kernel);
    let of = |at: u32| numbers.get(&roots.root(Value(at))).copied().unwrap_or(usize::MAX);
    ((0..kernel.types.len() as u32).map(of).collect(), vec![vec![]; numbers.len()])
}
