//! One filetest: a `.tpuir` file whose first line says what is tested.
//!
//! - `; test: parse`: the text parses and the kernel prints as the expected text; or it does not parse.
//! - `; test: verify`: the verifier finds exactly the annotated faults, or none.
//! - `; test: canonicalise`: the canonicalised kernel prints as the expected text, and verifies.
//! - `; test: run`: each `; run:` line holds, through each executor, before and after canonicalising.
//!
//! An error is annotated on its line: `; error: V012 message` (verify) or `; error: column 7: message`
//! (parse). Expected text stands below a line `;----`. Every kernel that parses must also round-trip
//! through its text. With `BLESS=1` what was found is written back.

mod array;
pub mod corpus;
mod run;

use std::fmt::Write;
use std::path::Path;
use tpu_kernel::ir::{Kernel, parse, parse_named};
use tpu_kernel::passes::{canonicalise, verify};

const ERROR: &str = "; error: ";
const EXPECTED: &str = "\n;----\n";

/// The text that is parsed: without annotations and expected text, with all its lines.
fn input(text: &str) -> String {
    let head = text.split_once(EXPECTED).map_or(text, |(head, _)| head);
    let bare = head.lines().map(|line| line.split(ERROR).next().unwrap_or("").trim_end());
    bare.flat_map(|line| [line, "\n"]).collect()
}

/// A file with these errors, by line, and this expected text.
fn rebuild(input: &str, errors: &[(u32, String)], expected: Option<&str>) -> String {
    let mut text = String::new();
    for (line, number) in input.lines().zip(1..) {
        text.push_str(line);
        for (_, message) in errors.iter().filter(|(at, _)| *at == number) {
            let _ = write!(text, " {ERROR}{message}");
        }
        text.push('\n');
    }
    if let Some(expected) = expected {
        text.truncate(text.trim_end().len());
        text.push_str(EXPECTED);
        text.push_str(expected);
    }
    text
}

/// Runs the test in that file; an error says what differs. With `bless`, the file is rewritten instead.
pub fn check(path: &Path, bless: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let name = path.file_name().and_then(|n| n.to_str()).ok_or("a file name that is not UTF-8")?;
    let found = outcome(&text, name)?;
    if found == text {
        return Ok(());
    }
    if bless {
        return std::fs::write(path, found).map_err(|e| e.to_string());
    }
    Err(difference(&text, &found))
}

/// The file as it should be, with what was found in place of what was expected.
fn outcome(text: &str, name: &str) -> Result<String, String> {
    let first = text.lines().next().unwrap_or("");
    let kind = first.strip_prefix("; test: ").ok_or("the first line must be `; test: parse|verify|canonicalise|run`")?;
    let input = input(text);
    let kernel = match parse(&input) {
        Ok(kernel) => kernel,
        Err(e) if kind == "parse" => {
            let message = format!("column {}: {}", e.column, e.message);
            return Ok(rebuild(&input, &[(e.line, message)], None));
        }
        Err(e) => return Err(format!("does not parse: {e}")),
    };
    round_trip(&kernel)?;
    match kind {
        "parse" => Ok(rebuild(&input, &[], Some(&kernel.to_string()))),
        "verify" => {
            let placed = parse_named(&input, name).map_err(|e| e.to_string())?;
            let mut errors = vec![];
            for fault in verify(&placed).err().unwrap_or_default() {
                if fault.loc.file != name {
                    return Err(format!("a fault at {}: give no `loc` in a verify test", fault.loc));
                }
                errors.push((fault.loc.line, format!("{} `{}` {fault}", fault.rule.code(), fault.at)));
            }
            Ok(rebuild(&input, &errors, None))
        }
        "canonicalise" => {
            let canonical = canonical(&kernel)?;
            Ok(rebuild(&input, &[], Some(&canonical.to_string())))
        }
        "run" => {
            let placed = parse_named(&input, name).map_err(|e| e.to_string())?;
            valid(&placed, "the kernel")?;
            run::outcome(text, &placed, &canonical(&placed)?)
        }
        other => Err(format!("unknown kind of test `{other}`")),
    }
}

/// How many of the text's `; run:` lines executors agree about: none where it is no valid kernel. An error says what
/// they disagree about.
pub fn agreement(text: &str) -> Result<usize, String> {
    let Some(kernel) = parse_named(text, "text").ok().filter(|kernel| verify(kernel).is_ok()) else {
        return Ok(0);
    };
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    run::agreement(text, &kernel, &canonical)
}

fn valid(kernel: &Kernel, what: &str) -> Result<(), String> {
    verify(kernel).map_err(|faults| {
        let list: Vec<String> = faults.iter().map(|f| format!("{} {} `{}` {f}", f.loc, f.rule.code(), f.at)).collect();
        format!("{what} does not verify:\n{}\n{kernel}", list.join("\n"))
    })
}

/// The canonicalised kernel, which must verify, round-trip, and be canonical already.
fn canonical(kernel: &Kernel) -> Result<Kernel, String> {
    valid(kernel, "the kernel")?;
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    valid(&canonical, "the canonicalised kernel")?;
    round_trip(&canonical)?;
    let mut again = canonical.clone();
    canonicalise(&mut again);
    if again != canonical {
        return Err(format!(
            "canonicalising twice changes the kernel:\n{}",
            difference(&canonical.to_string(), &again.to_string())
        ));
    }
    Ok(canonical)
}

/// Checks that a kernel survives being printed and read.
pub fn round_trip(kernel: &Kernel) -> Result<(), String> {
    let text = kernel.to_string();
    let again = parse(&text).map_err(|e| format!("the printed kernel does not parse: {e}\n{text}"))?;
    let mut normal = kernel.clone();
    normal.renumber();
    if again != normal {
        return Err(format!("the printed kernel reads as another one:\n{text}"));
    }
    match again.to_string() {
        second if second == text => Ok(()),
        second => Err(format!("printing twice differs:\n{}", difference(&text, &second))),
    }
}

/// The lines that differ, of texts that may have moved.
fn difference(expected: &str, found: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a[same..].iter().rev().zip(b[same..].iter().rev()).take_while(|(x, y)| x == y).count();
    let mut text = format!("differs from line {} on (BLESS=1 rewrites the file):\n", same + 1);
    for (sign, lines) in [('-', &a), ('+', &b)] {
        for line in &lines[same..lines.len() - tail] {
            let _ = writeln!(text, "{sign} {line}");
        }
    }
    text
}
