//! What the body does at one grid step: scalars are evaluated, branches taken, loops repeated.
//!
//! Rules: the time is linear in the kernel's text: of a loop a few turns are looked at and stand for all of them. Where a
//! condition is not known, the longer arm counts; a loop whose end is not known runs once. A copy by hand takes its latency and its
//! bytes over the rate of one copy, beside all others, from where it starts; who waits for it stalls until then. Copies of one
//! semaphore array are waited for in the order in which they start.

use super::Unit;
use super::plan::Node;
use super::table::Rates;
use super::work::Work;
use crate::ir::{Kernel, Literal, Op, Roots, Value};
use crate::launch::{Numbers, scalar};
use std::collections::{HashMap, VecDeque};

/// Turns of a loop that are looked at, by how deep it is in others.
const TURNS: [i64; 3] = [4, 2, 1];

/// What a step does.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// Cycles of the body.
    pub(super) cycles: f64,
    /// Of these, the ones in which units wait for first results.
    pub(super) latency: f64,
    /// Of these, the ones in which the body waits for copies that it started.
    pub(super) stalls: f64,
    /// How long each unit works.
    pub(super) work: Work,
}

impl Step {
    fn plus(&mut self, other: &Step, times: f64) {
        self.cycles += other.cycles * times;
        self.latency += other.latency * times;
        self.stalls += other.stalls * times;
        self.work.plus(&other.work, times);
    }
}

/// A stretch that is being collected.
#[derive(Default)]
struct Stretch {
    phases: Vec<Work>,
    ready: f64,
    any: bool,
}

pub(super) struct Walker<'a> {
    kernel: &'a Kernel,
    numbers: Numbers<'a>,
    rates: &'a Rates,
    values: Vec<Option<Literal>>,
    stretch: Stretch,
    /// Cycles so far, of all that was looked at.
    clock: f64,
    /// By semaphores: when the copies that were started with them end.
    copies: HashMap<Value, VecDeque<f64>>,
    roots: Roots,
}

