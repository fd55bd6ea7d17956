//! The semaphores of a core. Where it is alone nothing else signals, so a wait finds what is there or never will.

use crate::exec::RunError;
use crate::ir::{Loc, MAX_RANK, SemaphoreKind, Shape};

/// The semaphores of an operand or a region, in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The operand; of a region's semaphores a word for it.
    pub name: String,
    pub kind: SemaphoreKind,
    pub shape: Shape,
    pub counts: Vec<i64>,
    pub loc: Loc,
}

/// The largest count of signals. Bytes of copies are as many as they are.
const MOST: i64 = i32::MAX as i64;

impl Group {
    /// All at 0.
    pub(super) fn new(name: &str, kind: SemaphoreKind, shape: Shape, loc: &Loc) -> Group {
        Group { name: name.to_string(), kind, shape, counts: vec![0; shape.elements()], loc: loc.clone() }
    }

    /// Whether it is the launch's own: a barrier is the device's.
    pub(super) fn is_of_launch(&self) -> bool {
        !matches!(self.kind, SemaphoreKind::Barrier(_))
    }

    pub(super) fn signal(&mut self, at: usize, by: i64, step: &[i32], loc: &Loc) -> Result<(), RunError> {
        let most = if self.kind.is_signalled() { MOST } else { i64::MAX };
        match self.counts[at].checked_add(by) {
            Some(count) if (0..=most).contains(&count) => {
                self.counts[at] = count;
                Ok(())
            }
            _ => Err(self.cannot(at, by, step, loc)),
        }
    }

    pub(super) fn wait(&mut self, at: usize, wanted: i64, step: &[i32], loc: &Loc) -> Result<(), RunError> {
        let found = self.counts[at];
        if wanted < 0 {
            return Err(self.cannot(at, wanted, step, loc));
        }
        if found < wanted {
            let (semaphore, step, loc) = (self.named(at), step.to_vec(), loc.clone());
            return Err(RunError::Deadlock { semaphore, wanted, found, step, loc });
        }
        self.counts[at] = found - wanted;
        Ok(())
    }

    /// Each must be at 0 when its life ends.
    pub(super) fn end(&self) -> Result<(), RunError> {
        match self.counts.iter().position(|&n| n != 0) {
            None => Ok(()),
            Some(at) => {
                let (semaphore, loc) = (self.named(at), self.loc.clone());
                Err(RunError::SemaphoreLeft { semaphore, kind: self.kind, count: self.counts[at], loc })
            }
        }
    }

    fn cannot(&self, at: usize, by: i64, step: &[i32], loc: &Loc) -> RunError {
        let (semaphore, found) = (self.named(at), self.counts[at]);
        RunError::SemaphoreCount { semaphore, found, by, step: step.to_vec(), loc: loc.clone() }
    }

    /// `` `sems`[1] ``, or `` `sem` `` of a single one.
    pub(super) fn named(&self, at: usize) -> String {
        let mut index = [0; MAX_RANK];
        let mut rest = at;
        for axis in (0..self.shape.rank()).rev() {
            index[axis] = rest % self.shape.dim(axis);
            rest /= self.shape.dim(axis);
        }
        let index: String = index[..self.shape.rank()].iter().map(|i| format!("[{i}]")).collect();
        format!("`{}`{index}", self.name)
    }
}
