//! What libtpu estimated, as recorded, and what is predicted beside it.

use super::points::{Point, points};
use std::collections::HashMap;
use tpu_kernel::chips::Chip;
use tpu_kernel::predict::Prediction;

/// The recorded estimates. A line each: chip, point, cycles. The first line names libtpu's version.
pub const RECORDED: &str = include_str!("../../prediction/estimates.tsv");

/// The chips that libtpu estimates.
pub const CHIPS: [&Chip; 4] = [&Chip::V5E, &Chip::V5P, &Chip::V6E, &Chip::TPU7X];

/// An estimate with the prediction of the same launch.
pub struct Pair {
    /// The chip.
    pub chip: &'static Chip,
    /// Which kind of kernel.
    pub class: &'static str,
    /// Whether no constant of the model was chosen with it in sight.
    pub held_out: bool,
    /// What it computes.
    pub problem: String,
    /// With which blocks.
    pub tiling: String,
    /// libtpu's cycles.
    pub estimated: u64,
    /// Ours.
    pub predicted: Prediction,
}

impl Pair {
    /// Predicted over estimated.
    pub fn ratio(&self) -> f64 {
        self.predicted.cycles as f64 / self.estimated as f64
    }

    /// Whether the prediction is within a fifth of the estimate.
    pub fn close(&self) -> bool {
        (self.ratio() - 1.0).abs() <= 0.2
    }
}

/// The recorded estimates by chip and point.
///
/// # Panics
/// On a malformed record.
pub fn recorded() -> HashMap<(String, String), u64> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [chip, point, cycles] = fields[..] else { panic!("a record has three fields: {line}") };
        ((chip.to_string(), point.to_string()), cycles.parse().expect("cycles are a number"))
    });
    fields.collect()
}

/// The prediction of a point, where the chip can launch it.
pub fn prediction(point: &Point, chip: &Chip) -> Option<Prediction> {
    point.built.bind(chip, &point.inputs).ok()?.predict().ok()
}

/// The program that libtpu estimates for a point.
pub fn program(point: &Point, chip: &Chip) -> Option<String> {
    point.built.bind(chip, &point.inputs).ok()?.stablehlo_placed().ok()
}

/// Every recorded estimate beside its prediction.
pub fn pairs() -> Vec<Pair> {
    let recorded = recorded();
    let points = points();
    let mut pairs = vec![];
    for chip in CHIPS {
        for point in &points {
            let Some(&estimated) = recorded.get(&(chip.name.to_string(), point.name())) else { continue };
            let Some(predicted) = prediction(point, chip) else { continue };
            let (problem, tiling) = (point.problem.clone(), point.tiling.clone());
            pairs.push(Pair { chip, class: point.class, held_out: point.held_out, problem, tiling, estimated, predicted });
        }
    }
    pairs
}
