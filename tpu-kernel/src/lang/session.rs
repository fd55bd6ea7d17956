//! The kernel being built on this thread. A thin wrapper: all IR is made by [`ir::Builder`](crate::ir::Builder).
//!
//! Rules: handles name a value and the session that made it; a handle of another session, or of a
//! region that is closed, is a fault at the user's line; after a fault, handles are dead and cause no
//! second one. Outside a session every operation yields a dead handle, which no kernel accepts. While an index map is
//! recorded, the handle of a prefetched array stands for the map's own argument.

use super::constants::Constants;
use crate::BuildFault;
use crate::ir::{Builder, Fault, Loc, OpKind, ParamKind, Precision, Region, Rule, SizeExpr, Type, Value};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a handle holds: a value of the session of that number.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    value: Value,
    epoch: u32,
}

/// The session of handles that stand for nothing: made outside a kernel.
const NOWHERE: u32 = 0;
/// The session of handles whose making was a fault, which is recorded already.
const DEAD: u32 = 1;

impl Raw {
    const NOWHERE: Raw = Raw { value: Value(0), epoch: NOWHERE };
    const DEAD: Raw = Raw { value: Value(0), epoch: DEAD };
}

/// A kernel under construction.
pub(super) struct Session {
    epoch: u32,
    pub(super) builder: Builder,
    /// The block sizes, in the order of the kernel's parameters.
    blocks: Vec<usize>,
    /// The precision of dots that do not name their own.
    pub(super) precision: Precision,
    pub(super) faults: Vec<BuildFault>,
    /// Numbers of the open regions, outermost first.
    open: Vec<u32>,
    regions: u32,
    /// Those of them that run exactly once where they stand: `scoped`.
    once: Vec<u32>,
    /// While an index map is open: prefetched arrays, and its arguments for them.
    prefetched: Vec<(Value, Value)>,
    /// Where the bounds of a window are computed from a prefetched array.
    pub(super) bounds: Vec<Loc>,
    /// The region that made each value.
    made_in: Vec<u32>,
    constants: Constants,
}

thread_local! {
    /// Innermost last: a kernel that builds another kernel while it is built has its own session.
    static SESSIONS: RefCell<Vec<Session>> = const { RefCell::new(Vec::new()) };
}

impl Session {
    pub(super) fn new(builder: Builder, blocks: Vec<usize>, precision: Precision) -> Session {
        static EPOCHS: AtomicU32 = AtomicU32::new(DEAD + 1);
        // Two numbers are reserved; after 2^32 kernels a wrap could meet them.
        let epoch = EPOCHS.fetch_add(1, Ordering::Relaxed).max(DEAD + 1);
        let constants = Constants::default();
        let (faults, open, once, prefetched, bounds, made_in) = (vec![], vec![0], vec![], vec![], vec![], vec![]);
        Session { epoch, builder, blocks, precision, faults, open, regions: 1, once, prefetched, bounds, made_in, constants }
    }

    /// The value behind a handle, or a dead one's absence; a fault is recorded once.
    fn resolve(&mut self, raw: Raw, loc: &Loc) -> Option<Value> {
        if raw.epoch == DEAD {
            return None;
        }
        if raw.epoch != self.epoch {
            self.faults.push(BuildFault::ForeignValue(loc.clone()));
            return None;
        }
        if !self.open.contains(&self.made_in[raw.value.0 as usize]) {
            self.faults.push(BuildFault::OutOfRegion(loc.clone()));
            return None;
        }
        let argument = self.prefetched.iter().find(|(array, _)| *array == raw.value);
        Some(argument.map_or(raw.value, |&(_, argument)| argument))
    }

    fn resolve_all(&mut self, raws: &[Raw], loc: &Loc) -> Option<Vec<Value>> {
        // All are resolved, so that every fault of one operation is recorded.
        let values: Vec<Option<Value>> = raws.iter().map(|&raw| self.resolve(raw, loc)).collect();
        values.into_iter().collect()
    }

    /// A handle of a new value, made in the innermost region.
    pub(super) fn adopt(&mut self, value: Value) -> Raw {
        let region = *self.open.last().expect("the body is always open");
        self.made_in.resize(self.builder.kernel().types.len(), region);
        Raw { value, epoch: self.epoch }
    }

