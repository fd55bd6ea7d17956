//! How long a launch would take on a chip: a model of what each unit does, step by step, and of what would help.
//!
//! Rules: a prediction is a model, never a measurement, and is presented as such. It needs the kernel, the launch's
//! numbers and the chip's table alone; nothing runs, and its time is linear in the kernel's text, whatever the grid. It is
//! calibrated on the cycles that libtpu estimates (`docs/prediction.md`), which are a model too.
//!
//! The way of a prediction: `plan` says what each operation of the body asks of the units (`work`, by registers: `layout`);
//! `sample` picks grid steps; `walk` takes the branches and loops of each; `pipeline` lets copies and steps overlap; `lints` compare
//! the prediction with those of changed launches.

mod layout;
mod lints;
mod model;
mod pipeline;
mod plan;
mod report;
mod sample;
mod table;
mod timeline;
mod walk;
mod work;

pub use report::{Bottleneck, Lint, Overheads, Prediction, Roof, Span, TIMELINE_STEPS, Unit, Units};

use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::Kernel;
use crate::launch::{Binding, cost};
use lints::Linter;
use model::Model;
use pipeline::Flow;
use plan::Node;
use table::Rates;

/// Predicts the launch of a kernel that a chip takes as it is: legalised, canonical, verified.
///
/// # Panics
/// On a kernel that [`verify`](crate::passes::verify()) refuses, or a binding of another kernel.
pub fn predict(kernel: &Kernel, binding: &Binding, chip: &Chip) -> Prediction {
    let rates = Rates::of(chip);
    let model = Model::new(kernel, binding, chip, rates);
    let counted = cost(kernel, binding);
    let grid_steps = binding.grid.iter().fold(1u64, |n, &d| n.saturating_mul(u64::from(d.max(0).cast_unsigned())));
    let mut prediction = Prediction {
        chip: chip.name,
        cycles: 0,
        bottleneck: Bottleneck::Nothing,
        units: Units::default(),
        overheads: Overheads::default(),
        grid_steps,
        steps: vec![],
        lints: vec![],
        flops: counted.flops,
        bytes: counted.bytes,
        roof: roof(&model, chip, rates),
    };
    if grid_steps == 0 {
        return prediction;
    }
    let turns = model.sampled();
    let flow = model.flow(&turns, true);
    prediction.cycles = cycles(flow.cycles);
    prediction.overheads = Overheads {
        fill: cycles(flow.fill),
        drain: cycles(flow.drain),
        steps: cycles(flow.between),
        waits: cycles(flow.waits + flow.body.stalls),
    };
    for unit in Unit::ALL {
        prediction.units.0[unit as usize] = cycles(match unit {
            Unit::Dma => flow.copying - flow.copy_latency + flow.body.work.of(unit),
            Unit::Scalar => flow.body.work.of(unit) + flow.between,
            _ => flow.body.work.of(unit),
        });
    }
    prediction.bottleneck = bottleneck(&flow);
    prediction.steps = model.timeline();
    prediction.lints = Linter { kernel, binding, chip, rates, model: &model, turns: &turns, flow: &flow }.all();
    prediction
}

/// Whole cycles; what exceeds 64 bits is the largest number there is.
fn cycles(n: f64) -> u64 {
    n.round() as u64
}

/// What most of the time goes to.
fn bottleneck(flow: &Flow) -> Bottleneck {
    let body = flow.body.cycles;
    let fill = flow.fill + flow.drain;
    let most = body.max(fill).max(flow.waits).max(flow.between);
    if most == body {
        let busiest = Unit::ALL.into_iter().max_by(|a, b| flow.body.work.of(*a).total_cmp(&flow.body.work.of(*b)));
        return match busiest {
            Some(unit) if flow.body.work.of(unit) * 2.0 >= body => Bottleneck::Unit(unit),
            _ => Bottleneck::Latency,
        };
    }
    match () {
        () if most == flow.waits && flow.copy_latency * 2.0 < flow.copying => Bottleneck::Unit(Unit::Dma),
        // Copies are mostly latency: the blocks are small.
        () if most == flow.waits || most == flow.between => Bottleneck::Steps,
        () => Bottleneck::Fill,
    }
}

fn roof(model: &Model<'_>, chip: &Chip, rates: &Rates) -> Roof {
    let mut products = false;
    model::each(&model.nodes, &mut |node| {
        products |= matches!(node, Node::Tile(cost) if cost.work.iter().any(|(_, w)| w.of(Unit::Mxu) > 0.0))
    });
    let flops_per_cycle = match products {
        true => 2.0 * (chip.mxu_size * chip.mxu_size) as f64 / rates.row,
        false => rates.arithmetic * (SUBLANES * LANES) as f64,
    };
    Roof { flops_per_cycle, bytes_per_cycle: rates.copy_bytes }
}
