//! Branches and loops.
//!
//! Rules: masks cannot be carried or yielded, so they cross the border of a region as i32 zeros and ones and are compared
//! again inside. A tile of rank 1 crosses as one row: libtpu lays a vector out by what made it, and the sides of a branch must
//! agree. How loops count is in `count`. Narrow tiles of which both sides of a branch hand
//! on a part from outside cross as words: libtpu makes a selection by a scalar of that part, and has none of narrow elements.

use super::lowering::Lowering;
use super::structure::row;
use super::{Illegal, represented, word};
use crate::ir::{DType, Op, OpKind, Region, Type, Value};

/// The type under which a value of that type crosses the border of a region.
fn crossing(ty: Type) -> Type {
    match represented(ty) {
        Type::Tile(DType::Bool, shape) => Type::Tile(DType::I32, row(shape)),
        Type::Tile(dtype, shape) => Type::Tile(dtype, row(shape)),
        other => other,
    }
}

impl Lowering<'_> {
    fn crossings(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| crossing(self.source.ty(v))).collect()
    }

    /// What represents a value of the source, as it crosses a border.
    fn outward(&mut self, value: Value) -> Result<Value, Illegal> {
        let crossing = crossing(self.source.ty(value));
        let new = self.value(value);
        let new = self.cast(new, crossing.dtype())?;
        if self.ty(new) == crossing { Ok(new) } else { self.apply(OpKind::Reshape(crossing.shape()), &[new]) }
    }

    fn outwards(&mut self, values: &[Value]) -> Result<Vec<Value>, Illegal> {
        values.iter().map(|&v| self.outward(v)).collect()
    }

    /// Binds a value of the source to what has crossed a border.
    fn inward(&mut self, value: Value, crossed: Value) -> Result<(), Illegal> {
        let ty = represented(self.source.ty(value));
        let mut new = crossed;
        if self.ty(new).shape() != ty.shape() {
            new = self.apply(OpKind::Reshape(ty.shape()), &[new])?;
        }
        let new = self.cast(new, ty.dtype())?;
        self.bind(value, new);
        Ok(())
    }

    fn inwards(&mut self, values: &[Value], crossed: &[Value]) -> Result<(), Illegal> {
        values.iter().zip(crossed).try_for_each(|(&value, &crossed)| self.inward(value, crossed))
    }

    /// The operations of a region whose arguments are bound, and what it yields.
    fn body(&mut self, region: &Region, op: &Op) -> Result<Vec<Value>, Illegal> {
        self.ops(region)?;
        self.enter(op);
        self.outwards(&region.yields)
    }

    fn control(&mut self, op: &Op, operands: &[Value], regions: Vec<Region>) -> Result<(), Illegal> {
        let types = self.crossings(&op.results);
        let results = self.builder.control(op.kind.clone(), operands, regions, &types, op.loc.clone());
        self.inwards(&op.results, &results)
    }

    /// What both sides have from outside is selected: libtpu would make that of it too late.
    pub(super) fn branch(&mut self, op: &Op) -> Result<(), Illegal> {
        let condition = self.value(op.operands[0]);
        let moved = self.moved(op)?;
        let mut types = self.crossings(&op.results);
        for (at, ty) in types.iter_mut().enumerate() {
            if let Type::Tile(dtype, shape) = *ty
                && op.regions.iter().all(|region| passes(region, region.yields[at]))
            {
                *ty = Type::Tile(word(dtype), shape);
            }
        }
        let (mut regions, mut raw) = (vec![], vec![]);
        for region in &op.regions {
            self.builder.begin_region(&[]);
            let mut yields = self.body(region, op)?;
            for (value, ty) in yields.iter_mut().zip(&types) {
                *value = self.cast(*value, ty.dtype())?;
            }
            regions.push(self.builder.end_region(&yields));
            raw.push(region.yields.iter().map(|&v| self.value(v)).collect::<Vec<_>>());
        }
        self.enter(op);
        for (at, sides) in moved {
            raw.iter_mut().zip(sides).for_each(|(raw, outside)| raw[at] = outside);
        }
        let inside = |at: usize| regions.iter().zip(&raw).any(|(region, raw)| defines(region, raw[at]));
        let (computed, chosen): (Vec<usize>, Vec<usize>) = (0..op.results.len()).partition(|&at| inside(at));
        for region in &mut regions {
            region.yields = computed.iter().map(|&at| region.yields[at]).collect();
        }
        let results: Vec<Value> = computed.iter().map(|&at| op.results[at]).collect();
        let types: Vec<Type> = computed.iter().map(|&at| types[at]).collect();
        let crossed = self.builder.control(OpKind::If, &[condition], regions, &types, op.loc.clone());
        self.inwards(&results, &crossed)?;
        for at in chosen {
            let mask = match self.ty(raw[0][at]) {
                Type::Tile(_, shape) => self.apply(OpKind::Broadcast(shape), &[condition])?,
                _ => condition,
            };
            let value = self.apply(OpKind::Select, &[mask, raw[0][at], raw[1][at]])?;
            self.bind(op.results[at], value);
        }
        Ok(())
    }

    /// Results of which both sides only move what comes from outside, with their values of both sides, moved before the branch: libtpu
    /// renames registers for such a side, and is left with a selection by a scalar.
    fn moved(&mut self, op: &Op) -> Result<Vec<(usize, [Value; 2])>, Illegal> {
        let mut moved = vec![];
        let [then, otherwise] = op.regions.as_slice() else { return Ok(moved) };
        for at in (0..op.results.len()).filter(|&at| self.source.ty(op.results[at]).is_tile()).collect::<Vec<_>>() {
            let sides = [then, otherwise].map(|region| moves(region, region.yields[at]));
            let [Some(a), Some(b)] = sides else { continue };
            if a.is_empty() && b.is_empty() {
                continue;
            }
            a.into_iter().chain(b).try_for_each(|op| self.op(op))?;
            moved.push((at, [then, otherwise].map(|region| self.value(region.yields[at]))));
        }
        self.enter(op);
        Ok(moved)
    }

    pub(super) fn count(&mut self, op: &Op) -> Result<(), Illegal> {
        let bounds = [0, 1, 2].map(|at| self.value(op.operands[at]));
        let (body, inits) = (&op.regions[0], self.outwards(&op.operands[3..])?);
        let types = self.crossings(&op.results);
        let results = self.counted(bounds, &inits, &types, |lowering, index, carried| {
            lowering.bind(body.args[0], index);
            lowering.inwards(&body.args[1..], carried)?;
            let yields = lowering.body(body, op)?;
            lowering.enter(op);
            Ok(yields)
        })?;
        self.inwards(&op.results, &results)
    }

    /// A region with memory of its own.
    pub(super) fn scoped(&mut self, op: &Op) -> Result<(), Illegal> {
        let region = &op.regions[0];
        let types: Vec<Type> = region.args.iter().map(|&v| represented(self.source.ty(v))).collect();
        if let Some(rule) = types.iter().find_map(|ty| super::table::missing(self.chip, ty.dtype())) {
            return Err(self.refuse(rule));
        }
        let args = self.builder.begin_region(&types);
        region.args.iter().zip(args).for_each(|(&old, new)| self.bind(old, new));
        let yields = self.body(region, op)?;
        let new = self.builder.end_region(&yields);
        self.enter(op);
        self.control(op, &[], vec![new])
    }

    pub(super) fn repeat(&mut self, op: &Op) -> Result<(), Illegal> {
        let inits = self.outwards(&op.operands)?;
        let types = self.crossings(&op.operands);
        let mut regions = vec![];
        for region in &op.regions {
            let args = self.builder.begin_region(&types);
            self.carried(&args, &inits);
            self.inwards(&region.args, &args)?;
            let yields = self.body(region, op)?;
            regions.push(self.builder.end_region(&yields));
        }
        self.enter(op);
        let inits = match regions.last() {
            Some(body) => self.settled(body, 0, &inits)?,
            None => inits,
        };
        self.control(op, &inits, regions)
    }
}