    fn begin(&mut self, args: &[Type]) -> Vec<Raw> {
        let values = self.builder.begin_region(args);
        self.open.push(self.regions);
        self.regions += 1;
        values.into_iter().map(|value| self.adopt(value)).collect()
    }

    fn end(&mut self, yields: &[Value]) -> Region {
        // Values of the region itself were adopted one by one; none are left for the outer region.
        self.open.pop();
        self.builder.end_region(yields)
    }
}

/// Runs `f` on the kernel being built, if there is one.
pub(super) fn with<R>(f: impl FnOnce(&mut Session) -> R) -> Option<R> {
    SESSIONS.with_borrow_mut(|sessions| sessions.last_mut().map(f))
}

/// Whether a kernel is being built on this thread.
pub(super) fn is_building() -> bool {
    SESSIONS.try_with(|sessions| sessions.try_borrow().map_or(true, |sessions| !sessions.is_empty())).unwrap_or(false)
}

/// Opens a session for the duration of `f` and returns it at the end, whatever `f` did.
pub(super) fn scope<R>(session: Session, f: impl FnOnce() -> R) -> (Session, std::thread::Result<R>) {
    SESSIONS.with_borrow_mut(|sessions| sessions.push(session));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    let session = SESSIONS.with_borrow_mut(|sessions| sessions.pop().expect("the session pushed above"));
    (session, result)
}

/// The block size of that number, 1 outside a kernel.
pub(super) fn block_size(index: usize) -> usize {
    with(|s| s.blocks.get(index).copied()).flatten().unwrap_or(1)
}

/// Records an operation and returns its result; a dead handle where an operand is dead or a rule is broken.
pub(super) fn emit(kind: OpKind, operands: &[Raw], loc: Loc) -> Raw {
    emit_all(kind, operands, loc).map_or(Raw::NOWHERE, |results| results.first().copied().unwrap_or(Raw::DEAD))
}

/// Records an operation and returns its results: none where an operand is dead or a rule is broken, `None` outside a kernel.
pub(super) fn emit_all(kind: OpKind, operands: &[Raw], loc: Loc) -> Option<Vec<Raw>> {
    with(|s| {
        let Some(values) = s.resolve_all(operands, &loc) else { return vec![] };
        let wrong = s.constants.faults(&kind, &values, s.builder.kernel(), &loc);
        if !wrong.is_empty() {
            s.faults.extend(wrong);
            return vec![];
        }
        match s.builder.results(kind.clone(), &values, loc) {
            Ok(results) => {
                if let [result] = results[..] {
                    s.constants.note(&kind, &values, result);
                }
                results.into_iter().map(|value| s.adopt(value)).collect()
            }
            Err(fault) => {
                s.faults.push(BuildFault::Rule(fault));
                vec![]
            }
        }
    })
}

/// The type of a live handle's value.
pub(super) fn type_of(raw: Raw) -> Option<Type> {
    with(|s| (raw.epoch == s.epoch).then(|| s.builder.ty(raw.value))).flatten()
}

/// The window that a handle of memory stands for.
pub(super) fn window(raw: Raw) -> Option<crate::ir::Window> {
    with(|s| {
        let (_, param) = s.builder.kernel().param_of(raw.value).filter(|_| raw.epoch == s.epoch)?;
        param.window().cloned()
    })
    .flatten()
}

/// The extents of an array in HBM.
pub(super) fn array(raw: Raw) -> Option<Vec<SizeExpr>> {
    with(|s| {
        let (_, param) = s.builder.kernel().param_of(raw.value).filter(|_| raw.epoch == s.epoch)?;
        match &param.kind {
            ParamKind::InArray(extents) | ParamKind::OutArray(extents) => Some(extents.clone()),
            _ => None,
        }
    })
    .flatten()
}

/// The number that a value is in every run.
pub(super) fn constant_of(raw: Raw) -> Option<i64> {
    with(|s| s.constants.integer(raw.value).filter(|_| raw.epoch == s.epoch)).flatten()
}

/// A rule that the language checks itself, broken at the user's line.
pub(super) fn broken(rule: Rule, at: &str, loc: &Loc) -> Raw {
    fault(BuildFault::Rule(Fault { rule, at: at.to_string(), loc: loc.clone() }));
    Raw::DEAD
}

/// A handle whose making was a fault.
pub(super) const fn dead() -> Raw {
    Raw::DEAD
}

