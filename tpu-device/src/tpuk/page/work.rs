//! What the whole launch goes to: the prediction in words, each unit's share, and what is no work.

use super::super::inspection::Inspection;
use super::lanes::class;
use super::number::{count, fraction, share, time};
use tpu_kernel::predict::{Bottleneck, Prediction, Unit};

/// The bottleneck in a sentence.
pub(super) fn sentence(moved: u64, prediction: &Prediction) -> String {
    let of = |n: u64| share(n, prediction.cycles);
    let most = of(prediction.bottleneck_cycles());
    match prediction.bottleneck {
        Bottleneck::Unit(Unit::Dma) => {
            let could = prediction.roof.bytes_per_cycle * prediction.cycles as f64;
            let used = share(moved, if could.is_finite() { could as u64 } else { 0 });
            format!(
                "Copies between device memory and vector memory set the pace: bytes move {most} of the time, and use {used} of the \
                 bandwidth."
            )
        }
        Bottleneck::Unit(unit) => {
            format!("The {} sets the pace: it works {most} of the time.", long(unit))
        }
        Bottleneck::Latency => {
            format!("No unit works half of the time: operations wait for the results of others {most} of it.")
        }
        // A step that waits for a copy which takes longer than it computes is short too.
        Bottleneck::Steps => format!(
            "No unit works half of the time: getting from one step of the grid to the next and waiting for its blocks takes {most} of it."
        ),
        Bottleneck::Fill => {
            format!("No unit works half of the time: the first copies in and the last copies out take {most} of it.")
        }
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

/// A bar for each unit, and one for what the launch goes to.
pub(super) fn work(inspection: &Inspection, prediction: &Prediction) -> String {
    let bar = |(unit, cycles): (Unit, u64)| {
        let about = format!("{} cycles, {}", count(cycles), time(cycles, inspection.chip.clock_mhz));
        let text = share(cycles, prediction.cycles);
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
    let idle = [overheads.fill, overheads.latency, overheads.waits, overheads.steps, overheads.drain]
        .into_iter()
        .fold(0u64, u64::saturating_add);
    let parts = [
        ("fill", "the first blocks arrive", overheads.fill),
        ("compute", "computing", prediction.cycles.saturating_sub(idle)),
        ("latency", "waiting for results", overheads.latency),
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
            units: Units::from_iter([(Unit::Dma, 350), (Unit::Mxu, 830)]),
            overheads: Overheads { fill: 100, drain: 50, steps: 110, waits: 510, latency: 70 },
            grid_steps: 4,
            steps: vec![],
            lints: vec![],
            roof: Roof { flops_per_cycle: 1.0, bytes_per_cycle: 500.0, products: true },
        }
    }

    #[test]
    fn every_bottleneck_is_a_sentence_with_its_share() {
        let about = |bottleneck| sentence(100_000, &prediction(bottleneck));
        assert!(about(Bottleneck::Unit(Unit::Mxu)).contains("works 83% of the time"));
        assert!(about(Bottleneck::Unit(Unit::Dma)).contains("35% of the time, and use 20% of the bandwidth"));
        assert!(about(Bottleneck::Steps).contains("takes 62% of it"));
        assert!(about(Bottleneck::Fill).contains("take 15% of it"));
        assert!(about(Bottleneck::Latency).contains("7.0% of it"));
        assert!(about(Bottleneck::Nothing).contains("nothing runs"));
        let endless = Prediction {
            cycles: 0,
            roof: Roof { flops_per_cycle: 1.0, bytes_per_cycle: f64::INFINITY, products: true },
            ..prediction(Bottleneck::Nothing)
        };
        for bottleneck in Unit::ALL.map(Bottleneck::Unit) {
            assert!(sentence(100_000, &Prediction { bottleneck, ..endless.clone() }).contains("0%"));
        }
    }
}
