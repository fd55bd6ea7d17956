//! A worker process as its pool sees it: started, asked, and ended.
//!
//! Rules: every wait has a deadline. A worker that dies, is late or talks nonsense is done with: it is killed and waited for.

use super::LibtpuError;
use super::estimate::{self, Folder};
use super::wire::{Answer, Broken, Line, Question};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The variable that makes a process a worker: the library to load.
pub(super) const LIBRARY: &str = "TPU_DEVICE_WORKER_LIBTPU";
/// The worker's own folder, in which it runs.
pub(super) const FOLDER: &str = "TPU_DEVICE_WORKER_FOLDER";
/// Set where the worker is to estimate.
pub(super) const ESTIMATES: &str = "TPU_DEVICE_WORKER_ESTIMATES";

/// What a program is told that is started as a worker and does not serve.
pub(super) const NO_WORKER: &str = "its `main` must begin with `tpu_device::libtpu::serve_if_worker()`";

/// How long a process may take to end once it has closed its socket.
const END: Duration = Duration::from_secs(5);

/// How a worker is started.
pub(super) struct Start<'a> {
    pub(super) library: &'a Path,
    /// As the user named it, for messages.
    pub(super) program: &'a Path,
    pub(super) args: &'a [String],
    pub(super) estimates: bool,
    /// The time in which it has to load the library.
    pub(super) limit: Duration,
}

/// A worker that waits for a question. Dropping it ends the process and removes its folder.
pub(super) struct Worker {
    process: Child,
    line: Line,
    last_words: LastWords,
    pub(super) estimates: bool,
    /// How many questions it has answered.
    pub(super) answered: usize,
    /// Removed after the process has ended: fields are dropped in this order, after `drop`.
    _folder: Folder,
}

/// How asking ended.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// With an answer.
    Answer(Answer),
    /// The worker died, or answered nonsense.
    Died(String),
    /// The time was over.
    Late(String),
}

