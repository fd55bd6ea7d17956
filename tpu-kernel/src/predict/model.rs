//! A launch put together: the plan of its body, its windows, the steps that are looked at.

use super::layout::all_registers;
use super::pipeline::{Channel, Flow, Nobody, Turn, run};
use super::plan::{Node, plan};
use super::sample::indices;
use super::table::Rates;
use super::timeline::Timeline;
use super::walk::{Step, Walker};
use super::{Span, TIMELINE_STEPS, Unit};
use crate::chips::Chip;
use crate::ir::{Kernel, Literal, Op, Semantics, Window};
use crate::launch::{Binding, Numbers, apart};

/// What a prediction is made from.
pub(super) struct Model<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) binding: &'a Binding,
    pub(super) rates: Rates,
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) channels: Vec<Channel>,
    /// Grid steps of one core.
    pub(super) grid: Vec<i32>,
}

/// A copy's block, index by index; an unknown one is never the same as another.
type Block = Vec<Option<Literal>>;

impl<'a> Model<'a> {
    pub(super) fn new(kernel: &'a Kernel, binding: &'a Binding, chip: &'a Chip, rates: &'a Rates) -> Model<'a> {
        let windows = kernel.params.iter().filter(|p| p.window().is_some());
        let channels = windows.map(|p| Channel {
            name: p.name.clone(),
            output: p.is_output(),
            // Whole registers move.
            bytes: all_registers(p.ty) * REGISTER_BYTES,
            buffers: p.window().map_or(1, |w| w.pipelining.depth()),
        });
        let mut grid = binding.grid.clone();
        if rates.shared_by > 1 {
            // As the chip is told.
            let parallel = |axis: usize| match kernel.grid[axis].semantics {
                Semantics::CoreParallel => true,
                Semantics::Parallel => apart(kernel, axis),
                Semantics::Arbitrary => false,
            };
            if let Some((_, extent)) = grid.iter_mut().enumerate().find(|(axis, n)| **n > 1 && parallel(*axis)) {
                *extent = extent.div_euclid(rates.shared_by) + i32::from(*extent % rates.shared_by > 0);
            }
        }
        Model { kernel, binding, rates: *rates, nodes: plan(kernel, binding, chip, rates), channels: channels.collect(), grid }
    }

    fn windows(&self) -> impl Iterator<Item = &'a Window> + use<'a> {
        self.kernel.params.iter().filter_map(|p| p.window())
    }

    /// Cycles between steps.
    fn between(&self) -> f64 {
        let rates = &self.rates;
        let dimensions = self.grid.len().saturating_sub(1) as f64;
        rates.step + rates.step_window * self.channels.len() as f64 + rates.step_dimension * dimensions
    }

    /// The steps in that order, each with how many it stands for, and one more block of each window at the end.
    fn turns(&self, steps: &[(Vec<i32>, f64)], last: Option<&[i32]>) -> Vec<Turn> {
        let numbers = || Numbers { sizes: &self.binding.sizes, grid: &self.binding.grid };
        let mut walker = Walker::new(self.kernel, numbers(), &self.rates);
        let mut blocks: Vec<Vec<Block>> = vec![];
        for step in steps.iter().map(|(step, _)| step.as_slice()).chain(last) {
            blocks.push(self.windows().map(|w| walker.block(&w.map, step)).collect());
        }
        let differ = |a: &Block, b: &Block| a.iter().zip(b).any(|(a, b)| a.is_none() || a != b);
        let moves = |at: usize| {
            let moves = self.channels.iter().enumerate().map(|(which, channel)| {
                let now = &blocks[at][which];
                match channel.output {
                    true => blocks.get(at + 1).is_none_or(|next| differ(now, &next[which])),
                    false => at == 0 || differ(now, &blocks[at - 1][which]),
                }
            });
            moves.collect()
        };
        // Without branches, loops and copies every step does the same.
        let mut branches = false;
        each(&self.nodes, &mut |node| branches |= !matches!(node, Node::Scalar(_) | Node::Tile(_)));
        let mut same: Option<Step> = None;
        let turn = |(at, (step, stands_for)): (usize, &(Vec<i32>, f64))| Turn {
            step: match &same {
                Some(done) if !branches => done.clone(),
                _ => same.insert(walker.step(&self.nodes, step)).clone(),
            },
            stands_for: *stands_for,
            moves: moves(at),
        };
        steps.iter().enumerate().map(turn).collect()
    }

    /// The turns that stand for the whole grid.
    pub(super) fn sampled(&self) -> Vec<Turn> {
        let mut steps: Vec<(Vec<i32>, f64)> = vec![(vec![], 1.0)];
        for dimension in indices(&self.grid) {
            let longer = |(step, stands): &(Vec<i32>, f64)| {
                let longer = dimension.iter().map(|&(index, more)| ([step.as_slice(), &[index]].concat(), stands * more));
                longer.collect::<Vec<_>>()
            };
            steps = steps.iter().flat_map(longer).collect();
        }
        self.turns(&steps, None)
    }

    pub(super) fn flow(&self, turns: &[Turn], overlap: bool) -> Flow {
        self.flow_of(&self.channels, turns, overlap)
    }

    /// The flow with other windows.
    pub(super) fn flow_of(&self, channels: &[Channel], turns: &[Turn], overlap: bool) -> Flow {
        run(channels, turns, self.between(), &self.rates, overlap, &mut Nobody)
    }

    /// The first steps of the grid.
    pub(super) fn timeline(&self) -> Vec<Span> {
        let mut steps = vec![(vec![0; self.grid.len()], 1.0)];
        while steps.len() as u64 <= TIMELINE_STEPS {
            let Some(next) = self.after(&steps[steps.len() - 1].0) else { break };
            steps.push((next, 1.0));
        }
        let shown = steps.len().min(TIMELINE_STEPS as usize);
        let turns = self.turns(&steps, None);
        let names = self.names();
        let mut timeline = Timeline::new(&self.channels, &turns, &names, shown);
        run(&self.channels, &turns, self.between(), &self.rates, true, &mut timeline);
        timeline.spans
    }

    fn after(&self, step: &[i32]) -> Option<Vec<i32>> {
        let mut next = step.to_vec();
        for axis in (0..next.len()).rev() {
            next[axis] += 1;
            if next[axis] < self.grid[axis] {
                return Some(next);
            }
            next[axis] = 0;
        }
        None
    }

    /// For each unit the operation that asks most of it.
    fn names(&self) -> Vec<String> {
        let mut most = vec![(0.0, ""); Unit::ALL.len()];
        each(&self.nodes, &mut |node| {
            let Node::Tile(cost) = node else { return };
            for (unit, most) in Unit::ALL.into_iter().zip(&mut most) {
                let cycles: f64 = cost.work.iter().map(|(_, work)| work.of(unit)).sum();
                if cycles > most.0 {
                    *most = (cycles, cost.op.kind.mnemonic());
                }
            }
        });
        most.into_iter().map(|(_, name)| name.to_string()).collect()
    }
}

