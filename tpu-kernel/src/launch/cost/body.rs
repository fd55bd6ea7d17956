//! What the body of a kernel does over the whole grid.

use super::steps::{Holds, Times};
use crate::ir::{BinaryOp, CompareOp, DType, Kernel, Op, OpKind, Region, Type, UnaryOp, Value};
use crate::launch::maps::{self, Abstract, Numbers, Range};

/// Comparisons joined more deeply than this are not followed.
const DEPTH: usize = 8;

/// What the body does, counted so far.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Work {
    pub(super) flops: u128,
    /// Of these, those of products of matrices, and those on integers and masks.
    pub(super) products: u128,
    pub(super) integers: u128,
    pub(super) transcendentals: u128,
    /// Of copies that the body starts.
    pub(super) bytes: u128,
    pub(super) exact: bool,
}

impl Work {
    const NONE: Work = Work { flops: 0, products: 0, integers: 0, transcendentals: 0, bytes: 0, exact: true };

    fn and(self, other: Work) -> Work {
        Work {
            flops: self.flops.saturating_add(other.flops),
            products: self.products.saturating_add(other.products),
            integers: self.integers.saturating_add(other.integers),
            transcendentals: self.transcendentals.saturating_add(other.transcendentals),
            bytes: self.bytes.saturating_add(other.bytes),
            exact: self.exact && other.exact,
        }
    }

    fn or(self, other: Work) -> Work {
        Work {
            flops: self.flops.max(other.flops),
            products: self.products.max(other.products),
            integers: self.integers.max(other.integers),
            transcendentals: self.transcendentals.max(other.transcendentals),
            bytes: self.bytes.max(other.bytes),
            exact: self.exact && self == other,
        }
    }

    fn is_nothing(self) -> bool {
        self.flops == 0 && self.transcendentals == 0 && self.bytes == 0
    }
}

/// A scalar of the body: what it can be, and what computes it.
#[derive(Clone)]
struct Known<'a> {
    value: Abstract,
    by: Option<&'a Op>,
}

/// Counts the work of a body.
pub(super) struct Counter<'a> {
    kernel: &'a Kernel,
    numbers: Numbers<'a>,
    /// By operand: the extents of its array.
    arrays: &'a [Vec<usize>],
    /// By value: scalars.
    known: Vec<Option<Known<'a>>>,
    pub(super) work: Work,
}

