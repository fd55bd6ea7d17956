//! `tpuk list`: the registered kernels.

use super::args::Common;
use super::failure::{Exit, Failure};
use super::output::{Ends, Output, table};
use super::progress::Progress;
use super::staged::Staged;
use serde_json::json;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::DType;

/// A kernel, as it is listed.
struct Row {
    name: String,
    dtypes: Vec<DType>,
    configs: Vec<String>,
    chips: Vec<&'static str>,
    /// Instruction sets that it is compiled for ahead of time.
    prebuilt: Vec<&'static str>,
}

pub(super) fn run(common: &Common<'_>) -> Result<Exit, Failure> {
    let progress = Progress::new(common.entries.len());
    let (output, mut ends) = (Output { json: common.json }, Ends::of(common.entries.len()));
    let mut lines = vec![["kernel", "element types", "chips", "configurations"].map(String::from).to_vec()];
    for entry in &common.entries {
        progress.at(entry.name.as_str());
        let row = ends.take(&progress, row(common, entry))?;
        progress.step();
        let Some(row) = row else { continue };
        // Only what the asked-for chips take.
        if row.chips.is_empty() && common.chips.len() < Chip::ALL.len() {
            continue;
        }
        if common.json {
            output.result(&progress, || row.json(), String::new)?;
        } else {
            lines.extend(row.lines());
        }
    }
    if !common.json {
        output.result(&progress, || json!(null), || table(&lines))?;
    }
    Ok(ends.worst())
}

fn row(common: &Common<'_>, entry: &super::Entry) -> Result<Row, Failure> {
    let mut row = Row { name: entry.name.clone(), dtypes: vec![], configs: vec![], chips: vec![], prebuilt: vec![] };
    let (mut legal, mut first) = (vec![false; common.chips.len()], None);
    for case in common.cases(entry, true)? {
        row.configs.push(case.text());
        for dtype in case.inputs()? {
            if !row.dtypes.contains(&dtype) {
                row.dtypes.push(dtype);
            }
        }
        match Staged::new(&case) {
            Ok(staged) => {
                // A kernel without inputs has the types of its outputs.
                for (_, output) in staged.built.kernel.outputs().filter(|_| staged.inputs.is_empty()) {
                    if !row.dtypes.contains(&output.ty.dtype()) {
                        row.dtypes.push(output.ty.dtype());
                    }
                }
                for (&chip, legal) in common.chips.iter().zip(&mut legal) {
                    *legal = *legal || staged.legality(chip, &case).refused.is_none();
                }
            }
            Err(failure) => first = first.or(Some(failure.during(&case.title()))),
        }
    }
    if let Some(failure) = first {
        return Err(failure);
    }
    row.chips = common.chips.iter().zip(legal).filter(|(_, legal)| *legal).map(|(chip, _)| chip.name).collect();
    Ok(row)
}

impl Row {
    fn json(&self) -> serde_json::Value {
        json!({
            "name": self.name,
            "dtypes": self.dtypes.iter().map(|d| d.name()).collect::<Vec<_>>(),
            "configs": self.configs,
            "chips": self.chips,
            "prebuilt": self.prebuilt,
        })
    }

    /// A line for each configuration.
    fn lines(&self) -> Vec<Vec<String>> {
        let dtypes: Vec<&str> = self.dtypes.iter().map(|d| d.name()).collect();
        let head = [self.name.clone(), dtypes.join(" "), self.chips.join(" ")];
        let lines = self.configs.iter().enumerate().map(|(at, config)| {
            let head = if at == 0 { head.clone() } else { [const { String::new() }; 3] };
            head.into_iter().chain([config.clone()]).collect()
        });
        lines.collect()
    }
}