impl<'a> Walker<'a> {
    pub(super) fn new(kernel: &'a Kernel, numbers: Numbers<'a>, rates: &'a Rates) -> Walker<'a> {
        Walker {
            kernel,
            numbers,
            rates,
            values: vec![None; kernel.types.len()],
            stretch: Stretch::default(),
            clock: 0.0,
            copies: HashMap::new(),
            roots: Roots::of(kernel),
        }
    }

    /// What the body does at that step.
    pub(super) fn step(&mut self, nodes: &[Node<'_>], step: &[i32]) -> Step {
        let mut done = Step::default();
        self.nodes(nodes, step, 0, &mut done);
        self.close(&mut done);
        // Scalars alone take time too.
        done.cycles = done.cycles.max(done.work.of(Unit::Scalar));
        done
    }

    /// The block indices of a window at that step; `None` where one is not known.
    pub(super) fn block(&mut self, map: &crate::ir::Region, step: &[i32]) -> Vec<Option<Literal>> {
        for (arg, &i) in map.args.iter().zip(step) {
            self.values[arg.0 as usize] = Some(i.into());
        }
        map.ops.iter().for_each(|op| self.evaluate(op, step));
        map.yields.iter().map(|&v| self.get(v)).collect()
    }

    fn get(&self, value: Value) -> Option<Literal> {
        self.values[value.0 as usize]
    }

    fn integer(&self, value: Value) -> Option<i64> {
        self.get(value)?.as_i32().map(i64::from)
    }

    fn evaluate(&mut self, op: &Op, step: &[i32]) {
        if let &[result] = op.results.as_slice()
            && self.kernel.ty(result).is_scalar()
        {
            let value = scalar(&op.kind, |at| self.get(*op.operands.get(at)?), step, &self.numbers);
            self.values[result.0 as usize] = value;
        }
    }

    fn forget(&mut self, values: &[Value]) {
        values.iter().for_each(|v| self.values[v.0 as usize] = None);
    }

    /// Lets time pass.
    fn pass(&mut self, cycles: f64, done: &mut Step) {
        self.clock += cycles;
        done.cycles += cycles;
    }

    /// Ends the stretch and adds its cycles.
    fn close(&mut self, done: &mut Step) {
        let stretch = std::mem::take(&mut self.stretch);
        if !stretch.any {
            return;
        }
        let mut all = Work::default();
        stretch.phases.iter().for_each(|phase| all.plus(phase, 1.0));
        let apart: f64 = stretch.phases.iter().map(Work::most).sum();
        let latency = self.rates.start + stretch.ready;
        let share = if all.of(Unit::Mxu) > 0.0 { self.rates.apart_products } else { self.rates.apart };
        self.pass(share * apart + (1.0 - share) * all.most() + latency, done);
        done.latency += latency;
        done.work.plus(&all, 1.0);
    }

    fn nodes(&mut self, nodes: &[Node<'_>], step: &[i32], depth: usize, done: &mut Step) {
        for node in nodes {
            match node {
                Node::Scalar(op) => {
                    self.evaluate(op, step);
                    done.work.add(Unit::Scalar, 0.5);
                }
                Node::Tile(cost) => {
                    for (phase, work) in &cost.work {
                        if self.stretch.phases.len() <= *phase {
                            self.stretch.phases.resize(*phase + 1, Work::default());
                        }
                        self.stretch.phases[*phase].plus(work, 1.0);
                    }
                    self.stretch.ready = self.stretch.ready.max(cost.ready);
                    self.stretch.any = true;
                    self.forget(&cost.op.results);
                }
                Node::Start { op, latency, transfer } => {
                    self.close(done);
                    let ends = self.clock + latency + transfer;
                    self.copies.entry(self.roots.root(op.operands[2])).or_default().push_back(ends);
                    done.work.add(Unit::Dma, *transfer);
                }
                Node::Wait(op) => {
                    self.close(done);
                    let copies = self.copies.entry(self.roots.root(op.operands[2])).or_default();
                    // One that was started where nobody looked is over.
                    let ends = copies.pop_front().unwrap_or(0.0);
                    let stall = (ends - self.clock).max(0.0);
                    self.pass(stall, done);
                    done.stalls += stall;
                }
                Node::If { op, then, otherwise, fixed } => self.branch(op, (then, otherwise), *fixed, step, depth, done),
                Node::For { op, body } => self.repeat(op, body, step, depth, done),
                Node::While { test, body } => {
                    self.close(done);
                    self.nodes(test, step, depth + 1, done);
                    self.nodes(body, step, depth + 1, done);
                    self.close(done);
                }
            }
        }
    }

    fn branch(
        &mut self,
        op: &Op,
        (then, otherwise): (&[Node<'_>], &[Node<'_>]),
        fixed: bool,
        step: &[i32],
        depth: usize,
        done: &mut Step,
    ) {
        let condition = self.get(op.operands[0]).and_then(|c| c.as_bool());
        self.forget(&op.results);
        match condition {
            Some(taken) if fixed => self.nodes(if taken { then } else { otherwise }, step, depth, done),
            Some(taken) => {
                self.close(done);
                self.nodes(if taken { then } else { otherwise }, step, depth, done);
                self.close(done);
                self.pass(self.rates.branch, done);
                done.work.add(Unit::Scalar, self.rates.branch);
            }
            None => {
                self.close(done);
                let before = (self.clock, self.copies.clone());
                let [first, second] = [then, otherwise].map(|arm| {
                    (self.clock, self.copies) = before.clone();
                    let mut alone = Step::default();
                    self.nodes(arm, step, depth, &mut alone);
                    self.close(&mut alone);
                    (alone, self.clock, std::mem::take(&mut self.copies))
                });
                let (longer, clock, copies) = if first.0.cycles >= second.0.cycles { first } else { second };
                (self.clock, self.copies) = (clock, copies);
                done.plus(&longer, 1.0);
                self.pass(self.rates.branch, done);
                done.work.add(Unit::Scalar, self.rates.branch);
            }
        }
    }

    fn repeat(&mut self, op: &Op, body: &[Node<'_>], step: &[i32], depth: usize, done: &mut Step) {
        self.close(done);
        let [low, high, by] = [0, 1, 2].map(|at| self.integer(op.operands[at]));
        let region = &op.regions[0];
        self.forget(&region.args);
        self.forget(&op.results);
        let trips = match (low, high, by) {
            (Some(low), Some(high), Some(by)) if by > 0 => {
                (high - low).max(0).div_euclid(by) + i64::from((high - low).max(0) % by > 0)
            }
            _ => 1,
        };
        let looks = trips.min(TURNS[depth.min(TURNS.len() - 1)]);
        let mut turn = Step::default();
        for look in 0..looks {
            // Evenly over the loop, its first and its last turn among them.
            let at = if looks > 1 { look * (trips - 1) / (looks - 1) } else { 0 };
            let index = low.zip(by).map(|(low, by)| Literal::from((low + at * by) as i32));
            self.values[region.args[0].0 as usize] = index;
            self.forget(&region.args[1..]);
            self.nodes(body, step, depth + 1, &mut turn);
            self.close(&mut turn);
            self.pass(self.rates.branch, &mut turn);
            turn.work.add(Unit::Scalar, self.rates.branch);
        }
        if looks > 0 {
            done.plus(&turn, trips as f64 / looks as f64);
        }
    }
}
