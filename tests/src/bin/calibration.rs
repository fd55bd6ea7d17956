//! Predicted cycles against those that libtpu estimates.
//!
//! `calibration` prints the agreement of each kind of kernel on each chip, as recorded in `tests/prediction/estimates.tsv`;
//! `--points` prints every launch; `--plot FILE` draws them; `--record FILE [--only TEXT | --new]` asks libtpu (`LIBTPU_PATH`, or
//! in the active Python environment) and writes the record: of all launches, of those that have that text in their name, of
//! those that have no record yet. The others keep theirs.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tpu_device::libtpu::{Estimate, Job, Library, Pool, PoolOptions, Verdict, serve_if_worker};
use tpu_tests::prediction::points::points;
use tpu_tests::prediction::records::{CHIPS, pairs, program, recorded};
use tpu_tests::prediction::summary::{by_class, by_point};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    serve_if_worker();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        [] => say(&by_class(&pairs())),
        ["--points"] => say(&by_point(&pairs())),
        ["--plot", file] => std::fs::write(file, tpu_tests::prediction::plot::svg(&pairs())).map_err(Failure::from),
        ["--record", file] => record(Path::new(file), &|_, _| true),
        ["--record", file, "--only", text] => record(Path::new(file), &|name, _| name.contains(text)),
        ["--record", file, "--new"] => record(Path::new(file), &|_, known| !known),
        _ => Err("usage: calibration [--points | --plot FILE | --record FILE [--only TEXT | --new]]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell where the error stream is closed.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) -> Result<(), Failure> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// libtpu's version, by the folder that pip leaves beside it.
fn version(library: &Library) -> Option<String> {
    let packages = library.path().parent()?.parent()?;
    let names = std::fs::read_dir(packages).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_prefix("libtpu-")?.strip_suffix(".dist-info")?.to_string())).next()
}

/// Asks libtpu for the launches that `wanted` picks by name and by whether they have a record.
fn record(file: &Path, wanted: &dyn Fn(&str, bool) -> bool) -> Result<(), Failure> {
    let library = Library::find(None)?;
    let version = version(&library).unwrap_or_else(|| "of unknown version".to_string());
    let mut known = recorded();
    let (mut jobs, mut names, mut order) = (vec![], vec![], vec![]);
    for chip in CHIPS {
        for point in points() {
            let key = (chip.name.to_string(), point.name());
            order.push(key.clone());
            if !wanted(&key.1, known.contains_key(&key)) {
                continue;
            }
            let Some(program) = program(&point, chip) else { continue };
            jobs.push(Job { chip, program: program.clone(), estimate: Some(program) });
            names.push(key);
        }
    }
    let options = PoolOptions { limit: Duration::from_secs(600), program: std::env::current_exe().ok(), ..PoolOptions::default() };
    let mut done = 0;
    let verdicts = Pool::new(&library, options).judge(&jobs, &mut |at, verdict| {
        done += 1;
        if !matches!(verdict, Verdict::Accepted { estimate: Estimate::Cycles(_) }) || done % 50 == 0 {
            let _ = writeln!(std::io::stderr(), "{done} of {}: {} {verdict:?}", jobs.len(), names[at].1);
        }
    })?;
    for (key, verdict) in names.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Accepted { estimate: Estimate::Cycles(cycles) } => known.insert(key, cycles),
            _ => known.remove(&key),
        };
    }
    let mut text = format!("# estimated_cycles of libtpu {version}: chip, launch, cycles\n");
    for key in order {
        if let Some(cycles) = known.get(&key) {
            text.push_str(&format!("{}\t{}\t{cycles}\n", key.0, key.1));
        }
    }
    Ok(std::fs::write(file, text)?)
}
