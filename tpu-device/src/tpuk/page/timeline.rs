//! The pipeline as a picture: a lane for each unit, a band for each step, a bar for each span.
//!
//! Rules: the picture stands without the script, which only moves what is here: every bar and band carries its cycles, and
//! both place them by the same rule. A launch of many steps shows its first ones, and says so.

use super::super::inspection::Inspection;
use super::escape::{Clipped, Text, clipped};
use super::lanes::{Lane, Rows, indices, lanes};
use super::number::{count, counted, px, time};
use std::collections::BTreeMap;
use tpu_kernel::predict::{Prediction, Span, Unit};

/// The picture's width where nothing scales it, and what lies left and right of the plot.
const WIDTH: f64 = 1150.0;
const LEFT: f64 = 86.0;
const RIGHT: f64 = 36.0;
/// Above the lanes: the steps' numbers. Below: the axis.
const TOP: f64 = 46.0;
const BOTTOM: f64 = 46.0;
const GAP: f64 = 9.0;
/// Heights of a row: in a lane of few rows, of several, of many.
const ROW: [f64; 3] = [26.0, 18.0, 7.0];
/// As wide as a letter of the bars' font can be.
const LETTER: f64 = 6.7;
/// More bars than these are not drawn.
const MOST_SPANS: usize = 420;
/// Bars shown on each row of a lane with more copies at once than can be told apart.
const MOST_ROWS: usize = 40;

/// The section's picture and the line below it.
pub(super) fn timeline(inspection: &Inspection, prediction: &Prediction) -> String {
    let shown = shown_steps(prediction);
    let lanes = lanes(inspection, prediction, shown);
    let Some(end) = lanes.iter().flat_map(|rows| rows.rows.iter().flatten()).map(|span| span.end).max() else {
        return "<p class=none>The grid has no step: nothing happens.</p>".to_string();
    };
    let lanes: Vec<Rows<'_>> = lanes.into_iter().filter(|rows| is_drawn(rows)).collect();
    let picture = Picture { inspection, end, all: shown == prediction.grid_steps && end >= prediction.cycles };
    format!("{}{}", picture.svg(&lanes, prediction), caption(inspection, prediction, &lanes, shown))
}

/// How many steps are drawn: as many as there are spans for, but not too many bars.
fn shown_steps(prediction: &Prediction) -> u64 {
    let mut of_step: BTreeMap<u64, usize> = BTreeMap::new();
    for span in &prediction.steps {
        *of_step.entry(span.step).or_default() += 1;
    }
    let mut sum = 0;
    let mut shown = 0;
    for (step, spans) in of_step {
        sum += spans;
        if sum > MOST_SPANS && shown > 0 {
            return shown;
        }
        shown = step + 1;
    }
    shown
}

/// The lanes that a reader looks for are there even when nothing uses them; the others are not.
fn is_drawn(rows: &Rows<'_>) -> bool {
    !rows.rows.is_empty() || matches!(rows.lane, Lane::In | Lane::Out | Lane::Mxu | Lane::Vpu | Lane::Scalar)
}

/// Part of the time, with its labels: one line each.
struct Band {
    from: u64,
    to: u64,
    step: Option<u64>,
    labels: [String; 2],
    about: String,
}

struct Picture<'a> {
    inspection: &'a Inspection,
    end: u64,
    /// Whether the whole launch is drawn.
    all: bool,
}

