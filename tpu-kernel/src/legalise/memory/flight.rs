//! Which stores may run while a copy moves what lies in the same memory.
//!
//! Rules: a chip makes some stores by rewriting more than is stored. Beside a copy into that memory it would put back what was there
//! before the copy, although the kernel keeps away from the part that is copied. What is found here may be more than what happens.
//! A wait may be met by the bytes of any copy on its semaphore, so that a copy is in flight until all that was started there has been
//! waited for: bytes are counted, at most as many as can be, along every path, from one turn of a loop and from one step of the grid
//! to the next. Each operation is looked at twice, however deep the loops are: once for what a turn adds, once for what is in flight.

use crate::ir::{Kernel, Literal, Op, OpKind, Region, Roots, Type, Value};
use std::collections::{HashMap, HashSet};

/// The stores of a kernel beside which a copy of their memory may be in flight, by address.
pub(in crate::legalise) fn stores_beside_copies(kernel: &Kernel) -> HashSet<*const Op> {
    let mut walk = Walk {
        kernel,
        roots: Roots::of(kernel),
        constants: HashMap::new(),
        places: HashMap::new(),
        turns: HashMap::new(),
        found: HashSet::new(),
    };
    if !copies(&kernel.body) {
        return walk.found;
    }
    walk.note(&kernel.body);
    let step = walk.turn(&[&kernel.body]);
    let mut flying = Flying::default().repeated(&step);
    walk.region(&kernel.body, &mut flying);
    walk.found
}

fn copies(region: &Region) -> bool {
    region
        .ops
        .iter()
        .any(|op| matches!(op.kind, OpKind::DmaStart { .. } | OpKind::RemoteStart { .. }) || op.regions.iter().any(copies))
}

/// One semaphore, as far as it is known which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Semaphore {
    /// The operand, or the argument of a region.
    root: Value,
    /// Which of it.
    place: Vec<Place>,
}

/// An index among semaphores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Known(i32),
    /// That number, which may be another one the next time.
    Computed(Value),
}

impl Semaphore {
    fn computed(&self) -> bool {
        self.place.iter().any(|place| matches!(place, Place::Computed(_)))
    }

    /// Whether both may be one semaphore.
    fn may_be(&self, other: &Semaphore) -> bool {
        let apart = |(a, b): (&Place, &Place)| matches!((a, b), (Place::Known(a), Place::Known(b)) if a != b);
        self.root == other.root && !self.place.iter().zip(&other.place).any(apart)
    }
}

/// What a semaphore counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Unit {
    Byte,
    /// Copies of so many rows of so many bytes.
    Rows(Value, usize),
    /// Copies of that whole array.
    Array(Value),
}

type Counter = (Semaphore, Unit);

/// What cannot be counted to its end.
const UNBOUNDED: i64 = i64::MAX;

/// What may be in flight.
#[derive(Clone, Debug, Default)]
struct Flying {
    /// How much was started and not waited for, at most.
    counts: HashMap<Counter, i64>,
    /// The memories of these copies.
    memories: HashMap<Semaphore, HashSet<Value>>,
}

/// What one turn of a loop, or one step of the grid, adds.
#[derive(Clone, Debug, Default)]
struct Turn {
    /// Started less waited for, at most.
    adds: HashMap<Counter, i64>,
    /// What a turn that began with nothing would leave.
    left: Flying,
}

impl Flying {
    fn start(&mut self, counter: &Counter, by: i64, memories: impl Iterator<Item = Value>) {
        let count = self.counts.entry(counter.clone()).or_default();
        *count = count.saturating_add(by);
        self.memories.entry(counter.0.clone()).or_default().extend(memories);
    }

    fn wait(&mut self, counter: &Counter, by: i64) {
        if let Some(count) = self.counts.get_mut(counter).filter(|count| **count != UNBOUNDED) {
            *count = (*count - by).max(0);
        }
        self.counts.retain(|_, count| *count > 0);
        let counts = &self.counts;
        self.memories.retain(|semaphore, _| counts.keys().any(|(other, _)| semaphore.may_be(other)));
    }

