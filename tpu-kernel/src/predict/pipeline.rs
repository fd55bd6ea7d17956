//! The grid as a pipeline of copies and steps.
//!
//! Rules, as libtpu emits and estimates it: at each turn the copies of the next step's inputs start where their blocks change,
//! then the step waits for its own inputs, runs, starts the copies of outputs whose blocks end, and waits for those that the
//! step before it started. With one buffer there is nothing to overlap: the copy of an input starts when the step before has
//! run, and the next step waits for that of an output. A copy takes its latency and its bytes over the rate of one copy; copies that are under way together
//! do not slow each other down.

use super::table::Rates;
use super::walk::Step;

/// A window of the pipeline.
#[derive(Clone)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) output: bool,
    pub(super) bytes: f64,
    /// How many buffers it has.
    pub(super) buffers: usize,
}

/// One grid step of the pipeline.
pub(super) struct Turn {
    pub(super) step: Step,
    /// How many steps it stands for.
    pub(super) stands_for: f64,
    /// Of each window: whether its block arrives before this step, or leaves after it.
    pub(super) moves: Vec<bool>,
}

/// What the pipeline did.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) cycles: f64,
    /// Waits before the first step and after the last one.
    pub(super) fill: f64,
    pub(super) drain: f64,
    /// Waits in between, and cycles between steps.
    pub(super) waits: f64,
    pub(super) between: f64,
    /// The bodies.
    pub(super) body: Step,
    /// Time in which a copy is under way, each copy for itself.
    pub(super) copying: f64,
    /// The part of it that is latency.
    pub(super) copy_latency: f64,
    /// Time in which bytes of at least one copy move.
    pub(super) moving: f64,
}

/// When bytes move, and what each stretch of time stands for.
#[derive(Default)]
struct Moving {
    transfers: Vec<(f64, f64)>,
    /// Begin, end, and how many like it there are, one after the other.
    stretches: Vec<(f64, f64, f64)>,
}

impl Moving {
    /// The time in which at least one transfer runs.
    fn cycles(mut self) -> f64 {
        self.transfers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f64, f64)> = vec![];
        for (start, end) in self.transfers {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        let (mut first, mut all) = (0, 0.0);
        for (begin, end, weight) in self.stretches {
            first += joined[first..].iter().take_while(|transfer| transfer.1 <= begin).count();
            let inside = joined[first..].iter().take_while(|transfer| transfer.0 < end);
            all += weight * inside.map(|transfer| transfer.1.min(end) - transfer.0.max(begin)).sum::<f64>();
        }
        all
    }
}

/// What happens when, for a timeline.
pub(super) trait Watch {
    /// A copy of that window, for that turn.
    fn copy(&mut self, channel: usize, turn: usize, start: f64, end: f64);
    /// The body of a turn.
    fn body(&mut self, turn: usize, start: f64, end: f64);
    /// What lies before it.
    fn between(&mut self, turn: usize, start: f64, end: f64);
}

/// Nobody watches.
pub(super) struct Nobody;

impl Watch for Nobody {
    fn copy(&mut self, _: usize, _: usize, _: f64, _: f64) {}
    fn body(&mut self, _: usize, _: f64, _: f64) {}
    fn between(&mut self, _: usize, _: f64, _: f64) {}
}

