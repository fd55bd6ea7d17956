//! What is known of memory before the first step of a checked run.

use super::CheckedExecutable;
use super::memory::{Memory, Shadow, filled};
use super::run::Run;
use super::touched::Touched;
use crate::exec::RunError;
use crate::ir::{self, ParamKind, Roots, Type};

/// Several agents.
pub(super) struct Among<'k> {
    pub agents: usize,
    /// Of each device.
    pub cores: usize,
    /// The memories, by number, that devices reach of one another.
    pub reached: Vec<usize>,
    pub checked: &'k CheckedExecutable,
}

impl Among<'_> {
    /// Whether a memory is an array, which the cores of a device share.
    pub(super) fn is_array(&self, number: usize) -> bool {
        // What stands for an array behind a window is none of the roots.
        let Some(root) = self.checked.roots.get(number) else { return true };
        let kind = root.param.map(|at| &self.checked.exe.kernel.params[at].kind);
        matches!(kind, Some(ParamKind::InArray(_) | ParamKind::OutArray(_)))
    }
}

impl Run<'_, '_, '_, '_, '_> {
    /// What is known of memory in a launch, the next of those that are known. `among`: how many agents there are, and which memories
    /// they reach of one another. `common`: those that it has in common with the agent before.
    pub(super) fn know(
        &mut self,
        launch: usize,
        among: Option<&Among<'_>>,
        common: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), RunError> {
        // Cores share arrays: the first one says what they hold.
        let fresh = among.is_none_or(|among| self.agent.is_multiple_of(among.cores));
        self.refs = self.driver.enter(fresh).0;
        if fresh {
            self.driver.unvisited();
        }
        let mut memories = self.memories(among.map_or(1, |among| among.agents))?;
        if let Some(among) = among {
            for (number, memory) in memories.iter_mut().enumerate() {
                let is_array = among.is_array(number);
                let is_shared = is_array && among.cores > 1;
                if !is_shared && !among.reached.contains(&number) {
                    continue;
                }
                let touched = Touched::new(memory.elements(), among.agents, true)?;
                // An array is there once a core of the device has begun.
                let first = if is_array { self.agent / among.cores * among.cores } else { self.agent };
                let cores = if is_array { among.cores } else { 1 };
                memory.touched = Some(touched.owned(first..first + cores, launch));
            }
        }
        self.watch.borrow_mut().know(self.agent, memories, common);
        Ok(())
    }

    /// What is known of each memory before the first step.
    fn memories(&mut self, agents: usize) -> Result<Vec<Memory>, RunError> {
        // Parallel steps must not meet.
        let threads = self.checked.parallel() > 0;
        let kernel = &self.checked.exe.kernel;
        let base = self.driver.memory.pointer();
        let writes_prefetched = Roots::of(kernel).writes_prefetched(kernel);
        let mut memories = vec![];
        for root in &self.checked.roots {
            let param = root.param.map(|at| (at, &kernel.params[at]));
            let shape = match param {
                Some((at, param)) if matches!(param.ty, Type::Array(..)) => self.driver.binding.arrays[at].clone(),
                _ => root.shape.clone(),
            };
            let own = |(at, param): (usize, &ir::Param)| match param.window() {
                Some(_) => self.driver.window(at).map_or(base, |(param, _)| base.wrapping_add(param.offset)),
                None => self.refs[at].ptr,
            };
            let mut memory = Memory::new(root.name.clone(), param.map_or(std::ptr::null_mut(), own), root.dtype, shape);
            let elements = memory.elements();
            match (root.shadow, param.map(|(_, param)| (&param.kind, &param.alias))) {
                (Some(number), _) => memory.shadow = Shadow::Memory(number),
                (None, Some((ParamKind::OutArray(_), alias))) => {
                    // What shares the array of an input starts as it.
                    memory.shadow = Shadow::Own(filled(u8::from(alias.is_none()), elements)?);
                    memory.touched = if threads { Some(Touched::new(elements, agents, true)?) } else { None };
                }
                (None, Some((ParamKind::Prefetch(_), _))) if threads && writes_prefetched => {
                    memory.touched = Some(Touched::new(elements, agents, false)?);
                }
                _ => {}
            }
            memories.push(memory);
        }
        // An array that a window shows and another operand reaches: a memory that stands for it.
        for (output, input) in kernel.aliases() {
            let is_array = |&at: &usize| kernel.params[at].window().is_none();
            let number = [output, input].into_iter().find(is_array).unwrap_or(memories.len());
            if number == memories.len() {
                let shape = self.driver.binding.arrays[output].clone();
                let param = &kernel.params[output];
                memories.push(Memory::new(param.name.clone(), base, param.ty.dtype(), shape));
            }
            let memory = &mut memories[number];
            if threads && memory.touched.is_none() {
                memory.touched = Some(Touched::new(memory.elements(), agents, true)?);
            }
            for at in [output, input].into_iter().filter(|at| !is_array(at)) {
                self.behind[at] = Some(number);
            }
        }
        Ok(memories)
    }
}