    /// What may be in flight after either.
    fn join(&mut self, other: Flying) {
        for (counter, count) in other.counts {
            let most = self.counts.entry(counter).or_default();
            *most = count.max(*most);
        }
        for (semaphore, memories) in other.memories {
            self.memories.entry(semaphore).or_default().extend(memories);
        }
    }

    /// What may be in flight when a turn begins, before which there were others.
    fn repeated(mut self, turn: &Turn) -> Flying {
        for (counter, count) in &turn.left.counts {
            // What is computed may be another semaphore, or another number of rows, in the turn that waits.
            let other = counter.0.computed() || counter.1 != Unit::Byte;
            if *count > 0 && other || turn.adds.get(counter).is_some_and(|&by| by > 0) {
                self.counts.insert(counter.clone(), UNBOUNDED);
            }
        }
        for (semaphore, memories) in &turn.left.memories {
            if self.counts.keys().any(|(other, _)| semaphore.may_be(other)) {
                self.memories.entry(semaphore.clone()).or_default().extend(memories);
            }
        }
        self
    }
}

struct Walk<'k> {
    kernel: &'k Kernel,
    roots: Roots,
    constants: HashMap<Value, i32>,
    /// Semaphores that are one of an array.
    places: HashMap<Value, Semaphore>,
    /// Of each loop, by address.
    turns: HashMap<*const Op, Turn>,
    found: HashSet<*const Op>,
}

