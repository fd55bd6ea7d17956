//! Emits control flow. Carried scalars are block parameters; a carried tile has two places in the arena and
//! two addresses that trade places at the end of each round, so that a loop may yield its own arguments in
//! any order without copying.

use super::body::Body;
use super::code::Code;
use super::context::Context;
use super::mem::{Mem, Origin};
use super::site::Site;
use crate::ir::{Op, Region, Type, Value};
use cranelift::codegen::ir::BlockArg;
use cranelift::prelude::{Block, InstBuilder, IntCC, Value as Clif, types};
use std::mem::offset_of;

/// What a loop carries.
enum Carried {
    /// A register.
    Scalar,
    /// A tile that every round hands on as it is: one place.
    Still(Box<Mem>),
    /// A tile with two places.
    Moving(Box<[Mem; 2]>),
}

impl<'k> Body<'_, '_, 'k> {
    fn args(values: &[Clif]) -> Vec<BlockArg> {
        values.iter().map(|&v| v.into()).collect()
    }

    /// A region whose temporaries nothing outside it reads.
    fn inner(&mut self, region: &'k Region, end: impl FnOnce(&mut Self)) -> Result<(), String> {
        let used = self.used;
        self.region(region)?;
        end(self);
        self.flush();
        self.used = used;
        Ok(())
    }

    /// `if`.
    pub(super) fn branch(&mut self, op: &'k Op) -> Result<(), String> {
        self.flush();
        let condition = self.values.scalars[&op.operands[0]];
        let [then, other, join] = [(); 3].map(|()| self.code.b.create_block());
        let mut slots = vec![];
        for &result in &op.results {
            match self.kernel.ty(result) {
                Type::Scalar(dtype) => {
                    let v = self.code.b.append_block_param(join, Code::clif_type(dtype, false));
                    self.values.scalars.insert(result, v);
                }
                ty => {
                    let mem = self.slot(ty)?;
                    self.values.memory.insert(result, mem.clone());
                    slots.push(mem);
                }
            }
        }
        self.code.b.ins().brif(condition, then, &[], other, &[]);
        for (block, region) in [then, other].into_iter().zip(&op.regions) {
            self.code.b.switch_to_block(block);
            self.inner(region, |body| {
                let mut slots = slots.iter();
                for (at, &v) in region.yields.iter().enumerate() {
                    if body.kernel.ty(v).is_tile()
                        && let Some(mem) = slots.next()
                    {
                        let reader = body.plan.yielding(region, at);
                        body.push_copy(v, mem.clone(), reader);
                    }
                }
            })?;
            let scalars: Vec<Clif> = region.yields.iter().filter_map(|v| self.values.scalars.get(v).copied()).collect();
            self.code.b.ins().jump(join, &Self::args(&scalars));
        }
        self.code.b.switch_to_block(join);
        Ok(())
    }

    /// Places the initial values of a loop, its operands from that one on. Returns how each is carried, and the first block arguments.
    fn carry(&mut self, op: &'k Op, from: usize, args: &[Value], yields: &[Value]) -> Result<(Vec<Carried>, Vec<Clif>), String> {
        let inits = &op.operands[from..];
        let mut carried = vec![];
        for (at, (&init, (&arg, &next))) in inits.iter().zip(args.iter().zip(yields)).enumerate() {
            let ty = self.kernel.ty(init);
            if ty.is_scalar() {
                carried.push(Carried::Scalar);
                continue;
            }
            let place = self.slot(ty)?;
            self.push_copy(init, place.clone(), self.plan.reader(op, from + at));
            carried.push(if arg == next {
                Carried::Still(Box::new(place))
            } else {
                Carried::Moving(Box::new([place, self.slot(ty)?]))
            });
        }
        self.flush();
        let mut first = vec![];
        for (carry, &init) in carried.iter().zip(inits) {
            match carry {
                Carried::Scalar => first.push(self.values.scalars[&init]),
                Carried::Still(_) => {}
                Carried::Moving(both) => {
                    first.extend(both.each_ref().map(|mem| self.code.address(mem, offset_of!(Context, arena))));
                }
            }
        }
        Ok((carried, first))
    }

    /// A block with parameters for what is carried; returns them.
    fn header(&mut self, first: &[Clif]) -> (Block, Vec<Clif>) {
        let header = self.code.b.create_block();
        for &v in first {
            let ty = self.code.b.func.dfg.value_type(v);
            self.code.b.append_block_param(header, ty);
        }
        self.code.b.ins().jump(header, &Self::args(first));
        self.code.b.switch_to_block(header);
        (header, self.code.b.block_params(header).to_vec())
    }

