//! The timeline's spans in lanes: who works, and beside what.
//!
//! Rules: a lane is a unit, but copies in and copies out have one each. Within a row of a lane no two spans overlap, and
//! each begins no sooner than the one before; copies at the same time take several rows.

use super::super::inspection::Inspection;
use tpu_kernel::predict::{Prediction, Span, Unit};

/// A lane, in the order in which data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Copies to vector memory.
    In,
    Load,
    Mxu,
    Vpu,
    Xlu,
    Eup,
    Store,
    /// Copies from vector memory.
    Out,
    Scalar,
}

impl Lane {
    pub(super) const ALL: [Lane; 9] =
        [Lane::In, Lane::Load, Lane::Mxu, Lane::Vpu, Lane::Xlu, Lane::Eup, Lane::Store, Lane::Out, Lane::Scalar];

    pub(super) fn name(self) -> &'static str {
        match self {
            Lane::In => "DMA in",
            Lane::Out => "DMA out",
            lane => lane.unit().name(),
        }
    }

    pub(super) fn unit(self) -> Unit {
        match self {
            Lane::In | Lane::Out => Unit::Dma,
            Lane::Load => Unit::Load,
            Lane::Mxu => Unit::Mxu,
            Lane::Vpu => Unit::Vpu,
            Lane::Xlu => Unit::Xlu,
            Lane::Eup => Unit::Eup,
            Lane::Store => Unit::Store,
            Lane::Scalar => Unit::Scalar,
        }
    }

    /// What the unit does.
    pub(super) fn does(self) -> &'static str {
        match self {
            Lane::In => "copies blocks from device memory to vector memory",
            Lane::Load => "vector memory to registers",
            Lane::Mxu => "products of matrices",
            Lane::Vpu => "arithmetic on vector registers",
            Lane::Xlu => "moves across lanes",
            Lane::Eup => "exp, tanh, reciprocals, roots",
            Lane::Store => "registers to vector memory",
            Lane::Out => "copies blocks from vector memory to device memory",
            Lane::Scalar => "scalars, addresses, branches",
        }
    }

    /// Its class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        class(self.unit())
    }

    fn of(span: &Span, inspection: &Inspection) -> Lane {
        match span.unit {
            Unit::Dma => {
                let leaves = inspection.windows.iter().any(|window| window.name == span.what && window.role == "out");
                if leaves { Lane::Out } else { Lane::In }
            }
            Unit::Load => Lane::Load,
            Unit::Store => Lane::Store,
            Unit::Mxu => Lane::Mxu,
            Unit::Vpu => Lane::Vpu,
            Unit::Xlu => Lane::Xlu,
            Unit::Eup => Lane::Eup,
            Unit::Scalar => Lane::Scalar,
        }
    }
}

/// A unit's class in the style sheet.
pub(super) fn class(unit: Unit) -> &'static str {
    match unit {
        Unit::Dma => "dma",
        Unit::Load => "load",
        Unit::Store => "store",
        Unit::Mxu => "mxu",
        Unit::Vpu => "vpu",
        Unit::Xlu => "xlu",
        Unit::Eup => "eup",
        Unit::Scalar => "scalar",
    }
}

/// The rows of one lane.
pub(super) struct Rows<'a> {
    pub(super) lane: Lane,
    /// Spans of a row, in the order of time.
    pub(super) rows: Vec<Vec<&'a Span>>,
}

/// Every lane, with the spans of the steps before `steps`. A lane without spans has no rows.
pub(super) fn lanes<'a>(inspection: &Inspection, prediction: &'a Prediction, steps: u64) -> Vec<Rows<'a>> {
    let mut lanes: Vec<Rows<'a>> = Lane::ALL.into_iter().map(|lane| Rows { lane, rows: vec![] }).collect();
    let mut spans: Vec<&Span> = prediction.steps.iter().filter(|span| span.start < span.end && span.step < steps).collect();
    spans.sort_by_key(|span| (span.start, span.end, span.step));
    for span in spans {
        let lane = Lane::of(span, inspection);
        let Some(Rows { rows, .. }) = lanes.iter_mut().find(|rows| rows.lane == lane) else { continue };
        let free = rows.iter_mut().find(|row| row.last().is_none_or(|last| last.end <= span.start));
        match free {
            Some(row) => row.push(span),
            None => rows.push(vec![span]),
        }
    }
    lanes
}

/// The place of a step in the grid, the slowest dimension first.
pub(super) fn indices(inspection: &Inspection, step: u64) -> Vec<(&str, u64)> {
    let mut rest = step;
    let mut indices: Vec<(&str, u64)> = vec![];
    for dim in inspection.grid.iter().rev() {
        let extent = u64::try_from(dim.extent).unwrap_or(0).max(1);
        indices.push((&dim.name, rest % extent));
        rest /= extent;
    }
    indices.reverse();
    indices
}
