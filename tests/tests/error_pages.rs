//! Every stable code has a page in `docs/errors.md`, whose snippet produces the error and whose message is the one
//! that is shown. `BLESS=1` rewrites the messages.
//!
//! The snippets run a second time as tests of the documentation; here they are compiled from files of their own, so
//! that a rendered error finds its source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tpu_device::DeviceError;
use tpu_device::libtpu::LibtpuError;
use tpu_kernel::exec::RunError;
use tpu_kernel::ir::Rule;
use tpu_kernel::launch::LaunchError;
use tpu_kernel::legalise::Illegal;
use tpu_kernel::transform::TransformError;
use tpu_kernel::{BuildFault, Error};

/// An error as a page shows it.
trait Rendered {
    fn rendered(&self) -> String;
}

impl Rendered for Error {
    fn rendered(&self) -> String {
        tpu_kernel::diagnose::render(self)
    }
}

impl Rendered for DeviceError {
    fn rendered(&self) -> String {
        self.render()
    }
}

impl Rendered for LibtpuError {
    fn rendered(&self) -> String {
        self.render()
    }
}

fn rendered(error: &impl Rendered) -> String {
    error.rendered()
}

/// The code of a page, the file of its snippet, and what the snippet's error looks like.
struct Page {
    code: &'static str,
    file: &'static str,
    rendered: fn() -> String,
}

mod pages {
    use super::Page;
    include!(concat!(env!("OUT_DIR"), "/pages.rs"));
}
use pages::PAGES;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md")
}

fn document() -> String {
    std::fs::read_to_string(path()).expect("docs/errors.md is there")
}

/// The codes of every error type.
fn codes() -> Vec<&'static str> {
    let device = [DeviceError::CODES, LibtpuError::CODES, Illegal::CODES].concat();
    [BuildFault::CODES, Error::CODES, Rule::CODES, LaunchError::CODES, TransformError::CODES, RunError::CODES, &device].concat()
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let codes = codes();
    let pages: Vec<&str> = PAGES.iter().map(|page| page.code).collect();
    assert_eq!(pages.iter().collect::<BTreeSet<_>>(), codes.iter().collect::<BTreeSet<_>>());
    assert_eq!(pages.len(), codes.len(), "a code or a page is there twice");
}

#[test]
fn every_page_is_whole() {
    let document = document();
    for page in document.split("\n<a id=\"").skip(1) {
        let anchor = page.split('"').next().unwrap_or_default();
        let code = anchor.to_uppercase();
        for part in [
            &format!("\n## {code} — "),
            "\n**Why.** ",
            "\n**Mend it.** ",
            &format!("\nassert_eq!(error.code(), \"{code}\");\n```\n"),
            &format!("see docs/errors.md#{anchor}\n"),
        ] {
            assert_eq!(page.matches(part).count(), 1, "`{part}` in the page of {code}");
        }
    }
}

#[test]
fn messages_are_those_of_the_snippets() {
    let mut document = document();
    let before = document.clone();
    for page in PAGES {
        let shown = (page.rendered)().replace(page.file, "src/main.rs");
        let start = document.find(&format!("\n## {} ", page.code)).expect("a page");
        let block = start + document[start..].find("```text\n").expect("a message") + "```text\n".len();
        let end = block + document[block..].find("```\n").expect("an end of the message");
        document.replace_range(block..end, &format!("{shown}\n"));
    }
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::write(path(), &document).expect("writable");
    } else {
        assert!(
            document == before,
            "docs/errors.md is out of date: BLESS=1 rewrites its messages\n{}",
            first_change(&before, &document)
        );
    }
}

/// The first line that differs.
fn first_change(before: &str, after: &str) -> String {
    let changed = before.lines().zip(after.lines()).find(|(a, b)| a != b);
    changed.map_or(String::new(), |(a, b)| format!("- {a}\n+ {b}"))
}
