//! Errors of kernels as rustc would show them: code, message, the user's line, what to do.
//!
//! Rules: an error is text for whoever wrote the kernel, never for its machinery. The source is read
//! where the error names it, so that a report costs nothing until it is asked for; where the file
//! cannot be read the place alone is shown. Rendering never fails.

use crate::exec::RunError;
use crate::ir::{Fault, Loc, Rule};
use crate::launch::LaunchError;
use crate::{BuildFault, Error};
mod extent;
mod tokens;

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
                    help: build_help(fault).map(String::from),
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
                LaunchError::Vmem { chip, need, limit, table } => {
                    let title = format!("the kernel needs {need} bytes of VMEM on {chip}, the limit is {limit}");
                    (title, Some(table.trim_start_matches('\n').to_string()))
                }
                other => (other.to_string(), None),
            };
            let loc = launch.loc().and_then(known);
            vec![Report { code: Some(error.code()), title, loc, what: None, note, help: launch_help(launch) }]
        }
        Error::Compile { .. } => {
            vec![Report { code: Some(error.code()), title: error.to_string(), loc: None, what: None, note: None, help: None }]
        }
        Error::Run(run) => {
            let loc = run.loc().and_then(known);
            vec![Report { code: Some(error.code()), title: run.to_string(), loc, what: None, note: None, help: run_help(run) }]
        }
    }
}

/// The mnemonic of the operation that is wrong.
fn operation(fault: &BuildFault) -> Option<&str> {
    match fault {
        BuildFault::Rule(fault) | BuildFault::TooLarge { fault, .. } => Some(&fault.at),
        BuildFault::Overflow { op, .. } | BuildFault::DivisionByZero { op, .. } => Some(op),
        BuildFault::ForeignValue(_)
        | BuildFault::OutOfRegion(_)
        | BuildFault::BrokenRegion(_)
        | BuildFault::Panic { .. }
        | BuildFault::Literal { .. } => None,
    }
}

fn build_help(fault: &BuildFault) -> Option<&'static str> {
    match fault {
        BuildFault::Rule(Fault { rule, .. }) => match rule {
            Rule::Mismatch { .. } => Some("nothing is converted by itself: cast or broadcast one of the operands"),
            Rule::Broadcast { .. } => Some("only dimensions of 1 are repeated: reshape to the same rank first"),
            Rule::Contraction { .. } => Some("the last dimension of the left must equal the first of the right, or transpose one"),
            Rule::OutOfBounds { .. } => Some("a slice lies inside the operand's block: move its start or make the block larger"),
            Rule::WriteToInput { .. } => Some("declare the parameter as an output, or keep the values in scratch"),
            Rule::MapRank { .. } => Some("an index map gives one block index for each dimension of the array"),
            Rule::NeverWritten => Some("store to it on every path that matters, or remove the parameter"),
            Rule::ParallelAfterArbitrary => Some("move the parallel dimension to the front, or make it arbitrary"),
            _ => None,
        },
        BuildFault::TooLarge { .. } => Some("make the block size smaller: windows, scratch and values share the VMEM"),
        BuildFault::ForeignValue(_) => Some("build the value inside this kernel's function"),
        BuildFault::BrokenRegion(_) => Some("carry a variable that says whether to go on, and test it"),
        BuildFault::Overflow { .. } => {
            Some("elements wrap while a kernel runs, but a constant that wraps is no wish: write the constant that is meant")
        }
        BuildFault::DivisionByZero { .. } => Some("divide by a constant that is not zero"),
        BuildFault::Literal { dtype, .. } if dtype.is_integer() => Some("write a value within the range of the elements"),
        BuildFault::Literal { .. } => Some("write a value within the range of the elements, or `f32::INFINITY`"),
        BuildFault::OutOfRegion(_) | BuildFault::Panic { .. } => None,
    }
}

fn launch_help(error: &LaunchError) -> Option<String> {
    match error {
        LaunchError::ArgumentCount { .. } => Some("pass inputs and scalars in the order of the kernel's parameters".to_string()),
        LaunchError::ArgumentKind { want, .. } => Some(format!("pass {want}")),
        LaunchError::Rank { want, .. } => Some(format!("reshape the array to rank {want}, or declare the operand otherwise")),
        LaunchError::SizeMismatch { .. } => {
            Some("arrays that name one size must agree on it; name two sizes where they need not".to_string())
        }
        LaunchError::ElementType { want, .. } => Some(format!("convert the array to {want}, or make the kernel generic over it")),
        LaunchError::BlockIndex { index, extent, block, blocks, .. } => {
            Some(index_help(*index, Some(*extent), Some(*block), *blocks))
        }
        LaunchError::EmptyGrid { .. } => Some("give the grid at least one step for every block of the output".to_string()),
        LaunchError::Vmem { .. } => {
            Some("make the blocks smaller; two buffers let a block arrive while the last one is computed".to_string())
        }
        LaunchError::BlockShape { .. } => {
            Some("to run in the simulator all the same, allow it on the launch: `.allow(Allow::BlockShape)`".to_string())
        }
        LaunchError::Unwritten { extent, blocks, .. } => Some(format!(
            "a block of {extent} or more would cover the axis, or a grid dimension that counts {blocks} block(s); to leave the rest \
             poison, `.allow(Allow::Unwritten)`"
        )),
        LaunchError::SizeSet { size, .. } => Some(format!("leave `{size}` out of the launch: the inputs bind it")),
        LaunchError::BlocksMissing { .. }
        | LaunchError::Unbound { .. }
        | LaunchError::SizeRange { .. }
        | LaunchError::BlockRange { .. }
        | LaunchError::UnknownSize { .. }
        | LaunchError::TooLarge { .. } => None,
    }
}

fn run_help(error: &RunError) -> Option<String> {
    match error {
        RunError::OutOfBounds { .. } => {
            Some("a slice is not clamped: bound its start so that it lies inside the operand's block".to_string())
        }
        RunError::BlockIndex { index, blocks, .. } => Some(index_help(*index, None, None, *blocks)),
        RunError::GatherIndex { .. } => {
            Some("clamp the indices, or give those that mean nothing an index inside and select them away".to_string())
        }
        RunError::Unseeded { .. } => Some("seed it in the first step of the grid: `if i == 0 { prng_seed(seed); }`".to_string()),
        RunError::Check { .. } => None,
        RunError::LoopStep { .. } => Some("count upwards, and derive the other direction from the index".to_string()),
        RunError::Array { .. } | RunError::Count { .. } | RunError::OutOfMemory { .. } => None,
    }
}

/// What an index outside the array most likely is.
fn index_help(index: i64, extent: Option<usize>, block: Option<usize>, blocks: usize) -> String {
    let within = |n: usize| i64::try_from(n).is_ok_and(|n| index < n);
    let multiple = |n: usize| i64::try_from(n).is_ok_and(|n| n > 0 && index % n == 0);
    let element = index > 0 && block != Some(1) && (extent.is_some_and(within) || block.is_some_and(multiple));
    match (blocks, block) {
        (0, _) => "the array is empty and has no block: let the grid have no step either".to_string(),
        (_, Some(n)) if element => format!("an index map returns block indices, not elements: divide by {n}"),
        (n, _) => format!("the index map must give 0 to {} along this axis", n - 1),
    }
}

#[cfg(test)]
mod tests;
