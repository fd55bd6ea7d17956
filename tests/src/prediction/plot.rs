//! Predicted against estimated cycles as a picture.
//!
//! Rules: both axes are logarithmic and of one scale; the band holds predictions within a fifth; a point is a launch on a chip,
//! coloured by its kind of kernel, hollow where it was held out.

use super::records::Pair;
use super::summary::{CLASSES, Share};
use std::fmt::Write;

const COLOURS: [&str; 5] = ["#1f6feb", "#d1495b", "#2a9d8f", "#b07d2b", "#7d4cc9"];
const SIDE: f64 = 560.0;
const LEFT: f64 = 74.0;
const TOP: f64 = 48.0;

/// The picture.
pub fn svg(pairs: &[Pair]) -> String {
    let ends = |f: &dyn Fn(f64, f64) -> f64, start: f64| {
        pairs.iter().flat_map(|p| [p.estimated as f64, p.predicted.cycles as f64]).fold(start, f).log10()
    };
    let (low, high) = (ends(&f64::min, f64::MAX) - 0.1, ends(&f64::max, 1.0) + 0.1);
    let scale = SIDE / (high - low);
    let x = |cycles: f64| LEFT + (cycles.max(1.0).log10() - low) * scale;
    let y = |cycles: f64| TOP + SIDE - (cycles.max(1.0).log10() - low) * scale;
    let (width, height) = (LEFT + SIDE + 20.0, TOP + SIDE + 60.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    // Writing to a string cannot fail.
    let all = Share::of(pairs, |_| true);
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"20\" font-size=\"15\">Predicted cycles against libtpu's estimate: {all} launches within 20%</text>"
    );
    let (first, last) = (10f64.powf(low), 10f64.powf(high));
    let band = [(first, first * 1.2), (last / 1.2, last), (last, last), (last, last * 0.8), (first / 0.8, first), (first, first)];
    let band: Vec<String> = band.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
    let _ = writeln!(text, "<polygon points=\"{}\" fill=\"#e8eef7\"/>", band.join(" "));
    let _ = writeln!(
        text,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#8aa\" fill=\"none\"/>",
        x(first),
        y(first),
        x(last),
        y(last)
    );
    for power in low.ceil() as i32..=high.floor() as i32 {
        let at = 10f64.powi(power);
        let (h, v) = (x(at), y(at));
        let _ = writeln!(text, "<path d=\"M{h:.1} {TOP}V{:.1}M{LEFT} {v:.1}H{:.1}\" stroke=\"#ddd\"/>", TOP + SIDE, LEFT + SIDE);
        let label = format!("10<tspan dy=\"-5\" font-size=\"10\">{power}</tspan>");
        let _ = writeln!(text, "<text x=\"{h:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>", TOP + SIDE + 20.0);
        let _ = writeln!(text, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 8.0, v + 4.0);
    }
    let _ = writeln!(text, "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#666\"/>");
    for pair in pairs {
        let class = CLASSES.iter().position(|&c| c == pair.class).unwrap_or(0);
        let colour = COLOURS[class % COLOURS.len()];
        let fill = if pair.held_out { "#fff" } else { colour };
        let _ = writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{colour}\"><title>{} {} {}: estimated {}, predicted {}</title></circle>",
            x(pair.estimated as f64),
            y(pair.predicted.cycles as f64),
            pair.chip.name,
            pair.problem,
            pair.tiling,
            pair.estimated,
            pair.predicted.cycles
        );
    }
    for (at, (class, colour)) in CLASSES.iter().zip(COLOURS).enumerate() {
        let row = TOP + 22.0 + 20.0 * at as f64;
        let share = Share::of(pairs, |p| p.class == *class);
        let _ = writeln!(text, "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{colour}\"/>", LEFT + 18.0, row - 4.0);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{row}\">{class}: {share}</text>", LEFT + 30.0);
    }
    let row = TOP + 22.0 + 20.0 * CLASSES.len() as f64;
    let share = Share::of(pairs, |p| p.held_out);
    let _ = writeln!(text, "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"#fff\" stroke=\"#333\"/>", LEFT + 18.0, row - 4.0);
    let _ = writeln!(text, "<text x=\"{}\" y=\"{row}\">held out: {share}</text>", LEFT + 30.0);
    let middle = LEFT + SIDE / 2.0;
    let _ = writeln!(
        text,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">estimated by libtpu, cycles</text>",
        TOP + SIDE + 46.0
    );
    let side = TOP + SIDE / 2.0;
    let _ = writeln!(text, "<text transform=\"translate(20 {side}) rotate(-90)\" text-anchor=\"middle\">predicted, cycles</text>");
    text.push_str("</svg>\n");
    text
}