/// Whether a region hands on what it has from outside, at least a part of it.
fn passes(region: &Region, value: Value) -> bool {
    let Some(op) = region.ops.iter().find(|op| op.results.contains(&value)) else { return true };
    let moved = || op.operands.iter().any(|&v| passes(region, v));
    match op.kind {
        OpKind::Const(_) => true,
        OpKind::Reshape(_) | OpKind::Transpose(_) | OpKind::Slice { .. } | OpKind::Broadcast(_) => moved(),
        OpKind::Concat { .. } | OpKind::Bitcast(_) => moved(),
        _ => false,
    }
}

/// The operations of a region that make the value, where they only move what comes from outside.
fn moves(region: &Region, value: Value) -> Option<Vec<&Op>> {
    let (mut needed, mut found) = (vec![value], vec![]);
    for op in region.ops.iter().rev() {
        if !op.results.iter().any(|v| needed.contains(v)) {
            continue;
        }
        match op.kind {
            OpKind::Const(_) | OpKind::Reshape(_) | OpKind::Transpose(_) | OpKind::Broadcast(_) | OpKind::Bitcast(_) => {}
            OpKind::Slice { .. } | OpKind::Concat { .. } | OpKind::Rotate { .. } => {}
            _ => return None,
        }
        needed.extend(&op.operands);
        found.push(op);
    }
    found.reverse();
    Some(found)
}

/// Whether a region itself makes the value.
fn defines(region: &Region, value: Value) -> bool {
    region.ops.iter().any(|op| op.results.contains(&value))
}