impl Walk<'_> {
    /// Constants, and which semaphore is meant.
    fn note(&mut self, region: &Region) {
        for op in &region.ops {
            match (&op.kind, op.results.as_slice()) {
                (OpKind::Const(literal), &[result]) => {
                    self.constants.extend(Literal::as_i32(*literal).map(|n| (result, n)));
                }
                (OpKind::SemaphoreAt, &[result]) => {
                    let place = |v: &Value| self.constants.get(v).map_or(Place::Computed(*v), |&n| Place::Known(n));
                    let place = op.operands[1..].iter().map(place).collect();
                    self.places.insert(result, Semaphore { root: op.operands[0], place });
                }
                _ => op.regions.iter().for_each(|region| self.note(region)),
            }
        }
    }

    /// What a start or a wait counts, and how much.
    fn amount(&self, op: &Op) -> (Counter, i64) {
        self.amount_on(op, op.operands[2], op.operands.get(3))
    }

    /// What a copy to another device counts: its source until the semaphore here is waited for; and the same memory here until what
    /// another device copies to it is.
    fn remote(&self, op: &Op) -> [(Counter, i64, Value); 2] {
        let [source, target] = self.ends(op);
        [(op.operands[2], target), (op.operands[3], source)].map(|(semaphore, memory)| {
            let (counter, by) = self.amount_on(op, semaphore, op.operands.get(5));
            (counter, by, memory)
        })
    }

    fn amount_on(&self, op: &Op, semaphore: Value, rows: Option<&Value>) -> (Counter, i64) {
        let semaphore = self.places.get(&semaphore).cloned().unwrap_or(Semaphore { root: semaphore, place: vec![] });
        let bytes = |elements: usize, ty: Type| elements.saturating_mul(ty.dtype().bytes());
        let (unit, by) = match self.kernel.ty(op.operands[0]) {
            ty @ Type::Ref(_, _, shape) => {
                let row = bytes(shape.elements() / shape.dim(0).max(1), ty);
                match rows.map(|rows| (rows, self.constants.get(rows))) {
                    None => (Unit::Byte, bytes(shape.elements(), ty)),
                    Some((_, Some(&rows))) => (Unit::Byte, row.saturating_mul(usize::try_from(rows).unwrap_or(0))),
                    Some((&rows, None)) => (Unit::Rows(rows, row), 1),
                }
            }
            _ => (Unit::Array(self.roots.root(op.operands[0])), 1),
        };
        ((semaphore, unit), i64::try_from(by).unwrap_or(UNBOUNDED))
    }

    fn ends(&self, op: &Op) -> [Value; 2] {
        [op.operands[0], op.operands[1]].map(|v| self.roots.root(v))
    }

    /// What a turn through these regions adds; notes that of the loops in them.
    fn turn(&mut self, regions: &[&Region]) -> Turn {
        let mut turn = Turn::default();
        for op in regions.iter().flat_map(|region| &region.ops) {
            match op.kind {
                OpKind::DmaStart { .. } => {
                    let (counter, by) = self.amount(op);
                    turn.left.start(&counter, by, self.ends(op).into_iter());
                    add(&mut turn.adds, counter, by);
                }
                OpKind::RemoteStart { .. } => {
                    for (counter, by, memory) in self.remote(op) {
                        turn.left.start(&counter, by, std::iter::once(memory));
                        add(&mut turn.adds, counter, by);
                    }
                }
                OpKind::DmaWait => {
                    let (counter, by) = self.amount(op);
                    turn.left.wait(&counter, by);
                    add(&mut turn.adds, counter, -by);
                }
                OpKind::For | OpKind::While => {
                    let mut inner = self.turn(&op.regions.iter().collect::<Vec<_>>());
                    // The test of a `while` runs once more than its body.
                    if op.kind == OpKind::While && copies(&op.regions[0]) {
                        for (counter, by) in &mut inner.adds {
                            *by = UNBOUNDED;
                            inner.left.counts.insert(counter.clone(), UNBOUNDED);
                        }
                    }
                    turn.left.join(turn.left.clone().repeated(&inner));
                    for (counter, _) in inner.adds.iter().filter(|(_, by)| **by > 0) {
                        add(&mut turn.adds, counter.clone(), UNBOUNDED);
                    }
                    self.turns.insert(op, inner);
                }
                _ => {
                    let sides: Vec<Turn> = op.regions.iter().map(|region| self.turn(&[region])).collect();
                    // Where one side does not say, it adds nothing.
                    let counters: HashSet<Counter> = sides.iter().flat_map(|side| side.adds.keys().cloned()).collect();
                    for counter in counters {
                        let most = sides.iter().map(|side| side.adds.get(&counter).copied().unwrap_or(0)).max().unwrap_or(0);
                        add(&mut turn.adds, counter, most);
                    }
                    for side in sides {
                        for (counter, count) in side.left.counts {
                            let none = std::iter::empty();
                            turn.left.start(&counter, count, none);
                        }
                        turn.left.join(Flying { memories: side.left.memories, ..Flying::default() });
                    }
                }
            }
        }
        turn
    }

    /// Finds the stores of a region that begins with that in flight.
    fn region(&mut self, region: &Region, flying: &mut Flying) {
        for op in &region.ops {
            match op.kind {
                OpKind::DmaStart { .. } => {
                    let (counter, by) = self.amount(op);
                    flying.start(&counter, by, self.ends(op).into_iter());
                }
                OpKind::RemoteStart { .. } => {
                    for (counter, by, memory) in self.remote(op) {
                        flying.start(&counter, by, std::iter::once(memory));
                    }
                }
                OpKind::DmaWait => {
                    let (counter, by) = self.amount(op);
                    flying.wait(&counter, by);
                }
                OpKind::Store | OpKind::StoreMasked | OpKind::StoreScalar => {
                    let memory = self.roots.root(op.operands[0]);
                    if flying.memories.values().any(|memories| memories.contains(&memory)) {
                        self.found.insert(op);
                    }
                }
                OpKind::For | OpKind::While => {
                    let turn = self.turns.remove(&std::ptr::from_ref(op)).unwrap_or_default();
                    let mut inner = flying.clone().repeated(&turn);
                    op.regions.iter().for_each(|region| self.region(region, &mut inner));
                    flying.join(inner);
                }
                OpKind::If => {
                    let before = std::mem::take(flying);
                    for region in &op.regions {
                        let mut side = before.clone();
                        self.region(region, &mut side);
                        flying.join(side);
                    }
                }
                _ => op.regions.iter().for_each(|region| self.region(region, flying)),
            }
        }
    }
}

fn add(adds: &mut HashMap<Counter, i64>, counter: Counter, by: i64) {
    let sum = adds.entry(counter).or_default();
    *sum = if UNBOUNDED == *sum || by == UNBOUNDED { UNBOUNDED } else { sum.saturating_add(by) };
}
