//! The kernel's IR at each step of the way, in blocks that open, each line with a link of its own.
//!
//! Rules: the place in the source that ends a line of IR stands beside it, its file once above. A text that would make the
//! page too large is cut, and says so.

use super::super::inspection::{Inspection, Stage};
use super::escape::Text;
use super::number::{count, counted};
use tpu_kernel::ir::Loc;

/// Bytes of markup that one stage may take.
const MOST_BYTES: usize = 44_000;
/// Bytes of one line before it is cut.
const MOST_LINE: usize = 400;
/// Stages that are shown.
const MOST_STAGES: usize = 5;

pub(super) fn stages(inspection: &Inspection) -> String {
    inspection.stages.iter().take(MOST_STAGES).map(stage).collect()
}

fn stage(stage: &Stage) -> String {
    let name = Text(stage.name);
    let text = match &stage.text {
        Ok(text) => text,
        Err(reason) => {
            let reason = super::escape::clipped(reason, 4000);
            return format!(
                "<details class=stage><summary><b>{name}</b> <span class=bad>not reached</span></summary><pre tabindex=0>{}</pre></details>",
                Text(&reason)
            );
        }
    };
    let lines = text.lines().count();
    let mut rows = String::new();
    let mut shown = 0;
    for line in text.lines() {
        let (code, at) = split(line);
        let code = super::escape::clipped(code, MOST_LINE);
        let at = at.map_or(String::new(), |(line, column)| format!("<i>{line}:{column}</i>"));
        let id = id(stage.name, shown + 1);
        let row = format!("<div id={id}><a href=\"#{id}\">{n}</a><code>{}</code>{at}</div>\n", Text(&code), n = shown + 1);
        if rows.len() + row.len() > MOST_BYTES {
            break;
        }
        rows += &row;
        shown += 1;
    }
    let rest = lines - shown;
    let rest = if rest > 0 {
        format!("<p class=none>and {} more; <code>tpuk emit</code> writes them all.</p>", counted(rest as u64, "line"))
    } else {
        String::new()
    };
    format!(
        "<details class=stage><summary><b>{name}</b> <span>{} line{}</span></summary><div class=code tabindex=0>{rows}</div>{rest}</details>",
        count(lines as u64),
        if lines == 1 { "" } else { "s" }
    )
}

/// The name of a line in links.
fn id(stage: &str, line: usize) -> String {
    let stage: String = stage.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{stage}-{line}")
}

/// A line of IR without the place that ends it, and its line and column in the source.
fn split(line: &str) -> (&str, Option<(u32, u32)>) {
    let Some((code, place)) = line.rsplit_once(" loc(") else { return (line, None) };
    // A line that opens a region goes on behind its place.
    let (place, opens) = match place.strip_suffix(')') {
        Some(place) => (place, false),
        None => match place.strip_suffix(") {") {
            Some(place) => (place, true),
            None => return (line, None),
        },
    };
    let mut numbers = place.rsplit(':').map(|part| part.trim().parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(column), Some(at)) if !opens => (code, Some((at, column))),
        _ => (line, None),
    }
}

/// The link of the line of IR that comes from this place, in the last stage that has one.
pub(super) fn line_of(inspection: &Inspection, loc: &Loc) -> Option<String> {
    if !loc.is_known() || loc.file != inspection.loc.file {
        return None;
    }
    let wanted = Some((loc.line, loc.column));
    inspection.stages.iter().take(MOST_STAGES).rev().find_map(|stage| {
        let text = stage.text.as_ref().ok()?;
        // Only lines that are surely not cut.
        let at = text.lines().take(250).position(|line| split(line).1 == wanted)?;
        Some(id(stage.name, at + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn places_are_told_from_code() {
        assert_eq!(split("  %0 = add loc(25:5)"), ("  %0 = add", Some((25, 5))));
        assert_eq!(split("x loc(\"a b.rs\":25:5)"), ("x", Some((25, 5))));
        assert_eq!(split("if %c loc(25:5) {"), ("if %c loc(25:5) {", None));
        assert_eq!(split("} loc(unknown)"), ("} loc(unknown)", None));
        assert_eq!(split("loc(1:2)"), ("loc(1:2)", None));
        assert_eq!(split(""), ("", None));
    }
}
