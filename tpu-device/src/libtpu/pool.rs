//! A pool of workers, and what they find out.
//!
//! Rules: a worker is reused until it dies. A verdict that may come from what the worker did before, a death, is asked for
//! again of a new one. The verdict is that of a worker that does not estimate; where it accepts, another one is asked for the
//! estimate alone, because libtpu can fail at estimating: how it failed is kept beside the verdict.

use super::refusal;
use super::wire::{Answer, Question};
use super::worker::{self, Asked, Start, Worker};
use super::{Library, LibtpuError, estimate};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;
use tpu_kernel::chips::Chip;

/// The least time in which a worker has to load the library: libtpu.so has 600 MB.
const LOADING: Duration = Duration::from_secs(60);

/// How a pool works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Workers at once; at least one. By default one for each processor.
    pub workers: usize,
    /// The time for one program; then its worker is killed. By default two minutes, a century at most.
    pub limit: Duration,
    /// The program that is started as a worker, which calls [`serve_if_worker`](super::serve_if_worker); by default the current one.
    pub program: Option<PathBuf>,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        PoolOptions { workers, limit: Duration::from_secs(120), program: None }
    }
}

/// A program to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The chip to compile for.
    pub chip: &'static Chip,
    /// The program, a StableHLO module.
    pub program: String,
    /// The program whose cycles are asked for: the same kernel with its arrays placed, or the program itself.
    pub estimate: Option<String>,
}

/// What libtpu says of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It compiles.
    Accepted {
        /// How long libtpu estimates it to take.
        estimate: Estimate,
    },
    /// It does not.
    Refused {
        /// libtpu's first sentences, in one line.
        reason: String,
        /// File, line and column of the user's source, where libtpu names an operation that has them.
        place: Option<(String, u32, u32)>,
    },
    /// The compiler died, or did not end in time.
    Crashed {
        /// The signal, with libtpu's last words where there are any; or the time limit.
        how: String,
    },
}

/// libtpu's estimate of a program that it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// None was asked for.
    NotAsked,
    /// Cycles of the whole program, the sum over its operations.
    Cycles(u64),
    /// There is none, and why: how libtpu died of the question, for example.
    None(String),
}

impl Estimate {
    /// The cycles, where there are any.
    pub const fn cycles(&self) -> Option<u64> {
        match self {
            Estimate::Cycles(cycles) => Some(*cycles),
            Estimate::NotAsked | Estimate::None(_) => None,
        }
    }

    /// Why there are none, where some were asked for.
    pub fn error(&self) -> Option<&str> {
        match self {
            Estimate::None(why) => Some(why),
            Estimate::NotAsked | Estimate::Cycles(_) => None,
        }
    }
}

/// Workers that share the programs to judge. They are started when they are needed, and end with the pool.
pub struct Pool {
    library: Library,
    options: PoolOptions,
    args: Vec<String>,
    loading: Duration,
    idle: Mutex<Vec<Worker>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("library", &self.library).field("options", &self.options).finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool without workers yet.
    pub fn new(library: &Library, options: PoolOptions) -> Pool {
        let loading = options.limit.max(LOADING);
        Pool { library: library.clone(), options, args: vec![], loading, idle: Mutex::new(vec![]) }
    }