/// Runs the pipeline. `overlap` is false for one that waits for every copy where it starts.
pub(super) fn run(channels: &[Channel], turns: &[Turn], between: f64, rates: &Rates, overlap: bool, watch: &mut dyn Watch) -> Flow {
    let (mut flow, mut moving) = (Flow::default(), Moving::default());
    let mut time = rates.launch;
    // When the copies that a turn waits for end: of this turn's inputs, of the next one's; of outputs likewise.
    let (mut arrives, mut left) = ([0.0f64; 2], [0.0f64; 2]);
    for at in 0..turns.len() + 2 {
        let mut begin = time;
        let weight = at.checked_sub(1).and_then(|s| turns.get(s)).map_or(1.0, |t| t.stands_for);
        let copy = |channel: &Channel| {
            let latency = if channel.output { rates.latency_out } else { rates.latency_in };
            (latency, channel.bytes / rates.copy_bytes)
        };
        arrives = [arrives[1], 0.0];
        if let Some(turn) = turns.get(at) {
            for (which, channel) in channels.iter().enumerate().filter(|(w, c)| !c.output && c.buffers > 1 && turn.moves[*w]) {
                let (latency, transfer) = copy(channel);
                arrives[1] = arrives[1].max(time + latency + transfer);
                flow.copying += (latency + transfer) * turn.stands_for;
                flow.copy_latency += latency * turn.stands_for;
                moving.transfers.push((time + latency, time + latency + transfer));
                watch.copy(which, at, time, time + latency + transfer);
            }
            if !overlap {
                flow.waits += (arrives[1] - time).max(0.0) * weight;
                time = time.max(arrives[1]);
            }
        }
        left = [left[1], 0.0];
        if let Some((done, turn)) = at.checked_sub(1).and_then(|s| Some((s, turns.get(s)?))) {
            let mut arrived = arrives[0];
            for (which, channel) in channels.iter().enumerate().filter(|(w, c)| !c.output && c.buffers == 1 && turn.moves[*w]) {
                let (latency, transfer) = copy(channel);
                arrived = arrived.max(time + latency + transfer);
                flow.copying += (latency + transfer) * weight;
                flow.copy_latency += latency * weight;
                moving.transfers.push((time + latency, time + latency + transfer));
                watch.copy(which, done, time, time + latency + transfer);
            }
            let waited = (arrived - time).max(0.0);
            time += waited;
            if done == 0 {
                // There is one first step, whatever it stands for.
                flow.fill += waited;
                flow.cycles += time - begin;
                moving.stretches.push((begin, time, 1.0));
                begin = time;
            } else {
                flow.waits += waited * weight
            }
            watch.between(done, time, time + between);
            time += between;
            flow.between += between * weight;
            watch.body(done, time, time + turn.step.cycles);
            time += turn.step.cycles;
            flow.body.cycles += turn.step.cycles * weight;
            flow.body.latency += turn.step.latency * weight;
            flow.body.stalls += turn.step.stalls * weight;
            flow.body.work.plus(&turn.step.work, weight);
            for (which, channel) in channels.iter().enumerate().filter(|(w, c)| c.output && turn.moves[*w]) {
                let (latency, transfer) = copy(channel);
                let awaited = if channel.buffers == 1 { &mut left[0] } else { &mut left[1] };
                *awaited = awaited.max(time + latency + transfer);
                flow.copying += (latency + transfer) * weight;
                flow.copy_latency += latency * weight;
                moving.transfers.push((time + latency, time + latency + transfer));
                watch.copy(which, done, time, time + latency + transfer);
            }
        }
        let waited = (left[0] - time).max(0.0);
        if at > turns.len() {
            flow.drain += waited
        } else {
            flow.waits += waited * weight
        }
        time += waited;
        flow.cycles += (time - begin) * weight;
        moving.stretches.push((begin, time, weight));
    }
    flow.cycles += rates.launch;
    flow.moving = moving.cycles();
    flow
}

#[cfg(test)]
mod tests {
    use super::Moving;

    #[test]
    fn transfers_at_once_count_once() {
        let transfers = vec![(10.0, 20.0), (5.0, 12.0), (30.0, 40.0), (31.0, 33.0)];
        let moving = |stretches| Moving { transfers: transfers.clone(), stretches }.cycles();
        assert_eq!(moving(vec![(0.0, 100.0, 1.0)]), 25.0);
        assert_eq!(moving(vec![(0.0, 15.0, 1.0), (15.0, 35.0, 3.0), (35.0, 36.0, 1.0)]), 10.0 + 3.0 * 10.0 + 1.0);
        assert_eq!(moving(vec![(20.0, 30.0, 7.0)]), 0.0);
        assert_eq!(moving(vec![]), 0.0);
    }
}
