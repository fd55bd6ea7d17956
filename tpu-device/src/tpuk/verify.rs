//! `tpuk verify`: what Google's compiler says to kernels, and what we say before it is asked.
//!
//! Rules: a kernel that we refuse for a chip is not shown to libtpu; rows come in the order of kernels, configurations and
//! chips, each as soon as those before it are there; the worst verdict decides the exit code.

use super::args::Common;
use super::failure::{Exit, Failure};
use super::output::{Ends, Output, complain};
use super::progress::Progress;
use super::staged::Staged;
use crate::libtpu::{Estimate, Job, Library, Pool, PoolOptions, Verdict};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use tpu_kernel::diagnose;
use tpu_kernel::ir::Loc;

/// One kernel with one configuration, for one chip.
struct Row {
    kernel: String,
    config: String,
    chip: &'static str,
    predicted: Option<u64>,
    judged: Option<Judged>,
}

/// A verdict, whoever's it is.
struct Judged {
    verdict: &'static str,
    exit: Exit,
    reason: Option<String>,
    /// The reason at the user's line.
    rendered: Option<String>,
    estimate: Estimate,
}

pub(super) fn run(common: &Common<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let estimate = !matches.get_flag("no-estimates");
    let mut ends = Ends::of(common.entries.len());
    let cases = common.all_cases(true, &mut ends)?;
    ends.expect(cases.len());
    let progress = Progress::new(cases.len() * common.chips.len());
    let (mut rows, mut jobs, mut job_rows) = (vec![], vec![], vec![]);
    for case in &cases {
        progress.at(case.entry.name.as_str());
        let staged = Staged::new(case).and_then(|staged| Ok((staged.shapes(case)?, staged))).map_err(|e| e.during(&case.title()));
        let Some((shapes, staged)) = ends.take(&progress, staged)? else { continue };
        for &chip in &common.chips {
            let program = staged
                .bind(chip, &shapes)
                .and_then(|launch| Ok((launch.stablehlo()?, launch.stablehlo_placed()?, launch.predict()?.cycles)));
            let mut row =
                Row { kernel: case.entry.name.clone(), config: case.text(), chip: chip.name, predicted: None, judged: None };
            match program {
                Ok((program, placed, predicted)) => {
                    row.predicted = Some(predicted);
                    job_rows.push(rows.len());
                    jobs.push(Job { chip, program, estimate: estimate.then_some(placed) });
                }
                Err(failure) => row.judged = Some(Judged::unsupported(failure)),
            }
            rows.push(row);
        }
    }
    let width = rows.iter().map(|row| row.kernel.chars().count()).max().unwrap_or(0);
    let output = Output { json: common.json };
    let (seen, worst) = (HashSet::new(), ends.worst());
    let mut shown = Shown { rows: rows.into(), output, progress: &progress, width, seen, worst, failed: None };
    if jobs.is_empty() {
        shown.advance();
        return shown.end();
    }
    let explicit = matches.get_one::<PathBuf>("libtpu");
    let library = match Library::find(explicit.map(PathBuf::as_path)) {
        Ok(library) => library,
        Err(missing) => {
            shown.rows.retain(|row| row.judged.is_some());
            shown.advance();
            return shown.end().and(Err(missing.into()));
        }
    };
    let mut options = PoolOptions::default();
    if let Some(&workers) = matches.get_one::<u64>("jobs") {
        options.workers = usize::try_from(workers).unwrap_or(usize::MAX).max(1);
    }
    if let Some(&seconds) = matches.get_one::<u64>("limit") {
        options.limit = Duration::from_secs(seconds.max(1));
    }
    progress.at("libtpu");
    let total = shown.rows.len();
    let pool = Pool::new(&library, options);
    shown.advance();
    for (jobs, job_rows) in jobs.chunks(BATCH).zip(job_rows.chunks(BATCH)) {
        pool.judge(jobs, &mut |at, verdict| {
            let done = total - shown.rows.len();
            if let Some(row) = job_rows.get(at).and_then(|row| shown.rows.get_mut(row - done)) {
                row.judged = Some(Judged::by_libtpu(verdict, &row.kernel, row.chip));
            }
            shown.advance();
        })?;
        if shown.failed.is_some() {
            break;
        }
    }
    shown.end()
}

