//! The pages that `tpuk inspect --html` writes of the examples, and their traces: the figures that the command prints, and
//! a browser that has nothing to say.

#[path = "../../tests/src/browser.rs"]
mod browser;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNELS: [&str; 7] = ["add", "matmul", "softmax", "attention", "increment", "gather_rows", "sum_rows"];

/// A folder that stays, where someone who wants to look finds it.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Page, trace and what `--json` says.
fn inspect(kernel: &str, chip: &str) -> (PathBuf, Value, Value) {
    let page = folder().join(format!("{kernel}-{chip}.html"));
    let trace = folder().join(format!("{kernel}-{chip}.json"));
    let output = Command::new(env!("CARGO_BIN_EXE_tpuk"))
        .args(["inspect", kernel, "--chip", chip, "--json", "--html"])
        .arg(&page)
        .arg("--trace")
        .arg(&trace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{kernel} on {chip}: {}", String::from_utf8_lossy(&output.stderr));
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
    (page, read(&std::fs::read(trace).unwrap()), read(&output.stdout))
}

#[test]
fn pages_of_the_examples() {
    let mut frames = String::new();
    for kernel in KERNELS {
        for chip in ["v4", "v5e", "v5p", "v6e", "tpu7x"] {
            let (file, trace, object) = inspect(kernel, chip);
            let page = std::fs::read_to_string(&file).unwrap();
            assert!(page.len() < 300_000, "{kernel} on {chip}: {}", page.len());
            assert!(page.contains(&format!("<title>{kernel} on {chip}</title>")));
            let cycles = trace["otherData"]["predicted_cycles"].as_u64().unwrap();
            assert_eq!(object["predicted_cycles"].as_u64(), Some(cycles), "{kernel} on {chip}");
            assert!(cycles > 0 && page.replace(',', "").contains(&format!("<b>{cycles}</b>")), "{kernel} on {chip}: {cycles}");
            // Each stage of the way is reached.
            assert!(!page.contains("not reached"), "{kernel} on {chip}");
            for stage in ["staged", "canonical", "legalised", "mosaic"] {
                assert!(page.contains(&format!("<div id={stage}-1>")), "{kernel} on {chip}: {stage}");
            }
            frames += &format!("<iframe src=\"{kernel}-{chip}.html\"></iframe>\n");
        }
    }
    let Some(browser) = browser::browser() else { return };
    let gallery = folder().join("gallery.html");
    std::fs::write(&gallery, format!("<!doctype html><html><body>{frames}</body></html>")).unwrap();
    let opened = browser.open(&gallery, 1280);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    let alone = browser.open(&folder().join("matmul-v6e.html"), 1280);
    assert!(alone.console.is_empty(), "{:#?}", alone.console);
    assert!(alone.dom.contains("<div id=\"tools\" class=\"live\">"), "the script ran to its end");
}
