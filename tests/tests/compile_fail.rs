//! Kernels with one mistake each, and what the compiler says of it.
//!
//! Rules: one mistake is one error; the message points into the mistake and never shows a name that
//! the macro or the library made for itself. `TRYBUILD=overwrite` blesses the messages.

use std::fs;
use std::path::{Path, PathBuf};

/// Parts of names that a user has not written and cannot look up.
const INTERNAL: [&str; 26] = [
    "__",
    "expanded",
    "::stage::",
    "fn record",
    "record::",
    "Raw",
    "session",
    "Sym<",
    "If<",
    "While<",
    "For<",
    "Carries",
    "Carried<",
    "Shaped",
    "looped",
    "absent",
    "with_element",
    "do_not_recommend",
    "$crate",
    "tpu_kernel_macros",
    "lang::carried",
    "lang::condition",
    "decision",
    "loop_bound",
    "block_index",
    "into_scalar",
];

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("compile-fail/*/*.rs");
}

/// The blessed messages, with their paths.
fn messages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("compile-fail");
    let folders = fs::read_dir(root).expect("the folder of the cases").map(|entry| entry.expect("an entry").path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).expect("a folder of cases"));
    let paths = files.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "stderr"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a blessed message");
            (path, text)
        })
        .collect()
}

/// The headlines of the errors in a message.
fn errors(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("error: ") || line.starts_with("error[")).collect()
}

#[test]
fn one_mistake_is_one_error() {
    let messages = messages();
    assert!(messages.len() >= 50, "only {} cases", messages.len());
    let wrong: Vec<String> = messages
        .iter()
        .filter(|(_, text)| errors(text).len() != 1 || text.contains("warning:"))
        .map(|(path, text)| format!("{}: {:?}", path.display(), errors(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_name_nothing_internal() {
    let mut wrong = vec![];
    for (path, text) in messages() {
        // What is the user's own source, or a drawing, is no message.
        let said = text.lines().filter(|line| !line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        let said: Vec<&str> = said.map(|line| line.trim_start_matches([' ', '|', '_', '^', '-', '/'])).collect();
        for name in INTERNAL {
            wrong.extend(
                said.iter().filter(|line| line.contains(name)).map(|line| format!("{}: `{name}` in {line}", path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first error is in the case itself, after its signature's attribute: not at the attribute as a whole.
#[test]
fn errors_point_into_the_mistake() {
    let mut wrong = vec![];
    for (path, text) in messages() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
        let inside = place.is_some_and(|place| place.contains(&format!("/{name}.rs:")) && !place.ends_with(".rs:3:1"));
        if !inside {
            wrong.push(format!("{}: {place:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
