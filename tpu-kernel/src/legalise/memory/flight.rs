//! Which stores may run while a copy moves what lies in the same memory.
//!
//! Rules: a chip makes some stores by rewriting more than is stored. Beside a copy into that memory it would put back what was there
//! before the copy, although the kernel keeps away from the part that is copied. What is found here may be more than what happens: a
//! copy counts from its start to a wait for one of the same memory, along every path, from one turn of a loop and from one step of the
//! grid to the next.

use crate::ir::{Kernel, Op, OpKind, Region, Roots, Value};
use std::collections::{HashMap, HashSet};

/// How many copies of each memory have started and are not waited for.
type Flying = HashMap<Value, usize>;

/// The stores of a kernel beside which a copy of their memory may be in flight, by address.
pub(in crate::legalise) fn stores_beside_copies(kernel: &Kernel) -> HashSet<*const Op> {
    let mut walk = Walk { roots: Roots::of(kernel), found: HashSet::new() };
    let mut flying = Flying::new();
    walk.repeated(&[&kernel.body], &mut flying);
    walk.found
}

struct Walk {
    roots: Roots,
    found: HashSet<*const Op>,
}

impl Walk {
    /// Regions that run again and again: once more with what the first turn has left in flight.
    fn repeated(&mut self, regions: &[&Region], flying: &mut Flying) {
        for _ in 0..2 {
            regions.iter().for_each(|region| self.region(region, flying));
        }
    }

    fn region(&mut self, region: &Region, flying: &mut Flying) {
        for op in &region.ops {
            match op.kind {
                OpKind::DmaStart { .. } => {
                    op.operands[..2].iter().for_each(|&v| *flying.entry(self.roots.root(v)).or_default() += 1)
                }
                // Its two ends are waited for one by one.
                OpKind::RemoteStart { .. } => {
                    op.operands[..2].iter().for_each(|&v| *flying.entry(self.roots.root(v)).or_default() += 2)
                }
                OpKind::DmaWait => op.operands[..2].iter().for_each(|&v| {
                    flying.entry(self.roots.root(v)).and_modify(|count| *count = count.saturating_sub(1));
                }),
                OpKind::Store | OpKind::StoreScalar => {
                    if flying.get(&self.roots.root(op.operands[0])).is_some_and(|&count| count > 0) {
                        self.found.insert(std::ptr::from_ref(op));
                    }
                }
                OpKind::If => {
                    let before = flying.clone();
                    for region in &op.regions {
                        let mut taken = before.clone();
                        self.region(region, &mut taken);
                        for (memory, count) in taken {
                            let most = flying.entry(memory).or_default();
                            *most = count.max(*most);
                        }
                    }
                }
                OpKind::For | OpKind::While => self.repeated(&op.regions.iter().collect::<Vec<_>>(), flying),
                _ => op.regions.iter().for_each(|region| self.region(region, flying)),
            }
        }
    }
}
