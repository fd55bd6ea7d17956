//! What an index map can give over a box of grid steps.
//!
//! Rules: an abstract value always covers what the map computes (i32, wrapping), so "inside" is a
//! proof. Sums and multiples of grid indices stay linear and their range is exact; everything else
//! is a range. Over a box of one step every integer is exact; floats are not followed. A step that is left
//! in doubt is evaluated as an executor does, and where the boxes run out, every step that is left of a
//! grid of at most [`STEPS`] steps. Only in larger grids can a step outside stay unseen until it runs.

use super::exact::Evaluator;
use crate::ir::{BinaryOp, CompareOp, DType, Kernel, Literal, OpKind, Region, SizeId, UnaryOp, Value, eval};
use std::collections::HashMap;

const I32: Range = Range { lo: i32::MIN as i64, hi: i32::MAX as i64 };

/// Boxes looked at before the search for an offending step goes step by step.
const BUDGET: usize = 1 << 16;

/// Grids of more steps are not searched step by step.
const STEPS: i64 = 1 << 20;

/// Factors of a linear form stay below this, so that their sums fit 64 bits.
const FACTOR: u64 = 1 << 61;

/// An inclusive range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

impl Range {
    fn point(n: i64) -> Range {
        Range { lo: n, hi: n }
    }