    /// Makes the carried values known under the names of a region's arguments or of the results.
    fn name(&mut self, carried: &[Carried], mut params: &[Clif], names: &[Value]) {
        for (carry, &name) in carried.iter().zip(names) {
            let ty = self.kernel.ty(name);
            match carry {
                Carried::Scalar => {
                    self.values.scalars.insert(name, params[0]);
                    params = &params[1..];
                }
                Carried::Still(mem) => {
                    self.values.memory.insert(name, mem.as_ref().clone());
                }
                Carried::Moving(..) => {
                    self.values.memory.insert(name, Mem::dense(Origin::Pointer(params[0]), ty.dtype(), ty.shape()));
                    params = &params[2..];
                }
            }
        }
    }

    /// Emits the body of a loop and computes what it yields. Returns the next block arguments.
    fn round(&mut self, carried: &[Carried], mut params: &[Clif], region: &'k Region) -> Result<Vec<Clif>, String> {
        let mut tiles = vec![];
        let mut next: Vec<Option<Clif>> = vec![];
        for (at, (carry, &v)) in carried.iter().zip(&region.yields).enumerate() {
            match carry {
                Carried::Scalar => {
                    next.push(None);
                    params = &params[1..];
                }
                Carried::Still(_) => {}
                Carried::Moving(..) => {
                    let ty = self.kernel.ty(v);
                    let mem = Mem::dense(Origin::Pointer(params[1]), ty.dtype(), ty.shape());
                    tiles.push((v, mem, self.plan.yielding(region, at)));
                    next.extend([Some(params[1]), Some(params[0])]);
                    params = &params[2..];
                }
            }
        }
        self.inner(region, |body| tiles.into_iter().for_each(|(v, mem, reader)| body.push_copy(v, mem, reader)))?;
        let mut scalars = region.yields.iter().filter(|&&v| self.kernel.ty(v).is_scalar()).map(|v| self.values.scalars[v]);
        Ok(next.into_iter().filter_map(|v| v.or_else(|| scalars.next())).collect())
    }

    /// `for`.
    pub(super) fn count(&mut self, op: &'k Op) -> Result<(), String> {
        let [low, high, by] = [0, 1, 2].map(|i| self.values.scalars[&op.operands[i]]);
        let [low, high, by] = [low, high, by].map(|v| self.code.b.ins().sextend(types::I64, v));
        let zero = self.code.b.ins().iconst(types::I64, 0);
        let wrong = self.code.b.ins().icmp(IntCC::SignedLessThanOrEqual, by, zero);
        self.fail_if(wrong, by, Site::Step { loc: op.loc.clone() });
        let region = &op.regions[0];
        let (carried, first) = self.carry(op, 3, &region.args[1..], &region.yields)?;
        let first: Vec<Clif> = [low].into_iter().chain(first).collect();
        let (header, params) = self.header(&first);
        let more = self.code.b.ins().icmp(IntCC::SignedLessThan, params[0], high);
        let [inside, exit] = [(); 2].map(|()| self.code.b.create_block());
        self.code.b.ins().brif(more, inside, &[], exit, &[]);
        self.code.b.switch_to_block(inside);
        let index = self.code.b.ins().ireduce(types::I32, params[0]);
        self.values.scalars.insert(region.args[0], index);
        self.name(&carried, &params[1..], &region.args[1..]);
        let next = self.round(&carried, &params[1..], region)?;
        let index = self.code.b.ins().iadd(params[0], by);
        let next: Vec<Clif> = [index].into_iter().chain(next).collect();
        self.code.b.ins().jump(header, &Self::args(&next));
        self.code.b.switch_to_block(exit);
        self.name(&carried, &params[1..], &op.results);
        Ok(())
    }

    /// `while`.
    pub(super) fn repeat(&mut self, op: &'k Op) -> Result<(), String> {
        let (test, region) = (&op.regions[0], &op.regions[1]);
        let (carried, first) = self.carry(op, 0, &region.args, &region.yields)?;
        let (header, params) = self.header(&first);
        self.name(&carried, &params, &test.args);
        self.inner(test, |_| {})?;
        let more = self.values.scalars[&test.yields[0]];
        let [inside, exit] = [(); 2].map(|()| self.code.b.create_block());
        self.code.b.ins().brif(more, inside, &[], exit, &[]);
        self.code.b.switch_to_block(inside);
        self.name(&carried, &params, &region.args);
        let next = self.round(&carried, &params, region)?;
        self.code.b.ins().jump(header, &Self::args(&next));
        self.code.b.switch_to_block(exit);
        self.name(&carried, &params, &op.results);
        Ok(())
    }
}
