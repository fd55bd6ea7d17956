//! What a prediction says.

use crate::ir::Loc;
use std::fmt;

/// A part of the chip that works beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Copies between device memory and vector memory.
    Dma,
    /// Loads from vector memory to registers.
    Load,
    /// Stores from registers to vector memory.
    Store,
    /// Products of matrices.
    Mxu,
    /// Arithmetic on vector registers.
    Vpu,
    /// Movement across lanes: transposes, rotations, reductions along lanes.
    Xlu,
    /// Elementary functions: exp, tanh, reciprocal, square roots.
    Eup,
    /// Scalars, addresses, branches.
    Scalar,
}

impl Unit {
    /// Every unit, in the order in which they are shown.
    pub const ALL: [Unit; 8] = [Unit::Dma, Unit::Load, Unit::Store, Unit::Mxu, Unit::Vpu, Unit::Xlu, Unit::Eup, Unit::Scalar];

    /// The name that a reader sees.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Dma => "DMA",
            Unit::Load => "load",
            Unit::Store => "store",
            Unit::Mxu => "MXU",
            Unit::Vpu => "VPU",
            Unit::Xlu => "XLU",
            Unit::Eup => "EUP",
            Unit::Scalar => "scalar",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What most of the predicted time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bottleneck {
    /// The busiest unit, which is busy at least half of the time. The others are named where no unit is.
    Unit(Unit),
    /// Operations wait for the results of others; no unit is busy throughout.
    Latency,
    /// Getting from one grid step to the next, and waiting for its blocks, takes longest.
    Steps,
    /// The first copies in and the last ones out take longest.
    Fill,
    /// The grid has no step.
    Nothing,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bottleneck::Unit(unit) => write!(f, "{unit}"),
            Bottleneck::Latency => f.write_str("latency"),
            Bottleneck::Steps => f.write_str("grid steps"),
            Bottleneck::Fill => f.write_str("pipeline fill"),
            Bottleneck::Nothing => f.write_str("nothing"),
        }
    }
}

/// Cycles in which each unit of a core works, over the whole launch: never more than the launch has. DMA works where bytes of at
/// least one copy move; the latency of a copy is none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units(pub(super) [u64; Unit::ALL.len()]);

impl Units {
    /// The cycles of one unit.
    pub const fn of(&self, unit: Unit) -> u64 {
        self.0[unit as usize]
    }

    /// Every unit with its cycles.
    pub fn iter(&self) -> impl Iterator<Item = (Unit, u64)> + '_ {
        Unit::ALL.into_iter().map(|unit| (unit, self.of(unit)))
    }
}

impl FromIterator<(Unit, u64)> for Units {
    fn from_iter<I: IntoIterator<Item = (Unit, u64)>>(cycles: I) -> Units {
        let mut units = Units::default();
        for (unit, n) in cycles {
            let sum = &mut units.0[unit as usize];
            *sum = sum.saturating_add(n);
        }
        units
    }
}

/// Cycles in which nothing is computed for want of data or because the grid moves on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// Before the first step: its blocks arrive.
    pub fill: u64,
    /// After the last step: its blocks leave.
    pub drain: u64,
    /// Between steps: indices, waits, starts of copies.
    pub steps: u64,
    /// Steps that wait for a copy longer than they compute.
    pub waits: u64,
    /// Within steps, what they take longer than their busiest unit: operations wait for the results of others.
    pub latency: u64,
}

impl Overheads {
    /// The cycles that a bottleneck which is no unit stands for.
    pub(super) const fn of(&self, waiting: Bottleneck) -> u64 {
        match waiting {
            Bottleneck::Fill => self.fill.saturating_add(self.drain),
            Bottleneck::Steps => self.steps.saturating_add(self.waits),
            Bottleneck::Latency => self.latency,
            Bottleneck::Unit(_) | Bottleneck::Nothing => 0,
        }
    }
}

/// A stretch of the timeline in which one unit does one thing. Times are cycles since the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Who works.
    pub unit: Unit,
    /// On what: the name of an operand for a copy, else of what most of the cycles go to.
    pub what: String,
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
    /// The grid step that it belongs to, counted in the order in which steps run.
    pub step: u64,
    /// Of a copy, which of the window's buffers, from 0.
    pub buffer: Option<u8>,
}

/// What would make a kernel faster or smaller.
#[derive(Clone, Debug, PartialEq)]
pub struct Lint {
    /// Which rule: a word with dashes, `narrow-contraction`.
    pub rule: &'static str,
    /// What was found.
    pub what: String,
    /// Why it costs.
    pub why: String,
    /// What to do about it.
    pub help: String,
    /// Cycles that it would save, as predicted; 0 where it saves memory only.
    pub gain: u64,
    /// Where: the operation or the operand.
    pub loc: Loc,
}

/// The most that a chip's core can do, for a roofline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Operations of the matrix units a cycle, for the element types and the precision of the kernel's products, the fastest
    /// where they differ; of the vector units, one on each element of a register, where it has no product.
    pub flops_per_cycle: f64,
    /// Bytes between device memory and vector memory a cycle.
    pub bytes_per_cycle: f64,
    /// Whether it is that of the matrix units.
    pub products: bool,
}

/// How long a launch would take by the model, and why. It is not a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The chip.
    pub chip: &'static str,
    /// Cycles of the whole launch.
    pub cycles: u64,
    /// What most of them go to.
    pub bottleneck: Bottleneck,
    /// Cycles in which each unit works.
    pub units: Units,
    /// Cycles that are no work.
    pub overheads: Overheads,
    /// Steps of the grid, over all cores.
    pub grid_steps: u64,
    /// The first steps of the grid on a timeline: at most [`TIMELINE_STEPS`].
    pub steps: Vec<Span>,
    /// What would help, the greatest gain first.
    pub lints: Vec<Lint>,
    /// What the chip could do.
    pub roof: Roof,
}

impl Prediction {
    /// The cycles of the bottleneck: those in which the unit works, or that are waited.
    pub const fn bottleneck_cycles(&self) -> u64 {
        match self.bottleneck {
            Bottleneck::Unit(unit) => self.units.of(unit),
            waiting => self.overheads.of(waiting),
        }
    }
}

/// The timeline ends after this many grid steps.
pub const TIMELINE_STEPS: u64 = 8;
