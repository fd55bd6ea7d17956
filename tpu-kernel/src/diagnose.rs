//! Errors of kernels as rustc would show them: code, message, the user's line, what to do.
//!
//! Rules: an error is text for whoever wrote the kernel, never for its machinery. The source is read
//! where the error names it, so that a report costs nothing until it is asked for; where the file
//! cannot be read the place alone is shown. Rendering never fails.

mod extent;
mod help;
mod tokens;

use crate::exec::{Meeting, RunError};
use crate::ir::Loc;
use crate::launch::LaunchError;
use crate::{BuildFault, Error};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use extent::What;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Source files above this many bytes are not read.
const MAX_SOURCE: u64 = 4 << 20;

/// What spans more lines than these is shown by its first token.
const MAX_LINES: usize = 20;

/// The error as text without colours.
pub fn render(error: &Error) -> String {
    render_with(error, &Renderer::plain())
}

/// The error as text with terminal colours.
pub fn render_styled(error: &Error) -> String {
    render_with(error, &Renderer::styled())
}

fn render_with(error: &Error, renderer: &Renderer) -> String {
    let reports = reports(error);
    let sources: Vec<Option<Excerpt>> =
        reports.iter().map(|r| r.loc.as_ref().and_then(|loc| Excerpt::read(loc, r.what.as_deref()))).collect();
    let groups: Vec<Vec<Group<'_>>> = reports.iter().zip(&sources).map(|(r, at)| vec![r.group(at.as_ref())]).collect();
    groups.iter().map(|g| renderer.render(g)).collect::<Vec<_>>().join("\n\n")
}

/// The error of that code without a place, as text without colours: what is not about a kernel's source.
pub fn render_plain(code: &'static str, title: &str) -> String {
    let report = Report { code: Some(code), title: title.to_string(), loc: None, what: None, note: None, help: None };
    Renderer::plain().render(&[report.group(None)])
}

/// An error without a code at a place, as text without colours: what others say of a kernel.
pub fn render_at(title: &str, loc: &Loc) -> String {
    let loc = loc.is_known().then(|| loc.clone());
    let report = Report { code: None, title: title.to_string(), loc, what: None, note: None, help: None };
    let line = report.loc.as_ref().and_then(|loc| Excerpt::read(loc, None));
    Renderer::plain().render(&[report.group(line.as_ref())])
}

/// Where an error is explained.
fn page(code: &str) -> String {
    format!("see docs/errors.md#{}", code.to_lowercase())
}

/// One message with its place and its advice.
struct Report {
    code: Option<&'static str>,
    title: String,
    loc: Option<Loc>,
    /// The mnemonic of the operation at the place.
    what: Option<String>,
    note: Option<String>,
    help: Option<String>,
}

impl Report {
    fn group<'a>(&'a self, line: Option<&'a Excerpt>) -> Group<'a> {
        let title = Level::ERROR.primary_title(self.title.as_str());
        let title = match self.code {
            Some(code) => title.id(code),
            None => title,
        };
        let mut group = match (line, &self.loc) {
            (Some(line), Some(loc)) => {
                let at = AnnotationKind::Primary.span(line.span.clone());
                title.element(
                    Snippet::source(line.text.as_str()).path(loc.file.as_ref()).line_start(loc.line as usize).annotation(at),
                )
            }
            (None, Some(loc)) => {
                title.element(Origin::path(loc.file.as_ref()).line(loc.line as usize).char_column(loc.column as usize))
            }
            (_, None) => Group::with_title(title),
        };
        if let Some(note) = &self.note {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        match self.code {
            Some(code) => group.element(Level::NOTE.message(page(code))),
            None => group,
        }
    }
}

/// Lines of source and the bytes of them that are meant: from the first to the last token of an expression,
/// a declaration or the head of a loop.
struct Excerpt {
    text: String,
    span: Range<usize>,
}

impl Excerpt {
    /// The lines of a place, where its file can be found. rustc names files relative to the directory of the
    /// workspace: most often one above the program (`target/release/examples/…`), else the current one or one
    /// above. The program's comes first, since the current one may be in another workspace.
    fn read(loc: &Loc, what: Option<&str>) -> Option<Excerpt> {
        let program = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_path_buf));
        Excerpt::read_above(loc, what, program.into_iter().chain(std::env::current_dir().ok()))
    }

    /// The lines in the first file of that name, in these directories or above, that has them.
    fn read_above(loc: &Loc, what: Option<&str>, starts: impl IntoIterator<Item = PathBuf>) -> Option<Excerpt> {
        let file = Path::new(loc.file.as_ref());
        if file.is_absolute() {
            return Excerpt::read_from(file, loc, what);
        }
        starts.into_iter().find_map(|start| start.ancestors().find_map(|dir| Excerpt::read_from(&dir.join(file), loc, what)))
    }

    fn read_from(path: &Path, loc: &Loc, what: Option<&str>) -> Option<Excerpt> {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        if metadata.len() > MAX_SOURCE {
            return None;
        }
        Excerpt::of(&std::fs::read_to_string(path).ok()?, loc, what)
    }

    fn of(source: &str, loc: &Loc, what: Option<&str>) -> Option<Excerpt> {
        let before: usize = source.split_inclusive('\n').take((loc.line as usize).checked_sub(1)?).map(str::len).sum();
        let line = source[before..].lines().next()?;
        let (column, _) = line.char_indices().nth((loc.column as usize).checked_sub(1)?)?;
        let start = before + column;
        let end = extent::end(source, start, what.map_or(What::Any, What::Operation));
        let end = end.filter(|&end| source[start..end].lines().count() <= MAX_LINES).unwrap_or(start + token(&line[column..]));
        let after = source[end..].find('\n').map_or(source.len(), |at| end + at);
        Some(Excerpt { text: source[before..after].to_string(), span: column..end - before })
    }
}

