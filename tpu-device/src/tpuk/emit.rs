//! `tpuk emit`: a kernel as text of one form.

use super::args::{Common, is_given};
use super::case::Case;
use super::catalogue::Catalogue;
use super::failure::{Exit, Failure};
use super::names::{Sought, hint, seek};
use super::output::{self, Ends, Output};
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

    fn by_name(name: &str) -> Option<Form> {
        Some(match name.to_lowercase().as_str() {
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
pub(super) fn split(catalogue: &Catalogue, mut words: Vec<String>, matches: &ArgMatches) -> Result<(Form, Vec<String>), Failure> {
    let option = matches.get_one::<String>("form").and_then(|name| Some((Form::by_name(name)?, format!("--form {name}"))));
    let at = words.iter().position(|word| Form::by_name(word).is_some());
    let (form, given) = match (option, at) {
        (Some(option), _) => option,
        (None, Some(at)) => {
            let word = words.remove(at);
            (Form::by_name(&word).unwrap_or(Form::Tpuir), word)
        }
        (None, None) => return Err(no_form(catalogue, &words)),
    };
    if let Some(other) = words.iter().find(|word| Form::by_name(word).is_some() && !is_kernel(catalogue, word)) {
        return Err(Failure::usage(format!("`{given}` and `{other}` are two forms: take one at a time")));
    }
    if form != Form::Tpuir && is_given(matches, "stage") {
        return Err(Failure::usage(format!("`--stage` is for tpuir: {} has no stages", form.name())));
    }
    Ok((form, words))
}

fn is_kernel(catalogue: &Catalogue, word: &str) -> bool {
    !matches!(seek(word, catalogue.entries(), |entry| &entry.name), Sought::Unknown)
}

/// The refusal of words without a form: one of them may be meant as one.
fn no_form(catalogue: &Catalogue, words: &[String]) -> Failure {
    let forms = Form::NAMES.join(", ");
    let unknown = || words.iter().filter(|word| !is_kernel(catalogue, word));
    let near = unknown().map(|word| (word, hint(word, Form::NAMES.into_iter()))).find(|(_, hint)| !hint.is_empty());
    match (near, unknown().next()) {
        (Some((word, hint)), _) => Failure::usage(format!("no form is called `{word}`{hint}\n  forms: {forms}")),
        (None, Some(word)) => Failure::usage(format!("`{word}` is neither a form nor a kernel\n  forms: {forms}")),
        (None, None) => Failure::usage(format!("say what to emit: {forms}")),
    }
}

pub(super) fn run(common: &Common<'_>, form: Form, matches: &ArgMatches) -> Result<Exit, Failure> {
    let stage = matches.get_one::<String>("stage").map_or("canonical".to_string(), |stage| stage.to_lowercase());
    let stage = stage.as_str();
    let out = Output { json: common.json };
    let chips = if form.has_chip(stage) { common.chips.as_slice() } else { common.chips.get(..1).unwrap_or_default() };
    let mut ends = Ends::of(common.entries.len());
    let cases = common.all_cases(matches.get_flag("every"), &mut ends)?;
    ends.expect(cases.len() * chips.len());
    let progress = Progress::new(cases.len() * chips.len());
    let (mut written, mut some) = (String::new(), false);
    for case in &cases {
        for chip in chips {
            progress.at(case.entry.name.as_str());
            let text = text(case, chip, form, stage).map_err(|e| e.during(&case.title()));
            progress.step();
            let Some(text) = ends.take(&progress, text)? else { continue };
            some = true;
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
                out.text(&progress, &std::mem::take(&mut written))?;
            }
        }
    }
    // Where every kernel failed, what is there stays.
    if let Some(path) = matches.get_one::<PathBuf>("output").filter(|_| some) {
        output::file(path, &written)?;
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
