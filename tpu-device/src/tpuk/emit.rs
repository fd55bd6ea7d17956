//! `tpuk emit`: a kernel as text of one form.

use super::args::Common;
use super::case::Case;
use super::failure::{Exit, Failure};
use super::output::{Ends, Output};
use super::progress::Progress;
use super::staged::Staged;
use clap::ArgMatches;
use serde_json::json;
use std::path::PathBuf;
use tpu_kernel::chips::Chip;
use tpu_kernel::cranelift::Executable;

/// What a kernel can be printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Tpuir,
    Clif,
    Asm,
    Mosaic,
    Stablehlo,
}

/// Where on its way the IR is printed.
pub(super) const STAGES: [&str; 3] = ["staged", "canonical", "legalised"];

impl Form {
    pub(super) const NAMES: [&str; 5] = ["tpuir", "clif", "asm", "mosaic", "stablehlo"];

    pub(super) fn by_name(name: &str) -> Option<Form> {
        Some(match name {
            "tpuir" => Form::Tpuir,
            "clif" => Form::Clif,
            "asm" => Form::Asm,
            "mosaic" => Form::Mosaic,
            "stablehlo" => Form::Stablehlo,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        Form::NAMES[self as usize]
    }

    /// Whether the text is another one for another chip.
    fn has_chip(self, stage: &str) -> bool {
        match self {
            Form::Tpuir => stage == "legalised",
            Form::Clif | Form::Asm => false,
            Form::Mosaic | Form::Stablehlo => true,
        }
    }
}

/// The form and the names of the kernels: the first word that is a form is it.
pub(super) fn split(words: Vec<String>, matches: &ArgMatches) -> Result<(Form, Vec<String>), Failure> {
    if let Some(form) = matches.get_one::<String>("form").and_then(|name| Form::by_name(name)) {
        return Ok((form, words));
    }
    let Some(at) = words.iter().position(|word| Form::by_name(word).is_some()) else {
        return Err(Failure::usage(format!("say what to emit: {}", Form::NAMES.join(", "))));
    };
    let (before, after) = words.split_at(at);
    let form = after.first().and_then(|word| Form::by_name(word)).unwrap_or(Form::Tpuir);
    Ok((form, [before, after.get(1..).unwrap_or_default()].concat()))
}

pub(super) fn run(common: &Common<'_>, form: Form, matches: &ArgMatches) -> Result<Exit, Failure> {
    let stage = matches.get_one::<String>("stage").map_or("canonical", String::as_str);
    let output = Output { json: common.json };
    let chips = if form.has_chip(stage) { common.chips.as_slice() } else { common.chips.get(..1).unwrap_or_default() };
    let mut ends = Ends::of(common.entries.len());
    let cases = common.all_cases(matches.get_flag("every"), &mut ends)?;
    let progress = Progress::new(cases.len() * chips.len());
    let mut written = String::new();
    for case in &cases {
        for chip in chips {
            progress.at(case.entry.name.as_str());
            let text = text(case, chip, form, stage).map_err(|e| e.during(&case.title()));
            progress.step();
            let Some(text) = ends.take(&progress, text)? else { continue };
            let json = || {
                let (chip, stage) = (form.has_chip(stage).then_some(chip.name), (form == Form::Tpuir).then_some(stage));
                json!({"kernel": case.entry.name, "config": case.text(), "chip": chip, "form": form.name(), "stage": stage, "text": text})
            };
            if common.json {
                written.push_str(&format!("{}\n", json()));
            } else {
                written.push_str(&text);
                if !text.ends_with('\n') {
                    written.push('\n');
                }
            }
            if !matches.contains_id("output") {
                output.text(&progress, &std::mem::take(&mut written))?;
            }
        }
    }
    if let Some(path) = matches.get_one::<PathBuf>("output") {
        std::fs::write(path, written).map_err(|e| Failure::file(format!("{}: {e}", path.display())))?;
    }
    Ok(ends.worst())
}

fn text(case: &Case<'_>, chip: &Chip, form: Form, stage: &str) -> Result<String, Failure> {
    let staged = Staged::new(case)?;
    let bound = || staged.shapes(case).and_then(|shapes| staged.bind(chip, &shapes));
    match form {
        Form::Tpuir => Ok(match stage {
            "staged" => staged.built.recorded.to_string(),
            "legalised" => staged.built.legalised(chip)?.to_string(),
            _ => staged.built.kernel.to_string(),
        }),
        Form::Clif => Ok(Executable::clif(&staged.built.kernel)?),
        Form::Asm => Ok(Executable::assembly(&staged.built.kernel)?),
        Form::Mosaic => Ok(bound()?.mosaic()?),
        Form::Stablehlo => Ok(bound()?.stablehlo()?),
    }
}