/// The precision of dots that do not name their own.
pub(super) fn precision() -> Precision {
    with(|s| s.precision).unwrap_or_default()
}

/// A fault at the user's line.
pub(super) fn fault(fault: BuildFault) {
    with(|s| s.faults.push(fault));
}

/// How many regions are open.
pub(super) fn depth() -> usize {
    with(|s| s.builder.depth()).unwrap_or(0)
}

/// Opens a region whose arguments have the types of these handles, after `first`; returns handles of
/// the arguments. Dead handles get dead arguments.
pub(super) fn begin_region(first: &[Type], like: &[Raw]) -> (Vec<Raw>, Vec<Raw>) {
    let types: Option<Vec<Type>> = like.iter().map(|&raw| type_of(raw)).collect();
    with(|s| {
        let Some(types) = types else {
            let firsts = s.begin(first);
            return (firsts, vec![Raw::DEAD; like.len()]);
        };
        let mut args = s.begin(&[first, &types].concat());
        let rest = args.split_off(first.len());
        (args, rest)
    })
    .unwrap_or_else(|| (vec![Raw::NOWHERE; first.len()], vec![Raw::NOWHERE; like.len()]))
}

/// Closes the innermost region. `None` where a yielded value is dead or not of this region.
pub(super) fn end_region(yields: &[Raw], loc: &Loc) -> Option<Region> {
    with(|s| {
        let values = s.resolve_all(yields, loc);
        let region = s.end(values.as_deref().unwrap_or(&[]));
        values.map(|_| region)
    })
    .flatten()
}

/// Records control flow; results have the types of `like`. Dead where an operand or a region is missing.
pub(super) fn control(kind: OpKind, operands: &[Raw], regions: Option<Vec<Region>>, like: &[Raw], loc: Loc) -> Vec<Raw> {
    let types: Option<Vec<Type>> = like.iter().map(|&raw| type_of(raw)).collect();
    with(|s| {
        let values = s.resolve_all(operands, &loc)?;
        let results = s.builder.control(kind, &values, regions?, &types?, loc);
        Some(results.into_iter().map(|value| s.adopt(value)).collect())
    })
    .flatten()
    .unwrap_or_else(|| vec![Raw::DEAD; like.len()])
}

/// Opens the region of a `scoped`, which runs once where it stands; returns handles of its memory.
pub(super) fn begin_scoped(types: &[Type]) -> Vec<Raw> {
    with(|s| {
        s.once.push(s.regions);
        s.begin(types)
    })
    .unwrap_or_else(|| vec![Raw::NOWHERE; types.len()])
}

/// Opens the region of an index map; returns handles of the grid's indices.
pub(super) fn begin_map() -> Vec<Raw> {
    with(|s| {
        let types = s.builder.kernel().map_types();
        let arrays: Vec<Value> = s.builder.kernel().prefetched().map(|(at, _)| s.builder.kernel().body.args[at]).collect();
        let mut indices = s.begin(&types);
        let arguments = indices.split_off(types.len() - arrays.len());
        s.prefetched = arrays.into_iter().zip(arguments.into_iter().map(|raw| raw.value)).collect();
        indices
    })
    .unwrap_or_default()
}

/// Closes an index map. `None` where an index is dead.
pub(super) fn end_map(indices: &[Raw], loc: &Loc) -> Option<Region> {
    let map = end_region(indices, loc);
    with(|s| s.prefetched.clear());
    map
}

/// The arrays that index maps take after the grid's indices.
pub(super) fn prefetched() -> Vec<Raw> {
    let handles = |s: &mut Session| {
        let kernel = s.builder.kernel();
        kernel.prefetched().map(|(at, _)| Raw { value: kernel.body.args[at], epoch: s.epoch }).collect()
    };
    with(handles).unwrap_or_default()
}

/// The branch, or turn of a loop, that is being recorded: the innermost region but those of `scoped`.
pub(super) fn block() -> Option<u32> {
    with(|s| s.open.iter().rev().find(|region| !s.once.contains(region)).copied()).flatten()
}

/// How many faults there are.
pub(super) fn faults() -> usize {
    with(|s| s.faults.len()).unwrap_or(0)
}

/// Closes regions down to `depth` and drops what they hold: a token was left half-way.
pub(super) fn abandon(depth: usize) {
    with(|s| {
        while s.builder.depth() > depth {
            s.end(&[]);
        }
    });
}