impl<'a> Counter<'a> {
    pub(super) fn new(kernel: &'a Kernel, numbers: Numbers<'a>, arrays: &'a [Vec<usize>]) -> Counter<'a> {
        Counter { kernel, numbers, arrays, known: vec![None; kernel.types.len()], work: Work::NONE }
    }

    pub(super) fn region(&mut self, region: &'a Region, times: &Times) {
        for op in &region.ops {
            self.op(op, times);
        }
    }

    /// The work of a region alone.
    fn alone(&mut self, region: &'a Region, times: &Times) -> Work {
        let before = std::mem::replace(&mut self.work, Work::NONE);
        self.region(region, times);
        std::mem::replace(&mut self.work, before)
    }

    fn elements(&self, value: Value) -> u128 {
        match self.kernel.ty(value) {
            Type::Tile(_, shape) => shape.elements() as u128,
            // Computed by the scalar unit.
            Type::Scalar(_) | Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => 0,
        }
    }

    /// The extent of a dimension of the first operand.
    fn extent(&self, op: &Op, axis: usize) -> u128 {
        self.kernel.ty(op.operands[0]).shape().dim(axis) as u128
    }

    fn op(&mut self, op: &'a Op, times: &Times) {
        let result = op.results.first().map_or(0, |&v| self.elements(v));
        let operand = op.operands.first().map_or(0, |&v| self.elements(v));
        let (flops, transcendentals) = match &op.kind {
            OpKind::Unary(unary) if is_function(*unary) => (0, result),
            OpKind::Binary(BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot) => (0, result),
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select => (result, 0),
            OpKind::Reduce { .. } => (operand - result, 0),
            OpKind::Scan { axis, .. } => (operand - operand / self.extent(op, *axis), 0),
            OpKind::Sort { axis, .. } => {
                let rounds = self.extent(op, *axis).next_power_of_two().trailing_zeros();
                (operand * u128::from(rounds), 0)
            }
            OpKind::Dot { dims, .. } => (2 * result * self.extent(op, dims.contract.0), 0),
            OpKind::If => return self.branch(op, times),
            OpKind::For => return self.repeat(op, times),
            OpKind::While => return self.repeat_unknown(op, times),
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } => return self.copy(op, times),
            OpKind::Scoped => {
                self.forget(&op.results);
                return self.region(&op.regions[0], times);
            }
            OpKind::Const(_)
            | OpKind::Iota { .. }
            | OpKind::Cast(_)
            | OpKind::Bitcast(_)
            | OpKind::StochasticRound(_)
            | OpKind::Broadcast(_)
            | OpKind::Reshape(_)
            | OpKind::Transpose(_)
            | OpKind::Slice { .. }
            | OpKind::Concat { .. }
            | OpKind::Rotate { .. }
            | OpKind::Gather { .. }
            | OpKind::Extract(_)
            | OpKind::Load(_)
            | OpKind::Store
            | OpKind::LoadScalar
            | OpKind::StoreScalar
            | OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_)
            | OpKind::LoadMasked(_)
            | OpKind::StoreMasked
            | OpKind::SemaphoreAt
            | OpKind::DmaWait
            | OpKind::SemaphoreSignal
            | OpKind::CoreSignal
            | OpKind::SemaphoreWait
            | OpKind::SemaphoreRead
            | OpKind::DeviceId
            | OpKind::ProgramId(_)
            | OpKind::NumPrograms(_)
            | OpKind::Size(_)
            | OpKind::PrngSeed
            | OpKind::PrngBits(_)
            | OpKind::Print(_)
            | OpKind::Check(_)
            | OpKind::Defined(_) => (0, 0),
        };
        let [flops, transcendentals] = [flops, transcendentals].map(|n| times.total.saturating_mul(n));
        let products = if matches!(op.kind, OpKind::Dot { .. }) { flops } else { 0 };
        // What a comparison or a selection works on are its operands.
        let float = op.operands.last().is_some_and(|&v| self.kernel.ty(v).dtype().is_float());
        let integers = if float { 0 } else { flops };
        self.work = self.work.and(Work { flops, products, integers, transcendentals, bytes: 0, exact: true });
        if let &[result] = op.results.as_slice()
            && let Type::Scalar(dtype) = self.kernel.ty(result)
        {
            let operands: Vec<Abstract> = op.operands.iter().map(|&v| self.value(v)).collect();
            let value = maps::evaluate(&op.kind, &operands, Some(dtype), &self.numbers, &times.steps);
            self.known[result.0 as usize] = Some(Known { value, by: Some(op) });
        }
    }

    /// A copy moves all of its views; where it says how many rows, the most that it may say.
    fn copy(&mut self, op: &Op, times: &Times) {
        let extents = self.extents(op.operands[0]).or_else(|| self.extents(op.operands[1])).unwrap_or_default();
        let (mut extents, mut exact) = (extents, true);
        if let (Some(&rows), Some(first)) = (op.operands.get(3), extents.first_mut()) {
            let range = self.value(rows).range();
            exact = range.single().is_some();
            *first = u128::try_from(range.hi.max(0)).map_or(*first, |most| most.min(*first));
        }
        let elements = extents.iter().fold(1u128, |all, &n| all.saturating_mul(n));
        let each = elements.saturating_mul(u128::from(self.kernel.ty(op.operands[0]).dtype().bits())).div_ceil(8);
        let bytes = each.saturating_mul(times.total);
        self.work = self.work.and(Work { bytes, exact: exact || bytes == 0, ..Work::NONE });
    }

    /// The extents of a memory: of a view those of its type, of a whole array those of the launch.
    fn extents(&self, memory: Value) -> Option<Vec<u128>> {
        let extents = match self.kernel.ty(memory) {
            Type::Array(..) => self.arrays.get(self.kernel.param_of(memory)?.0)?.as_slice(),
            ty => return Some(ty.shape().dims().iter().map(|&n| n as u128).collect()),
        };
        Some(extents.iter().map(|&n| n as u128).collect())
    }

    fn value(&self, value: Value) -> Abstract {
        match &self.known[value.0 as usize] {
            Some(known) => known.value.clone(),
            None => Abstract::any(self.kernel.ty(value).dtype()),
        }
    }

    fn branch(&mut self, op: &'a Op, times: &Times) {
        let [then, otherwise] = op.regions.as_slice() else { return };
        let holds = if times.uniform { self.holds(op.operands[0], &times.steps, DEPTH) } else { self.truth(op.operands[0]) };
        match holds {
            Holds::Always => self.region(then, times),
            Holds::Never => self.region(otherwise, times),
            Holds::In(part) => {
                self.region(then, &times.within(part.clone()));
                self.region(otherwise, &times.without(&part));
            }
            Holds::NotIn(part) => {
                self.region(then, &times.without(&part));
                self.region(otherwise, &times.within(part));
            }
            Holds::InBut(part, hole) => {
                let taken = times.within(part).without(&hole);
                let rest = Times { total: times.total.saturating_sub(taken.total), steps: times.steps.clone(), uniform: false };
                self.region(then, &taken);
                self.region(otherwise, &rest);
            }
            Holds::Unknown => {
                let times = Times { uniform: false, ..times.clone() };
                let larger = self.alone(then, &times).or(self.alone(otherwise, &times));
                self.work = self.work.and(larger);
            }
        }
    }

    fn truth(&self, condition: Value) -> Holds {
        match self.value(condition).truth() {
            (false, _) => Holds::Always,
            (_, false) => Holds::Never,
            _ => Holds::Unknown,
        }
    }

    /// Where in the box a condition holds.
    fn holds(&self, condition: Value, steps: &[Range], depth: usize) -> Holds {
        let by = self.known[condition.0 as usize].as_ref().and_then(|k| k.by).filter(|_| depth > 0);
        let inner = |value: Value| self.holds(value, steps, depth - 1);
        let found = match by.map(|op| (&op.kind, op.operands.as_slice())) {
            Some((OpKind::Compare(op), &[a, b])) => self.compare(*op, a, b, steps),
            Some((OpKind::Unary(UnaryOp::Not), &[a])) => inner(a).not(),
            Some((OpKind::Binary(BinaryOp::And), &[a, b])) => inner(a).and(inner(b)),
            Some((OpKind::Binary(BinaryOp::Or), &[a, b])) => inner(a).not().and(inner(b).not()).not(),
            _ => Holds::Unknown,
        };
        match found {
            Holds::Unknown => self.truth(condition),
            found => found,
        }
    }

    /// A comparison of two linear forms whose difference varies along one grid dimension at most.
    fn compare(&self, op: CompareOp, a: Value, b: Value, steps: &[Range]) -> Holds {
        let (Abstract::Linear { base: p, coef: u, .. }, Abstract::Linear { base: q, coef: v, .. }) = (self.value(a), self.value(b))
        else {
            return Holds::Unknown;
        };
        let at = |coef: &[i64], axis: usize| i128::from(coef.get(axis).copied().unwrap_or(0));
        let mut base = i128::from(p) - i128::from(q);
        let mut varies = None;
        for (axis, range) in steps.iter().enumerate() {
            let coef = at(&u, axis) - at(&v, axis);
            match (coef, range.lo == range.hi, varies) {
                (0, ..) => {}
                (_, true, _) => base += coef * i128::from(range.lo),
                (_, false, None) => varies = Some((axis, coef)),
                (_, false, Some(_)) => return Holds::Unknown,
            }
        }
        let Some((axis, coef)) = varies else {
            let holds = match op {
                CompareOp::Eq => base == 0,
                CompareOp::Ne => base != 0,
                CompareOp::Lt => base < 0,
                CompareOp::Le => base <= 0,
                CompareOp::Gt => base > 0,
                CompareOp::Ge => base >= 0,
            };
            return if holds { Holds::Always } else { Holds::Never };
        };
        let part = |lo: i128, hi: i128| {
            let (lo, hi) = (lo.max(steps[axis].lo.into()), hi.min(steps[axis].hi.into()));
            match (i64::try_from(lo), i64::try_from(hi)) {
                (Ok(lo), Ok(hi)) if lo <= hi => {
                    let part = Range { lo, hi };
                    if part == steps[axis] {
                        return Holds::Always;
                    }
                    let mut steps = steps.to_vec();
                    steps[axis] = part;
                    Holds::In(steps)
                }
                _ => Holds::Never,
            }
        };
        // base + coef · i < limit, for limit 0 or 1.
        let below = |limit: i128| {
            let room = limit - 1 - base;
            if coef > 0 { part(i128::MIN, room.div_euclid(coef)) } else { part(-room.div_euclid(-coef), i128::MAX) }
        };
        match op {
            CompareOp::Lt => below(0),
            CompareOp::Le => below(1),
            CompareOp::Ge => below(0).not(),
            CompareOp::Gt => below(1).not(),
            CompareOp::Eq | CompareOp::Ne => {
                let at = -base / coef;
                let equal = if at * coef == -base { part(at, at) } else { Holds::Never };
                if op == CompareOp::Eq { equal } else { equal.not() }
            }
        }
    }

    fn repeat(&mut self, op: &'a Op, times: &Times) {
        let [lo, hi, by] = [0, 1, 2].map(|at| self.value(op.operands[at]));
        let (first, last, step) = (lo.range(), hi.range(), by.range());
        let body = &op.regions[0];
        self.forget(&op.results);
        self.forget(&body.args);
        let index = Range { lo: first.lo, hi: last.hi.saturating_sub(1).max(first.lo) };
        self.known[body.args[0].0 as usize] = Some(Known { value: Abstract::Within(index), by: None });
        // A step below 1 is an error when it runs.
        let most = u128::try_from(last.hi - first.lo).unwrap_or(0).div_ceil(step.lo.max(1) as u128);
        if let (Some(_), Some(_), Some(_)) = (first.single(), last.single(), step.single()) {
            return self.region(body, &times.by(most));
        }
        if let Some(total) = trips(&lo, &hi, step, times) {
            return self.region(body, &Times { total, steps: times.steps.clone(), uniform: false });
        }
        let mut work = self.alone(body, &Times { uniform: false, ..times.by(most) });
        work.exact &= work.is_nothing();
        self.work = self.work.and(work);
    }

    fn repeat_unknown(&mut self, op: &'a Op, times: &Times) {
        self.forget(&op.results);
        for region in &op.regions {
            self.forget(&region.args);
            let mut work = self.alone(region, &Times { uniform: false, ..times.clone() });
            work.exact &= work.is_nothing();
            self.work = self.work.and(work);
        }
    }

    /// What a loop carries can be anything.
    fn forget(&mut self, values: &[Value]) {
        values.iter().for_each(|v| self.known[v.0 as usize] = None);
    }
}

