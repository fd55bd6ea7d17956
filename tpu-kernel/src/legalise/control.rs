//! Branches and loops.

use super::lowering::Lowering;
use super::{Illegal, represented};
use crate::ir::{Op, Region, Type, Value};

impl Lowering<'_> {
    fn region(&mut self, region: &Region) -> Result<Region, Illegal> {
        let types: Vec<Type> = region.args.iter().map(|&v| represented(self.source.ty(v))).collect();
        let args = self.builder.begin_region(&types);
        for (&old, new) in region.args.iter().zip(args) {
            self.bind(old, new);
        }
        self.ops(region)?;
        let yields: Vec<Value> = region.yields.iter().map(|&v| self.value(v)).collect();
        Ok(self.builder.end_region(&yields))
    }

    fn control(&mut self, op: &Op) -> Result<(), Illegal> {
        let operands: Vec<Value> = op.operands.iter().map(|&v| self.value(v)).collect();
        let regions = op.regions.iter().map(|r| self.region(r)).collect::<Result<Vec<_>, _>>()?;
        let types: Vec<Type> = op.results.iter().map(|&v| represented(self.source.ty(v))).collect();
        let results = self.builder.control(op.kind.clone(), &operands, regions, &types, op.loc.clone());
        for (&old, new) in op.results.iter().zip(results) {
            self.bind(old, new);
        }
        Ok(())
    }

    pub(super) fn branch(&mut self, op: &Op) -> Result<(), Illegal> {
        self.control(op)
    }

    pub(super) fn count(&mut self, op: &Op) -> Result<(), Illegal> {
        self.control(op)
    }

    pub(super) fn repeat(&mut self, op: &Op) -> Result<(), Illegal> {
        self.control(op)
    }
}
