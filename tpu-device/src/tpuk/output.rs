//! Standard output and standard error: the only writer of both; and the files of text.
//!
//! Rules: results go to standard output, all else to standard error; with `--json` each result is one object on one line;
//! nothing panics where a stream is closed.

use super::failure::{Exit, Failure};
use super::progress::Progress;
use crate::replace::replace;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// Standard output takes no more.
#[derive(Debug)]
pub(super) enum Closed {
    /// The reader has left.
    Left,
    /// Another error.
    Broken(io::Error),
}

/// Writes results.
pub(super) struct Output {
    pub(super) json: bool,
}

impl Output {
    /// One result: the object, or the text.
    pub(super) fn result(
        &self,
        progress: &Progress,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let line = if self.json { json().to_string() } else { text() };
        Ok(progress.suspend(|| write(&format!("{line}\n")))?)
    }

    /// Text as it is.
    pub(super) fn text(&self, progress: &Progress, text: &str) -> Result<(), Failure> {
        Ok(progress.suspend(|| write(text))?)
    }
}

/// The ends of several kernels, configurations or chips: one that fails does not keep the others from their turn.
pub(super) struct Ends {
    worst: Exit,
    /// Of one alone there are no others.
    several: bool,
    /// What was said last: the same is not said again of the next one.
    said: String,
}

impl Ends {
    pub(super) fn of(results: usize) -> Ends {
        Ends { worst: Exit::Done, several: results > 1, said: String::new() }
    }

    /// There are that many results, as is known now.
    pub(super) fn expect(&mut self, results: usize) {
        self.several |= results > 1;
    }

    /// A kernel's end.
    pub(super) fn note(&mut self, exit: Exit) {
        self.worst = self.worst.max(exit);
    }

    /// The result; of several kernels, a failure is said and kept.
    pub(super) fn take<T>(&mut self, progress: &Progress, result: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(failure) if self.several => {
                if failure.text != self.said {
                    progress.suspend(|| complain(&failure.text));
                    self.said = failure.text;
                }
                self.note(failure.exit);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    pub(super) fn worst(self) -> Exit {
        self.worst
    }
}

/// Writes to standard output.
pub(super) fn write(text: &str) -> Result<(), Closed> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Closed::Left,
        _ => Closed::Broken(e),
    })
}

/// Makes a file of the text.
pub(super) fn file(path: &Path, text: &str) -> Result<(), Failure> {
    replace(path, |to| to.write_all(text.as_bytes())).map_err(|e| Failure::file(format!("{}: {e}", path.display())))
}

/// Whether two paths name one file, which need not be there yet.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let absolute = std::path::absolute(path).ok()?;
        let whole = absolute.canonicalize().ok();
        whole.or_else(|| Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?)))
    };
    one == other || place(one).is_some_and(|one| place(other) == Some(one))
}

/// Writes to standard error. Where not even that can be written, the exit code is all that is left to say.
pub(super) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A count of the model, unless it is beyond 64 bits: then it is the largest number there is.
pub(super) fn counted(n: u64) -> Option<u64> {
    Some(n).filter(|&n| n < u64::MAX)
}

/// A count as text.
pub(super) fn number(n: u64) -> String {
    counted(n).map_or_else(|| TOO_MANY.to_string(), |n| n.to_string())
}

/// In the place of a count that is none.
pub(super) const TOO_MANY: &str = "more than 2^64";

/// Lines of columns, each as wide as its widest cell.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
