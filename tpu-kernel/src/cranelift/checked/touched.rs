//! Who touched the elements of a memory that several reach: parallel steps, whose order is open, and agents, whose order is what they
//! know of one another.
//!
//! Rules: of each element the last write is kept, and of each agent the last read (Flanagan and Freund, FastTrack, PLDI 2009). Steps
//! along parallel dimensions are never in order, agents where the later one knows of the earlier one.

use super::clocks::Clocks;
use super::memory::filled;
use super::region::Region;
use crate::exec::RunError;
use crate::ir::Loc;
use std::ops::Range;

/// What is kept of a memory.
#[derive(Debug)]
pub(super) struct Touched {
    /// By element.
    writers: Vec<Touch>,
    /// By element and agent.
    readers: Vec<Touch>,
    agents: usize,
    /// Whether all cores share the array. Where each has its own, steps that write before they read do not meet.
    shared: bool,
    /// Whose memory it is, where agents reach that of others, and in which launch.
    owners: Range<usize>,
    launch: usize,
    /// Where it was touched.
    lines: Vec<Loc>,
}

/// A read or a write.
#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    /// The parallel step, counted from 1; 0 where there was none.
    thread: u32,
    agent: u32,
    /// The agent's time.
    epoch: u32,
    /// Where, among the lines.
    line: u32,
}

/// Read by several parallel steps.
const SEVERAL: u32 = u32::MAX;

/// Who touches.
#[derive(Clone, Copy)]
pub(super) struct Toucher<'a> {
    pub agent: usize,
    /// The parallel step, counted from 1.
    pub thread: u32,
    pub clocks: &'a Clocks,
}

/// Who touched before, in no order.
#[derive(Debug, PartialEq)]
pub(super) enum Before {
    /// Another parallel step of the same agent.
    Step(u32),
    /// Another agent: there, and whether it wrote.
    Agent(usize, Loc, bool),
    /// The owner of the memory has not begun.
    NotBegun(usize),
}

impl Touched {
    /// Of an array of so many elements that parallel steps share, or each have.
    pub(super) fn new(elements: usize, agents: usize, shared: bool) -> Result<Touched, RunError> {
        let none = Touch::default();
        let readers = filled(none, elements.saturating_mul(agents))?;
        Ok(Touched { writers: filled(none, elements)?, readers, agents, shared, owners: 0..0, launch: 0, lines: vec![] })
    }

    /// Others may reach it once one of these agents has begun that launch.
    pub(super) fn owned(self, owners: Range<usize>, launch: usize) -> Touched {
        Touched { owners, launch, ..self }
    }

    /// The first element of a part that was touched so that the order shows, and who did.
    pub(super) fn before(&self, region: &Region, writes: bool, who: &Toucher<'_>) -> Option<(usize, Before)> {
        let begun = |owner| who.clocks.knows_begun(who.agent, owner, self.launch);
        if !self.owners.is_empty() && !self.owners.clone().any(begun) {
            return region.rows(|first, _, _| Some((first as usize, Before::NotBegun(self.owners.start))));
        }
        let open = |touch: &Touch| match touch.agent as usize {
            _ if touch.thread == 0 => false,
            agent if agent == who.agent => touch.thread != who.thread,
            agent => !who.clocks.knows(who.agent, agent, touch.epoch),
        };
        let met = |touch: &Touch, wrote: bool| match touch.agent as usize {
            agent if agent == who.agent => Before::Step(touch.thread),
            agent => Before::Agent(agent, self.lines.get(touch.line as usize).cloned().unwrap_or(Loc::UNKNOWN), wrote),
        };
        region.rows(|first, len, step| {
            (0..len as i64).map(|i| (first + i * step) as usize).find_map(|element| {
                let writer = self.writers.get(element).filter(|touch| (self.shared || !writes) && open(touch));
                let readers = if writes { self.readers(element) } else { &[] };
                let reader = readers.iter().find(|touch| open(touch));
                writer.map(|touch| met(touch, true)).or_else(|| reader.map(|touch| met(touch, false))).map(|met| (element, met))
            })
        })
    }

    fn readers(&self, element: usize) -> &[Touch] {
        self.readers.get(element * self.agents..(element + 1) * self.agents).unwrap_or_default()
    }

    /// A part is touched.
    pub(super) fn add(&mut self, region: &Region, writes: bool, who: &Toucher<'_>, loc: &Loc) {
        let line = self.line(loc, who.clocks.are_several());
        let touch = Touch { thread: who.thread, agent: who.agent as u32, epoch: who.clocks.epoch(who.agent), line };
        let Touched { writers, readers, shared, agents, .. } = self;
        if writes {
            region.each(writers, |_, writer| *writer = touch);
            return;
        }
        region.each(writers, |element, writer| {
            let Some(reader) = readers.get_mut(element * *agents + who.agent) else { return };
            // What it has written itself a step reads alone.
            if *shared || writer.thread != touch.thread {
                let several = reader.thread != 0 && reader.thread != touch.thread;
                *reader = Touch { thread: if several { SEVERAL } else { touch.thread }, ..touch };
            }
        });
    }

    /// The number of a line. A kernel has few.
    fn line(&mut self, loc: &Loc, wanted: bool) -> u32 {
        if !wanted {
            return 0;
        }
        let found = self.lines.iter().position(|line| line == loc).unwrap_or_else(|| {
            self.lines.push(loc.clone());
            self.lines.len() - 1
        });
        found as u32
    }
}
