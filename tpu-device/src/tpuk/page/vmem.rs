//! The vector memory as a picture: to scale, a block for each buffer, padding hatched.
//!
//! Rules: the upper bar is the whole memory; where the kernel takes little of it, a lower bar shows that part enlarged.

use super::super::inspection::Inspection;
use super::escape::{Text, clipped};
use super::number::{bytes, count, fraction, px, share};
use tpu_kernel::launch::VmemRow;

/// The picture's width where there is room; all places in it are shares of the width.
const WIDTH: f64 = 1150.0;
/// As wide as a letter can be.
const LETTER: f64 = 6.7;
/// Where the bar of the whole memory begins, and the enlarged one.
const TOP: f64 = 22.0;
const LENS: f64 = 84.0;

/// A block of the map: a buffer of a row.
struct Block<'a> {
    row: &'a VmemRow,
    /// The row's place in the table.
    at: usize,
    buffer: u64,
    from: u64,
    to: u64,
}

/// More blocks and lines than these are not drawn.
const MOST_ROWS: usize = 64;

/// The picture and its table.
pub(super) fn vmem(inspection: &Inspection) -> String {
    let (used, capacity) = (inspection.vmem_bytes(), inspection.chip.vmem_bytes);
    if inspection.vmem.is_empty() {
        return "<p class=none>The kernel keeps nothing in vector memory.</p>".to_string();
    }
    format!("{}{}{}", picture(inspection, used, capacity), words(inspection, used, capacity), table(&inspection.vmem))
}

fn blocks(rows: &[VmemRow]) -> Vec<Block<'_>> {
    let mut blocks = vec![];
    let mut from = 0u64;
    // Windows come first, so that the scoped limit can be read off the bar.
    let (windows, scratch): (Vec<_>, Vec<_>) = rows.iter().enumerate().take(MOST_ROWS).partition(|(_, row)| row.is_window());
    for (at, row) in windows.into_iter().chain(scratch) {
        for buffer in 0..row.buffers.min(2) {
            let to = from.saturating_add(row.padded);
            blocks.push(Block { row, at, buffer, from, to });
            from = to;
        }
    }
    blocks
}

fn picture(inspection: &Inspection, used: u64, capacity: u64) -> String {
    let blocks = blocks(&inspection.vmem);
    let scale = capacity.max(used).max(1);
    let enlarged = fraction(used, scale) < 0.55;
    let high = if enlarged { 28.0 } else { 66.0 };
    let mut parts = String::new();
    let end = fraction(used, scale);
    if capacity > used {
        let limit = fraction(inspection.chip.scoped_vmem_bytes, scale);
        // The label stands where the limit's mark does not cross it.
        let (from, to) = if limit <= end || limit >= 1.0 {
            (end, 1.0)
        } else if limit - end > 1.0 - limit {
            (end, limit)
        } else {
            (limit, 1.0)
        };
        parts += &format!(
            "<rect class=free x=\"{}\" y={TOP} width=\"{}\" height={high} /><svg class=freetext x=\"{}\" y={TOP} width=\"{}\" height={high}>\
             <text x=\"50%\" y=\"{}\">free {}</text></svg>",
            percent(end),
            percent(1.0 - end),
            percent(from),
            percent(to - from),
            px(high / 2.0 + 4.0),
            bytes(capacity - used),
        );
    }
    for block in &blocks {
        parts += &block_rect(block, scale, TOP, high, !enlarged);
    }
    if enlarged {
        let (top, lens) = (TOP + high, LENS - TOP - high);
        parts += &format!(
            "<svg y={top} width=\"100%\" height={lens} viewBox=\"0 0 100 10\" preserveAspectRatio=none><path class=lens d=\"M0 0H{}L100 10H0Z\"/></svg>",
            px((end * 100.0).max(0.1)),
        );
        for block in &blocks {
            parts += &block_rect(block, used.max(1), LENS, 66.0, true);
        }
    }
    parts += &limits(inspection, scale, high);
    format!(
        "<svg id=vmem class=pic width=\"100%\" height=\"{h}\" role=img aria-label=\"Map of the vector memory\"><defs>\
         <pattern id=hatch width=6 height=6 patternUnits=userSpaceOnUse patternTransform=\"rotate(45)\"><path d=\"M0 0V6\"/></pattern>\
         </defs>{parts}</svg>",
        h = if enlarged { LENS + 68.0 } else { TOP + high + 2.0 },
    )
}

/// A share of the picture's width.
fn percent(part: f64) -> String {
    format!("{:.3}%", part * 100.0)
}

/// The marks of the scoped limit and of the memory's end.
fn limits(inspection: &Inspection, scale: u64, height: f64) -> String {
    let chip = &inspection.chip;
    let mark = |at: u64, label: &str, class: &str| {
        let part = fraction(at, scale);
        let (anchor, dx) = if part < 0.6 { ("start", 6) } else { ("end", -6) };
        format!(
            "<line class=\"limit {class}\" x1=\"{x}\" x2=\"{x}\" y1=2 y2={y} /><text class=limittext text-anchor={anchor} x=\"{x}\" dx={dx} y=13>{label}</text>",
            x = percent(part),
            y = TOP + height,
        )
    };
    let memory = bytes(chip.vmem_bytes);
    if chip.scoped_vmem_bytes >= chip.vmem_bytes {
        return mark(chip.vmem_bytes, &format!("{memory}, all of it for windows"), "end");
    }
    let scoped = mark(chip.scoped_vmem_bytes, &format!("windows: at most {}", bytes(chip.scoped_vmem_bytes)), "scoped");
    // Two labels have room beside each other where one begins at its mark and the other ends there.
    let apart = fraction(chip.scoped_vmem_bytes, scale) < 0.6 && fraction(chip.vmem_bytes, scale) > 0.95;
    if apart { scoped + &mark(chip.vmem_bytes, &memory, "end") } else { scoped }
}

