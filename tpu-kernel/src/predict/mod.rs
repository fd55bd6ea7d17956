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
use crate::ir::{Kernel, OpKind, Type};
use crate::launch::Binding;
use lints::Linter;
use model::Model;
use plan::Node;
use table::Rates;
use work::{Product, computes_packed};

/// Predicts the launch of a kernel that a chip takes as it is: legalised, canonical, verified.
///
/// # Panics
/// On a kernel that [`verify`](crate::passes::verify()) refuses, or a binding of another kernel.
pub fn predict(kernel: &Kernel, binding: &Binding, chip: &Chip) -> Prediction {
    let rates = Rates::of(chip);
    let model = Model::new(kernel, binding, chip, rates);
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
        roof: roof(&model, chip, rates),
    };
    if grid_steps == 0 {
        return prediction;
    }
    let turns = model.sampled();
    let flow = model.flow(&turns, true);
    prediction.cycles = cycles(flow.cycles);
    let busiest = flow.body.work.most();
    prediction.overheads = Overheads {
        fill: cycles(flow.fill),
        drain: cycles(flow.drain),
        steps: cycles(flow.between),
        waits: cycles(flow.waits + flow.body.stalls),
        latency: cycles((flow.body.cycles - flow.body.stalls - busiest).max(0.0)),
    };
    for unit in Unit::ALL {
        prediction.units.0[unit as usize] = cycles(match unit {
            // Copies by hand go beside those of windows.
            Unit::Dma => (flow.moving + flow.body.work.of(unit)).min(flow.cycles),
            Unit::Scalar => flow.body.work.of(unit) + flow.between,
            _ => flow.body.work.of(unit),
        });
    }
    prediction.bottleneck = bottleneck(prediction.cycles, prediction.units, prediction.overheads);
    prediction.steps = model.timeline();
    prediction.lints = Linter { kernel, binding, chip, rates, model: &model, turns: &turns, flow: &flow }.all();
    prediction
}

/// Whole cycles; what exceeds 64 bits is the largest number there is.
fn cycles(n: f64) -> u64 {
    n.round() as u64
}

/// The busiest unit, where it is busy at least half of the time; else what is waited for longest.
fn bottleneck(cycles: u64, units: Units, overheads: Overheads) -> Bottleneck {
    let busiest = units.iter().max_by_key(|&(_, busy)| busy);
    if let Some((unit, busy)) = busiest
        && busy.saturating_mul(2) >= cycles
    {
        return Bottleneck::Unit(unit);
    }
    let waiting = [Bottleneck::Fill, Bottleneck::Steps, Bottleneck::Latency];
    waiting.into_iter().max_by_key(|&waiting| overheads.of(waiting)).unwrap_or(Bottleneck::Latency)
}

/// What the units could do at most: the matrix units, for the narrowest operands of a product; without a product the vector units.
fn roof(model: &Model<'_>, chip: &Chip, rates: &Rates) -> Roof {
    let (mut passes, mut packed) = (f64::INFINITY, 1.0f64);
    model::each(&model.nodes, &mut |node| {
        let Node::Tile(cost) = node else { return };
        let ty = |at: usize| cost.op.operands.get(at).map(|&v| model.kernel.ty(v));
        if let (OpKind::Dot { dims, precision }, Some(lhs), Some(rhs)) = (&cost.op.kind, ty(0), ty(1)) {
            passes = passes.min(Product::of(dims, *precision, lhs, rhs, rates).passes);
        } else if let Some(Type::Tile(dtype, _)) = ty(0)
            && computes_packed(dtype, rates)
        {
            packed = 2.0;
        }
    });
    let flops_per_cycle = match passes.is_finite() {
        true => 2.0 * (chip.mxu_size * chip.mxu_size) as f64 / (rates.row * passes),
        false => packed * rates.arithmetic * (SUBLANES * LANES) as f64,
    };
    Roof { flops_per_cycle, bytes_per_cycle: rates.copy_bytes, products: passes.is_finite() }
}