    pub(super) fn single(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    fn within(self, other: Range) -> bool {
        self.lo >= other.lo && self.hi <= other.hi
    }

    fn join(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The range of a monotone function of two ranges, from its values at the corners.
    fn corners(self, other: Range, f: impl Fn(i64, i64) -> i64) -> Range {
        let at = [f(self.lo, other.lo), f(self.lo, other.hi), f(self.hi, other.lo), f(self.hi, other.hi)];
        Range { lo: at.into_iter().min().unwrap_or(0), hi: at.into_iter().max().unwrap_or(0) }
    }
}

/// What a scalar can be over a box.
#[derive(Clone, Debug)]
pub(super) enum Abstract {
    /// `base + Σ coef[d] · index[d]`, which stays within i32 over the box.
    Linear { base: i64, coef: Vec<i64>, range: Range },
    /// An i32 in that range.
    Within(Range),
    /// A bool: whether it can be false, whether it can be true.
    Truth(bool, bool),
    /// A float.
    Unknown,
}

impl Abstract {
    fn constant(n: i64) -> Abstract {
        Abstract::Linear { base: n, coef: vec![], range: Range::point(n) }
    }

    /// An i32 that wraps where the range leaves i32.
    fn wrapped(range: Range) -> Abstract {
        match range.single() {
            Some(n) => Abstract::constant(i64::from(n as i32)),
            None if range.within(I32) => Abstract::Within(range),
            None => Abstract::Within(I32),
        }
    }

    pub(super) fn range(&self) -> Range {
        match self {
            Abstract::Linear { range, .. } | Abstract::Within(range) => *range,
            Abstract::Truth(..) | Abstract::Unknown => I32,
        }
    }

    pub(super) fn truth(&self) -> (bool, bool) {
        match self {
            Abstract::Truth(no, yes) => (*no, *yes),
            _ => (true, true),
        }
    }
}

/// A launch's numbers that a map may use.
pub(crate) struct Numbers<'a> {
    pub(crate) sizes: &'a [i32],
    pub(crate) grid: &'a [i32],
}

/// The range of each block index of `map` over the box, an inclusive range a grid dimension.
pub(super) fn ranges(kernel: &Kernel, map: &Region, numbers: &Numbers<'_>, steps: &[Range]) -> Vec<Range> {
    forms(kernel, map, numbers, steps).iter().map(Abstract::range).collect()
}

/// What each block index of `map` can be over the box.
pub(super) fn forms(kernel: &Kernel, map: &Region, numbers: &Numbers<'_>, steps: &[Range]) -> Vec<Abstract> {
    let mut known: HashMap<Value, Abstract> = HashMap::new();
    for (axis, &arg) in map.args.iter().enumerate() {
        known.insert(arg, index(axis, steps));
    }
    for op in &map.ops {
        let operands: Vec<Abstract> = op.operands.iter().map(|v| known.get(v).cloned().unwrap_or(Abstract::Unknown)).collect();
        let [result] = op.results[..] else { continue };
        let value = evaluate(&op.kind, &operands, kernel.types.get(result.0 as usize).map(|t| t.dtype()), numbers, steps);
        known.insert(result, value);
    }
    map.yields.iter().map(|v| known.get(v).cloned().unwrap_or(Abstract::Within(I32))).collect()
}

/// The first step in lexicographic order at which index `which` of the map leaves `allowed`, with the
/// index there. `None`: there is none, or, in a grid of more than [`STEPS`] steps, none was found within the
/// budget; an executor checks again.
pub(super) fn first_outside(
    kernel: &Kernel,
    map: &Region,
    numbers: &Numbers<'_>,
    which: usize,
    allowed: Range,
) -> Option<(Vec<i32>, i64)> {
    let mut budget = BUDGET;
    let mut exact = Evaluator::new(kernel, map, numbers);
    // What comes from a prefetched array is not known before the data is.
    exact.index(&vec![0; numbers.grid.len()], which)?;
    let outside = |index: i64| index < allowed.lo || index > allowed.hi;
    let mut boxes = vec![numbers.grid.iter().map(|&n| Range { lo: 0, hi: i64::from(n) - 1 }).collect::<Vec<Range>>()];
    while let Some(steps) = boxes.pop() {
        if budget == 0 {
            // Boxes come in lexicographic order: every step before this one's first is inside.
            return walk(&mut exact, numbers.grid, first_step(&steps), which, outside);
        }
        budget -= 1;
        let range = ranges(kernel, map, numbers, &steps).get(which).copied()?;
        if range.within(allowed) {
            continue;
        }
        // The slowest dimension is split first, so that boxes are visited in lexicographic order.
        match steps.iter().position(|r| r.lo < r.hi) {
            Some(axis) => {
                let Range { lo, hi } = steps[axis];
                let middle = lo + (hi - lo) / 2;
                let (mut low, mut high) = (steps.clone(), steps);
                low[axis].hi = middle;
                high[axis].lo = middle + 1;
                boxes.push(high);
                boxes.push(low);
            }
            None => {
                let step = first_step(&steps);
                if let Some(index) = exact.index(&step, which).filter(|&index| outside(index)) {
                    return Some((step, index));
                }
            }
        }
    }
    None
}

fn first_step(steps: &[Range]) -> Vec<i32> {
    steps.iter().map(|r| r.lo as i32).collect()
}

/// The same search step by step, from `step` on; `None` at once in a grid of more than [`STEPS`] steps.
fn walk(
    exact: &mut Evaluator<'_>,
    grid: &[i32],
    mut step: Vec<i32>,
    which: usize,
    outside: impl Fn(i64) -> bool,
) -> Option<(Vec<i32>, i64)> {
    grid.iter().try_fold(1i64, |steps, &n| steps.checked_mul(n.into())).filter(|&steps| steps <= STEPS)?;
    loop {
        if let Some(index) = exact.index(&step, which).filter(|&index| outside(index)) {
            return Some((step, index));
        }
        let axis = step.iter().zip(grid).rposition(|(&i, &n)| i < n - 1)?;
        step[axis] += 1;
        step[axis + 1..].fill(0);
    }
}

/// Whether every block index is one number over the whole grid.
pub(super) fn is_constant(kernel: &Kernel, map: &Region, numbers: &Numbers<'_>) -> bool {
    let steps: Vec<Range> = numbers.grid.iter().map(|&n| Range { lo: 0, hi: (i64::from(n) - 1).max(0) }).collect();
    ranges(kernel, map, numbers, &steps).iter().all(|r| r.single().is_some())
}

fn index(axis: usize, steps: &[Range]) -> Abstract {
    let Some(&range) = steps.get(axis) else { return Abstract::Within(I32) };
    match range.single() {
        Some(n) => Abstract::constant(n),
        None => {
            let mut coef = vec![0; steps.len()];
            coef[axis] = 1;
            Abstract::Linear { base: 0, coef, range }
        }
    }
}

/// A linear form with its range over the box; only a range where it can leave i32.
fn linear(base: i64, coef: Vec<i64>, steps: &[Range]) -> Abstract {
    if base.unsigned_abs() >= FACTOR || coef.iter().any(|c| c.unsigned_abs() >= FACTOR) {
        return Abstract::Within(I32);
    }
    let (mut lo, mut hi) = (i128::from(base), i128::from(base));
    for (&c, step) in coef.iter().zip(steps) {
        let ends = [i128::from(c) * i128::from(step.lo), i128::from(c) * i128::from(step.hi)];
        lo += ends[0].min(ends[1]);
        hi += ends[0].max(ends[1]);
    }
    match (i32::try_from(lo), i32::try_from(hi)) {
        (Ok(lo), Ok(hi)) => Abstract::Linear { base, coef, range: Range { lo: i64::from(lo), hi: i64::from(hi) } },
        _ if lo == hi => Abstract::constant(i64::from(lo as i32)),
        _ => Abstract::Within(I32),
    }
}

fn combine(a: (i64, &[i64]), b: (i64, &[i64]), scale: (i64, i64), steps: &[Range]) -> Abstract {
    let at = |coef: &[i64], d: usize| coef.get(d).copied().unwrap_or(0);
    let coef = (0..a.1.len().max(b.1.len())).map(|d| scale.0 * at(a.1, d) + scale.1 * at(b.1, d)).collect();
    linear(scale.0 * a.0 + scale.1 * b.0, coef, steps)
}

/// What an operation can give over the box, of what its operands can be; `dtype` is the result's.
pub(super) fn evaluate(
    kind: &OpKind,
    operands: &[Abstract],
    dtype: Option<DType>,
    numbers: &Numbers<'_>,
    steps: &[Range],
) -> Abstract {
    let value = match (kind, operands) {
        (OpKind::Const(literal), _) => constant(*literal),
        (OpKind::ProgramId(axis), _) => index(*axis, steps),
        (OpKind::NumPrograms(axis), _) => {
            numbers.grid.get(*axis).map_or(Abstract::Within(I32), |&n| Abstract::constant(i64::from(n)))
        }
        (OpKind::Size(SizeId(id)), _) => {
            numbers.sizes.get(*id as usize).map_or(Abstract::Within(I32), |&n| Abstract::constant(i64::from(n)))
        }
        (OpKind::Unary(op), [x]) if matches!(dtype, Some(DType::I32 | DType::Bool)) => unary(*op, x, dtype, steps),
        (OpKind::Binary(op), [a, b]) if dtype == Some(DType::Bool) => logic(*op, a.truth(), b.truth()),
        (OpKind::Binary(op), [a, b]) if dtype == Some(DType::I32) => binary(*op, a, b, steps),
        (OpKind::Compare(op), [a, b]) => compare(*op, a, b),
        (OpKind::Select, [c, a, b]) => match (c.truth(), a, b) {
            ((false, _), a, _) => a.clone(),
            ((_, false), _, b) => b.clone(),
            (_, Abstract::Truth(n, y), Abstract::Truth(m, z)) => Abstract::Truth(*n || *m, *y || *z),
            (_, Abstract::Unknown, _) | (_, _, Abstract::Unknown) => Abstract::Unknown,
            (_, a, b) => Abstract::wrapped(a.range().join(b.range())),
        },
        (OpKind::Cast(DType::I32), [Abstract::Truth(no, yes)]) => {
            Abstract::wrapped(Range { lo: i64::from(!no), hi: i64::from(*yes) })
        }
        (OpKind::Cast(DType::Bool), [x @ (Abstract::Linear { .. } | Abstract::Within(_))]) => {
            compare(CompareOp::Ne, x, &Abstract::constant(0))
        }
        (OpKind::Cast(to), [x]) => match (to, x) {
            (DType::I32, Abstract::Linear { .. } | Abstract::Within(_)) | (DType::Bool, Abstract::Truth(..)) => x.clone(),
            _ => Abstract::Unknown,
        },
        _ => Abstract::Unknown,
    };
    match (dtype, value) {
        (Some(DType::I32), Abstract::Unknown | Abstract::Truth(..)) => Abstract::Within(I32),
        (Some(DType::Bool), Abstract::Unknown | Abstract::Linear { .. } | Abstract::Within(_)) => Abstract::Truth(true, true),
        (Some(DType::I32 | DType::Bool), value) => value,
        // Of other types nothing is known.
        _ => Abstract::Unknown,
    }
}

fn constant(literal: Literal) -> Abstract {
    match (literal.as_i32(), literal.as_bool()) {
        (Some(n), _) => Abstract::constant(i64::from(n)),
        (_, Some(b)) => Abstract::Truth(!b, b),
        _ => Abstract::Unknown,
    }
}

fn unary(op: UnaryOp, x: &Abstract, dtype: Option<DType>, steps: &[Range]) -> Abstract {
    if dtype == Some(DType::Bool) {
        let (no, yes) = x.truth();
        return Abstract::Truth(yes, no);
    }
    let minus = |base: i64| match x {
        Abstract::Linear { base: b, coef, .. } => combine((base, &[]), (*b, coef), (1, -1), steps),
        _ => Abstract::wrapped(Range { lo: base - x.range().hi, hi: base - x.range().lo }),
    };
    match op {
        UnaryOp::Neg => minus(0),
        UnaryOp::Not => minus(-1),
        UnaryOp::Abs if x.range().lo >= 0 => x.clone(),
        UnaryOp::Abs if x.range().hi <= 0 => minus(0),
        UnaryOp::Abs => Abstract::wrapped(Range { lo: 0, hi: x.range().hi.max(-x.range().lo) }),
        UnaryOp::Sign => Abstract::Within(Range { lo: -1, hi: 1 }),
        UnaryOp::Popcount | UnaryOp::Clz => Abstract::Within(Range { lo: 0, hi: 32 }),
        // Functions of floats.
        _ => Abstract::Unknown,
    }
}

fn logic(op: BinaryOp, (a0, a1): (bool, bool), (b0, b1): (bool, bool)) -> Abstract {
    match op {
        BinaryOp::And => Abstract::Truth(a0 || b0, a1 && b1),
        BinaryOp::Or => Abstract::Truth(a0 && b0, a1 || b1),
        _ => Abstract::Truth((a0 && b0) || (a1 && b1), (a0 && b1) || (a1 && b0)),
    }
}

fn binary(op: BinaryOp, a: &Abstract, b: &Abstract, steps: &[Range]) -> Abstract {
    let (x, y) = (a.range(), b.range());
    if let (Some(x), Some(y)) = (x.single(), y.single()) {
        return exact(op, x as i32, y as i32).map_or(Abstract::Unknown, |v| Abstract::constant(i64::from(v)));
    }
    if let (Abstract::Linear { base: p, coef: u, .. }, Abstract::Linear { base: q, coef: v, .. }) = (a, b) {
        match op {
            BinaryOp::Add => return combine((*p, u), (*q, v), (1, 1), steps),
            BinaryOp::Sub => return combine((*p, u), (*q, v), (1, -1), steps),
            BinaryOp::Mul => match (x.single(), y.single()) {
                (Some(k), _) => return scaled(*q, v, k, steps),
                (_, Some(k)) => return scaled(*p, u, k, steps),
                _ => {}
            },
            _ => {}
        }
    }
    match op {
        BinaryOp::Add => Abstract::wrapped(Range { lo: x.lo + y.lo, hi: x.hi + y.hi }),
        BinaryOp::Sub => Abstract::wrapped(Range { lo: x.lo - y.hi, hi: x.hi - y.lo }),
        BinaryOp::Mul => Abstract::wrapped(x.corners(y, |p, q| p * q)),
        // Truncated division is monotone in each operand while the divisor keeps its sign; MIN / -1 wraps.
        BinaryOp::Div if y.lo > 0 || y.hi < 0 => Abstract::wrapped(x.corners(y, |p, q| p / q)),
        BinaryOp::Rem if y.lo > 0 => remainder(x, y),
        BinaryOp::Min => Abstract::wrapped(Range { lo: x.lo.min(y.lo), hi: x.hi.min(y.hi) }),
        BinaryOp::Max => Abstract::wrapped(Range { lo: x.lo.max(y.lo), hi: x.hi.max(y.hi) }),
        BinaryOp::And if x.lo >= 0 && y.lo >= 0 => Abstract::wrapped(Range { lo: 0, hi: x.hi.min(y.hi) }),
        BinaryOp::And if x.lo >= 0 => Abstract::wrapped(Range { lo: 0, hi: x.hi }),
        BinaryOp::And if y.lo >= 0 => Abstract::wrapped(Range { lo: 0, hi: y.hi }),
        BinaryOp::Or | BinaryOp::Xor if x.lo >= 0 && y.lo >= 0 => {
            let bits = 64 - x.hi.max(y.hi).leading_zeros();
            Abstract::wrapped(Range { lo: 0, hi: (1 << bits) - 1 })
        }
        BinaryOp::FloorDiv if y.lo > 0 || y.hi < 0 => Abstract::wrapped(x.corners(y, |p, q| (p as f64 / q as f64).floor() as i64)),
        BinaryOp::FloorMod if y.lo > 0 => Abstract::Within(Range { lo: 0, hi: y.hi - 1 }),
        // The other integer operations; those of floats are no indices.
        _ => Abstract::Within(I32),
    }
}

fn scaled(base: i64, coef: &[i64], k: i64, steps: &[Range]) -> Abstract {
    // The factors of a linear form within i32 can be large where their terms cancel.
    let scale = |n: i64| n.checked_mul(k);
    match (scale(base), coef.iter().map(|&c| scale(c)).collect::<Option<Vec<i64>>>()) {
        (Some(base), Some(coef)) => linear(base, coef, steps),
        _ => Abstract::Within(I32),
    }
}

fn remainder(x: Range, y: Range) -> Abstract {
    if let Some(d) = y.single()
        && (x.lo >= 0 || x.hi <= 0)
        && x.lo / d == x.hi / d
    {
        return Abstract::wrapped(Range { lo: x.lo % d, hi: x.hi % d });
    }
    let most = y.hi - 1;
    Abstract::wrapped(Range { lo: x.lo.max(-most).min(0), hi: x.hi.min(most).max(0) })
}

/// One i32 operation, as `docs/semantics.md` has it; `None` of an operation on floats.
fn exact(op: BinaryOp, a: i32, b: i32) -> Option<i32> {
    eval::binary(op, a.into(), b.into())?.as_i32()
}

fn compare(op: CompareOp, a: &Abstract, b: &Abstract) -> Abstract {
    if let (Abstract::Truth(a0, a1), Abstract::Truth(b0, b1)) = (a, b) {
        let (same, differ) = ((*a0 && *b0) || (*a1 && *b1), (*a0 && *b1) || (*a1 && *b0));
        return if op == CompareOp::Eq { Abstract::Truth(differ, same) } else { Abstract::Truth(same, differ) };
    }
    if matches!(a, Abstract::Unknown) || matches!(b, Abstract::Unknown) {
        return Abstract::Truth(true, true);
    }
    let (x, y) = (a.range(), b.range());
    let (less, more) = (x.lo < y.hi, x.hi > y.lo);
    let (equal, differ) = (x.lo <= y.hi && y.lo <= x.hi, !(x.single().is_some() && x == y));
    match op {
        CompareOp::Eq => Abstract::Truth(differ, equal),
        CompareOp::Ne => Abstract::Truth(equal, differ),
        CompareOp::Lt => Abstract::Truth(more || equal, less),
        CompareOp::Ge => Abstract::Truth(less, more || equal),
        CompareOp::Gt => Abstract::Truth(less || equal, more),
        CompareOp::Le => Abstract::Truth(more, less || equal),
    }
}
