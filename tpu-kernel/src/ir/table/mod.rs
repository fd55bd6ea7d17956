//! The language of the IR as one table: every operation, element type, memory space and kind of
//! operand, those that exist and those that are to come. `docs/ir.md` is generated from it.
//!
//! Rules: what is implemented has a row, and what has an implemented row is in code (tested). A
//! planned row is data only: its name and form are settled so that nothing must be torn up for it,
//! and no code stands in for it. The column on Mosaic says what the row becomes in the text that
//! libtpu accepts, with the lowering where the direct spelling is refused.

mod implemented;
mod planned;
mod types;

pub use types::{Entry, TYPES};

use super::OpKind;

/// Whether a row is in the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is: every executor has it.
    Implemented,
    /// It is not; there is no code for it.
    Planned,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The heading that it stands under.
    pub group: &'static str,
    /// Its name in text.
    pub mnemonic: &'static str,
    /// Its operands, in order, by name or type.
    pub operands: &'static str,
    /// What else it is made of.
    pub attributes: &'static str,
    /// Its result.
    pub result: &'static str,
    /// The element types that it takes.
    pub elements: &'static str,
    /// What it computes.
    pub meaning: &'static str,
    /// What it becomes in Mosaic.
    pub mosaic: &'static str,
    /// Whether it exists.
    pub state: State,
}

/// Every operation, group by group, implemented ones first.
pub fn operations() -> impl Iterator<Item = Row> {
    implemented::ROWS.iter().chain(planned::ROWS).copied()
}

/// The mnemonic of the row that an operation belongs to: each reduction and each scan has one of its own.
pub fn row_of(kind: &OpKind) -> String {
    match kind {
        OpKind::Reduce { op, .. } => format!("reduce {op}"),
        OpKind::Scan { op, .. } => format!("scan {op}"),
        kind => kind.mnemonic().to_string(),
    }
}

/// The table of operations as Markdown: a heading and a table a group.
pub fn operations_markdown(state: State) -> String {
    let mut text = String::new();
    let mut group = "";
    for row in operations().filter(|row| row.state == state) {
        if row.group != group {
            group = row.group;
            text += &format!("\n### {group}\n\n");
            text += "| operation | operands | attributes | result | elements | meaning | Mosaic |\n|---|---|---|---|---|---|---|\n";
        }
        let cells = [row.operands, row.attributes, row.result, row.elements, row.meaning, row.mosaic].map(escape);
        text += &format!("| `{}` | {} |\n", row.mnemonic, cells.join(" | "));
    }
    text
}

/// The tables of types, spaces and kinds as Markdown.
pub fn types_markdown() -> String {
    let mut text = String::new();
    let mut group = "";
    for entry in TYPES {
        if entry.group != group {
            group = entry.group;
            text += &format!("\n### {group}\n\n| name | meaning | Mosaic | state |\n|---|---|---|---|\n");
        }
        let state = match entry.state {
            State::Implemented => "implemented",
            State::Planned => "planned",
        };
        text += &format!("| `{}` | {} | {} | {state} |\n", entry.name, escape(entry.meaning), escape(entry.mosaic));
    }
    text
}

fn escape(cell: &str) -> String {
    cell.replace('|', "\\|")
}