/// Bytes of a register.
const REGISTER_BYTES: f64 = 4096.0;

/// Visits every node.
pub(super) fn each<'n, 'a>(nodes: &'n [Node<'a>], visit: &mut dyn FnMut(&'n Node<'a>)) {
    for node in nodes {
        visit(node);
        match node {
            Node::Scalar(_) | Node::Tile(_) | Node::Start { .. } | Node::Wait(_) => {}
            Node::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|arm| each(arm, visit)),
            Node::For { body, .. } => each(body, visit),
            Node::While { test, body } => [test, body].into_iter().for_each(|arm| each(arm, visit)),
        }
    }
}

/// Changes what one operation asks of a unit by a factor.
pub(super) fn scale(nodes: &mut [Node<'_>], op: &Op, unit: Unit, factor: f64) {
    for node in nodes {
        match node {
            Node::Tile(cost) if std::ptr::eq(cost.op, op) => {
                cost.work.iter_mut().for_each(|(_, work)| work.0[unit as usize] *= factor);
            }
            Node::Scalar(_) | Node::Tile(_) | Node::Start { .. } | Node::Wait(_) => {}
            Node::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|arm| scale(arm, op, unit, factor)),
            Node::For { body, .. } => scale(body, op, unit, factor),
            Node::While { test, body } => [test, body].into_iter().for_each(|arm| scale(arm, op, unit, factor)),
        }
    }
}
