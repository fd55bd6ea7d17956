//! Semaphores while a kernel runs on one core: nothing else signals, so a wait finds what is there or never will.

use super::memory::{Site, position};
use super::tile::unravel;
use crate::exec::RunError;
use crate::ir::{Loc, SemaphoreKind, Shape};

/// All semaphores of a launch.
#[derive(Default)]
pub(super) struct Counters {
    groups: Vec<Group>,
}

struct Group {
    /// The operand; of a region's semaphores a word for it.
    name: String,
    kind: SemaphoreKind,
    shape: Shape,
    counts: Vec<i64>,
    loc: Loc,
}

/// Semaphores of one operand, or one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Semaphores {
    group: usize,
    at: usize,
}

/// The largest count of signals. Bytes of copies are as many as they are.
const MOST: i64 = i32::MAX as i64;

impl Counters {
    /// Adds semaphores, all at 0.
    pub(super) fn add(&mut self, name: &str, kind: SemaphoreKind, shape: Shape, loc: &Loc) -> Semaphores {
        self.groups.push(Group { name: name.to_string(), kind, shape, counts: vec![0; shape.elements()], loc: loc.clone() });
        Semaphores { group: self.groups.len() - 1, at: 0 }
    }

    /// How many groups there are.
    pub(super) fn count(&self) -> usize {
        self.groups.len()
    }

    /// Ends those that were added after there were so many groups: each must be at 0.
    pub(super) fn end(&mut self, count: usize) -> Result<(), RunError> {
        for group in self.groups.drain(count..) {
            if let Some(at) = group.counts.iter().position(|&n| n != 0) {
                let (semaphore, kind, count) = (group.named(at), group.kind, group.counts[at]);
                return Err(RunError::SemaphoreLeft { semaphore, kind, count, loc: group.loc });
            }
        }
        Ok(())
    }

    /// One of the semaphores.
    pub(super) fn at(&self, of: Semaphores, index: &[i32], site: &Site<'_>) -> Result<Semaphores, RunError> {
        let group = &self.groups[of.group];
        position(index, group.shape).map(|at| Semaphores { at, ..of }).map_err(|axis| RunError::OutOfBounds {
            operand: group.name.clone(),
            axis,
            start: i64::from(index[axis]),
            size: 1,
            extent: group.shape.dim(axis),
            step: site.step.to_vec(),
            loc: site.loc.clone(),
        })
    }

    pub(super) fn read(&self, of: Semaphores) -> i64 {
        self.groups[of.group].counts[of.at]
    }

    pub(super) fn signal(&mut self, of: Semaphores, by: i64, site: &Site<'_>) -> Result<(), RunError> {
        let found = self.read(of);
        let most = if self.groups[of.group].kind.is_signalled() { MOST } else { i64::MAX };
        if !found.checked_add(by).is_some_and(|count| (0..=most).contains(&count)) {
            return Err(self.cannot(of, by, site));
        }
        self.groups[of.group].counts[of.at] = found + by;
        Ok(())
    }

    pub(super) fn wait(&mut self, of: Semaphores, wanted: i64, site: &Site<'_>) -> Result<(), RunError> {
        let found = self.read(of);
        if wanted < 0 {
            return Err(self.cannot(of, wanted, site));
        }
        if found < wanted {
            let (semaphore, step) = (self.groups[of.group].named(of.at), site.step.to_vec());
            return Err(RunError::Deadlock { semaphore, wanted, found, step, loc: site.loc.clone() });
        }
        self.groups[of.group].counts[of.at] = found - wanted;
        Ok(())
    }

    fn cannot(&self, of: Semaphores, by: i64, site: &Site<'_>) -> RunError {
        let (semaphore, found) = (self.groups[of.group].named(of.at), self.read(of));
        RunError::SemaphoreCount { semaphore, found, by, step: site.step.to_vec(), loc: site.loc.clone() }
    }
}

impl Group {
    /// `` `sems`[1] ``, or `` `sem` `` of a single one.
    fn named(&self, at: usize) -> String {
        let index = &unravel(at, self.shape.dims())[..self.shape.rank()];
        let index: String = index.iter().map(|i| format!("[{i}]")).collect();
        format!("`{}`{index}", self.name)
    }
}
