//! `tpuk check`: kernels run with every check, under several seeds.
//!
//! Rule: the first seed that finds something ends a case: its code is the verdict, and the seed replays it.

use super::args::Common;
use super::case::Case;
use super::failure::{Exit, Failure};
use super::launch::Prepared;
use super::output::{Ends, Output};
use super::progress::Progress;
use crate::{Device, DeviceError};
use clap::ArgMatches;
use serde_json::{Value, json};
use tpu_kernel::Error;
use tpu_kernel::chips::Chip;
use tpu_kernel::exec::Checking;

/// What a case came to.
struct Outcome {
    kernel: String,
    config: String,
    chip: &'static str,
    /// Seeds that were run.
    seeds: u64,
    /// What was found, and the seed that finds it.
    found: Option<(Failure, u64)>,
}

pub(super) fn run(common: &Common<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let seeds = matches.get_one::<u64>("seeds").copied().unwrap_or(20);
    let first = matches.get_one::<u64>("seed").copied().unwrap_or(0);
    let mut ends = Ends::of(common.entries.len());
    let cases = common.all_cases(matches.get_flag("every"), &mut ends)?;
    let progress = Progress::new(cases.len() * common.chips.len());
    ends.expect(cases.len() * common.chips.len());
    let output = Output { json: common.json };
    for case in &cases {
        for chip in &common.chips {
            progress.at(format!("{} on {}", case.entry.name, chip.name));
            let outcome = one(case, chip, first, seeds).map_err(|e| e.during(&case.title()));
            progress.step();
            let Some(outcome) = ends.take(&progress, outcome)? else { continue };
            if let Some((failure, _)) = &outcome.found {
                ends.note(Exit::Mismatch);
                progress.suspend(|| super::output::complain(&failure.text));
            }
            output.result(&progress, || outcome.json(), || outcome.text())?;
        }
    }
    Ok(ends.worst())
}

fn one(case: &Case<'_>, chip: &Chip, first: u64, seeds: u64) -> Result<Outcome, Failure> {
    let device = Device::simulated(*chip);
    let prepared = Prepared::random(case, &device, 0)?;
    let mut outcome =
        Outcome { kernel: case.entry.name.clone(), config: prepared.text.clone(), chip: chip.name, seeds: 0, found: None };
    for seed in (0..seeds).map(|n| first.wrapping_add(n)) {
        outcome.seeds += 1;
        match prepared.launch_as(&device, &*case.checked(Checking::from(seed)).kernel()) {
            Ok(_) => {}
            Err(DeviceError::Kernel(error)) if matches!(*error, Error::Checked { .. }) => {
                outcome.found = Some((DeviceError::Kernel(error).into(), seed));
                break;
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn verdict(&self) -> &'static str {
        self.found.as_ref().and_then(|(failure, _)| failure.code).unwrap_or("clean")
    }

    fn json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "config": self.config,
            "chip": self.chip,
            "verdict": self.verdict(),
            "seeds": self.seeds,
            "seed": self.found.as_ref().map(|(_, seed)| seed),
            "reason": self.found.as_ref().map(|(failure, _)| failure.reason.as_str()),
        })
    }

    fn text(&self) -> String {
        let words = match &self.found {
            None => format!("clean under {} seeds", self.seeds),
            Some((failure, seed)) => format!("{} under seed {seed}: {}", self.verdict(), failure.reason),
        };
        format!("{} on {}, {}\n  {words}", self.kernel, self.chip, self.config)
    }
}