impl Picture<'_> {
    fn x(&self, cycle: u64) -> f64 {
        LEFT + cycle as f64 / self.end.max(1) as f64 * (WIDTH - LEFT - RIGHT)
    }

    fn svg(&self, lanes: &[Rows<'_>], prediction: &Prediction) -> String {
        let (mut names, mut bars) = (String::new(), String::new());
        let mut y = TOP;
        for rows in lanes {
            let (row, used) = (row_height(rows), rows.rows.len().clamp(1, MOST_ROWS));
            let height = row * used as f64;
            names += &self.lane(rows, y, height, prediction.units.of(rows.lane.unit()));
            for (at, spans) in rows.rows.iter().take(MOST_ROWS).enumerate() {
                for span in spans {
                    bars += &self.bar(rows.lane, span, y + row * at as f64, row);
                }
            }
            y += height + GAP;
        }
        let (bottom, height) = (y, y - GAP + BOTTOM);
        let bands = self.bands(lanes, bottom);
        let heads = self.heads();
        let (width, plot) = (px(WIDTH), px(WIDTH - LEFT - RIGHT));
        format!(
            "<div class=scroll><svg id=timeline class=pic width=\"{width}\" height=\"{h}\" viewBox=\"0 0 {width} {h}\" role=group \
             aria-label=\"Timeline of the pipeline\" data-end=\"{end}\" data-left=\"{left}\" data-right=\"{right}\" data-bottom=\"{b}\" \
             data-clock=\"{clock}\">\
             <defs><clipPath id=plot><rect id=plotbox x=\"{left}\" y=0 width=\"{plot}\" height=\"{h}\"/></clipPath></defs>\
             <g clip-path=\"url(#plot)\">{bands}</g><g class=heads>{heads}</g>{names}<g clip-path=\"url(#plot)\" id=bars>{bars}</g>\
             <g id=axis class=axis>{axis}</g></svg></div>",
            h = px(height),
            b = px(bottom),
            end = self.end,
            left = px(LEFT),
            right = px(RIGHT),
            clock = self.inspection.chip.clock_mhz,
            axis = self.axis(bottom),
        )
    }

    /// What the numbers above the bands are: the step, and its place in the grid.
    fn heads(&self) -> String {
        let names: Vec<&str> = self.inspection.grid.iter().map(|dim| dim.name.as_str()).collect();
        // Few letters have room; the bands' own words have the names too.
        let (names, x) = (clipped(&names.join(" "), 11), px(LEFT - 12.0));
        format!("<text class=name x=\"{x}\" y=20>step</text><text class=\"name place\" x=\"{x}\" y=35>{}</text>", Text(&names))
    }

    fn lane(&self, rows: &Rows<'_>, y: f64, height: f64, busy: u64) -> String {
        let lane = rows.lane;
        let idle = match (rows.rows.is_empty(), busy) {
            (false, _) => String::new(),
            (true, 0) => format!("<text class=idle x=\"{}\" y=\"{}\">not used</text>", px(LEFT + 10.0), px(y + height / 2.0 + 4.0)),
            (true, _) => {
                format!(
                    "<text class=idle x=\"{}\" y=\"{}\">nothing in these steps</text>",
                    px(LEFT + 10.0),
                    px(y + height / 2.0 + 4.0)
                )
            }
        };
        format!(
            "<g class=lane><title>{name}: {does}</title><rect class=track x=\"{x}\" y=\"{y0}\" width=\"{w}\" height=\"{h}\"/>\
             <text class=name x=\"{tx}\" y=\"{ty}\">{name}</text>{idle}</g>",
            name = lane.name(),
            does = lane.does(),
            x = px(LEFT),
            y0 = px(y),
            w = px(WIDTH - LEFT - RIGHT),
            h = px(height),
            tx = px(LEFT - 12.0),
            ty = px(y + height / 2.0 + 4.0),
        )
    }

    fn bar(&self, lane: Lane, span: &Span, y: f64, row: f64) -> String {
        let (from, to) = (self.x(span.start), self.x(span.end));
        let width = (to - from).max(1.0);
        let buffer = span.buffer.map_or(String::new(), |buffer| format!(" b{}", buffer.min(1)));
        let name = clipped(&span.what, 40);
        let fits = row >= 14.0 && name.chars().count() as f64 * LETTER + 10.0 <= width;
        let text = if row < 14.0 {
            String::new()
        } else {
            let hidden = if fits { "" } else { " class=h" };
            format!("<text{hidden} x=\"{}\" y=\"{}\">{}</text>", px(from + 5.0), px(y + row / 2.0 + 4.0), Text(&name))
        };
        let operand = match self.operand(span) {
            Some(at) => format!(" data-o={at}"),
            None => String::new(),
        };
        format!(
            "<g class=\"s {class}{buffer}\" data-a={a} data-b={b} data-n={n}{operand} tabindex=-1><title>{title}</title>\
             <rect x=\"{x}\" y=\"{y0}\" width=\"{w}\" height=\"{h}\"/>{text}</g>",
            class = lane.class(),
            a = span.start,
            b = span.end,
            n = span.step,
            title = Text(&self.about(lane, span)),
            x = px(from),
            y0 = px(y + if row < 14.0 { 0.5 } else { 1.0 }),
            w = px(width),
            h = px(row - if row < 14.0 { 1.0 } else { 2.0 }),
        )
    }

    /// The row of the VMEM map that a copy fills or empties.
    fn operand(&self, span: &Span) -> Option<usize> {
        if span.unit != Unit::Dma {
            return None;
        }
        self.inspection.vmem.iter().position(|row| row.name == span.what)
    }

    fn about(&self, lane: Lane, span: &Span) -> String {
        let cycles = span.end - span.start;
        let buffer = span.buffer.map_or(String::new(), |buffer| format!(", buffer {buffer}"));
        format!(
            "{}: {}{buffer}\n{}\n{} · {}\nfrom cycle {} to {}",
            lane.name(),
            clipped(&span.what, 80),
            self.step(span.step),
            counted(cycles, "cycle"),
            time(cycles, self.inspection.chip.clock_mhz),
            count(span.start),
            count(span.end),
        )
    }

    fn step(&self, step: u64) -> String {
        let place = self.place(step);
        if place.is_empty() { format!("step {}", count(step)) } else { format!("step {} · {place}", count(step)) }
    }

    fn place(&self, step: u64) -> String {
        let place: Vec<String> =
            indices(self.inspection, step).iter().map(|(name, at)| format!("{} {at}", clipped(name, 12))).collect();
        place.join("  ")
    }

    /// A band for each step, from the first thing that it computes to the last, and one before and after them.
    fn bands(&self, lanes: &[Rows<'_>], bottom: f64) -> String {
        let work = || lanes.iter().filter(|rows| rows.lane.unit() != Unit::Dma).flat_map(|rows| rows.rows.iter().flatten());
        let mut steps: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for span in work() {
            let band = steps.entry(span.step).or_insert((span.start, span.end));
            *band = (band.0.min(span.start), band.1.max(span.end));
        }
        let first = steps.values().map(|band| band.0).min().unwrap_or(self.end);
        let last = steps.values().map(|band| band.1).max().unwrap_or(self.end);
        let mut bands = vec![];
        if first > 0 {
            let about = "before the first step: its blocks arrive".to_string();
            bands.push(Band { from: 0, to: first, step: None, labels: ["fill".to_string(), String::new()], about });
        }
        for (&step, &(from, to)) in &steps {
            let place: Vec<String> = indices(self.inspection, step).iter().map(|(_, at)| at.to_string()).collect();
            let about = format!(
                "{}\n{} · {}",
                self.step(step),
                counted(to - from, "cycle"),
                time(to - from, self.inspection.chip.clock_mhz)
            );
            bands.push(Band { from, to, step: Some(step), labels: [count(step), place.join(" ")], about });
        }
        if last < self.end && self.all {
            let about = "after the last step: its blocks leave".to_string();
            bands.push(Band { from: last, to: self.end, step: None, labels: ["drain".to_string(), String::new()], about });
        }
        // A label may be wider than its band, but lies on no other.
        let mut free = [LEFT; 2];
        bands.iter().map(|band| self.band(band, bottom, &mut free)).collect()
    }

    fn band(&self, band: &Band, bottom: f64, free: &mut [f64; 2]) -> String {
        let (x, right) = (self.x(band.from), self.x(band.to));
        let middle = (x + right) / 2.0;
        let lines = [("number", 20.0), ("place", 35.0)];
        let mut text = String::new();
        for ((label, (class, y)), free) in band.labels.iter().zip(lines).zip(free) {
            if label.is_empty() {
                continue;
            }
            let half = label.chars().count() as f64 * LETTER / 2.0;
            let fits = middle - half >= *free && middle + half <= WIDTH - RIGHT;
            if fits {
                *free = middle + half + LETTER;
            }
            let hidden = if fits { "" } else { " h" };
            text += &format!("<text class=\"{class}{hidden}\" x=\"{}\" y=\"{y}\">{}</text>", px(middle), Text(label));
        }
        let class = band.step.map_or("edge", |step| if step % 2 == 0 { "even" } else { "odd" });
        let number = band.step.map_or(String::new(), |step| format!(" data-n={step}"));
        format!(
            "<g class=\"band {class}\" data-a={} data-b={}{number}><title>{}</title><rect x=\"{}\" y=4 width=\"{}\" height=\"{}\"/>{text}</g>",
            band.from,
            band.to,
            Text(&band.about),
            px(x),
            px((right - x).max(0.5)),
            px(bottom - 4.0),
        )
    }

    fn axis(&self, bottom: f64) -> String {
        let mut axis = format!("<path d=\"M{} {b}H{}\"/>", px(LEFT), px(WIDTH - RIGHT), b = px(bottom));
        let step = tick(self.end, 8);
        for at in (0..).map(|n| n * step).take_while(|&at| at <= self.end) {
            let x = px(self.x(at));
            let label = if at == 0 { "0".to_string() } else { count(at) };
            let below = if at == 0 { "cycles".to_string() } else { time(at, self.inspection.chip.clock_mhz) };
            axis += &format!(
                "<path d=\"M{x} {}v5\"/><text x=\"{x}\" y=\"{}\">{label}</text><text class=time x=\"{x}\" y=\"{}\">{below}</text>",
                px(bottom),
                px(bottom + 18.0),
                px(bottom + 32.0),
            );
        }
        axis
    }
}

fn row_height(rows: &Rows<'_>) -> f64 {
    match rows.rows.len() {
        0 | 1 => ROW[0],
        2..=6 => ROW[1],
        _ => ROW[2],
    }
}

/// A round distance between marks, at most so many on the way.
fn tick(end: u64, most: u64) -> u64 {
    let least = end.div_ceil(most).max(1);
    let mut decade = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let step = decade.saturating_mul(factor);
            if step >= least {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

fn caption(inspection: &Inspection, prediction: &Prediction, lanes: &[Rows<'_>], shown: u64) -> String {
    let steps = match prediction.grid_steps {
        1 => "The only step of the grid.".to_string(),
        all if shown >= all => format!("All {} of the grid.", counted(all, "step")),
        all => format!(
            "The first {} of {} in the grid; the launch goes on until cycle {} ({}).",
            count(shown),
            counted(all, "step"),
            count(prediction.cycles),
            time(prediction.cycles, inspection.chip.clock_mhz)
        ),
    };
    let copies = lanes.iter().any(|rows| rows.rows.iter().flatten().any(|span| span.buffer.is_some()));
    let legend = if copies {
        "<span class=key><i class=\"swatch b0\"></i>copy with a window’s buffer 0</span>\
         <span class=key><i class=\"swatch b1\"></i>with buffer 1</span>"
    } else {
        ""
    };
    let unused: Vec<&str> =
        Unit::ALL.into_iter().filter(|&unit| !lanes.iter().any(|rows| rows.lane.unit() == unit)).map(Unit::name).collect();
    let unused = if unused.is_empty() { String::new() } else { format!(" Not used: {}.", unused.join(", ")) };
    let crowded = lanes.iter().any(|rows| rows.rows.len() > MOST_ROWS);
    let crowded = if crowded { format!(" Of copies at the same time {MOST_ROWS} are drawn.") } else { String::new() };
    format!("<p class=caption>{legend}<span>{steps}{}{crowded}</span></p>", Clipped(&unused, 200))
}

#[cfg(test)]
mod tests {
    use super::tick;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!([1, 8, 9, 100, 4001, 1_000_000].map(|end| tick(end, 8)), [1, 1, 2, 20, 1000, 200_000]);
        assert!(tick(u64::MAX, 8) >= u64::MAX / 8);
    }
}
