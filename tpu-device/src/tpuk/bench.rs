//! `tpuk bench`: kernels against the limit of this machine.
//!
//! Rules: the limit is measured in the same run, between the launches; of each the least time of all rounds counts. The
//! limit is the longer of two: the multiply-adds of the kernel at the rate of this processor, and one pass over the bytes
//! of its arrays. Both leave out what a kernel cannot leave out, such as functions; no kernel is faster.

use super::args::{Common, words};
use super::case::Case;
use super::catalogue;
use super::failure::{Exit, Failure};
use super::launch::Prepared;
use super::output::{Ends, Output, table};
use super::progress::Progress;
use super::waits;
use crate::{Device, Tensor};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::time::Instant;
use tpu_kernel::chips::Chip;
use tpu_kernel::exec::Checking;
use tpu_kernel::ir::{Kernel, OpKind, Precision, Region};
use tpu_kernel::launch::cost;
use tpu_microkernels::probe;

/// A row to measure.
struct Row<'a> {
    name: &'a str,
    case: Case<'a>,
    checked: bool,
}

/// What was measured, in milliseconds.
struct Measured<'a> {
    name: &'a str,
    ours: f64,
    /// Nothing where the machine sets none.
    limit: Option<f64>,
    /// Grid steps of the launch.
    steps: u64,
}

/// Launches run on the thread that asks.
const THREADS: usize = 1;

pub(super) fn run(common: &Common<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let rounds = matches.get_one::<u64>("rounds").copied().unwrap_or(7);
    let seed = matches.get_one("seed").copied().unwrap_or(0);
    let &[chip] = common.chips.as_slice() else { return Err(Failure::usage("`bench` measures for one chip at a time")) };
    let mut rows = vec![];
    for entry in &common.entries {
        for catalogue::Row { name, set, checked } in &entry.bench {
            let settings = [set.as_slice(), &common.settings_of(entry)].concat();
            let case = super::case::cases(entry, &settings)?.into_iter().next();
            rows.extend(case.map(|case| Row { name, case, checked: *checked }));
        }
    }
    // What a wait costs is no kernel's: where all are asked for.
    let waits = words(matches).is_empty();
    if rows.is_empty() && !waits {
        return Err(Failure::usage("none of these kernels has a row to measure"));
    }
    let count = rows.len() + usize::from(waits);
    let progress = Progress::new(count);
    let (output, mut ends) = (Output { json: common.json }, Ends::of(count));
    let mut lines =
        vec![["row", "threads", "ours ms", "limit ms", "share of limit", "us a step", "peer"].map(String::from).to_vec()];
    for row in rows.iter().map(Some).chain(waits.then_some(None)) {
        let name = row.map_or(waits::NAME, |row| row.name);
        progress.at(name);
        let measured = row.map_or_else(|| blocking(rounds), |row| measure(row, chip, rounds, seed));
        let measured = measured.map_err(|e| e.during(&format!("row `{name}`")));
        progress.step();
        let Some(measured) = ends.take(&progress, measured)? else { continue };
        if common.json {
            output.result(&progress, || measured.json(), String::new)?;
        } else {
            lines.push(measured.line());
        }
    }
    if !common.json && lines.len() > 1 {
        output.result(
            &progress,
            || json!(null),
            || {
                let slow = if cfg!(debug_assertions) { "; this program was built without optimisation" } else { "" };
                format!("{}\nthe least of {rounds} interleaved rounds each{slow}", table(&lines))
            },
        )?;
    }
    Ok(ends.worst())
}

fn measure<'a>(row: &Row<'a>, chip: &Chip, rounds: u64, seed: u64) -> Result<Measured<'a>, Failure> {
    let device = Device::simulated(*chip);
    let prepared = Prepared::random(&row.case, &device, seed)?;
    let kernel = if row.checked { row.case.checked(Checking::from(1)).kernel() } else { prepared.staged.launchable.clone() };
    let work = cost(&prepared.staged.built.kernel, &prepared.binding).flops as f64;
    let passes = passes(&prepared.staged.built.kernel);
    let reads: Vec<&[u8]> = prepared.inputs.iter().map(Tensor::bytes).collect();
    // The first launch compiles.
    let mut outputs: Vec<Vec<u8>> = prepared.launch_as(&device, &*kernel)?.iter().map(|o| vec![0; o.bytes().len()]).collect();
    let [mut ours, mut compute, mut memory] = [f64::INFINITY; 3];
    for _ in 0..rounds {
        let mut writes: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        memory = memory.min(probe::pass(&reads, &mut writes));
        compute = compute.min(work / rate(passes));
        let start = Instant::now();
        let results = prepared.launch_as(&device, &*kernel)?;
        ours = ours.min(start.elapsed().as_secs_f64());
        drop(results);
    }
    let steps = prepared.binding.grid.iter().map(|&n| n.unsigned_abs() as u64).product();
    Ok(Measured { name: row.name, ours: ours * 1e3, limit: Some(compute.max(memory) * 1e3), steps })
}

/// Waits that block: a step is a wait.
fn blocking<'a>(rounds: u64) -> Result<Measured<'a>, Failure> {
    let (ours, steps) = waits::measure(rounds)?;
    Ok(Measured { name: waits::NAME, ours, limit: None, steps })
}

/// How often the bf16 units see each product of the kernel; nothing where its products are of other types, or none.
fn passes(kernel: &Kernel) -> Option<f64> {
    fn first(kernel: &Kernel, region: &Region) -> Option<Option<f64>> {
        region.ops.iter().find_map(|op| match op.kind {
            OpKind::Dot { precision, .. } => {
                let narrow = op
                    .operands
                    .iter()
                    .all(|&operand| kernel.ty(operand).dtype().is_float() && kernel.ty(operand).dtype().bits() <= 16);
                Some(match precision {
                    Precision::Default => Some(1.0),
                    _ if narrow => Some(1.0),
                    Precision::High => Some(3.0),
                    Precision::Highest => None,
                })
            }
            _ => op.regions.iter().find_map(|inner| first(kernel, inner)),
        })
    }
    first(kernel, &kernel.body).flatten()
}

/// Operations a second for products in so many bf16 passes, or in f32.
fn rate(passes: Option<f64>) -> f64 {
    let f32 = probe::f32_operations();
    let Some(passes) = passes else { return f32 };
    probe::bf16_operations().map_or(f32, |bf16| (bf16 / passes).max(f32))
}

impl Measured<'_> {
    fn json(&self) -> Value {
        let round = |n: f64| (n * 1e6).round() / 1e6;
        json!({
            "name": self.name,
            "threads": THREADS,
            "ours_ms": round(self.ours),
            "limit_ms": self.limit.map(round),
            "share_of_limit": self.limit.map(|limit| round(limit / self.ours)),
            "steps": self.steps,
            "step_us": round(self.step_us()),
            "peer": Value::Null,
            "peer_ms": Value::Null,
            "ratio": Value::Null,
        })
    }

    /// Microseconds a grid step.
    fn step_us(&self) -> f64 {
        self.ours * 1e3 / self.steps.max(1) as f64
    }

    fn line(&self) -> Vec<String> {
        let share = self.limit.map_or("-".to_string(), |limit| format!("{:.0}%", 100.0 * limit / self.ours));
        vec![
            self.name.to_string(),
            THREADS.to_string(),
            format!("{:.3}", self.ours),
            self.limit.map_or("-".to_string(), |limit| format!("{limit:.3}")),
            share,
            format!("{:.3}", self.step_us()),
            "-".to_string(),
        ]
    }
}