/// Programs that are judged before it is looked whether anybody still reads.
const BATCH: usize = 64;

/// Rows on their way out.
struct Shown<'a> {
    rows: VecDeque<Row>,
    output: Output,
    progress: &'a Progress,
    width: usize,
    /// What was rendered already, but for the name of the chip.
    seen: HashSet<String>,
    worst: Exit,
    failed: Option<Failure>,
}

impl Shown<'_> {
    /// Shows every row that has its verdict, up to the first that has none.
    fn advance(&mut self) {
        while self.rows.front().is_some_and(|row| row.judged.is_some())
            && let Some(row) = self.rows.pop_front()
            && let Some(judged) = &row.judged
        {
            self.progress.step();
            self.worst = self.worst.max(judged.exit);
            // Who reads has left: no more is written.
            if self.failed.is_some() {
                continue;
            }
            let written = self.output.result(self.progress, || row.json(judged), || row.text(judged, self.width));
            self.failed = written.err();
            // To a program that reads JSON, what we refuse is data like any other.
            let loud = !self.output.json || judged.exit > Exit::Unsupported;
            if let Some(rendered) = judged.rendered.as_ref().filter(|_| loud)
                && self.seen.insert(rendered.replace(row.chip, ""))
            {
                self.progress.suspend(|| complain(rendered));
            }
        }
    }

    fn end(self) -> Result<Exit, Failure> {
        self.failed.map_or(Ok(self.worst), Err)
    }
}

impl Judged {
    fn unsupported(failure: Failure) -> Judged {
        let code = failure.code.map_or(String::new(), |code| format!("[{code}] "));
        let reason = Some(format!("{code}{}", failure.reason.lines().next().unwrap_or_default()));
        Judged {
            verdict: "unsupported",
            exit: Exit::Unsupported,
            reason,
            rendered: Some(failure.text),
            estimate: Estimate::NotAsked,
        }
    }

    fn by_libtpu(verdict: &Verdict, kernel: &str, chip: &str) -> Judged {
        match verdict {
            Verdict::Accepted { estimate } => {
                Judged { verdict: "accepted", exit: Exit::Done, reason: None, rendered: None, estimate: estimate.clone() }
            }
            Verdict::Refused { reason, place } => {
                let title = format!("libtpu refuses kernel `{kernel}` for {chip}: {reason}");
                let loc = place.as_ref().map_or(Loc::UNKNOWN, |(file, line, column)| Loc {
                    file: file.clone().into(),
                    line: *line,
                    column: *column,
                });
                let at = if loc.is_known() { format!("{loc}: ") } else { String::new() };
                Judged {
                    verdict: "refused",
                    exit: Exit::Refused,
                    reason: Some(format!("{at}{reason}")),
                    rendered: Some(diagnose::render_at(&title, &loc)),
                    estimate: Estimate::NotAsked,
                }
            }
            Verdict::Crashed { how } => {
                let rendered =
                    diagnose::render_at(&format!("libtpu crashes on kernel `{kernel}` for {chip}: {how}"), &Loc::UNKNOWN);
                Judged {
                    verdict: "crashed",
                    exit: Exit::Crashed,
                    reason: Some(how.clone()),
                    rendered: Some(rendered),
                    estimate: Estimate::NotAsked,
                }
            }
        }
    }
}

impl Row {
    fn json(&self, judged: &Judged) -> Value {
        json!({
            "kernel": self.kernel,
            "config": self.config,
            "chip": self.chip,
            "verdict": judged.verdict,
            "reason": judged.reason,
            "estimated_cycles": judged.estimate.cycles(),
            "predicted_cycles": self.predicted,
            "estimate_error": judged.estimate.error(),
        })
    }

