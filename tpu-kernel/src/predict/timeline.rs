//! The first steps of the grid as spans.

use super::pipeline::{Channel, Turn, Watch};
use super::{Span, Unit};

/// Collects spans of the first turns.
pub(super) struct Timeline<'a> {
    channels: &'a [Channel],
    turns: &'a [Turn],
    /// What most of a unit's cycles go to.
    names: &'a [String],
    /// Turns that are shown.
    shown: usize,
    copies: Vec<u64>,
    pub(super) spans: Vec<Span>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(channels: &'a [Channel], turns: &'a [Turn], names: &'a [String], shown: usize) -> Timeline<'a> {
        Timeline { channels, turns, names, shown, copies: vec![0; channels.len()], spans: vec![] }
    }

    fn span(&mut self, unit: Unit, what: String, turn: usize, (start, end): (f64, f64), buffer: Option<u8>) {
        let (start, end) = (start.round() as u64, end.round() as u64);
        if turn < self.shown && end > start {
            self.spans.push(Span { unit, what, start, end, step: turn as u64, buffer });
        }
    }
}

impl Watch for Timeline<'_> {
    fn copy(&mut self, channel: usize, turn: usize, start: f64, end: f64) {
        let buffer = (self.copies[channel] % self.channels[channel].buffers as u64) as u8;
        self.copies[channel] += 1;
        self.span(Unit::Dma, self.channels[channel].name.clone(), turn, (start, end), Some(buffer));
    }

    fn body(&mut self, turn: usize, start: f64, end: f64) {
        for unit in Unit::ALL.into_iter().filter(|u| !matches!(u, Unit::Dma | Unit::Scalar)) {
            let busy = self.turns[turn].step.work.of(unit).min(end - start);
            self.span(unit, self.names[unit as usize].clone(), turn, (start, start + busy), None);
        }
    }

    fn between(&mut self, turn: usize, start: f64, end: f64) {
        self.span(Unit::Scalar, "next step".to_string(), turn, (start, end), None);
    }
}
