//! The normal numbering of values, which reading text and every pass end with.
//!
//! Values are numbered in the order of their definition: operand by operand, the arguments and
//! operations of its index map and then the operand itself; then the body, where an operation's
//! regions come before its results. The builder gives the same order when each index map is built
//! just before its operand. Numbers that nothing defines or uses are dropped.

use super::{Kernel, Region, Value};

/// Marks a value that nothing defines.
const UNDEFINED: u32 = u32::MAX;

/// The normal number of each value, by its present number.
struct Numbering {
    map: Vec<u32>,
    next: u32,
}

impl Numbering {
    /// Numbers the definitions of a kernel. Takes any kernel, also one that breaks every rule.
    fn of(kernel: &Kernel) -> Numbering {
        let mut numbering = Numbering { map: vec![UNDEFINED; kernel.types.len()], next: 0 };
        for (i, param) in kernel.params.iter().enumerate() {
            if let Some(window) = param.window() {
                numbering.region(&window.map);
            }
            if let Some(&arg) = kernel.body.args.get(i) {
                numbering.define(arg);
            }
        }
        numbering.region(&kernel.body);
        numbering
    }

    /// The normal number, or `None` where nothing defines the value.
    fn get(&self, value: Value) -> Option<u32> {
        self.map.get(value.0 as usize).copied().filter(|&n| n != UNDEFINED)
    }

    fn define(&mut self, value: Value) {
        if let Some(n) = self.map.get_mut(value.0 as usize)
            && *n == UNDEFINED
        {
            *n = self.next;
            self.next += 1;
        }
    }

    fn region(&mut self, region: &Region) {
        for &arg in &region.args {
            self.define(arg);
        }
        for op in &region.ops {
            for nested in &op.regions {
                self.region(nested);
            }
            for &result in &op.results {
                self.define(result);
            }
        }
    }
}

impl Kernel {
    /// Gives the values their normal numbers and drops the types of numbers that are not in use:
    /// two kernels that differ in numbering only become equal.
    pub fn renumber(&mut self) {
        let mut numbering = Numbering::of(self);
        let mut visit = |value: &mut Value| {
            numbering.define(*value);
            *value = Value(numbering.get(*value).unwrap_or(UNDEFINED));
        };
        for param in &mut self.params {
            if let Some(map) = param.map_mut() {
                rewrite(map, &mut visit);
            }
        }
        rewrite(&mut self.body, &mut visit);
        let mut types = vec![None; numbering.next as usize];
        for (old, &new) in numbering.map.iter().enumerate() {
            if new != UNDEFINED {
                types[new as usize] = Some(self.types[old]);
            }
        }
        self.types = types.into_iter().flatten().collect();
    }
}

fn rewrite(region: &mut Region, visit: &mut impl FnMut(&mut Value)) {
    region.args.iter_mut().for_each(&mut *visit);
    for op in &mut region.ops {
        op.operands.iter_mut().for_each(&mut *visit);
        for nested in &mut op.regions {
            rewrite(nested, visit);
        }
        op.results.iter_mut().for_each(&mut *visit);
    }
    region.yields.iter_mut().for_each(&mut *visit);
}
