//! The tests that the documents name as their evidence exist: a row without one is not a promise that anything holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Rust file below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Functions by the files, and by the folders of modules, that they are in.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = vec![];
    for part in ["tests", "tpu-kernel", "tpu-kernel-macros", "tpu-device", "examples"] {
        sources(&root().join(part), &mut files);
    }
    let mut functions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let text = read(&file);
        let name = |word: &str| word.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let names: Vec<String> = text.split("fn ").skip(1).map(name).filter(|n| !n.is_empty()).collect();
        let stem = |path: &Path| path.file_stem().map(|s| s.to_string_lossy().into_owned());
        for module in [stem(&file), file.parent().and_then(stem)].into_iter().flatten() {
            functions.entry(module).or_default().extend(names.iter().cloned());
        }
    }
    functions
}

/// What stands between backticks in the rows of a document's tables.
fn quoted(document: &str) -> Vec<&str> {
    document.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

fn is_path(text: &str) -> bool {
    text.split("::").count() == 2
        && text.split("::").all(|part| {
            part.starts_with(|c: char| c.is_ascii_lowercase()) && part.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        })
}

#[test]
fn tests_that_documents_name_exist() {
    let functions = functions();
    let mut missing = vec![];
    let mut seen = 0;
    for document in ["semantics.md", "conformance.md"] {
        let text = read(&root().join("docs").join(document));
        for name in quoted(&text) {
            let exists = if name.ends_with(".tpuir") {
                root().join("tests/filetests").join(name).is_file()
            } else if is_path(name) {
                let (module, function) = name.split_once("::").expect("a path of two");
                functions.get(module).is_some_and(|all| all.contains(function))
            } else {
                continue;
            };
            seen += 1;
            if !exists {
                missing.push(format!("{document}: `{name}`"));
            }
        }
    }
    assert!(seen > 100, "the tables are read: {seen}");
    assert!(missing.is_empty(), "no such test:\n{}", missing.join("\n"));
}

/// Every case, report and fault has its row, once, with a test or a reason.
#[test]
fn conformance_has_a_row_for_each() {
    let text = read(&root().join("docs/conformance.md"));
    let rows: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .filter_map(|row| Some((row.split(" | ").next()?.trim(), row.rsplit(" | ").next()?.trim())))
        .collect();
    let cases = (1..=46).map(|n| format!("case {n}"));
    let reported = [1, 2, 4, 5, 6, 7, 10, 12, 14, 15, 17, 19, 20, 21, 22, 24, 26, 27, 33, 34, 35, 37, 38, 39, 40, 42, 43];
    let reports = reported.iter().map(|n| format!("report {n}"));
    let faults = ('a'..='k').map(|c| format!("fault {c}"));
    for name in cases.chain(reports).chain(faults) {
        let found: Vec<&str> = rows.iter().filter(|(first, _)| *first == name).map(|(_, last)| *last).collect();
        let [evidence] = found[..] else { panic!("{name}: {} rows", found.len()) };
        let proven = quoted(&format!("|{evidence}")).iter().any(|name| is_path(name) || name.ends_with(".tpuir"));
        assert!(proven || evidence.starts_with("not done, because "), "{name}: {evidence}");
    }
}