/// Bytes of the name, number or sign that the text begins with.
fn token(text: &str) -> usize {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    match text.chars().next() {
        Some(first) if word(first) => text.find(|c| !word(c)).unwrap_or(text.len()),
        first => first.map_or(0, char::len_utf8),
    }
}

fn reports(error: &Error) -> Vec<Report> {
    let known = |loc: &Loc| loc.is_known().then(|| loc.clone());
    match error {
        Error::Build { kernel, faults } => {
            let mut reports: Vec<Report> = faults
                .iter()
                .map(|fault| Report {
                    code: Some(fault.code()),
                    title: fault.to_string(),
                    loc: known(fault.loc()),
                    what: operation(fault).map(String::from),
                    note: None,
                    help: Some(help::build(fault).to_string()),
                })
                .collect();
            let count = match faults.len() {
                1 => "one error".to_string(),
                n => format!("{n} errors"),
            };
            let title = format!("kernel `{kernel}` cannot be built: {count}");
            reports.push(Report { code: None, title, loc: None, what: None, note: None, help: None });
            reports
        }
        Error::Launch(launch) => {
            let (title, note) = match launch {
                LaunchError::Vmem { chip, need, limit, table, .. } => {
                    let title = format!("the kernel needs {need} bytes of VMEM on {chip}, the limit is {limit}");
                    (title, Some(table.trim_start_matches('\n').to_string()))
                }
                other => (other.to_string(), None),
            };
            let loc = known(launch.loc());
            vec![Report { code: Some(error.code()), title, loc, what: None, note, help: Some(help::launch(launch)) }]
        }
        Error::Transform(transform) => {
            let loc = transform.loc().and_then(known);
            vec![Report {
                code: Some(error.code()),
                title: transform.to_string(),
                loc,
                what: None,
                note: None,
                help: transform.help(),
            }]
        }
        Error::Illegal(illegal) => {
            let loc = known(&illegal.loc);
            let help = Some(help::illegal(&illegal.rule).to_string());
            vec![Report { code: Some(error.code()), title: illegal.to_string(), loc, what: None, note: None, help }]
        }
        Error::Compile { .. } => {
            vec![Report { code: Some(error.code()), title: error.to_string(), loc: None, what: None, note: None, help: None }]
        }
        Error::Run(run) => vec![running(run, None)],
        Error::Checked { seed, error } => vec![running(error, Some(*seed))],
    }
}

/// A run that failed; of a checked one, with what replays it.
fn running(error: &RunError, seed: Option<u64>) -> Report {
    let mut notes = vec![];
    match error.cause() {
        RunError::Race { copy, .. } if copy.is_known() => notes.push(format!("the copy began at {copy}")),
        RunError::Unordered { other: Meeting::Touched { loc, .. }, .. } if loc.is_known() => {
            notes.push(format!("the other access is at {loc}"));
        }
        _ => {}
    }
    notes.extend(seed.map(|seed| format!("`.checked({seed})` replays it")));
    Report {
        code: Some(error.code()),
        title: error.to_string(),
        loc: error.loc().filter(|loc| loc.is_known()).cloned(),
        what: None,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        help: Some(help::run(error)),
    }
}

/// The mnemonic of the operation that is wrong.
fn operation(fault: &BuildFault) -> Option<&str> {
    match fault {
        BuildFault::Rule(fault) | BuildFault::TooLarge { fault, .. } => Some(&fault.at),
        BuildFault::Overflow { op, .. } | BuildFault::DivisionByZero { op, .. } | BuildFault::Shift { op, .. } => Some(op),
        BuildFault::ForeignValue(_)
        | BuildFault::OutOfRegion(_)
        | BuildFault::BrokenRegion(_)
        | BuildFault::Panic { .. }
        | BuildFault::Literal { .. }
        | BuildFault::Index { .. }
        | BuildFault::CopyNotAwaited(_)
        | BuildFault::CopyNotMade(_)
        | BuildFault::AwaitedElsewhere(_)
        | BuildFault::BoundsOfWritten(_)
        | BuildFault::Buffers { .. }
        | BuildFault::BlockSizes(_) => None,
    }
}

#[cfg(test)]
mod tests;