fn class(row: &VmemRow, buffer: u64) -> &'static str {
    match (row.is_window(), row.buffers, buffer) {
        (false, ..) => "scratch",
        (true, 0 | 1, _) => "single",
        (true, _, 0) => "b0",
        (true, ..) => "b1",
    }
}

fn block_rect(block: &Block<'_>, scale: u64, y: f64, height: f64, labels: bool) -> String {
    let row = block.row;
    let part = fraction(block.to - block.from, scale);
    let padding = fraction(row.padded.saturating_sub(row.packed), row.padded.max(1));
    let buffer = if row.buffers > 1 { format!(", buffer {}", block.buffer) } else { String::new() };
    let title = format!(
        "{} ({}){buffer}\n{} {}\n{}, of which {} padding",
        clipped(&row.name, 80),
        row.role,
        shape(row),
        row.dtype,
        bytes(row.padded),
        share(row.padded.saturating_sub(row.packed), row.padded)
    );
    let hatch = if padding > 0.0 {
        format!("<rect class=padding x=\"{}\" width=\"{}\" height=\"100%\"/>", percent(1.0 - padding), percent(padding))
    } else {
        String::new()
    };
    // Labels that have room in the picture at its full width.
    let room = part * WIDTH;
    let mut text = String::new();
    let mut line = |line: &str, class: &str, dy: u32| {
        if labels && line.chars().count() as f64 * LETTER + 10.0 <= room {
            text += &format!("<text class={class} x=6 y={dy}>{}</text>", Text(line));
        }
    };
    line(&clipped(&row.name, 40), "blockname", 21);
    line(&if row.buffers > 1 { format!("{} {}", row.role, block.buffer) } else { row.role.to_string() }, "blockpart", 38);
    line(&bytes(row.padded), "blockpart", 54);
    let seam = if labels { "<rect class=seam width=\"1.5\" height=\"100%\"/>" } else { "" };
    let text = if text.is_empty() { text } else { format!("<svg width=\"100%\" height=\"100%\" class=blocktext>{text}</svg>") };
    format!(
        "<svg class=\"m {}\" data-o={} x=\"{}\" y={y} width=\"{}\" height={height}><title>{}</title>\
         <rect class=block width=\"100%\" height=\"100%\"/>{hatch}{seam}{text}</svg>",
        class(row, block.buffer),
        block.at,
        percent(fraction(block.from, scale)),
        percent(part),
        Text(&title),
    )
}

fn shape(row: &VmemRow) -> String {
    if row.shape.is_empty() { "1".to_string() } else { row.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ") }
}

fn words(inspection: &Inspection, used: u64, capacity: u64) -> String {
    let windows = inspection.window_bytes();
    let limit = inspection.chip.scoped_vmem_bytes;
    let padding = inspection
        .vmem
        .iter()
        .fold(0u64, |n, row| n.saturating_add(row.padded.saturating_sub(row.packed).saturating_mul(row.buffers)));
    let over = match (windows > limit, used > capacity) {
        (true, _) => format!(" <strong class=bad>The windows are {} too large.</strong>", bytes(windows - limit)),
        (_, true) => format!(" <strong class=bad>That is {} too much.</strong>", bytes(used - capacity)),
        _ => String::new(),
    };
    let padding = if padding > 0 { format!(" {} of it is padding to whole tiles.", share(padding, used)) } else { String::new() };
    let keys = [("b0", "buffer 0"), ("b1", "buffer 1"), ("single", "single buffer"), ("scratch", "scratch")];
    let has = |wanted: &str| blocks(&inspection.vmem).iter().any(|block| class(block.row, block.buffer) == wanted);
    let keys = keys
        .iter()
        .filter(|(key, _)| has(key))
        .map(|(key, name)| format!("<span class=key><i class=\"swatch {key}\"></i>{name}</span>"));
    let hatched = if padding.is_empty() { "" } else { "<span class=key><i class=\"swatch hatched\"></i>padding</span>" };
    format!(
        "<p class=caption>{}{hatched}<span>{} in use, {} of the memory; windows take {} of their limit.{padding}{over}</span></p>",
        keys.collect::<String>(),
        bytes(used),
        share(used, capacity),
        share(windows, limit),
    )
}

fn table(rows: &[VmemRow]) -> String {
    let line = |(at, row): (usize, &VmemRow)| {
        format!(
            "<tr data-o={at}><th scope=row>{}</th><td>{}</td><td>{} {}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td></tr>",
            Text(&clipped(&row.name, 60)),
            row.role,
            shape(row),
            row.dtype,
            count(row.padded),
            row.buffers,
            count(row.bytes()),
            share(row.padded.saturating_sub(row.packed), row.padded),
        )
    };
    let lines: String = rows.iter().enumerate().take(MOST_ROWS).map(line).collect();
    let more = rows.len().saturating_sub(MOST_ROWS);
    let more = if more > 0 { format!("<tr><td colspan=7>and {more} more</td></tr>") } else { String::new() };
    format!(
        "<div class=scroll><table><thead><tr><th scope=col>operand</th><th scope=col>role</th><th scope=col>block</th>\
         <th scope=col class=n>bytes of a buffer</th><th scope=col class=n>buffers</th><th scope=col class=n>bytes</th>\
         <th scope=col class=n>padding</th></tr></thead><tbody>{lines}{more}</tbody></table></div>"
    )
}
