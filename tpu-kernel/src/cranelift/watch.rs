//! What checked execution adds to compiled code: each access of memory that it watches is told to the launch.

use super::body::Body;
use super::context::{Context, Helpers};
use super::mem::Mem;
use super::site::{AccessSite, Site};
use crate::ir::{Loc, Value};
use cranelift::prelude::{InstBuilder, types};
use std::mem::offset_of;

impl Body<'_, '_, '_> {
    /// Tells the launch that a part of a memory is read, or has been written.
    pub(super) fn watch(&mut self, memory: Value, part: &Mem, writes: bool, loc: &Loc) -> Result<(), String> {
        // An index map names prefetched arrays by arguments of its own.
        let memory = part.param().unwrap_or_else(|| self.plan.memory(memory));
        if !self.watched.get(memory).is_some_and(|&watched| watched) {
            return Ok(());
        }
        // What waits to be computed is written before it is looked at; what waits to be read is read from memory that no copy
        // may change, or the launch ends here.
        if writes {
            self.flush();
        }
        let used = self.used;
        let slots = self.slots(std::slice::from_ref(part))?;
        let site = AccessSite { memory, shape: part.shape, writes, loc: loc.clone() };
        let number = self.code.b.ins().iconst(types::I32, self.sites.len() as i64);
        let launch = self.code.field(types::I64, offset_of!(Context, launch));
        let args = [launch, number, slots];
        let outcome = self.code.call(offset_of!(Helpers, access), &args, Some(types::I64)).ok_or("a call without a result")?;
        self.fail_unless_zero(outcome, Site::Access(site));
        self.used = used;
        Ok(())
    }
}
