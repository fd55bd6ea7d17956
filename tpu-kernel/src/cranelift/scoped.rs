//! Emits what is done with memory and semaphores but loads and stores of tiles: views, scalar memory, copies, signals and waits, and
//! regions with memory of their own.

use super::body::{Body, OWN};
use super::context::{Context, Helpers};
use super::mem::Mem;
use super::movement::{ALL, HERE};
use super::semaphore::Group;
use super::site::{Action, CopySite, CopyStep, Extent, RemoteSite, Site};
use crate::ir::{Op, OpKind, Shape, Type, Value};
use cranelift::prelude::{InstBuilder, IntCC, Value as Clif, types};
use std::mem::offset_of;

impl<'k> Body<'_, '_, 'k> {
    /// A view: the same memory from another start, with other strides, or as other elements.
    pub(super) fn view(&mut self, op: &'k Op) -> Result<(), String> {
        let result = op.results[0];
        let view = match &op.kind {
            OpKind::View { shape, strides } => self.part(op, &op.operands[1..], *shape, strides)?,
            OpKind::ViewTransposed(perm) => self.memory_of(op.operands[0])?.transposed(perm, self.kernel.ty(result).shape()),
            OpKind::ViewReshaped(shape) => self.memory_of(op.operands[0])?.reshaped(*shape).ok_or("a view without strides")?,
            OpKind::ViewBitcast(dtype) => self.memory_of(op.operands[0])?.cast(*dtype, self.kernel.ty(result).shape()),
            OpKind::ViewSqueezed(axes) => self.memory_of(op.operands[0])?.squeezed(axes, self.kernel.ty(result).shape()),
            _ => return Err("no view".into()),
        };
        self.values.refs.insert(result, view);
        Ok(())
    }

    fn memory_of(&self, value: Value) -> Result<Mem, String> {
        self.values.refs.get(&value).cloned().ok_or_else(|| "memory that is defined nowhere".into())
    }

    /// The address of one element of scalar memory.
    fn element(&mut self, op: &Op, indices: &[Value]) -> Result<(Mem, Clif), String> {
        let ones = vec![1; indices.len()];
        let one = self.part(op, indices, Shape::new(&ones), &ones)?;
        let address = self.code.address(&one, offset_of!(Context, arena));
        Ok((one, address))
    }

    /// `load_scalar`.
    pub(super) fn load_scalar(&mut self, op: &'k Op) -> Result<(), String> {
        let (one, address) = self.element(op, &op.operands[1..])?;
        self.watch(op.operands[0], &one, false, &op.loc)?;
        let v = self.code.load_scalar(one.dtype, address, 0);
        self.values.scalars.insert(op.results[0], v);
        Ok(())
    }

    /// `store_scalar`.
    pub(super) fn store_scalar(&mut self, op: &'k Op) -> Result<(), String> {
        let (one, address) = self.element(op, &op.operands[2..])?;
        let scalar = self.values.scalars[&op.operands[1]];
        self.code.store_scalar(one.dtype, scalar, address, 0);
        self.watch(op.operands[0], &one, true, &op.loc)
    }

    /// Names the semaphores of an operand or a region.
    pub(super) fn group(&mut self, value: Value, group: Group) {
        let first = self.code.b.ins().iconst(types::I64, 0);
        self.values.semaphores.insert(value, (self.groups.len(), first));
        self.groups.push(group);
    }

    /// `semaphore_at`.
    pub(super) fn semaphore_at(&mut self, op: &'k Op) {
        let (group, _) = self.values.semaphores[&op.operands[0]];
        let shape = self.kernel.ty(op.operands[0]).shape();
        let mut at = self.code.b.ins().iconst(types::I64, 0);
        for (axis, &index) in op.operands[1..].iter().enumerate() {
            let extent = shape.dim(axis);
            let v = self.values.scalars[&index];
            let operand = self.groups[group].name.clone();
            let site = Site::Start { operand, axis, size: 1, extent: Extent::Fixed(extent), loc: op.loc.clone() };
            let last = self.code.b.ins().iconst(types::I64, extent as i64 - 1);
            self.check_start(v, last, site);
            let wide = self.code.b.ins().sextend(types::I64, v);
            at = self.code.b.ins().imul_imm_s(at, extent as i64);
            at = self.code.b.ins().iadd(at, wide);
        }
        self.values.semaphores.insert(op.results[0], (group, at));
    }

