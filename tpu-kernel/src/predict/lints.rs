//! What would help, each with the cycles that it would save.
//!
//! Rules: a gain is the difference of two predictions, of the launch as it is and of the same launch changed: with fewer passes
//! of the matrix units, fewer bytes, fewer and larger steps. What would save less than one cycle in a hundred is not said,
//! unless it is about memory.

use super::Lint;
use super::Unit;
use super::model::{Model, each, scale};
use super::pipeline::{Channel, Flow, Turn};
use super::plan::Node;
use super::table::Rates;
use super::work::Product;
use crate::chips::{Chip, LANES};
use crate::ir::{Kernel, Loc, Op, OpKind, Param};
use crate::launch::{Binding, padded_bytes};

/// Lints of products: each takes a prediction of its own.
const PRODUCTS: usize = 8;

/// A product that leaves part of the matrix units idle.
#[derive(PartialEq)]
struct Narrow {
    rule: &'static str,
    /// The share that it uses.
    used: f64,
    what: String,
    why: String,
    help: String,
}

/// A launch that is looked at.
pub(super) struct Linter<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) binding: &'a Binding,
    pub(super) chip: &'a Chip,
    pub(super) rates: &'a Rates,
    pub(super) model: &'a Model<'a>,
    pub(super) turns: &'a [Turn],
    pub(super) flow: &'a Flow,
}

