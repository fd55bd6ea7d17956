//! `tpuk inspect`: what a kernel is, what it takes, who takes it, and what it would cost.

use super::args::Common;
use super::case::Case;
use super::failure::{Exit, Failure};
use super::inspection::{Inspection, Stage, tables};
use super::output::Output;
use super::progress::Progress;
use super::staged::Staged;
use super::{inspect_json, inspect_text};
use clap::ArgMatches;
use tpu_kernel::Error;
use tpu_kernel::chips::Chip;
use tpu_kernel::launch::numbers;

pub(super) fn run(common: &Common<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let mut cases = vec![];
    for entry in &common.entries {
        cases.extend(common.cases(entry, matches.get_flag("every"))?);
    }
    let progress = Progress::new(cases.len() * common.chips.len());
    let output = Output { json: common.json };
    for case in &cases {
        for &chip in &common.chips {
            progress.at(format!("{} on {}", case.entry.name, chip.name));
            let inspection =
                inspect(case, chip).map_err(|e| e.during(&format!("kernel `{}` with {}", case.entry.name, case.text())))?;
            progress.step();
            output.result(&progress, || inspect_json::object(&inspection), || inspect_text::text(&inspection))?;
        }
    }
    Ok(Exit::Done)
}

/// Everything that is known of a case without running it. A case that the chip refuses has all but its prediction.
pub(super) fn inspect(case: &Case<'_>, chip: &'static Chip) -> Result<Inspection, Failure> {
    let staged = Staged::new(case)?;
    let shapes = staged.shapes(case)?;
    let binding = numbers(&staged.kernel, &shapes, staged.launchable.config()).map_err(Error::from)?;
    let tables = tables(&staged.kernel, &binding);
    let legalised = staged.legalised(chip);
    let stages = [
        Stage { name: "staged", text: Ok(staged.raw.to_string()) },
        Stage { name: "canonical", text: Ok(staged.kernel.to_string()) },
        Stage { name: "legalised", text: legalised.as_ref().map(ToString::to_string).map_err(|e| e.reason.clone()) },
        Stage { name: "mosaic", text: staged.mosaic(chip, &binding).map_err(|e| e.reason) },
    ];
    Ok(Inspection {
        kernel: case.entry.name.clone(),
        path: staged.launchable.path().to_string(),
        loc: staged.kernel.loc.clone(),
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
        prediction: staged.bind(chip, &shapes).and_then(|binding| staged.predict(chip, &binding)).map_err(|e| e.reason),
    })
}
