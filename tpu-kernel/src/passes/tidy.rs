//! Merges operations that compute the same and drops dead code, and changes nothing else: for kernels in which each
//! operation is chosen, where [`canonicalise`](super::canonicalise()) could put back what was lowered.

use super::cse::Table;
use super::dce::dce;
use crate::ir::{Kernel, OpKind, Region, Type, Value};

/// Rewrites a kernel that verifies.
pub fn tidy(kernel: &mut Kernel) {
    let Kernel { params, body, types, .. } = kernel;
    let mut pass = Pass { types, replaced: (0..).map(Value).take(types.len()).collect(), table: Table::default() };
    for param in params {
        if let Some(map) = param.map_mut() {
            pass.region(map);
        }
    }
    pass.region(body);
    while dce(kernel) {}
    kernel.renumber();
}

struct Pass<'a> {
    types: &'a [Type],
    /// By value: what stands for it.
    replaced: Vec<Value>,
    table: Table,
}

impl Pass<'_> {
    fn resolve(&self, values: &mut [Value]) {
        values.iter_mut().for_each(|v| *v = self.replaced[v.0 as usize]);
    }

    fn region(&mut self, region: &mut Region) {
        self.table.open();
        region.ops.retain_mut(|op| {
            self.resolve(&mut op.operands);
            op.regions.iter_mut().for_each(|r| self.region(r));
            let (&[result], true) = (op.results.as_slice(), op.kind.is_pure()) else { return true };
            if matches!(op.kind, OpKind::Sort { .. }) {
                return true;
            }
            match self.table.find(&op.kind, &op.operands, self.types[result.0 as usize], result) {
                Some(same) => {
                    self.replaced[result.0 as usize] = same;
                    false
                }
                None => true,
            }
        });
        self.resolve(&mut region.yields);
        self.table.close();
    }
}
