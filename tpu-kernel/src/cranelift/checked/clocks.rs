//! What each agent knows of how far the others have come: vector clocks (Mattern, Virtual Time and Global States, 1989).
//!
//! Rules: an agent's own entry counts what it has let others know; another entry is how far that one is known to have come. A wait
//! learns what is certain however signals were delayed: of all ways in which so many signals as were waited for may have arrived, what
//! each of them tells. Where there is one agent nothing is kept.

use std::collections::HashMap;
use std::rc::Rc;

/// How far each agent has come.
pub(super) type Clock = Rc<[u32]>;

/// Which semaphore: the group among those of all agents, and which of it.
pub(super) type Place = (usize, usize);

/// What all agents know.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// By agent.
    now: Vec<Vec<u32>>,
    /// By agent, when each of its launches began.
    begun: Vec<Vec<u32>>,
    sent: HashMap<Place, Sent>,
}

/// The signals of a semaphore that may not all have been waited for.
#[derive(Debug, Default)]
struct Sent {
    /// In the order in which they were sent.
    signals: Vec<Signal>,
    /// How many of their units were waited for.
    waited: i64,
}

#[derive(Debug)]
struct Signal {
    from: usize,
    units: i64,
    clock: Clock,
}

impl Clocks {
    /// One more agent.
    pub(super) fn enlist(&mut self) {
        let agents = self.now.len() + 1;
        self.now.push(vec![0; agents]);
        self.begun.push(vec![]);
        for (agent, clock) in self.now.iter_mut().enumerate() {
            clock.resize(agents, 0);
            clock[agent] = 1;
        }
    }

    /// Whether there are several agents.
    pub(super) fn are_several(&self) -> bool {
        self.now.len() > 1
    }

    /// The agent's own time.
    pub(super) fn epoch(&self, agent: usize) -> u32 {
        self.now[agent][agent]
    }

    /// Whether an agent knows that another has come so far.
    pub(super) fn knows(&self, agent: usize, other: usize, epoch: u32) -> bool {
        self.now[agent][other] >= epoch
    }

    /// The agent begins its next launch.
    pub(super) fn begin(&mut self, agent: usize) {
        let epoch = self.epoch(agent);
        self.begun[agent].push(epoch);
    }

    /// Whether an agent knows that another, or itself, has begun that launch.
    pub(super) fn knows_begun(&self, agent: usize, other: usize, launch: usize) -> bool {
        self.begun[other].get(launch).is_some_and(|&epoch| self.knows(agent, other, epoch))
    }

    /// What the agent knows, for somebody to learn; what it does from now on is later.
    pub(super) fn tell(&mut self, agent: usize) -> Clock {
        let clock = Clock::from(self.now[agent].as_slice());
        self.now[agent][agent] += 1;
        clock
    }

    /// The agent learns what another knew.
    pub(super) fn learn(&mut self, agent: usize, clock: &[u32]) {
        for (own, &other) in self.now[agent].iter_mut().zip(clock) {
            *own = (*own).max(other);
        }
    }

    /// A signal is sent.
    pub(super) fn signal(&mut self, semaphore: Place, from: usize, units: i64) {
        if !self.are_several() {
            return;
        }
        let clock = self.tell(from);
        let sent = self.sent.entry(semaphore).or_default();
        match units {
            // What takes from the count is as if somebody had waited.
            ..=0 => sent.waited -= units,
            _ => sent.signals.push(Signal { from, units, clock }),
        }
    }

    /// An agent has waited for so many units.
    pub(super) fn wait(&mut self, semaphore: Place, agent: usize, units: i64) {
        let Some(sent) = self.sent.get_mut(&semaphore) else { return };
        if units == 0 {
            // Who waits for nothing learns nothing.
            return;
        }
        sent.waited += units;
        let certain = sent.certain(self.now.len());
        sent.forget();
        if sent.signals.is_empty() {
            self.sent.remove(&semaphore);
        }
        self.learn(agent, &certain);
    }
}