    /// `semaphore_signal`, `semaphore_wait` and `semaphore_read`.
    pub(super) fn semaphore(&mut self, op: &'k Op) -> Result<(), String> {
        if self.plan.receives() {
            // While this device waits, another may write what waits to be read here.
            self.flush();
        }
        let (group, at) = self.values.semaphores[&op.operands[0]];
        let device = op.operands.get(2).map(|device| self.values.scalars[device]);
        let (action, by) = match (&op.kind, op.operands.get(1)) {
            (OpKind::CoreSignal, Some(by)) => (Action::CoreSignal, Some(self.values.scalars[by])),
            (OpKind::SemaphoreSignal, Some(by)) => (Action::Signal, Some(self.values.scalars[by])),
            (OpKind::SemaphoreWait, Some(by)) => (Action::Wait, Some(self.values.scalars[by])),
            _ => (Action::Read, None),
        };
        let outcome = self.ask((group, at), by, device, action, op)?;
        if action == Action::Read {
            let count = self.code.b.ins().ireduce(types::I32, outcome);
            self.values.scalars.insert(op.results[0], count);
        }
        Ok(())
    }

    /// Asks the launch about a semaphore; fails where it says so.
    fn ask(
        &mut self,
        (group, at): (usize, Clif),
        by: Option<Clif>,
        device: Option<Clif>,
        action: Action,
        op: &Op,
    ) -> Result<Clif, String> {
        let by = match by {
            Some(by) => self.code.b.ins().sextend(types::I64, by),
            None => self.code.b.ins().iconst(types::I64, 0),
        };
        let device = match device {
            Some(device) => self.code.b.ins().sextend(types::I64, device),
            None => self.code.b.ins().iconst(types::I64, HERE),
        };
        let site = Site::Semaphore { group, action, loc: op.loc.clone() };
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let args = [launch, number, at, by, device];
        let outcome = self.code.call(offset_of!(Helpers, semaphore), &args, Some(types::I64)).ok_or("a call without a result")?;
        match action {
            // Others may have ended meanwhile: who asks again and again must not go on for ever.
            Action::Read => {
                let zero = self.code.b.ins().iconst(types::I64, 0);
                let wrong = self.code.b.ins().icmp(IntCC::SignedLessThan, outcome, zero);
                self.fail_if(wrong, outcome, site);
            }
            Action::Signal | Action::CoreSignal | Action::Wait | Action::End => self.fail_unless_zero(outcome, site),
        }
        Ok(outcome)
    }

    /// `dma_start` and `dma_wait`.
    pub(super) fn copy(&mut self, op: &'k Op) -> Result<(), String> {
        // What waits to be computed may read the target or write the source.
        self.flush();
        let used = self.used;
        let (site, slots, at) = self.copied(op)?;
        let rows = self.rows(op.operands.get(3).copied());
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let args = [launch, number, slots, at, rows];
        let outcome = self.code.call(offset_of!(Helpers, copy), &args, Some(types::I64)).ok_or("a call without a result")?;
        self.fail_unless_zero(outcome, Site::Copy(site));
        self.used = used;
        Ok(())
    }

    /// `remote_dma_start`.
    pub(super) fn remote_copy(&mut self, op: &'k Op) -> Result<(), String> {
        if op.operands[..2].iter().any(|&end| self.plan.is_cast(end)) {
            return Err("a copy to another device takes memory as it is, not seen as elements of another width".into());
        }
        self.flush();
        let used = self.used;
        let (copy, slots, receive) = self.copied(op)?;
        let (group, send) = self.values.semaphores[&op.operands[3]];
        let device = self.values.scalars[&op.operands[4]];
        let device = self.code.b.ins().sextend(types::I64, device);
        let rows = self.rows(op.operands.get(5).copied());
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let args = [launch, number, slots, receive, send, device, rows];
        let outcome = self.code.call(offset_of!(Helpers, remote), &args, Some(types::I64)).ok_or("a call without a result")?;
        self.fail_unless_zero(outcome, Site::Remote(RemoteSite { copy, send: group }));
        self.used = used;
        Ok(())
    }

