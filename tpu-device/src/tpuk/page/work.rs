//! What the whole launch goes to: the prediction in words, each unit's share, and what is no work.

use super::super::inspection::Inspection;
use super::lanes::class;
use super::number::{count, fraction, share, time};
use tpu_kernel::predict::{Bottleneck, Prediction, Unit};

/// The bottleneck in a sentence.
pub(super) fn sentence(prediction: &Prediction) -> String {
    let of = |n: u64| share(n, prediction.cycles);
    let overheads = prediction.overheads;
    match prediction.bottleneck {
        Bottleneck::Unit(Unit::Dma) => {
            format!(
                "Copies between device memory and vector memory set the pace: the DMA works {} of the time.",
                of(prediction.units.of(Unit::Dma))
            )
        }
        Bottleneck::Unit(unit) => {
            format!("The {} sets the pace: it works {} of the time.", long(unit), of(prediction.units.of(unit)))
        }
        Bottleneck::Latency => "No unit sets the pace: operations wait for the results of others.".to_string(),
        Bottleneck::Steps => {
            format!("The grid’s steps are so short that entering them takes longest: {} of the time.", of(overheads.steps))
        }
        Bottleneck::Fill => format!(
            "The launch is so short that its first copies in and last copies out take longest: {} of the time.",
            of(overheads.fill.saturating_add(overheads.drain))
        ),
        Bottleneck::Nothing => "The grid has no step: nothing runs.".to_string(),
    }
}

fn long(unit: Unit) -> &'static str {
    match unit {
        Unit::Dma => "DMA",
        Unit::Load => "load slot (vector memory to registers)",
        Unit::Store => "store slot (registers to vector memory)",
        Unit::Mxu => "matrix unit (MXU)",
        Unit::Vpu => "vector unit (VPU)",
        Unit::Xlu => "cross-lane unit (XLU)",
        Unit::Eup => "unit of elementary functions (EUP)",
        Unit::Scalar => "scalar unit",
    }
}

/// A word or two for the head of the page.
pub(super) fn name(bottleneck: Bottleneck) -> String {
    match bottleneck {
        Bottleneck::Unit(unit) => unit.name().to_string(),
        other => other.to_string(),
    }
}

/// A bar for each unit, and one for what the launch goes to.
pub(super) fn work(inspection: &Inspection, prediction: &Prediction) -> String {
    let bar = |(unit, cycles): (Unit, u64)| {
        let text = share(cycles, prediction.cycles);
        let most = prediction.bottleneck == Bottleneck::Unit(unit);
        format!(
            "<div class=\"unit{state}\" title=\"{cycles} cycles, {time}\"><span class=unitname>{name}</span>\
             <span class=meter><i class=\"{class}\" style=\"width:{width:.2}%\"></i></span><span class=n>{text}</span></div>",
            state = if most {
                " most"
            } else if cycles == 0 {
                " idle"
            } else {
                ""
            },
            cycles = count(cycles),
            time = time(cycles, inspection.chip.clock_mhz),
            name = unit.name(),
            class = class(unit),
            width = (fraction(cycles, prediction.cycles) * 100.0).min(100.0),
        )
    };
    let units: String = prediction.units.iter().map(bar).collect();
    format!("<div class=units>{units}</div>{}", whole(inspection, prediction))
}

/// The whole launch, to scale.
fn whole(inspection: &Inspection, prediction: &Prediction) -> String {
    let overheads = prediction.overheads;
    let idle = [overheads.fill, overheads.waits, overheads.steps, overheads.drain].into_iter().fold(0u64, u64::saturating_add);
    let parts = [
        ("fill", "the first blocks arrive", overheads.fill),
        ("compute", "computing", prediction.cycles.saturating_sub(idle)),
        ("waits", "waiting for copies", overheads.waits),
        ("steps", "from step to step", overheads.steps),
        ("drain", "the last blocks leave", overheads.drain),
    ];
    let segment = |&(class, what, cycles): &(&str, &str, u64)| {
        let width = fraction(cycles, prediction.cycles.max(idle)) * 100.0;
        format!("<i class=\"{class}\" style=\"width:{width:.2}%\" title=\"{what}: {} cycles\"></i>", count(cycles))
    };
    let line = |&(class, what, cycles): &(&str, &str, u64)| {
        format!(
            "<tr><th scope=row><i class=\"swatch {class}\"></i>{what}</th><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td></tr>",
            count(cycles),
            time(cycles, inspection.chip.clock_mhz),
            share(cycles, prediction.cycles)
        )
    };
    let segments: String = parts.iter().filter(|part| part.2 > 0).map(segment).collect();
    let lines: String = parts.iter().map(line).collect();
    format!(
        "<h3>The whole launch</h3><div class=whole>{segments}</div><table class=parts><thead><tr><th scope=col>part</th>\
         <th scope=col class=n>cycles</th><th scope=col class=n>time</th><th scope=col class=n>share</th></tr></thead><tbody>{lines}</tbody></table>"
    )
}