/// The trips of a loop over all steps, where its bounds are linear in grid indices, never cross, and lie whole steps apart.
fn trips(lo: &Abstract, hi: &Abstract, step: Range, times: &Times) -> Option<u128> {
    let (Abstract::Linear { base: p, coef: u, .. }, Abstract::Linear { base: q, coef: v, .. }) = (lo, hi) else { return None };
    let step = i128::from(step.single().filter(|&s| s > 0)?);
    if !times.uniform {
        return None;
    }
    let at = |coef: &[i64], axis: usize| i128::from(coef.get(axis).copied().unwrap_or(0));
    let base = i128::from(*q) - i128::from(*p);
    // Twice the mean of the difference, and its least.
    let (mut twice, mut least) = (base.checked_mul(2)?, base);
    let mut whole = base % step == 0;
    for (axis, range) in times.steps.iter().enumerate() {
        let coef = at(v, axis) - at(u, axis);
        whole &= coef % step == 0;
        twice += coef * i128::from(range.lo + range.hi);
        least += (coef * i128::from(range.lo)).min(coef * i128::from(range.hi));
    }
    if !whole || least < 0 {
        return None;
    }
    // Over a box the sum is the mean times the steps; each factor of 2 cancels, since the sum is whole.
    let total = u128::try_from(twice / step).ok()?;
    Some(total.checked_mul(times.total)? / 2)
}

/// Whether a unary operation is a mathematical function, not arithmetic.
fn is_function(op: UnaryOp) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not | UnaryOp::Sign | UnaryOp::Popcount | UnaryOp::Clz => false,
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Round | UnaryOp::Trunc => false,
        UnaryOp::IsNan | UnaryOp::IsFinite => false,
        // Quotients.
        UnaryOp::Recip | UnaryOp::RecipApprox => false,
        UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Expm1 | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log1p => true,
        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Cbrt => true,
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => true,
        UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh | UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => true,
        UnaryOp::Erf | UnaryOp::Erfc | UnaryOp::ErfInv | UnaryOp::Logistic => true,
    }
}

impl Abstract {
    /// Any value of that type.
    fn any(dtype: DType) -> Abstract {
        match dtype {
            DType::I32 => Abstract::Within(Range { lo: i32::MIN.into(), hi: i32::MAX.into() }),
            DType::Bool => Abstract::Truth(true, true),
            _ => Abstract::Unknown,
        }
    }
}
