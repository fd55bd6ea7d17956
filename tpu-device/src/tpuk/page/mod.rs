//! An inspection as one page of HTML and as a trace: what a kernel author looks at.
//!
//! Rules: the page is one file that asks for nothing, is readable without its script, and stays below 300 kB whatever the
//! kernel; the same inspection gives the same bytes; text of others is escaped where it enters; it says that a prediction
//! is none of a measurement. `page.html`, `style.css` and `script.js` hold what is the same on every page.

mod escape;
mod lanes;
mod number;
mod roofline;
mod stages;
mod tables;
mod timeline;
mod trace;
mod vmem;
mod work;

pub use trace::trace;

use super::inspection::Inspection;
use escape::{Clipped, Text};
use number::{bytes, count, counted, digits, large, share, time};
use tpu_kernel::predict::Prediction;

const PAGE: &str = include_str!("page.html");
/// The sections that a kernel without a prediction does not have.
const PREDICTED: &str = include_str!("predicted.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page.
pub fn html(inspection: &Inspection) -> String {
    fill(PAGE, |name| match name {
        "style" => STYLE.to_string(),
        "script" => SCRIPT.to_string(),
        "title" => format!("{} on {}", Clipped(&inspection.kernel, 60), inspection.chip.name),
        "kernel" => kernel(&inspection.kernel),
        "path" => path(inspection),
        "chip" => chip(inspection),
        "launch" => launch(inspection),
        "figures" => figures(inspection),
        "predicted" => inspection.prediction.as_ref().map(|prediction| predicted(inspection, prediction)).unwrap_or_default(),
        "vmem" => vmem::vmem(inspection),
        "legality" => tables::legality(inspection),
        "grid" => tables::grid(inspection),
        "windows" => tables::windows(inspection),
        "stages" => stages::stages(inspection),
        "version" => env!("CARGO_PKG_VERSION").to_string(),
        _ => String::new(),
    })
}

fn predicted(inspection: &Inspection, prediction: &Prediction) -> String {
    fill(PREDICTED, |name| match name {
        "timeline" => timeline::timeline(inspection, prediction),
        "work" => work::work(inspection, prediction),
        "roofline" => roofline::roofline(inspection, prediction),
        "lints" => tables::lints(inspection, prediction),
        _ => String::new(),
    })
}

/// A template with a value in the place of each `{{name}}`; values are not looked into.
fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        page += &value(name);
        page += rest;
    }
    page
}

/// The kernel's name, which may break where a word of it ends.
fn kernel(name: &str) -> String {
    Clipped(name, 120).to_string().replace('_', "_<wbr>")
}

fn path(inspection: &Inspection) -> String {
    let place = tables::place(&inspection.loc);
    let dot = if place.is_empty() || inspection.path.is_empty() { "" } else { " · " };
    format!("{}{dot}{}", Clipped(&inspection.path, 120), Text(&place))
}

fn chip(inspection: &Inspection) -> String {
    let chip = &inspection.chip;
    format!(
        "<b>{}</b><span>{} of {}×{} a core, {}</span><span>{} of vector memory, {} MHz</span>",
        chip.name,
        counted(chip.mxus as u64, "MXU"),
        chip.mxu_size,
        chip.mxu_size,
        counted(chip.cores as u64, "core"),
        bytes(chip.vmem_bytes),
        count(chip.clock_mhz),
    )
}

/// Configuration, sizes and scalars.
fn launch(inspection: &Inspection) -> String {
    let pair = |name: &str, value: &str| format!("<span class=pair>{} <b>{}</b></span>", Clipped(name, 40), Clipped(value, 40));
    let config = inspection.config.iter().map(|(name, value)| pair(name, value));
    let sizes = inspection.sizes.iter().map(|(name, n)| pair(name, &count(*n)));
    let scalars = inspection.scalars.iter().map(|(name, value)| pair(name, &value.to_string()));
    let group = |title: &str, pairs: &mut dyn Iterator<Item = String>| {
        let (mut shown, mut more) = (String::new(), 0usize);
        for (at, pair) in pairs.enumerate() {
            if at < 32 { shown += &pair } else { more += 1 }
        }
        let more = if more > 0 { format!("<span class=pair>and {more} more</span>") } else { String::new() };
        if shown.is_empty() {
            String::new()
        } else {
            format!("<div class=group><span class=label>{title}</span>{shown}{more}</div>")
        }
    };
    let steps = counted(inspection.steps(), "step");
    let extents: Vec<String> = inspection.grid.iter().take(12).map(|dim| count(dim.extent)).collect();
    let grid = if extents.len() < 2 { steps } else { format!("{} = {steps}", extents.join(" × ")) };
    [
        group("configuration", &mut config.into_iter()),
        group("sizes", &mut sizes.into_iter()),
        group("scalars", &mut scalars.into_iter()),
        group("grid", &mut std::iter::once(format!("<span class=pair><b>{grid}</b></span>"))),
    ]
    .concat()
}

/// The large figures.
fn figures(inspection: &Inspection) -> String {
    let figure = |label: &str, value: &str, note: &str| {
        format!("<div class=figure><span class=label>{label}</span><b>{value}</b><span>{note}</span></div>")
    };
    let used = inspection.vmem_bytes();
    let memory = figure(
        "vector memory",
        &bytes(used),
        &format!("{} of {}", share(used, inspection.chip.vmem_bytes), bytes(inspection.chip.vmem_bytes)),
    );
    match &inspection.prediction {
        Ok(prediction) => {
            let clock = inspection.chip.clock_mhz;
            let cost = inspection.cost;
            let rate = cost.flops as f64 / prediction.cycles.max(1) as f64 * f64::from(clock) * 1e6;
            format!(
                "<div class=figures>{}{}{}{memory}</div><p class=sentence>{}</p>\
                 <p class=honest>All times are predicted by a model of the chip. They are not measured.</p>",
                figure(
                    "predicted cycles",
                    &count(prediction.cycles),
                    &format!("{} at {} GHz", time(prediction.cycles, clock), digits(f64::from(clock) / 1e3))
                ),
                figure(
                    "bottleneck",
                    &prediction.bottleneck.to_string(),
                    &format!("{} of the time", share(prediction.bottleneck_cycles(), prediction.cycles))
                ),
                figure(
                    "arithmetic on whole blocks",
                    &large(cost.flops as f64, "OP"),
                    &format!(
                        "{} on integers; {}; {} moved",
                        share(cost.integer_flops, cost.flops),
                        large(rate, "OP/s"),
                        bytes(cost.bytes)
                    )
                ),
                Text(&work::sentence(cost.bytes, prediction)),
            )
        }
        Err(reason) => format!(
            "<div class=figures>{}{memory}</div><p class=\"sentence bad\">No prediction: {}</p>",
            figure("predicted cycles", "none", "the reason is below"),
            Clipped(reason, 600)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn a_template_is_filled_once() {
        assert_eq!(fill("a {{x}} b{{y}}", |name| format!("<{name} {{{{x}}}}>")), "a <x {{x}}> b<y {{x}}>");
        assert_eq!(fill("no names", |_| "x".into()), "no names");
    }

    #[test]
    fn every_name_of_the_page_has_a_value() {
        let pages = [super::PAGE, super::PREDICTED].concat();
        let names: Vec<&str> = pages.split("{{").skip(1).filter_map(|part| part.split_once("}}")).map(|(name, _)| name).collect();
        assert!(names.len() >= 16, "{names:?}");
        for name in names {
            assert!(include_str!("mod.rs").contains(&format!("\"{name}\" =>")), "{name}");
        }
    }
}
