//! The roofline: what the chip could do with this many operations a byte, and what the kernel is predicted to do.
//!
//! Rules: both axes are logarithmic; roofs are the chip's, the point is a prediction. A roof of the matrix units is compared with
//! the products alone, one of the vector units with all arithmetic. A kernel without arithmetic has no point, and is told its
//! share of the bandwidth instead.

use super::super::inspection::Inspection;
use super::number::{bytes, digits, large, px, share};
use tpu_kernel::predict::Prediction;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 372.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;
const LETTER: f64 = 6.7;

/// The picture with its words, or the words alone.
pub(super) fn roofline(inspection: &Inspection, prediction: &Prediction) -> String {
    let clock = f64::from(inspection.chip.clock_mhz) * 1e6;
    let (roof, cost) = (prediction.roof, inspection.cost);
    let flops = if roof.products { cost.product_flops } else { cost.flops };
    let (flops, moved, cycles) = (flops as f64, cost.bytes as f64, prediction.cycles as f64);
    let positive = |x: f64| x.is_finite() && x > 0.0;
    if !positive(roof.flops_per_cycle) || !positive(roof.bytes_per_cycle) || !positive(cycles) {
        return "<p class=none>Nothing runs: there is no point to show.</p>".to_string();
    }
    if !positive(moved) {
        return "<p class=none>The kernel moves nothing between the memories: it has no place here.</p>".to_string();
    }
    let rate = moved / cycles;
    if !positive(flops) {
        return format!(
            "<p class=none>The kernel has no arithmetic. It moves {} at {} a cycle, {} of the bandwidth ({}).</p>",
            bytes(cost.bytes),
            rate_text(rate),
            ratio(rate / roof.bytes_per_cycle),
            large(rate * clock, "B/s"),
        );
    }
    let point = (flops / moved, flops / cycles);
    let ridge = roof.flops_per_cycle / roof.bytes_per_cycle;
    let limit = roof.flops_per_cycle.min(roof.bytes_per_cycle * point.0);
    let scale = Scale::new(point, ridge, roof.flops_per_cycle, roof.bytes_per_cycle);
    let words = format!(
        "<p class=caption><span>{} of {} a byte, where the chip turns from bandwidth to arithmetic at {}. {} a second is {} of \
         what the roof allows. Blocks count in whole, also where they stick out of the arrays.</span></p>",
        operations(point.0),
        if roof.products { "matrix products" } else { "arithmetic on elements" },
        digits(ridge),
        large(point.1 * clock, "OP"),
        ratio(point.1 / limit),
    );
    format!("{}{words}", svg(&scale, point, ridge, limit, prediction, clock))
}

fn operations(n: f64) -> String {
    let n = digits(n);
    if n == "1" { "1 operation".to_string() } else { format!("{n} operations") }
}

fn rate_text(rate: f64) -> String {
    format!("{} B", digits(rate))
}

fn ratio(part: f64) -> String {
    share((part.clamp(0.0, 1e6) * 1e6) as u64, 1_000_000)
}

