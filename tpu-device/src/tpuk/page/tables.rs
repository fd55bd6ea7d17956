//! Grid, windows, lints and chips, in words.
//!
//! Rules: lists that a kernel can make long are cut, and say how much is missing.

use super::super::inspection::{GridRow, Inspection, Legality, WindowRow};
use super::escape::{Clipped, Text, clipped};
use super::number::{count, share, time};
use super::stages;
use tpu_kernel::ir::Loc;
use tpu_kernel::predict::{Lint, Prediction};

/// Lines of a table, and lints.
const MOST: usize = 64;

/// A place in a source file, or nothing.
pub(super) fn place(loc: &Loc) -> String {
    if loc.is_known() { format!("{}:{}:{}", tail(&loc.file), loc.line, loc.column) } else { String::new() }
}

/// The end of a long path: what tells files apart.
fn tail(file: &str) -> String {
    let length = file.chars().count();
    if length <= 90 { file.to_string() } else { format!("…{}", file.chars().skip(length - 89).collect::<String>()) }
}

pub(super) fn grid(inspection: &Inspection) -> String {
    if inspection.grid.is_empty() {
        return "<p class=none>No grid: the kernel runs once.</p>".to_string();
    }
    let line = |dim: &GridRow| {
        format!(
            "<tr><th scope=row>{}</th><td>{}</td><td class=n>{}</td><td>{}</td></tr>",
            Clipped(&dim.name, 60),
            Clipped(&dim.expression, 120),
            count(dim.extent),
            dim.semantics
        )
    };
    let head =
        "<th scope=col>index</th><th scope=col>steps, as written</th><th scope=col class=n>steps</th><th scope=col>order</th>";
    table(head, inspection.grid.iter().map(line), inspection.grid.len())
}

pub(super) fn windows(inspection: &Inspection) -> String {
    if inspection.windows.is_empty() {
        return "<p class=none>No windows.</p>".to_string();
    }
    let line = |window: &WindowRow| {
        let array: Vec<String> = window.array.iter().map(|&n| count(n as u64)).collect();
        format!(
            "<tr><th scope=row>{}</th><td>{}</td><td>{}</td><td>[{}]</td><td class=n>{}</td><td>[{}]</td><td>({})</td><td class=place>{}</td></tr>",
            Clipped(&window.name, 60),
            window.role,
            Text(&window.dtype),
            Clipped(&window.array_expression.join(", "), 120),
            array.join(" × "),
            Clipped(&window.block.join(", "), 120),
            Clipped(&window.index_map.join(", "), 160),
            Text(&short_place(&window.loc)),
        )
    };
    let head = "<th scope=col>operand</th><th scope=col>role</th><th scope=col>type</th><th scope=col>array</th>\
                <th scope=col class=n>elements</th><th scope=col>block</th><th scope=col>at</th><th scope=col>line</th>";
    table(head, inspection.windows.iter().map(line), inspection.windows.len())
}

/// The line of a place whose file the page's head names.
fn short_place(loc: &Loc) -> String {
    if loc.is_known() { format!("{}:{}", loc.line, loc.column) } else { String::new() }
}

fn table(head: &str, lines: impl Iterator<Item = String>, all: usize) -> String {
    let lines: String = lines.take(MOST).collect();
    let more = all.saturating_sub(MOST);
    let more = if more > 0 { format!("<tr><td colspan=8>and {more} more</td></tr>") } else { String::new() };
    format!("<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{lines}{more}</tbody></table></div>")
}

/// What would help.
pub(super) fn lints(inspection: &Inspection, prediction: &Prediction) -> String {
    if prediction.lints.is_empty() {
        return "<p class=none>The model knows of nothing that would help.</p>".to_string();
    }
    let one = |lint: &Lint| {
        let gain = match lint.gain {
            0 => "<span class=gain>saves memory</span>".to_string(),
            gain => format!(
                "<span class=gain>up to <b>−{}</b> {} cycles, {}</span>",
                share(gain, prediction.cycles),
                count(gain),
                time(gain, inspection.chip.clock_mhz)
            ),
        };
        let at = place(&lint.loc);
        let line = stages::line_of(inspection, &lint.loc);
        let at = match (at.is_empty(), line) {
            (true, _) => String::new(),
            (false, None) => format!("<span class=place>{}</span>", Text(&at)),
            (false, Some(id)) => format!("<a class=place href=\"#{id}\">{}</a>", Text(&at)),
        };
        format!(
            "<li class=lint><div class=linthead><code>{}</code>{gain}</div><p class=what>{}</p><p>{}</p><p class=help>{}</p>{at}</li>",
            Text(lint.rule),
            Clipped(&lint.what, 400),
            Clipped(&lint.why, 400),
            Clipped(&lint.help, 400),
        )
    };
    let more = prediction.lints.len().saturating_sub(MOST);
    let more = if more > 0 { format!("<p class=none>and {more} more</p>") } else { String::new() };
    format!("<ul class=lints>{}</ul>{more}", prediction.lints.iter().take(MOST).map(one).collect::<String>())
}

/// What each chip says.
pub(super) fn legality(inspection: &Inspection) -> String {
    let one = |row: &Legality| {
        let here = if row.chip == inspection.chip.name { " here" } else { "" };
        match &row.refused {
            None => format!("<li class=\"chip yes{here}\"><b>{}</b><span><i class=mark>✓</i> legal</span></li>", Text(row.chip)),
            Some(refusal) => format!(
                "<li class=\"chip no{here}\"><b>{}</b><span><i class=mark>✗</i> <code>{}</code></span><p>{}</p>\
                 <details><summary>where</summary><pre tabindex=0>{}</pre></details></li>",
                Text(row.chip),
                Text(refusal.code),
                Clipped(&refusal.reason, 300),
                Text(&clipped(&refusal.rendered, 3000)),
            ),
        }
    };
    format!("<ul class=chips>{}</ul>", inspection.legality.iter().map(one).collect::<String>())
}
