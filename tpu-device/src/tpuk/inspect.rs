//! `tpuk inspect`: what a kernel is, what it takes, who takes it, and what it would cost.

use super::args::Common;
use super::case::Case;
use super::failure::{Exit, Failure};
use super::inspection::{Inspection, Stage, tables};
use super::output::{self, Ends, Output};
use super::progress::Progress;
use super::staged::Staged;
use super::{inspect_json, inspect_text, page};
use clap::ArgMatches;
use std::path::PathBuf;
use tpu_kernel::Error;
use tpu_kernel::chips::Chip;

pub(super) fn run(common: &Common<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let mut ends = Ends::of(common.entries.len());
    let cases = common.all_cases(matches.get_flag("every"), &mut ends)?;
    let path = |name| matches.get_one::<PathBuf>(name);
    let (html, trace) = (path("html"), path("trace"));
    if (html.is_some() || trace.is_some()) && cases.len() * common.chips.len() != 1 {
        return Err(Failure::usage("`--html` and `--trace` are for one kernel, one configuration and one chip"));
    }
    if html.is_some() && html == trace {
        return Err(Failure::usage("`--html` and `--trace` name one file"));
    }
    ends.expect(cases.len() * common.chips.len());
    let progress = Progress::new(cases.len() * common.chips.len());
    let out = Output { json: common.json };
    for case in &cases {
        for &chip in &common.chips {
            progress.at(format!("{} on {}", case.entry.name, chip.name));
            let inspection = inspect(case, chip).map_err(|e| e.during(&case.title()));
            progress.step();
            let Some(inspection) = ends.take(&progress, inspection)? else { continue };
            if let Some(path) = html {
                output::file(path, &page::html(&inspection))?;
            }
            if let Some(path) = trace {
                let trace = page::trace(&inspection).map_err(|reason| Failure::kernel(format!("there is no trace: {reason}")))?;
                output::file(path, &trace)?;
            }
            out.result(&progress, || inspect_json::object(&inspection), || inspect_text::text(&inspection))?;
        }
    }
    Ok(ends.worst())
}

/// Everything that is known of a case without running it. A case that the chip refuses has all but its prediction.
pub(super) fn inspect(case: &Case<'_>, chip: &'static Chip) -> Result<Inspection, Failure> {
    let staged = Staged::new(case)?;
    let shapes = staged.shapes(case)?;
    let launch = staged.built.bind_unchecked(chip, &shapes)?;
    let tables = tables(&staged.built.kernel, &launch.binding);
    let reason = |error: Error| Failure::from(error).reason;
    let stages = [
        Stage { name: "staged", text: Ok(staged.built.recorded.to_string()) },
        Stage { name: "canonical", text: Ok(staged.built.kernel.to_string()) },
        Stage { name: "legalised", text: staged.built.legalised(chip).map(|kernel| kernel.to_string()).map_err(reason) },
        Stage { name: "mosaic", text: launch.mosaic().map_err(reason) },
    ];
    Ok(Inspection {
        kernel: case.entry.name.clone(),
        path: staged.launchable.path().to_string(),
        loc: staged.built.kernel.loc.clone(),
        config: case.chosen(),
        sizes: tables.sizes,
        chip: *chip,
        grid: tables.grid,
        windows: tables.windows,
        scalars: case.scalars()?,
        vmem: tables.vmem,
        stages: stages.into(),
        legality: Chip::ALL.iter().map(|chip| staged.legality(chip, case)).collect(),
        cost: tables.cost,
        prediction: staged.built.bind(chip, &shapes).and_then(|launch| launch.predict()).map_err(reason),
    })
}
