//! How often a region of the body runs, and in which steps of the grid.

use crate::launch::maps::Range;

/// The number of steps in a box.
pub(super) fn volume(steps: &[Range]) -> u128 {
    steps.iter().fold(1u128, |n, r| n.saturating_mul(u128::try_from(r.hi - r.lo + 1).unwrap_or(0)))
}

/// How often a region runs over the whole grid.
#[derive(Clone)]
pub(super) struct Times {
    pub(super) total: u128,
    /// Every step that it runs in is in this box.
    pub(super) steps: Vec<Range>,
    /// Whether it runs equally often in every step of the box.
    pub(super) uniform: bool,
}

impl Times {
    /// The same steps, `n` times as often.
    pub(super) fn by(&self, n: u128) -> Times {
        Times { total: self.total.saturating_mul(n), ..self.clone() }
    }

    /// Only in the steps of `part`, which lies in the box.
    pub(super) fn within(&self, part: Vec<Range>) -> Times {
        let per_step = self.total / volume(&self.steps).max(1);
        Times { total: volume(&part).saturating_mul(per_step), steps: part, uniform: true }
    }

    /// Only in the steps outside of `part`.
    pub(super) fn without(&self, part: &[Range]) -> Times {
        let differ: Vec<usize> = (0..part.len()).filter(|&axis| part[axis] != self.steps[axis]).collect();
        if let &[axis] = differ.as_slice() {
            let (all, cut) = (self.steps[axis], part[axis]);
            let rest = match (cut.lo == all.lo, cut.hi == all.hi) {
                (true, false) => Some(Range { lo: cut.hi + 1, hi: all.hi }),
                (false, true) => Some(Range { lo: all.lo, hi: cut.lo - 1 }),
                _ => None,
            };
            if let Some(rest) = rest {
                let mut steps = self.steps.clone();
                steps[axis] = rest;
                return self.within(steps);
            }
        }
        let total = self.total.saturating_sub(self.within(part.to_vec()).total);
        Times { total, steps: self.steps.clone(), uniform: false }
    }
}

/// The steps of a box in which a condition holds.
pub(super) enum Holds {
    Always,
    Never,
    In(Vec<Range>),
    NotIn(Vec<Range>),
    /// In the first and not in the second, which is part of it.
    InBut(Vec<Range>, Vec<Range>),
    Unknown,
}

impl Holds {
    pub(super) fn not(self) -> Holds {
        match self {
            Holds::Always => Holds::Never,
            Holds::Never => Holds::Always,
            Holds::In(part) => Holds::NotIn(part),
            Holds::NotIn(part) => Holds::In(part),
            Holds::InBut(..) | Holds::Unknown => Holds::Unknown,
        }
    }

    pub(super) fn and(self, other: Holds) -> Holds {
        match (self, other) {
            (Holds::Never, _) | (_, Holds::Never) => Holds::Never,
            (Holds::Always, rest) | (rest, Holds::Always) => rest,
            (Holds::In(a), Holds::In(b)) => both(&a, &b).map_or(Holds::Never, Holds::In),
            (Holds::In(a), Holds::NotIn(b)) | (Holds::NotIn(b), Holds::In(a)) => match both(&a, &b) {
                None => Holds::In(a),
                Some(hole) if hole == a => Holds::Never,
                Some(hole) => Holds::InBut(a, hole),
            },
            _ => Holds::Unknown,
        }
    }
}

/// The steps in both boxes, where there are any.
fn both(a: &[Range], b: &[Range]) -> Option<Vec<Range>> {
    let part: Vec<Range> = a.iter().zip(b).map(|(a, b)| Range { lo: a.lo.max(b.lo), hi: a.hi.min(b.hi) }).collect();
    part.iter().all(|r| r.lo <= r.hi).then_some(part)
}
