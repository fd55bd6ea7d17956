//! `tpuk run`: a kernel on random or given arrays, against its reference.

use super::args::{Common, is_given};
use super::case::{Case, Settings};
use super::compare::{Difference, largest};
use super::failure::{Exit, Failure};
use super::launch::Prepared;
use super::output::{Ends, Output};
use super::progress::Progress;
use crate::guard::guarded;
use crate::{Device, DeviceError, Executor, Tensor, io};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tpu_kernel::chips::Chip;

/// What the options of this command came to.
struct Options<'a> {
    executor: Executor,
    input: Option<&'a Path>,
    output: Option<&'a Path>,
    seed: u64,
    every: bool,
}

/// One launch and what it came to.
struct Outcome {
    kernel: String,
    config: String,
    chip: &'static str,
    executor: &'static str,
    /// Nothing where the arrays are those of a file.
    seed: Option<u64>,
    /// `own`, `interpreter`, or nothing to compare with.
    reference: Option<&'static str>,
    difference: Option<Difference>,
    tolerance: f64,
    compile_ms: f64,
    run_ms: f64,
    /// The rule by which the chip itself refuses the kernel.
    refused: Option<(&'static str, String)>,
}

pub(super) fn run(common: &Common<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let path = |name| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let executor = match matches.get_one::<String>("executor") {
        Some(name) if name.eq_ignore_ascii_case("interpreter") => Executor::Interpreter,
        _ => Executor::Cranelift,
    };
    if is_given(matches, "input") && is_given(matches, "seed") {
        return Err(Failure::usage("`--seed` is for random arrays, and `--input` gives arrays"));
    }
    let seed = matches.get_one("seed").copied().unwrap_or(0);
    let options = Options { executor, input: path("input"), output: path("output"), seed, every: matches.get_flag("every") };
    let mut ends = Ends::of(common.entries.len());
    let cases = common.all_cases(options.every, &mut ends)?;
    if (options.output.is_some() || options.input.is_some()) && cases.len() * common.chips.len() > 1 {
        return Err(Failure::usage("`--input` and `--output` are for one kernel, one configuration and one chip"));
    }
    ends.expect(cases.len() * common.chips.len());
    let progress = Progress::new(cases.len() * common.chips.len());
    let output = Output { json: common.json };
    for case in &cases {
        for chip in &common.chips {
            progress.at(format!("{} on {}", case.entry.name, chip.name));
            let title = match options.input {
                Some(_) => case.without_sizes(&common.settings).title(),
                None => case.title(),
            };
            let outcome = one(case, chip, &options, &common.settings).map_err(|e| e.during(&title));
            progress.step();
            let Some(outcome) = ends.take(&progress, outcome)? else { continue };
            if !outcome.agrees() {
                ends.note(Exit::Mismatch);
            }
            output.result(&progress, || outcome.json(), || outcome.text())?;
        }
    }
    Ok(ends.worst())
}

fn one(case: &Case<'_>, chip: &Chip, options: &Options<'_>, settings: &Settings) -> Result<Outcome, Failure> {
    let device = Device::builder(*chip).executor(options.executor).build();
    let prepared = match options.input {
        Some(path) => Prepared::file(case, &device, path, settings)?,
        None => Prepared::random(case, &device, options.seed)?,
    };
    let start = Instant::now();
    let outputs = prepared.launch(&device)?;
    let (elapsed, compile) = (start.elapsed(), device.stats().compile_time);
    let (reference, difference) = compare(case, &prepared, &outputs, options.executor)?;
    if let Some(path) = options.output {
        io::save_safetensors(path, prepared.output_names().into_iter().zip(&outputs))?;
    }
    let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
    Ok(Outcome {
        kernel: case.entry.name.clone(),
        config: prepared.text.clone(),
        chip: chip.name,
        executor: match options.executor {
            Executor::Cranelift => "cranelift",
            Executor::Interpreter => "interpreter",
        },
        seed: options.input.is_none().then_some(options.seed),
        reference,
        difference,
        tolerance: case.entry.tolerance_for(case.precision(), &prepared.types()),
        compile_ms: milliseconds(compile),
        run_ms: milliseconds(elapsed.saturating_sub(compile)),
        refused: prepared.refused,
    })
}

/// The largest difference from the reference; from the interpreter where there is none.
fn compare(
    case: &Case<'_>,
    prepared: &Prepared,
    outputs: &[Tensor],
    executor: Executor,
) -> Result<(Option<&'static str>, Option<Difference>), Failure> {
    let Some(reference) = &case.entry.reference else {
        let Executor::Cranelift = executor else { return Ok((None, None)) };
        let device =
            Device::builder(*outputs.first().map_or(&Chip::V5E, |o| o.device().chip())).executor(Executor::Interpreter).build();
        let want = prepared.launch(&device)?;
        let want: Vec<Vec<f64>> = want.iter().map(super::data::values).collect();
        return Ok((Some("interpreter"), Some(largest(outputs, &want))));
    };
    let failed = |reason| DeviceError::Operation { operation: format!("the reference of {}", case.entry.name), reason };
    let want = guarded("a reference", || reference(&prepared.call).map_err(failed))?;
    let sizes = |lists: &mut dyn Iterator<Item = usize>| lists.collect::<Vec<_>>();
    let (got, given) = (sizes(&mut outputs.iter().map(Tensor::elements)), sizes(&mut want.iter().map(Vec::len)));
    if got != given {
        return Err(failed(format!("it gives {given:?} elements, and the outputs have {got:?}")).into());
    }
    Ok((Some("own"), Some(largest(outputs, &want))))
}

impl Outcome {
    fn agrees(&self) -> bool {
        self.difference.is_none_or(|d| d.relative <= self.tolerance)
    }

    fn json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "config": self.config,
            "chip": self.chip,
            "executor": self.executor,
            "seed": self.seed,
            "reference": self.reference,
            "max_abs_error": self.difference.map(|d| d.absolute),
            "max_rel_error": self.difference.map(|d| d.relative),
            "tolerance": self.tolerance,
            "ok": self.difference.map(|_| self.agrees()),
            "compile_ms": self.compile_ms,
            "run_ms": self.run_ms,
            "refused": self.refused.as_ref().map(|(code, reason)| json!({"code": code, "reason": reason})),
        })
    }

    fn text(&self) -> String {
        let verdict = match (self.difference, self.reference) {
            (Some(d), Some(reference)) => {
                let (word, against) = (
                    if self.agrees() { "ok" } else { "MISMATCH" },
                    if reference == "own" { "its reference" } else { "the interpreter" },
                );
                format!(
                    "{word}: error {:.1e} at most, {:.1e} of the largest magnitude, against {against} (tolerance {:.1e})",
                    d.absolute, d.relative, self.tolerance
                )
            }
            _ => "ran; there is nothing to compare with".to_string(),
        };
        let note = self.refused.as_ref().map_or(String::new(), |(code, reason)| {
            let reason = reason.lines().next().unwrap_or_default();
            format!("\n  note: the chip itself refuses this kernel [{code}]: {reason}")
        });
        format!(
            "{} on {} ({}), {}\n  {verdict}\n  compile {:.2} ms, run {:.2} ms{note}",
            self.kernel, self.chip, self.executor, self.config, self.compile_ms, self.run_ms
        )
    }
}