impl Linter<'_> {
    /// All lints, the greatest gain first.
    pub(super) fn all(&self) -> Vec<Lint> {
        let mut lints = self.products();
        lints.extend(self.buffers());
        lints.extend(self.padding());
        lints.extend(self.steps());
        lints.extend(self.traffic());
        lints.sort_by_key(|lint| std::cmp::Reverse(lint.gain));
        lints
    }

    /// The cycles that a changed launch saves, where they are worth saying.
    fn gain(&self, changed: f64) -> Option<u64> {
        let gain = self.flow.cycles - changed;
        (gain >= 0.01 * self.flow.cycles && gain >= 1.0).then_some(gain as u64)
    }

    /// Products that leave part of the matrix units idle. Those of which the same is said are one lint, and change together.
    fn products(&self) -> Vec<Lint> {
        let mut products = vec![];
        each(&self.model.nodes, &mut |node| {
            if let Node::Tile(cost) = node
                && let OpKind::Dot { dims, precision } = &cost.op.kind
            {
                let [lhs, rhs] = [0, 1].map(|at| self.kernel.ty(cost.op.operands[at]));
                products.push((cost.op, Product::of(dims, *precision, lhs, rhs, self.rates)));
            }
        });
        let mut found: Vec<(Narrow, Vec<&Op>)> = vec![];
        for (op, product) in products {
            for narrow in self.narrow(&product).into_iter().filter(|narrow| narrow.used <= 0.75) {
                match found.iter_mut().find(|(known, _)| *known == narrow) {
                    Some((_, ops)) => ops.push(op),
                    None => found.push((narrow, vec![op])),
                }
            }
        }
        let lint = |(narrow, ops): (Narrow, Vec<&Op>)| {
            let mut changed = Model::new(self.kernel, self.binding, self.chip, self.rates);
            ops.iter().for_each(|op| scale(&mut changed.nodes, op, Unit::Mxu, narrow.used));
            let gain = self.gain(changed.flow(&changed.sampled(), true).cycles)?;
            let Narrow { rule, what, why, help, .. } = narrow;
            let mut places: Vec<&Loc> = vec![];
            ops.iter().for_each(|op| {
                if !places.contains(&&op.loc) {
                    places.push(&op.loc)
                }
            });
            let (first, others) = places.split_first()?;
            let what = match others.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice() {
                [] => what,
                others => format!("{what}; so do those at {}", others.join(", ")),
            };
            Some(Lint { rule, what, why, help, gain, loc: Loc::clone(first) })
        };
        found.into_iter().take(PRODUCTS).filter_map(lint).collect()
    }

    /// The ways in which a product can leave the units idle, with the share that it uses.
    fn narrow(&self, product: &Product) -> [Narrow; 3] {
        let side = self.chip.mxu_size;
        let full = |extent: usize| extent as f64 / extent.next_multiple_of(side) as f64;
        let &Product { m, n, k, .. } = product;
        let unit = format!("{side}-wide matrix units of {}", self.chip.name);
        let (stream, weights) = product.parts(self.chip, self.rates);
        [
            Narrow {
                rule: "narrow-contraction",
                used: full(k),
                what: format!("this product sums over {k} elements at a time"),
                why: format!(
                    "the {unit} take {side} rows of the right operand at once: {:.0}% of each pass are zeros",
                    100.0 * (1.0 - full(k))
                ),
                help: format!(
                    "contract a multiple of {side} elements in a step: a larger block of it, or several heads of {k} side by side"
                ),
            },
            Narrow {
                rule: "narrow-columns",
                used: (n as f64 / n.next_multiple_of(LANES) as f64).max(full(n)),
                what: format!("this product gives {n} columns"),
                why: format!("the {unit} give whole registers of {LANES} columns"),
                help: format!("let a step compute a multiple of {side} columns"),
            },
            Narrow {
                rule: "few-rows",
                used: if stream < weights { stream / weights } else { 1.0 },
                what: format!("this product has {m} rows"),
                why: "it takes longer to bring the right operand into the matrix units than to pass the rows by it".to_string(),
                help: format!(
                    "let a step multiply more rows: with the same right operand, up to {:.0} cost nothing more",
                    m as f64 * weights / stream.max(1.0)
                ),
            },
        ]
    }

    /// Each window with its channel, its padded bytes and whether its block changes.
    fn windows(&self) -> impl Iterator<Item = (usize, &Param, u64, bool)> {
        let windows = self.kernel.params.iter().filter(|p| p.window().is_some());
        windows.enumerate().map(|(channel, param)| {
            let moves = |at: usize| self.turns[at].moves[channel];
            let last = self.turns.len() - 1;
            let moving = if param.is_output() { (0..last).any(moves) } else { (1..=last).any(moves) };
            (channel, param, padded(param), moving)
        })
    }

    /// Bytes of all windows with inputs and outputs so many times as large.
    fn window_bytes(&self, inputs: u64, outputs: u64) -> u64 {
        let bytes = self.windows().map(|(_, param, bytes, moving)| {
            let times = if param.is_output() { outputs } else { inputs };
            bytes.saturating_mul(times).saturating_mul(buffers(param, moving))
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Windows that do not fit twice.
    fn buffers(&self) -> Option<Lint> {
        let (need, limit) = (self.window_bytes(1, 1), self.chip.scoped_vmem_bytes);
        let (_, largest, ..) =
            self.windows().max_by_key(|&(_, param, bytes, moving)| bytes.saturating_mul(buffers(param, moving)))?;
        let alone = self.model.flow(self.turns, false).cycles;
        (need > limit).then(|| Lint {
            rule: "no-double-buffer",
            what: format!("the windows with two buffers each take {need} bytes, {limit} is what {} has for them", self.chip.name),
            why: "with one buffer a step cannot run while the next blocks arrive".to_string(),
            help: format!("make the blocks smaller, `{}` first", largest.name),
            gain: (alone - self.flow.cycles).max(0.0) as u64,
            loc: largest.loc.clone(),
        })
    }

    /// Memory that holds nothing.
    fn padding(&self) -> Vec<Lint> {
        let mut lints = vec![];
        let mut channel = 0;
        for param in self.kernel.params.iter().filter(|p| p.ty.is_ref()) {
            let at = param.window().map(|_| channel);
            channel += usize::from(param.window().is_some());
            let used = (param.ty.shape().elements() as u64 * u64::from(param.ty.dtype().bits())).div_ceil(8);
            let padded = padded(param);
            if padded < used.saturating_mul(2) || padded - used < 8192 {
                continue;
            }
            let gain = at.map_or(0.0, |at| {
                let less = |(which, channel): (usize, &Channel)| {
                    let share = if which == at { used as f64 / padded as f64 } else { 1.0 };
                    Channel { bytes: channel.bytes * share, ..channel.clone() }
                };
                let channels: Vec<Channel> = self.model.channels.iter().enumerate().map(less).collect();
                self.flow.cycles - self.model.flow_of(&channels, self.turns, true).cycles
            });
            lints.push(Lint {
                rule: "padding",
                what: format!(
                    "`{}` ({} of {}) takes {padded} bytes, {used} of them used",
                    param.name,
                    param.ty.shape(),
                    param.ty.dtype()
                ),
                why: format!("rows are padded to {LANES} lanes, and their number to whole registers"),
                help: "let the last dimension be the long one: a row (1, n) instead of a column (n, 1), or several columns in one"
                    .to_string(),
                gain: gain.max(0.0) as u64,
                loc: param.loc.clone(),
            });
        }
        lints
    }

    /// The launch with steps that do `work` times as much and are as many times fewer, with inputs and outputs of so many times
    /// the bytes.
    fn larger(&self, work: f64, inputs: f64, outputs: f64) -> f64 {
        let turn = |turn: &Turn| {
            let mut step = turn.step.clone();
            step.cycles = step.latency + (step.cycles - step.latency) * work;
            step.work.0.iter_mut().for_each(|cycles| *cycles *= work);
            Turn { step, stands_for: turn.stands_for / work, moves: turn.moves.clone() }
        };
        let turns: Vec<Turn> = self.turns.iter().map(turn).collect();
        let channel = |channel: &Channel| {
            let times = if channel.output { outputs } else { inputs };
            Channel { bytes: channel.bytes * times, ..channel.clone() }
        };
        let channels: Vec<Channel> = self.model.channels.iter().map(channel).collect();
        self.model.flow_of(&channels, &turns, true).cycles
    }

    /// Steps so short that what lies between them counts.
    fn steps(&self) -> Option<Lint> {
        let steps: f64 = self.turns.iter().map(|t| t.stands_for).sum();
        let times =
            [4u64, 2].into_iter().find(|&n| self.window_bytes(n, n) <= self.chip.scoped_vmem_bytes && steps >= 2.0 * n as f64)?;
        let n = times as f64;
        // What the steps do remains: blocks that are larger save no more than the rest.
        let rest = self.flow.cycles - (self.flow.body.cycles - self.flow.body.latency);
        let larger = self.larger(n, n, n).max(self.flow.cycles - rest);
        let gain = self.gain(larger).filter(|&gain| gain as f64 >= 0.1 * self.flow.cycles)?;
        let each = self.flow.cycles / steps;
        Some(Lint {
            rule: "small-steps",
            what: format!(
                "{steps:.0} steps of {each:.0} cycles, of which {:.0} are waits, first results and what lies between steps",
                rest / steps
            ),
            why: "each step waits for its copies to begin and for its first results, and has indices of its own".to_string(),
            help: format!(
                "make blocks {times} times as large, and the grid {times} times smaller: what the step does stays as it is"
            ),
            gain,
            loc: self.kernel.loc.clone(),
        })
    }

    /// Products whose operands arrive more slowly than they are multiplied.
    fn traffic(&self) -> Option<Lint> {
        let product = {
            let mut found = None;
            each(&self.model.nodes, &mut |node| {
                if let Node::Tile(cost) = node
                    && matches!(cost.op.kind, OpKind::Dot { .. })
                {
                    found = found.or(Some(cost.op));
                }
            });
            found?
        };
        let transfer = self.flow.copying - self.flow.copy_latency;
        if self.flow.waits < 0.2 * self.flow.cycles || transfer < self.flow.copy_latency || self.turns.len() < 4 {
            return None;
        }
        if self.window_bytes(2, 4) > self.chip.scoped_vmem_bytes {
            return None;
        }
        let gain = self.gain(self.larger(4.0, 2.0, 4.0))?;
        Some(Lint {
            rule: "copy-bound",
            what: format!("{:.0}% of the time the product waits for its operands", 100.0 * self.flow.waits / self.flow.cycles),
            why: "each block of an operand is copied once for every block of the other".to_string(),
            help: "double the rows and the columns of the result's block: four times the work for twice the bytes".to_string(),
            gain,
            loc: product.loc.clone(),
        })
    }
}

/// How many buffers a window has, by whether its block changes.
fn buffers(param: &Param, moving: bool) -> u64 {
    param.window().filter(|_| moving).map_or(1, |window| window.pipelining.depth() as u64)
}

fn padded(param: &Param) -> u64 {
    let dtype = param.ty.dtype();
    // libtpu keeps scratch of less than a byte a byte each; windows are packed.
    let bits = if param.window().is_some() { dtype.bits() } else { dtype.bits().max(8) };
    padded_bytes(dtype, bits, param.ty.shape().dims())
}
