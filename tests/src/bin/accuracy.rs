//! Measures the errors of the float functions and prints them as a Markdown table.
//!
//! `accuracy [--step N] [--pairs N] [--threads N] [--only NAME] [--json] [--write]`: every N-th bit pattern of f32 (64), N random
//! pairs (2^24), all cores; `--json` prints one object for each function; `--write` puts the table into `docs/accuracy.md`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_tests::accuracy::{Density, Measured, Subject, Worst, subjects};

struct Options {
    density: Density,
    only: Option<String>,
    json: bool,
    write: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let density = Density { step: 64, pairs: 1 << 24, threads };
        let mut options = Options { density, only: None, json: false, write: false };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            let number = |text: String| text.parse::<u64>().ok().filter(|&n| n > 0).ok_or(format!("{arg}: not a positive number"));
            match arg.as_str() {
                "--step" => options.density.step = number(value()?)?,
                "--pairs" => options.density.pairs = number(value()?)?,
                "--threads" => options.density.threads = number(value()?)? as usize,
                "--only" => options.only = Some(value()?),
                "--json" => options.json = true,
                "--write" => options.write = true,
                _ => return Err(format!("unknown option {arg}")),
            }
        }
        Ok(options)
    }
}

fn main() -> ExitCode {
    let result = Options::parse(std::env::args().skip(1)).and_then(run);
    let Err(message) = result else { return ExitCode::SUCCESS };
    // Where the message cannot be written either, the exit code remains.
    let _ = writeln!(std::io::stderr(), "accuracy: {message}");
    ExitCode::FAILURE
}

fn run(options: Options) -> Result<(), String> {
    let subjects: Vec<Subject> =
        subjects().into_iter().filter(|s| options.only.as_ref().is_none_or(|only| only == s.name)).collect();
    if subjects.is_empty() {
        return Err("no function of that name".to_string());
    }
    let measured: Vec<(Subject, Measured)> = subjects.into_iter().map(|s| measure(s, options.density)).collect();
    let text = if options.json { json(&measured) } else { table(&measured, options.density) };
    if options.write {
        if options.json || options.only.is_some() {
            return Err("--write takes the whole table".to_string());
        }
        write_document(&text)?;
    }
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| e.to_string())
}

fn measure(subject: Subject, density: Density) -> (Subject, Measured) {
    let shown = AtomicU64::new(0);
    let progress = |done: f64| {
        let percent = (done * 100.0) as u64;
        if shown.fetch_max(percent, Ordering::Relaxed) < percent {
            // A progress line that cannot be written is no reason to stop.
            let _ = write!(std::io::stderr(), "\r{:12} {percent:3}%", subject.name);
        }
    };
    let measured = subject.measure(density, progress);
    let _ = writeln!(std::io::stderr(), "\r{:12} {} ulp", subject.name, measured.f32.error);
    (subject, measured)
}

/// Four decimals, rounded up: no error that was measured is larger.
fn figure(error: f64) -> String {
    format!("{:.4}", (error * 1e4).ceil() / 1e4)
}

fn arguments(worst: Worst, binary: bool) -> String {
    if worst.error == 0.0 {
        return "–".to_string();
    }
    let (a, b) = (f32::from_bits(worst.a), f32::from_bits(worst.b));
    if binary { format!("({a:e}, {b:e})") } else { format!("{a:e}") }
}

fn table(measured: &[(Subject, Measured)], density: Density) -> String {
    let mut out = format!(
        "Density: every f32 whose bit pattern is a multiple of {}, and {} random pairs.\n\n\
         | Function | Largest error (ulp) | At | Over bf16 (ulp) | At | Computed in | Against |\n|---|---|---|---|---|---|---|\n",
        density.step, density.pairs
    );
    for (subject, Measured { f32, bf16 }) in measured {
        let (name, binary) = (subject.name, subject.is_binary());
        let (worst, at) = (figure(f32.error), arguments(*f32, binary));
        let (worst_bf16, at_bf16) = (figure(bf16.error), arguments(*bf16, binary));
        let (method, oracle) = (subject.method, &subject.oracle);
        writeln!(out, "| `{name}` | {worst} | {at} | {worst_bf16} | {at_bf16} | {method} | {oracle} |")
            .expect("writing to a string does not fail");
    }
    out
}

fn json(measured: &[(Subject, Measured)]) -> String {
    let worst = |w: &Worst| format!(r#"{{"ulp": {}, "a_bits": {}, "b_bits": {}}}"#, w.error, w.a, w.b);
    let mut out = String::new();
    for (subject, Measured { f32, bf16 }) in measured {
        let (name, f32, bf16) = (subject.name, worst(f32), worst(bf16));
        writeln!(out, r#"{{"function": "{name}", "f32": {f32}, "bf16": {bf16}}}"#).expect("writing to a string does not fail");
    }
    out
}

fn write_document(table: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/accuracy.md");
    let problem = |what: &str| format!("{}: {what}", path.display());
    let document = std::fs::read_to_string(&path).map_err(|e| problem(&e.to_string()))?;
    let start = "<!-- generated: accuracy -->\n";
    let (before, rest) = document.split_once(start).ok_or_else(|| problem("no generated part"))?;
    let (_, after) = rest.split_once("<!-- end -->").ok_or_else(|| problem("no end of the generated part"))?;
    std::fs::write(&path, format!("{before}{start}\n{table}\n<!-- end -->{after}")).map_err(|e| problem(&e.to_string()))
}