    fn text(&self, judged: &Judged, width: usize) -> String {
        let cycles = |cycles: Option<u64>| cycles.map_or("-".to_string(), |n| n.to_string());
        let (estimated, predicted) = (cycles(judged.estimate.cycles()), cycles(self.predicted));
        let line = format!(
            "{:width$}  {:5}  {:11}  {estimated:>9} estimated  {predicted:>9} predicted  {}",
            self.kernel, self.chip, judged.verdict, self.config
        );
        // What is rendered on standard error begins with the code.
        let code = |reason: &str| judged.exit == Exit::Unsupported && reason.starts_with('[');
        match (&judged.reason, judged.estimate.error()) {
            (Some(reason), _) if code(reason) => format!("{line}\n  {}", reason.split_once("] ").map_or(reason.as_str(), |r| r.1)),
            (Some(reason), _) => format!("{line}\n  {reason}"),
            (None, Some(why)) => format!("{line}\n  no estimate: {why}"),
            (None, None) => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(judged: &Judged) -> (Value, String) {
        let row = Row { kernel: "k".into(), config: "b=8".into(), chip: "v5e", predicted: Some(7), judged: None };
        (row.json(judged), row.text(judged, 3))
    }

    #[test]
    fn a_refusal_is_shown_at_the_line_of_the_kernel() {
        let line = line!() + 1;
        let place = Some(("tpu-device/src/tpuk/verify.rs".to_string(), line, 13));
        let judged = Judged::by_libtpu(&Verdict::Refused { reason: "no such layout".into(), place }, "k", "v5e");
        let (json, text) = row(&judged);
        assert_eq!(json["verdict"], "refused");
        assert_eq!(json["reason"], format!("tpu-device/src/tpuk/verify.rs:{line}:13: no such layout"));
        assert!(text.starts_with("k    v5e    refused  "), "{text}");
        let rendered = judged.rendered.unwrap();
        assert!(rendered.starts_with("error: libtpu refuses kernel `k` for v5e: no such layout\n"), "{rendered}");
        assert!(rendered.contains("let place = Some((") && rendered.contains("^^^^^"), "{rendered}");
        let nowhere = Judged::by_libtpu(&Verdict::Refused { reason: "no".into(), place: None }, "k", "v5e");
        assert_eq!((nowhere.reason, nowhere.exit), (Some("no".to_string()), Exit::Refused));
    }

    #[test]
    fn crashes_and_cycles() {
        let (json, _) = row(&Judged::by_libtpu(&Verdict::Crashed { how: "SIGSEGV".into() }, "k", "v5e"));
        assert_eq!((&json["verdict"], &json["reason"]), (&"crashed".into(), &"SIGSEGV".into()));
        let (json, text) = row(&Judged::by_libtpu(&Verdict::Accepted { estimate: Estimate::Cycles(9) }, "k", "v5e"));
        assert_eq!((&json["estimated_cycles"], &json["predicted_cycles"], &json["reason"]), (&9.into(), &7.into(), &Value::Null));
        assert!(text.contains("9 estimated") && text.contains("7 predicted") && !text.contains('\n'), "{text}");
        assert_eq!(json["estimate_error"], Value::Null);
    }

    #[test]
    fn an_estimate_that_fails_says_why() {
        let verdict = Verdict::Accepted { estimate: Estimate::None("it died".into()) };
        let (json, text) = row(&Judged::by_libtpu(&verdict, "k", "v5e"));
        let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let required = ["kernel", "config", "chip", "verdict", "reason", "estimated_cycles", "predicted_cycles"];
        assert_eq!(fields, [&required[..], &["estimate_error"]].concat());
        assert_eq!((&json["verdict"], &json["reason"]), (&"accepted".into(), &Value::Null));
        assert_eq!((&json["estimated_cycles"], &json["estimate_error"]), (&Value::Null, &"it died".into()));
        assert!(text.contains("- estimated") && text.ends_with("\n  no estimate: it died"), "{text}");
    }
}
