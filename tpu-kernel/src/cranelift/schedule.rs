//! Devices as fibers on one thread: one runs at a time, until it must wait, and a seed draws which goes on.
//!
//! Rules: a fiber ends by returning, never by being dropped half-way: compiled code on its stack cannot unwind. So whoever is
//! resumed after the run has ended returns an error from where it waits.

use super::crew::Crew;
use crate::exec::RunError;
use crate::ir::Loc;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How a fiber ends.
type End = Result<Result<(), RunError>, Box<dyn Any + Send>>;

/// Of a fiber: where it gives way.
pub(super) type Way = Yielder<(), ()>;

/// What a fiber does.
pub(super) type Body<'f> = Box<dyn FnOnce(&Way) -> Result<(), RunError> + 'f>;

/// Bytes of a fiber's stack. Tiles are not on it, and what takes messages runs on the stack of the thread.
const STACK: usize = 1 << 20;

/// Bytes of it that compiled code may have; what it calls has the rest.
pub(super) const FRAME: usize = STACK / 4;

/// What the scheduler asks of those that it runs.
pub(super) trait Agents {
    /// Whether it has something to do now.
    fn may_run(&self, agent: usize) -> bool;
    /// What they have in common.
    fn crew(&self) -> &Crew;
    /// Nobody has: whether something has happened meanwhile, so that one may have. An error names whose it is.
    fn something_happens(&self) -> Result<bool, RunError> {
        Ok(false)
    }
}

/// What came of a run: of the agents that had not ended when all waited, or of the first that failed.
pub(super) enum Outcome {
    Done,
    Failed(usize, RunError),
    /// All wait: what each says of its own wait.
    Deadlock(Vec<(usize, RunError)>),
}

/// What ends the others where the log has panicked. The panic goes on, and nobody sees this.
fn silenced() -> RunError {
    RunError::Check { message: "the log has panicked".into(), step: vec![], loc: Loc::UNKNOWN }
}

/// Runs all of them to their ends.
pub(super) fn run<'f>(agents: &impl Agents, bodies: Vec<Body<'f>>) -> Outcome {
    let crew = agents.crew();
    let mut fibers = vec![];
    for body in bodies {
        let Ok(stack) = DefaultStack::new(STACK) else {
            return Outcome::Failed(fibers.len(), RunError::OutOfMemory { bytes: STACK });
        };
        let body = move |way: &Way, ()| -> End { catch_unwind(AssertUnwindSafe(|| body(way))) };
        // SAFETY: what the body borrows outlives this function, in which each fiber that was started is driven to its end.
        fibers.push(Some(unsafe { Coroutine::<(), (), End, DefaultStack>::with_stack_unchecked(stack, body) }));
    }
    let (mut outcome, mut panicked, mut ended) = (Outcome::Done, None, false);
    let mut ready = vec![];
    loop {
        ready.clear();
        ready.extend((0..fibers.len()).filter(|&at| fibers[at].is_some() && (ended || agents.may_run(at))));
        if ready.is_empty() {
            if fibers.iter().all(Option::is_none) {
                break;
            }
            ended = match agents.something_happens() {
                Ok(happened) => !happened,
                Err(error) => {
                    crew.end(Some(&error));
                    outcome = Outcome::Failed(0, error);
                    true
                }
            };
            if ended && matches!(outcome, Outcome::Done) {
                outcome = Outcome::Deadlock(vec![]);
                crew.end(None);
            }
            continue;
        }
        let at = ready[crew.random.borrow_mut().below(ready.len() as u64) as usize];
        let Some(fiber) = &mut fibers[at] else { continue };
        let CoroutineResult::Return(end) = fiber.resume(()) else { continue };
        fibers[at] = None;
        match (end, &mut outcome) {
            (Err(panic), _) => _ = panicked.get_or_insert(panic),
            (Ok(Err(error)), Outcome::Deadlock(waits)) => waits.push((at, error)),
            (Ok(Err(error)), Outcome::Done) if !ended => {
                crew.end(Some(&error));
                outcome = Outcome::Failed(at, error);
            }
            (Ok(_), _) => continue,
        }
        if !ended {
            ended = true;
            if panicked.is_some() {
                crew.end(Some(&silenced()));
            }
        }
    }
    drop(fibers);
    match panicked {
        // A panic of the log goes on where no compiled code is running.
        Some(panic) => resume_unwind(panic),
        None => outcome,
    }
}