    /// A verdict for each job, in their order. `on_each` is called in the order in which the verdicts come, with the job's index.
    ///
    /// An error means that nothing can be judged with this library or this worker program.
    pub fn judge(&self, jobs: &[Job], on_each: &mut dyn FnMut(usize, &Verdict)) -> Result<Vec<Verdict>, LibtpuError> {
        let next = AtomicUsize::new(0);
        let mut verdicts: Vec<Option<Verdict>> = vec![None; jobs.len()];
        std::thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for _ in 0..self.options.workers.clamp(1, jobs.len().max(1)) {
                let (send, next) = (send.clone(), &next);
                scope.spawn(move || {
                    while let at = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(job) = jobs.get(at)
                    {
                        let judged = self.judge_one(job);
                        // Nobody listens any more where another thread had an error.
                        if send.send(judged.map(|verdict| (at, verdict))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            for judged in receive {
                let (at, verdict) = judged.inspect_err(|_| next.store(jobs.len(), Ordering::Relaxed))?;
                on_each(at, &verdict);
                verdicts[at] = Some(verdict);
            }
            Ok(())
        })?;
        Ok(verdicts.into_iter().flatten().collect())
    }

    fn judge_one(&self, job: &Job) -> Result<Verdict, LibtpuError> {
        Ok(match self.ask_for_sure(job.chip, &job.program, false)? {
            Asked::Answer(Answer::Accepted(_)) => Verdict::Accepted {
                estimate: match &job.estimate {
                    Some(program) => self.estimate(job.chip, program)?,
                    None => Estimate::NotAsked,
                },
            },
            Asked::Answer(Answer::Refused(words)) => {
                Verdict::Refused { reason: refusal::reason(&words), place: refusal::place(&words, &job.program) }
            }
            Asked::Answer(Answer::Ready | Answer::Unfit(_)) => Verdict::Crashed { how: "its answer is none".to_string() },
            Asked::Died(how) | Asked::Late(how) => Verdict::Crashed { how },
        })
    }

    fn estimate(&self, chip: &Chip, program: &str) -> Result<Estimate, LibtpuError> {
        if !estimate::estimates(chip) {
            return Ok(Estimate::None(format!("libtpu has no estimates for {}", chip.name)));
        }
        Ok(match self.ask_for_sure(chip, program, true)? {
            Asked::Answer(Answer::Accepted(Some(0))) => {
                Estimate::None("libtpu estimates 0 cycles: it does not count this kernel's copies".to_string())
            }
            Asked::Answer(Answer::Accepted(Some(cycles))) => Estimate::Cycles(cycles),
            Asked::Answer(Answer::Accepted(None)) => {
                Estimate::None("libtpu accepts the program and writes no estimate".to_string())
            }
            Asked::Answer(Answer::Refused(words)) => Estimate::None(refusal::reason(&words)),
            Asked::Answer(Answer::Ready | Answer::Unfit(_)) => Estimate::None("the estimating worker's answer is none".to_string()),
            Asked::Died(how) => Estimate::None(format!("libtpu died of estimating: {how}")),
            Asked::Late(how) => Estimate::None(format!("estimating takes too long: {how}")),
        })
    }

    /// Asks until the answer is no matter of what the worker did before.
    fn ask_for_sure(&self, chip: &Chip, program: &str, estimates: bool) -> Result<Asked, LibtpuError> {
        loop {
            match self.ask(chip, program, estimates)? {
                (Asked::Died(_), false) => {}
                (asked, _) => return Ok(asked),
            }
        }
    }

    /// Asks a worker, which is kept if it lives; and whether it was a new one.
    fn ask(&self, chip: &Chip, program: &str, estimates: bool) -> Result<(Asked, bool), LibtpuError> {
        let mut worker = match self.take(estimates) {
            Some(worker) => worker,
            None => self.start(estimates)?,
        };
        let new = worker.answered == 0;
        let question = Question { topology: topology(chip), program: program.to_string() };
        let asked = worker.ask(&question, self.options.limit);
        match &asked {
            Asked::Answer(Answer::Accepted(_) | Answer::Refused(_)) => self.idle().push(worker),
            Asked::Answer(Answer::Unfit(reason)) => {
                return Err(LibtpuError::Unfit { path: self.library.path().to_path_buf(), reason: reason.clone() });
            }
            Asked::Answer(Answer::Ready) | Asked::Died(_) | Asked::Late(_) => {}
        }
        Ok((asked, new))
    }

    fn take(&self, estimates: bool) -> Option<Worker> {
        let mut idle = self.idle();
        let at = idle.iter().position(|worker| worker.estimates == estimates)?;
        Some(idle.swap_remove(at))
    }

    fn start(&self, estimates: bool) -> Result<Worker, LibtpuError> {
        let cannot = |program: PathBuf, reason: String| LibtpuError::Worker { program, reason };
        let name = match &self.options.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(|e| cannot("of the current program".into(), e.to_string()))?,
        };
        // The current program is there also where its file was replaced since it began, by a new build for example.
        let program = match &self.options.program {
            None if cfg!(target_os = "linux") => PathBuf::from("/proc/self/exe"),
            _ => name.clone(),
        };
        // A worker that starts workers never served: without this, programs would start each other without end.
        if std::env::var_os(worker::LIBRARY).is_some() {
            return Err(cannot(name, worker::NO_WORKER.to_string()));
        }
        let (library, limit) = (self.library.path(), self.loading);
        Worker::start(&Start { library, program: &program, name: &name, args: &self.args, estimates, limit })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// libtpu's name for the least machine that has the chip.
fn topology(chip: &Chip) -> String {
    let extent = match chip.name {
        // Two cores of it run a kernel together only where it is told.
        "v4" => "2x2x1 megacore",
        "v5p" | "tpu7x" => "1x1x1",
        _ => "1x1",
    };
    format!("{}:{extent}", chip.name)
}

#[cfg(test)]
mod tests;
