//! The steps of a pipeline: what is copied when.
//!
//! A step begins the fetch of the blocks that later steps need, waits for its own, runs the body, and begins to write back the blocks
//! that the next step does not have. An input of `n` buffers is fetched `n - 1` steps ahead: its map is asked once for the fetch, and
//! what was started then, and how large it was, is carried along to the wait. Of an output one copy is under way at a time, so that
//! those that overlap arrive in order.

use super::super::session::{self, Raw};
use super::port::{Memory, Port, Role, START, WAIT, Way};
use super::record::Record;
use crate::ir::{BinaryOp, CompareOp, Loc};

/// The steps ahead of one: their indices, and whether there are such.
type Ahead<const D: usize> = Vec<([Raw; D], Raw)>;

/// What an operand carries from step to step.
#[derive(Clone)]
struct State(Vec<Raw>);

/// A step that runs: how it sees the operand.
struct Step<'s, const D: usize> {
    index: [Raw; D],
    first: Raw,
    ahead: &'s Ahead<D>,
}

pub(super) fn run<const D: usize>(
    ports: &[Port<'_, D>],
    bounds: [Raw; D],
    loc: &Loc,
    body: impl FnOnce([Raw; D], Vec<(Raw, Option<Raw>)>),
) {
    let record = Record(loc);
    let types: Vec<_> = ports.iter().flat_map(|port| port.types()).collect();
    let steps = || {
        let all = |own: Vec<Raw>| {
            let mut own = own.into_iter();
            let memories: Vec<Memory> = ports.iter().map(|_| Port::<D>::memory(&mut own)).collect();
            steps(ports, &memories, bounds, record, body);
        };
        if types.is_empty() { all(vec![]) } else { record.scoped(&types, all) }
    };
    let some = |bound: &Raw| match session::constant_of(*bound) {
        Some(n) if n > 0 => None,
        _ => Some(record.compare(CompareOp::Gt, *bound, record.number(0))),
    };
    let any = bounds.iter().filter_map(some).reduce(|a, b| record.binary(BinaryOp::And, a, b));
    match any {
        Some(any) => record.when(any, steps),
        None => steps(),
    }
}

/// All steps, of which there is at least one.
fn steps<const D: usize>(
    ports: &[Port<'_, D>],
    memories: &[Memory],
    bounds: [Raw; D],
    record: Record<'_>,
    body: impl FnOnce([Raw; D], Vec<(Raw, Option<Raw>)>),
) {
    let most = ports.iter().map(|port| port.depth).max().unwrap_or(1).max(2);
    let begin = [record.number(0); D];
    let states: Vec<State> = ports.iter().zip(memories).map(|(port, &memory)| port.begin(memory, begin, bounds)).collect();
    let lengths: Vec<usize> = states.iter().map(|state| state.0.len()).collect();
    let step = |index: [Raw; D], states: Vec<State>| {
        let ahead = steps_ahead(record, index, bounds, most);
        let zero = index.iter().map(|&i| record.compare(CompareOp::Eq, i, record.number(0)));
        let first = zero.reduce(|a, b| record.binary(BinaryOp::And, a, b)).unwrap_or(session::dead());
        let step = Step { index, first, ahead: &ahead };
        let operands = || ports.iter().zip(memories.iter().copied());
        let fetched: Vec<State> = operands().zip(states).map(|((port, memory), state)| port.fetch(memory, &step, state)).collect();
        let ready = operands().zip(fetched).map(|((port, memory), state)| port.ready(memory, &step, state));
        let (states, windows): (Vec<State>, Vec<_>) = ready.unzip();
        let places: Vec<_> = ports.iter().map(|port| if port.role == Role::Input { vec![] } else { port.places(index) }).collect();
        body(index, windows);
        let ended = operands().zip(states).zip(&places);
        ended.map(|(((port, memory), state), places)| port.end(memory, &step, places, state)).collect()
    };
    let flat: Vec<Raw> = states.into_iter().flat_map(|state| state.0).collect();
    let mut index = vec![];
    let flat = nest(record, &bounds, flat, &mut index, |index, flat| {
        let mut flat = flat.into_iter();
        let states = lengths.iter().map(|&n| State(flat.by_ref().take(n).collect())).collect();
        let index: [Raw; D] = std::array::from_fn(|d| index[d]);
        let states: Vec<State> = step(index, states);
        states.into_iter().flat_map(|state| state.0).collect()
    });
    let mut flat = flat.into_iter();
    for ((port, &memory), n) in ports.iter().zip(memories).zip(lengths) {
        port.finish(memory, State(flat.by_ref().take(n).collect()));
    }
}

/// A loop for each bound, one in the other.
fn nest(
    record: Record<'_>,
    bounds: &[Raw],
    state: Vec<Raw>,
    index: &mut Vec<Raw>,
    body: impl FnOnce(&[Raw], Vec<Raw>) -> Vec<Raw>,
) -> Vec<Raw> {
    let Some((&bound, inner)) = bounds.split_first() else { return body(index, state) };
    record.each([record.number(0), bound], state, |i, state| {
        index.push(i);
        nest(record, inner, state, index, body)
    })
}

/// The steps after one, as many as anything looks ahead. The first of the list is the step itself.
fn steps_ahead<const D: usize>(record: Record<'_>, index: [Raw; D], bounds: [Raw; D], most: usize) -> Ahead<D> {
    let mut ahead = vec![(index, record.truth(true))];
    for at in 1..most {
        let (index, exists) = ahead[at - 1];
        ahead.push(next_step(record, index, exists, bounds));
    }
    ahead
}

/// The step after one that may exist, and whether it does.
fn next_step<const D: usize>(record: Record<'_>, mut index: [Raw; D], exists: Raw, bounds: [Raw; D]) -> ([Raw; D], Raw) {
    let mut carry = record.number(1);
    for d in (1..D).rev() {
        let next = record.add(index[d], carry);
        let over = record.compare(CompareOp::Ge, next, bounds[d]);
        index[d] = record.select(over, record.number(0), next);
        carry = record.select(over, record.number(1), record.number(0));
    }
    index[0] = record.add(index[0], carry);
    let inside = record.compare(CompareOp::Lt, index[0], bounds[0]);
    (index, record.binary(BinaryOp::And, exists, inside))
}

/// Of an input with several buffers: what it carries.
struct Fetching {
    /// The slot of the next fetch, and that of the step.
    next: Raw,
    at: Raw,
    /// For the step and those ahead: whether a fetch was started for it.
    started: Vec<Raw>,
    /// And of what size.
    sizes: Vec<Raw>,
    /// The size of the step's block.
    size: Option<Raw>,
    /// What was fetched last.
    keys: Vec<Raw>,
}

impl Fetching {
    /// What was started for the next step, and of what size.
    fn take(&mut self) -> (Raw, Option<Raw>) {
        let size = (!self.sizes.is_empty()).then(|| self.sizes.remove(0));
        (self.started.remove(0), size)
    }

    fn pack(self) -> State {
        let all = [vec![self.next, self.at], self.started, self.sizes, self.size.into_iter().collect(), self.keys];
        State(all.concat())
    }

    fn unpack(state: State, depth: usize, sized: bool) -> Fetching {
        let mut all = state.0.into_iter();
        let (next, at) = (all.next().unwrap_or(session::dead()), all.next().unwrap_or(session::dead()));
        let started = all.by_ref().take(depth - 1).collect();
        let (sizes, size) = if sized { (all.by_ref().take(depth - 1).collect(), all.next()) } else { (vec![], None) };
        Fetching { next, at, started, sizes, size, keys: all.collect() }
    }
}

impl<const D: usize> Port<'_, D> {
    /// Whether it is fetched ahead.
    fn is_ahead(&self) -> bool {
        self.role == Role::Input && self.depth > 1
    }

    /// Before the first step.
    fn begin(&self, memory: Memory, index: [Raw; D], bounds: [Raw; D]) -> State {
        let record = self.record();
        let (zero, no) = (record.number(0), record.truth(false));
        match self.role {
            Role::Input if self.depth == 1 => State(vec![zero; Self::keys(&self.places(index)).len()]),
            Role::Input => {
                let places = self.places(index);
                let size = self.size(&places);
                self.copy(&START, Way::In, &places, size, (memory, zero));
                let mut started = vec![no; self.depth - 1];
                started[self.depth - 2] = record.truth(true);
                let state = Fetching {
                    next: record.turn(zero, self.depth),
                    at: record.number(self.depth - 1),
                    started,
                    sizes: size.map(|size| vec![size; self.depth - 1]).unwrap_or_default(),
                    size,
                    keys: Self::keys(&places),
                };
                self.fetch_more(memory, index, bounds, state.pack())
            }
            Role::Output if self.depth == 1 => State(vec![]),
            Role::Output => {
                State([&[zero, no], index.as_slice()].concat().into_iter().chain(self.is_sized().then_some(zero)).collect())
            }
            Role::Update => State(vec![record.truth(true)]),
        }
    }

    /// Begins the fetches of the steps after the first, as many as are begun before it runs.
    fn fetch_more(&self, memory: Memory, index: [Raw; D], bounds: [Raw; D], state: State) -> State {
        if self.depth == 2 {
            return state;
        }
        let (record, length) = (self.record(), state.0.len());
        let from_to = [record.number(2), record.number(self.depth)];
        let before = [state.0, index.to_vec(), vec![record.truth(true)]].concat();
        let mut after = record.each(from_to, before, |_, mut state| {
            let exists = state.pop().unwrap_or(session::dead());
            let index = state.split_off(length);
            let (index, exists) = next_step(record, std::array::from_fn(|d| index[d]), exists, bounds);
            let mut state = Fetching::unpack(State(state), self.depth, self.is_sized());
            self.fetch_for(memory, &(index, exists), &mut state);
            state.take();
            [state.pack().0, index.to_vec(), vec![exists]].concat()
        });
        after.truncate(length);
        State(after)
    }

    /// Begins the fetch for a step ahead, if there is such a step and its block is another than the one before.
    fn fetch_for(&self, memory: Memory, (index, exists): &([Raw; D], Raw), state: &mut Fetching) {
        let record = self.record();
        let (no, zero) = (record.truth(false), record.number(0));
        let sized = self.is_sized();
        let fetch = || {
            let places = self.places(*index);
            let size = self.size(&places);
            let new = self.differ(&places, &state.keys).unwrap_or(no);
            let start = || {
                self.copy(&START, Way::In, &places, size, (memory, state.next));
                vec![record.turn(state.next, self.depth)]
            };
            let next = record.branch(new, start, || vec![state.next]);
            [next, vec![new], size.into_iter().collect(), Self::keys(&places)].concat()
        };
        let none = || {
            let size = sized.then_some(zero);
            [vec![state.next, no], size.into_iter().collect(), state.keys.clone()].concat()
        };
        let mut result = record.branch(*exists, fetch, none).into_iter();
        let mut take = || result.next().unwrap_or(session::dead());
        state.next = take();
        state.started.push(take());
        if sized {
            state.sizes.push(take());
        }
        state.keys = result.collect();
    }

    /// The fetch that a step begins for a later one.
    fn fetch(&self, memory: Memory, step: &Step<'_, D>, state: State) -> State {
        if !self.is_ahead() {
            return state;
        }
        let mut state = Fetching::unpack(state, self.depth, self.is_sized());
        self.fetch_for(memory, &step.ahead[self.depth - 1], &mut state);
        // One more than is carried, until the step has taken its own.
        let all = [vec![state.next, state.at], state.started, state.sizes, state.size.into_iter().collect(), state.keys];
        State(all.concat())
    }

    /// Makes the step's block ready: gives its window, and its size where it has one.
    fn ready(&self, memory: Memory, step: &Step<'_, D>, state: State) -> (State, (Raw, Option<Raw>)) {
        let record = self.record();
        match self.role {
            Role::Input if self.depth == 1 => {
                let places = self.places(step.index);
                let size = self.size(&places);
                let differ = self.differ(&places, &state.0);
                let new = differ.map_or(step.first, |new| record.binary(BinaryOp::Or, step.first, new));
                record.when(new, || {
                    for kind in [&START, &WAIT] {
                        self.copy(kind, Way::In, &places, size, (memory, record.number(0)));
                    }
                });
                (State(Self::keys(&places)), (self.slot(memory, record.number(0)), size))
            }
            Role::Input => {
                let mut state = Fetching::unpack(state, self.depth + 1, self.is_sized());
                let (started, size) = state.take();
                state.at = record.select(started, record.turn(state.at, self.depth), state.at);
                state.size = size.zip(state.size).map(|(new, old)| record.select(started, new, old));
                let at = state.at;
                record.when(started, || self.copy(&WAIT, Way::In, &self.places(step.index), size, (memory, at)));
                let window = (self.slot(memory, at), state.size);
                (state.pack(), window)
            }
            Role::Output => {
                let slot = if self.depth == 1 { record.number(0) } else { state.0[0] };
                let size = self.is_sized().then(|| self.size(&self.places(step.index))).flatten();
                (state, (self.slot(memory, slot), size))
            }
            Role::Update => {
                let (places, new) = (self.places(step.index), state.0[0]);
                let size = self.size(&places);
                record.when(new, || {
                    for kind in [&START, &WAIT] {
                        self.copy(kind, Way::In, &places, size, (memory, record.number(0)));
                    }
                });
                (state, (self.slot(memory, record.number(0)), size))
            }
        }
    }

    /// After the body: writes back the block that the next step does not have.
    fn end(&self, memory: Memory, step: &Step<'_, D>, places: &[super::shape::Place], state: State) -> State {
        if self.role == Role::Input {
            return state;
        }
        let record = self.record();
        let (index, exists) = step.ahead[1];
        let yes = record.truth(true);
        let keys = Self::keys(places);
        let changes = || vec![self.differ(&self.places(index), &keys).unwrap_or_else(|| record.truth(false))];
        let done = record.branch(exists, changes, || vec![yes])[0];
        let size = self.size(places);
        let zero = record.number(0);
        if self.role == Role::Update || self.depth == 1 {
            record.when(done, || {
                for kind in [&START, &WAIT] {
                    self.copy(kind, Way::Out, places, size, (memory, zero));
                }
            });
            return if self.role == Role::Update { State(vec![done]) } else { state };
        }
        let (slot, pending) = (state.0[0], state.0[1]);
        let write = || {
            record.when(pending, || self.written(memory, &state));
            self.copy(&START, Way::Out, places, size, (memory, slot));
            let next = [&[record.turn(slot, self.depth), record.truth(true)], step.index.as_slice()].concat();
            next.into_iter().chain(size).collect()
        };
        State(record.branch(done, write, || state.0.clone()))
    }

    /// Waits for the copy that writes back the block before.
    fn written(&self, memory: Memory, state: &State) {
        let step = std::array::from_fn(|d| state.0[2 + d]);
        let before = self.record().turn_back(state.0[0], self.depth);
        self.copy(&WAIT, Way::Out, &self.places(step), state.0.get(2 + D).copied(), (memory, before));
    }

    /// After the last step.
    fn finish(&self, memory: Memory, state: State) {
        if self.role == Role::Output && self.depth > 1 {
            self.written(memory, &state);
        }
    }
}