/// Decades to the picture.
struct Scale {
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn new(point: (f64, f64), ridge: f64, peak: f64, bandwidth: f64) -> Scale {
        let mut x = ((point.0.min(ridge) / 3.0).log10().floor(), (point.0.max(ridge) * 3.0).log10().ceil());
        // The point's label stands on its right.
        while x.1 - point.0.log10() < (x.1 - x.0) * 0.34 {
            x.1 += 1.0;
        }
        let least = point.1.min(peak).min(bandwidth * 10f64.powf(x.0));
        let y = ((least / 1.5).log10().floor(), (peak.max(point.1) * 1.6).log10().ceil());
        Scale { x, y }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value.log10() - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value.log10() - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn grid(&self) -> String {
        let mut lines = String::new();
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for decade in decades(self.x) {
            let x = px(self.x(10f64.powi(decade)));
            lines += &format!(
                "<path class=gridline d=\"M{x} {TOP}V{bottom}\"/><text class=tick x=\"{x}\" y=\"{}\">{}</text>",
                bottom + 16.0,
                power(decade)
            );
        }
        for decade in decades(self.y) {
            let y = self.y(10f64.powi(decade));
            lines += &format!(
                "<path class=gridline d=\"M{LEFT} {}H{right}\"/><text class=\"tick left\" x=\"{}\" y=\"{}\">{}</text>",
                px(y),
                LEFT - 7.0,
                px(y + 4.0),
                power(decade)
            );
        }
        lines
    }
}

/// The decades that get a mark: all, or every second, third …
fn decades((from, to): (f64, f64)) -> impl Iterator<Item = i32> {
    let (from, to) = (from as i32, to as i32);
    let every = ((to - from) / 8 + 1).max(1);
    (from..=to).filter(move |decade| (decade - from) % every == 0)
}

fn power(decade: i32) -> String {
    match decade {
        -3..=-1 => digits(10f64.powi(decade)),
        0..=2 => digits(10f64.powi(decade)),
        3..=5 => format!("{}k", 10i32.pow(decade as u32 - 3)),
        6..=8 => format!("{}M", 10i32.pow(decade as u32 - 6)),
        _ => format!("1e{decade}"),
    }
}

fn svg(scale: &Scale, point: (f64, f64), ridge: f64, limit: f64, prediction: &Prediction, clock: f64) -> String {
    let roof = prediction.roof;
    let (x0, x1, bottom) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
    let (rx, ry) = (scale.x(ridge), scale.y(roof.flops_per_cycle));
    let sy = scale.y(roof.bytes_per_cycle * 10f64.powf(scale.x.0));
    let (px_, py) = (scale.x(point.0), scale.y(point.1));
    let peak = format!("{} OP a cycle · {}", digits(roof.flops_per_cycle), large(roof.flops_per_cycle * clock, "OP/s"));
    let slope = format!("{} B a cycle · {}", digits(roof.bytes_per_cycle), large(roof.bytes_per_cycle * clock, "B/s"));
    let angle = (ry - sy).atan2(rx - x0).to_degrees();
    // The slope's label lies along it where there is room, in its middle and a little above.
    let length = (rx - x0).hypot(ry - sy);
    let along = if slope.chars().count() as f64 * LETTER <= length {
        let (mx, my) = ((x0 + rx) / 2.0, (sy + ry) / 2.0 - 8.0);
        format!(
            "<text class=roofname text-anchor=middle transform=\"translate({} {}) rotate({})\">{slope}</text>",
            px(mx),
            px(my),
            px(angle)
        )
    } else {
        String::new()
    };
    let label = [format!("{} OP/B", digits(point.0)), format!("{} OP a cycle", digits(point.1))];
    let (lx, ly) = (px_ + 12.0, if py + 34.0 < bottom { py + 18.0 } else { py - 20.0 });
    format!(
        "<div class=scroll><svg class=\"pic roofline\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"Roofline\">\
         <path class=under d=\"M{x0} {sy}L{rx} {ry}H{x1}V{bottom}H{x0}Z\"/>{grid}\
         <path class=ridge d=\"M{rx} {ry}V{bottom}\"/><path class=roof d=\"M{x0} {sy}L{rx} {ry}H{x1}\"/>{along}\
         <text class=roofname text-anchor=end x=\"{x1}\" y=\"{pky}\">{peak}</text>\
         <path class=gap d=\"M{pxx} {limit}V{pyy}\"/><g class=point><title>{first}, {second}</title><circle cx=\"{pxx}\" cy=\"{pyy}\" r=7 /></g>\
         <text class=pointname x=\"{lx}\" y=\"{ly}\">{first}</text><text class=pointname x=\"{lx}\" y=\"{ly2}\">{second}</text>\
         <text class=tick x=\"{cx}\" y=\"{ay}\">operations a byte (OP/B)</text>\
         <text class=tick transform=\"translate(13 {cy}) rotate(-90)\">operations a cycle</text></svg></div>",
        sy = px(sy),
        rx = px(rx),
        ry = px(ry),
        grid = scale.grid(),
        pky = px(ry - 8.0),
        pxx = px(px_),
        pyy = px(py),
        limit = px(scale.y(limit)),
        lx = px(lx),
        ly = px(ly),
        ly2 = px(ly + 15.0),
        first = label[0],
        second = label[1],
        cx = px((x0 + x1) / 2.0),
        ay = px(HEIGHT - 8.0),
        cy = px((TOP + bottom) / 2.0),
    )
}