impl Sent {
    /// Of each agent how far it has surely come, once so much was waited for: ordered by what they tell of it, that of the signal with
    /// which there are as many as were waited for.
    fn certain(&self, agents: usize) -> Vec<u32> {
        let mut told: Vec<(u32, i64)> = vec![];
        let mut certain = vec![0; agents];
        for (agent, certain) in certain.iter_mut().enumerate() {
            told.clear();
            told.extend(self.signals.iter().map(|signal| (signal.clock.get(agent).copied().unwrap_or(0), signal.units)));
            told.sort_unstable();
            let mut units = 0;
            let enough = told.iter().find(|(_, more)| {
                units += more;
                units >= self.waited
            });
            *certain = enough.map_or(0, |&(clock, _)| clock);
        }
        certain
    }

    /// Forgets signals that have surely arrived: those of one agent but for as many units, the last of them, as were not waited for.
    fn forget(&mut self) {
        let total: i64 = self.signals.iter().map(|signal| signal.units).sum();
        let left = total - self.waited;
        let mut later: HashMap<usize, i64> = HashMap::new();
        let mut at = self.signals.len();
        while at > 0 {
            at -= 1;
            let later = later.entry(self.signals[at].from).or_default();
            if *later >= left {
                let signal = self.signals.remove(at);
                self.waited -= signal.units;
            } else {
                *later += self.signals[at].units;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(agents: usize) -> Clocks {
        let mut clocks = Clocks::default();
        (0..agents).for_each(|_| clocks.enlist());
        clocks
    }

    const SEM: Place = (0, 0);

    #[test]
    fn a_wait_for_all_learns_of_all() {
        let mut clocks = clocks(3);
        clocks.signal(SEM, 0, 1);
        clocks.signal(SEM, 1, 1);
        clocks.wait(SEM, 2, 2);
        assert!(clocks.knows(2, 0, 1) && clocks.knows(2, 1, 1));
        assert!(!clocks.knows(2, 0, 2) && !clocks.knows(0, 2, 1));
        assert!(clocks.sent.is_empty());
    }

    #[test]
    fn a_wait_for_one_of_two_learns_what_both_tell() {
        let mut clocks = clocks(4);
        // Both know of agent 3.
        clocks.signal((1, 0), 3, 1);
        clocks.wait((1, 0), 0, 1);
        clocks.signal((1, 1), 3, 1);
        clocks.wait((1, 1), 1, 1);
        clocks.signal(SEM, 0, 1);
        clocks.signal(SEM, 1, 1);
        clocks.wait(SEM, 2, 1);
        assert!(!clocks.knows(2, 0, 1) && !clocks.knows(2, 1, 1) && clocks.knows(2, 3, 1));
        // The second wait has the other one.
        clocks.wait(SEM, 2, 1);
        assert!(clocks.knows(2, 0, 1) && clocks.knows(2, 1, 1));
    }

    #[test]
    fn who_waits_for_nothing_learns_nothing() {
        let mut clocks = clocks(2);
        clocks.signal(SEM, 0, 1);
        clocks.wait(SEM, 1, 0);
        assert!(!clocks.knows(1, 0, 1));
        clocks.wait(SEM, 1, 1);
        assert!(clocks.knows(1, 0, 1));
    }

    #[test]
    fn the_first_signals_of_one_agent_are_certain() {
        let mut clocks = clocks(2);
        for turn in 1..100u32 {
            clocks.signal(SEM, 0, 1);
            if turn > 3 {
                clocks.wait(SEM, 1, 1);
                assert!(clocks.knows(1, 0, turn - 3) && !clocks.knows(1, 0, turn - 2), "{turn}");
            }
        }
        assert_eq!(clocks.sent[&SEM].signals.len(), 3, "what was waited for is forgotten");
    }

    #[test]
    fn two_agents_ahead_by_one_are_remembered_by_one() {
        let mut clocks = clocks(3);
        for turn in 0..50 {
            clocks.signal(SEM, 0, 1);
            clocks.signal(SEM, 1, 1);
            clocks.wait(SEM, 2, if turn == 0 { 1 } else { 2 });
            assert!(clocks.sent[&SEM].signals.len() <= 2, "{turn}");
        }
        // One signal is left, of one of both: of each the one before the last is certain.
        assert!(clocks.knows(2, 0, 49) && clocks.knows(2, 1, 49));
        assert!(!clocks.knows(2, 0, 50) && !clocks.knows(2, 1, 50));
        clocks.wait(SEM, 2, 1);
        assert!(clocks.knows(2, 0, 50) && clocks.knows(2, 1, 50));
    }
}
