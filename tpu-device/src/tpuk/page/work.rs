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
            let could = prediction.roof.bytes_per_cycle * prediction.cycles as f64;
            let used = share(prediction.bytes, if could.is_finite() { could as u64 } else { 0 });
            format!("Copies between device memory and vector memory set the pace: they use {used} of the bandwidth.")
        }
        Bottleneck::Unit(unit) => {
            format!("The {} sets the pace: it works {} of the time.", long(unit), of(prediction.units.of(unit)))
        }
        Bottleneck::Latency => "No unit sets the pace: operations wait for the results of others.".to_string(),
        // A step that waits for a copy which takes longer than it computes is short too.
        Bottleneck::Steps => format!(
            "Each step of the grid does little: getting from one to the next and waiting for its blocks takes {} of the time.",
            of(overheads.steps.saturating_add(overheads.waits))
        ),
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
        // Copies at the same time each have their cycles.
        let (text, about) = if unit == Unit::Dma && cycles > prediction.cycles {
            let at_once = format!("{:.1}", fraction(cycles, prediction.cycles));
            (format!("{at_once}×"), format!("copies overlap: {at_once} are under way on average"))
        } else {
            let about = format!("{} cycles, {}", count(cycles), time(cycles, inspection.chip.clock_mhz));
            (share(cycles, prediction.cycles), about)
        };
        let state = if prediction.bottleneck == Bottleneck::Unit(unit) {
            " most"
        } else if cycles == 0 {
            " idle"
        } else {
            ""
        };
        format!(
            "<div class=\"unit{state}\" title=\"{about}\"><span class=unitname>{name}</span>\
             <span class=meter><i class=\"{class}\" style=\"width:{width:.2}%\"></i></span><span class=n>{text}</span></div>",
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

#[cfg(test)]
mod tests {
    use super::sentence;
    use tpu_kernel::predict::{Bottleneck, Overheads, Prediction, Roof, Unit, Units};

    fn prediction(bottleneck: Bottleneck) -> Prediction {
        Prediction {
            chip: "v5e",
            cycles: 1000,
            bottleneck,
            units: Units::from_iter([(Unit::Dma, 3500), (Unit::Mxu, 830)]),
            overheads: Overheads { fill: 100, drain: 50, steps: 110, waits: 510 },
            grid_steps: 4,
            steps: vec![],
            lints: vec![],
            flops: 0,
            bytes: 100_000,
            roof: Roof { flops_per_cycle: 1.0, bytes_per_cycle: 500.0 },
        }
    }

    #[test]
    fn every_bottleneck_is_a_sentence_with_its_share() {
        let about = |bottleneck| sentence(&prediction(bottleneck));
        assert!(about(Bottleneck::Unit(Unit::Mxu)).contains("works 83% of the time"));
        assert!(about(Bottleneck::Unit(Unit::Dma)).contains("20% of the bandwidth"));
        assert!(about(Bottleneck::Steps).contains("62% of the time"));
        assert!(about(Bottleneck::Fill).contains("15% of the time"));
        assert!(about(Bottleneck::Latency).contains("No unit"));
        assert!(about(Bottleneck::Nothing).contains("nothing runs"));
        let endless = Prediction {
            cycles: 0,
            roof: Roof { flops_per_cycle: 1.0, bytes_per_cycle: f64::INFINITY },
            ..prediction(Bottleneck::Nothing)
        };
        for bottleneck in Unit::ALL.map(Bottleneck::Unit) {
            assert!(sentence(&Prediction { bottleneck, ..endless.clone() }).contains("0%"));
        }
    }
}
