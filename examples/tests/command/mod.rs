//! The command line of the examples as a program, for its tests.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tpuk"));
    // No libtpu but the one that a test names.
    command.args(arguments).env_remove("LIBTPU_PATH").env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env("PATH", "");
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
pub(crate) fn ok(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout).to_string()
}

#[track_caller]
pub(crate) fn objects(lines: &str) -> Vec<Map<String, Value>> {
    lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap().as_object().unwrap().clone()).collect()
}

/// The objects of a command that goes well.
#[track_caller]
pub(crate) fn json(arguments: &[&str]) -> Vec<Map<String, Value>> {
    objects(&ok(&[arguments, &["--json"]].concat()))
}

/// A command that ends with that code and nothing on standard output; its words.
#[track_caller]
pub(crate) fn fails(code: i32, arguments: &[&str]) -> String {
    let output = run(arguments);
    let words = text(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert!(words.starts_with("error") && !words.contains("panicked"), "{arguments:?}: {words}");
    words
}

#[track_caller]
pub(crate) fn keys(object: &Map<String, Value>) -> Vec<&str> {
    object.keys().map(String::as_str).collect()
}

/// A file in the directory for temporary files of tests, removed at the end.
pub(crate) struct File(pub(crate) PathBuf);

impl File {
    pub(crate) fn new(name: &str) -> File {
        File(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tpuk_{}_{name}", std::process::id())))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