impl Worker {
    /// Starts a worker and waits until it has loaded the library.
    pub(super) fn start(start: &Start) -> Result<Worker, LibtpuError> {
        let cannot = |reason: String| LibtpuError::Worker { program: start.program.to_path_buf(), reason };
        let unfit = |reason: String| LibtpuError::Unfit { path: start.library.to_path_buf(), reason };
        let folder = Folder::new().map_err(|e| cannot(format!("there is no folder for it: {e}")))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| cannot(e.to_string()))?;
        let program = std::path::absolute(start.program).map_err(|e| cannot(e.to_string()))?;
        let mut command = Command::new(program);
        command.args(start.args).current_dir(folder.path());
        // An interrupt from the terminal is for the pool's process: a worker ends with it, and tidies up.
        command.process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        command.env(LIBRARY, start.library).env(FOLDER, folder.path()).env_remove(ESTIMATES);
        // No search for a metadata server that is not there, which takes minutes; no lock against a second process; no log files.
        command.env("TPU_SKIP_MDS_QUERY", "1").env("TPU_WORKER_HOSTNAMES", "localhost").env("TPU_WORKER_ID", "0");
        command.env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1").env("TPU_LOG_DIR", "disabled");
        command.env("TPU_STDERR_LOG_LEVEL", "3").env("TPU_MIN_LOG_LEVEL", "3");
        if start.estimates {
            let flags = std::env::var_os("LIBTPU_INIT_ARGS").unwrap_or_default();
            let mut all = std::ffi::OsString::from(estimate::FLAGS);
            all.push(" ");
            all.push(flags);
            command.env(ESTIMATES, "1").env("LIBTPU_INIT_ARGS", all);
        }
        let mut process = command.spawn().map_err(|e| cannot(e.to_string()))?;
        // Its end of the socket must be closed here, or its death would go unnoticed.
        drop(command);
        let last_words = LastWords::of(process.stderr.take());
        let (line, estimates) = (Line::new(ours), start.estimates);
        let mut worker = Worker { process, line, last_words, estimates, answered: 0, _folder: folder };
        match worker.listen(Instant::now() + start.limit, start.limit) {
            Asked::Answer(Answer::Ready) => Ok(worker),
            Asked::Answer(Answer::Unfit(why)) => Err(unfit(why)),
            Asked::Answer(_) => Err(cannot("it answered before it was asked".to_string())),
            // What ends by itself never was a worker; what is killed was loading the library.
            Asked::Died(how) if how.starts_with("SIG") => Err(unfit(format!("loading it ended with {how}"))),
            Asked::Died(how) | Asked::Late(how) => Err(cannot(format!("{how}; {NO_WORKER}"))),
        }
    }

    /// Asks, and waits for the answer up to the limit. After anything but an answer the worker is dead.
    pub(super) fn ask(&mut self, question: &Question, limit: Duration) -> Asked {
        let deadline = Instant::now() + limit;
        let asked = match self.line.write(&question.line(), deadline) {
            Ok(()) => self.listen(deadline, limit),
            Err(broken) => self.end(broken, limit),
        };
        self.answered += 1;
        asked
    }

    fn listen(&mut self, deadline: Instant, limit: Duration) -> Asked {
        match self.line.read(deadline) {
            Ok(line) => match Answer::parse(&line) {
                Some(answer) => Asked::Answer(answer),
                None => self.end(Broken::Garbled, limit),
            },
            Err(broken) => self.end(broken, limit),
        }
    }

    /// Ends the process and tells how it was.
    fn end(&mut self, broken: Broken, limit: Duration) -> Asked {
        if broken == Broken::Closed {
            let deadline = Instant::now() + END;
            while Instant::now() < deadline {
                if let Ok(Some(status)) = self.process.try_wait() {
                    return Asked::Died(self.last_words.after(&ended(status)));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.kill();
        match broken {
            Broken::Late => Asked::Late(format!("no answer within {} s", limit.as_secs_f64())),
            Broken::Closed => Asked::Died("it stopped talking".to_string()),
            Broken::Garbled => Asked::Died("its answer is none".to_string()),
        }
    }

    fn kill(&mut self) {
        // It may have ended already; that is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What becomes of a process's standard error: all is read, so that it never waits, and the reason why it gave up is kept.
struct LastWords {
    fatal: Arc<Mutex<Option<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl LastWords {
    fn of(stderr: Option<ChildStderr>) -> LastWords {
        let fatal = Arc::new(Mutex::new(None));
        let kept = fatal.clone();
        let reader = stderr.map(|stderr| std::thread::spawn(move || drain(stderr, &kept)));
        LastWords { fatal, reader }
    }

    /// How it ended, and why where it said so.
    fn after(&mut self, how: &str) -> String {
        let deadline = Instant::now() + END;
        // Another process may hold the pipe open.
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        match self.fatal.lock().unwrap_or_else(PoisonError::into_inner).as_deref() {
            Some(why) => format!("{how}: {why}"),
            None => how.to_string(),
        }
    }
}

fn drain(stderr: ChildStderr, kept: &Mutex<Option<String>>) {
    let mut stderr = BufReader::new(stderr);
    loop {
        let mut line = vec![];
        match stderr.by_ref().take(4096).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.is_none() {
                    *kept = fatal(&String::from_utf8_lossy(&line));
                }
            }
        }
    }
}

/// The message of a fatal line of Google's logging: `F1130 23:45:19.360661 10673 file.cc:46] Check failed: …`.
fn fatal(line: &str) -> Option<String> {
    let rest = line.strip_prefix('F')?;
    if !rest.bytes().take(4).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (_, message) = rest.split_once("] ")?;
    Some(super::refusal::shorten(message.trim()))
}

/// The name of the signal, or the exit code.
fn ended(status: ExitStatus) -> String {
    let name = match status.signal() {
        Some(4) => "SIGILL",
        Some(5) => "SIGTRAP",
        Some(6) => "SIGABRT",
        Some(7) => "SIGBUS",
        Some(8) => "SIGFPE",
        Some(9) => "SIGKILL",
        Some(11) => "SIGSEGV",
        Some(15) => "SIGTERM",
        Some(other) => return format!("SIG{other}"),
        None => return format!("it ended with exit code {}", status.code().unwrap_or_default()),
    };
    name.to_string()
}

#[cfg(test)]
mod tests;