    /// How many rows a copy moves.
    fn rows(&mut self, rows: Option<Value>) -> Clif {
        match rows {
            Some(rows) => {
                let rows = self.values.scalars[&rows];
                self.code.b.ins().sextend(types::I64, rows)
            }
            None => self.code.b.ins().iconst(types::I64, ALL),
        }
    }

    /// What is copied: its description, its two ends, and which of its group of semaphores.
    fn copied(&mut self, op: &'k Op) -> Result<(CopySite, Clif, Clif), String> {
        let [source, target] = [op.operands[0], op.operands[1]];
        let (group, at) = self.values.semaphores[&op.operands[2]];
        let ends = [self.memory_of(source)?, self.memory_of(target)?];
        let arrays = ends.clone().map(|mem| mem.param().unwrap_or(0));
        let what = match &op.kind {
            OpKind::DmaStart { add: true, .. } => CopyStep::Add,
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } => CopyStep::Start,
            _ => CopyStep::Wait,
        };
        let ty = self.kernel.ty(source);
        let site = CopySite {
            dtype: ty.dtype(),
            shape: ty.is_ref().then(|| ty.shape()),
            arrays,
            chains: ends.clone().map(|mem| Self::chain(&mem)),
            group,
            memories: [source, target].map(|end| self.shared(self.plan.memory(end))),
            what,
            loc: op.loc.clone(),
        };
        Ok((site, self.slots_of(&ends, ty.rank())?, at))
    }

    /// The memory, by number, that stands for an array: of an input whose array an output shares the output.
    fn shared(&self, memory: usize) -> usize {
        let is_array = |at: usize| self.kernel.params[at].window().is_none();
        let mut pairs = self.kernel.aliases().filter(|&(output, input)| is_array(output) && is_array(input));
        pairs.find(|&(_, input)| input == memory).map_or(memory, |(output, _)| output)
    }

    /// `scoped`: its memory in the arena, for as long as the region is emitted.
    pub(super) fn scoped(&mut self, op: &'k Op) -> Result<(), String> {
        let region = &op.regions[0];
        let mut results = vec![];
        for &result in op.results.iter().filter(|&&v| self.kernel.ty(v).is_tile()) {
            results.push(self.allocate(result)?);
        }
        let used = self.used;
        let (mut groups, mut own) = (vec![], vec![]);
        for &arg in &region.args {
            match self.kernel.ty(arg) {
                Type::Semaphore(kind, shape) => {
                    groups.push(self.groups.len());
                    self.group(arg, Group::new(OWN, kind, shape, &op.loc));
                }
                ty => {
                    let mem = self.slot(ty)?;
                    self.poison(&mem, self.plan.memory(arg))?;
                    own.push((arg, mem.clone()));
                    self.values.refs.insert(arg, mem);
                }
            }
        }
        self.region(region)?;
        let mut results = results.into_iter();
        for (at, (&v, &result)) in region.yields.iter().zip(&op.results).enumerate() {
            match self.values.scalars.get(&v) {
                Some(&scalar) => _ = self.values.scalars.insert(result, scalar),
                None => {
                    let mem = results.next().ok_or("a result without memory")?;
                    let reader = self.plan.yielding(region, at);
                    self.push_copy(v, mem, reader);
                }
            }
        }
        self.flush();
        for group in groups {
            let first = self.code.b.ins().iconst(types::I64, 0);
            self.ask((group, first), None, None, Action::End, op)?;
        }
        for (arg, mem) in own {
            self.watch(arg, &mem, true, &op.loc)?;
        }
        self.used = used;
        Ok(())
    }

    fn poison(&mut self, mem: &Mem, memory: usize) -> Result<(), String> {
        // What lay there before may still wait to be read.
        self.flush();
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        self.sites.push(Site::Poison { dtype: mem.dtype, elements: mem.shape.elements(), memory });
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let address = self.code.address(mem, offset_of!(Context, arena));
        self.code.call(offset_of!(Helpers, fill), &[launch, number, address], None);
        Ok(())
    }
}
