//! Calls of functions compiled ahead, a pack at a time.

use crate::cranelift::code::{Code, Pack};
use crate::cranelift::context::Helpers;
use cranelift::prelude::*;
use std::mem::offset_of;
use tpu_microkernels::function::{Function, STRIP};

/// A pack has at most so many bytes.
const BYTES: u32 = 4 * STRIP as u32;

impl Code<'_> {
    /// The function of each lane: the operands go through memory.
    pub(super) fn call_function(&mut self, function: Function, x: Pack, y: Option<Pack>) -> Pack {
        let slots = match self.strips {
            Some(slots) => slots,
            None => {
                let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, BYTES, 4);
                [slot.clone(), slot].map(|slot| self.b.create_sized_stack_slot(slot))
            }
        };
        self.strips = Some(slots);
        let first = x.values()[0];
        let (ty, lanes) = (self.b.func.dfg.value_type(first), x.values().len() * if self.is_vector(first) { 4 } else { 1 });
        for (operand, slot) in [Some(x), y].into_iter().zip(slots) {
            for (at, &v) in operand.iter().flat_map(|pack| pack.values()).enumerate() {
                self.b.ins().stack_store(types::I64, v, slot, (at * 16) as i32);
            }
        }
        let [a, b] = slots.map(|slot| self.b.ins().stack_addr(types::I64, slot, 0));
        let n = self.b.ins().iconst(types::I64, lanes as i64);
        let at = offset_of!(Helpers, functions) + function as usize * size_of::<usize>();
        self.call(at, &[a, b, a, n], None);
        let results: Vec<Value> =
            (0..x.values().len()).map(|at| self.b.ins().stack_load(types::I64, ty, slots[0], (at * 16) as i32)).collect();
        Pack::from_slice(&results)
    }
}
