//! A progress bar on standard error, for whoever waits at a terminal longer than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work that is done in that many parts.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Dropped when the work is done, which ends the thread that waits to show the bar.
    alive: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Progress {
    /// The bar appears after a second, where standard error is a terminal.
    pub(super) fn new(parts: usize) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(parts as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} [{bar:30}] {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        let (alive, ended) = channel::<()>();
        let late = bar.clone();
        let show = move || {
            if ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                late.set_draw_target(ProgressDrawTarget::stderr());
                late.enable_steady_tick(Duration::from_millis(100));
            }
        };
        // Without the thread there is no bar, and the work is done all the same.
        let shown = std::thread::Builder::new().name("progress".into()).spawn(show).ok();
        Progress { bar, alive: Some(alive), shown }
    }

    /// What is being done now.
    pub(super) fn at(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Another part is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Writes while the bar is out of the way.
    pub(super) fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(shown) = self.shown.take() {
            let _ = shown.join();
        }
        self.bar.finish_and_clear();
    }
}
