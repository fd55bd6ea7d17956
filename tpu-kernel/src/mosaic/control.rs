//! Branches and loops.
//!
//! Rules: masks cannot be carried or yielded, so they cross as i32 and are compared again inside.
//! Vectors cross as one row: libtpu lays a vector out by what made it, and the sides of a branch must
//! agree. A branch that only chooses is a selection, and a loop that does nothing is left out: libtpu
//! fails on both once it has emptied them. It also fails on a loop from a negative constant, which
//! counts from zero instead.

use super::function::{Function, spelled};
use crate::ir::{DType, Literal, Op, OpKind, Region, Shape, Type, Value};
use crate::legalise::{Illegal, Rule};

/// The type under which a value crosses the border of a region.
fn carried(ty: Type) -> Type {
    let Type::Tile(dtype, shape) = ty else { return ty };
    let dtype = if dtype == DType::Bool { DType::I32 } else { dtype };
    match shape.dims() {
        &[n] => Type::Tile(dtype, Shape::new(&[1, n])),
        _ => Type::Tile(dtype, shape),
    }
}

fn list(types: impl IntoIterator<Item = Type>) -> String {
    types.into_iter().map(|ty| spelled(carried(ty))).collect::<Vec<_>>().join(", ")
}

impl Function<'_> {
    fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.ty(v)).collect()
    }

    /// A value as it crosses out.
    fn outward(&mut self, value: Value) -> String {
        let (mut name, mut ty) = (self.name(value), self.ty(value));
        let crossing = carried(ty);
        if ty.dtype() != crossing.dtype() {
            name = self.mask_to_i32(&name, ty);
            ty = ty.with_dtype(crossing.dtype());
        }
        self.shape_cast(&name, ty, crossing.shape())
    }

    /// Binds a value that crosses in under a name.
    fn inward(&mut self, value: Value, name: String) {
        let ty = self.ty(value);
        let crossing = carried(ty);
        let mut name = self.shape_cast(&name, crossing, ty.shape());
        if ty.dtype() != crossing.dtype() {
            name = self.i32_to_mask(&name, ty);
        }
        self.define(value, name);
    }

    fn outwards(&mut self, values: &[Value]) -> Vec<String> {
        values.iter().map(|&v| self.outward(v)).collect()
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// `%a, %b = `, or nothing.
    fn results(names: &[String]) -> String {
        if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) }
    }

    /// The end of a region under `scf.yield`.
    fn hand_on(&mut self, yields: &[Value]) {
        if !yields.is_empty() {
            let values = self.outwards(yields).join(", ");
            let types = list(self.types(yields));
            self.effect(format!("scf.yield {values} : {types}"));
        }
    }

    fn body(&mut self, region: &Region, args: &[(Value, String)], yields: &[Value]) -> Result<(), Illegal> {
        self.nested(|f| {
            for (value, name) in args {
                f.inward(*value, name.clone());
            }
            f.ops(region)?;
            f.hand_on(yields);
            Ok(())
        })
    }

    pub(super) fn branch(&mut self, op: &Op) -> Result<(), Illegal> {
        let [yes, no] = op.regions.as_slice() else { return Err(self.refuse(op, Rule::Unverified("it must have two regions"))) };
        let condition = self.name(op.operands[0]);
        // What both sides have from outside is selected; what one computes is handed out of the branch.
        let outside = |at: usize| !defines(yes, yes.yields[at]) && !defines(no, no.yields[at]);
        let (chosen, computed): (Vec<usize>, Vec<usize>) = (0..op.results.len()).partition(|&at| outside(at));
        if !computed.is_empty() || has_effect(yes) || has_effect(no) {
            let place = self.place();
            let pick = |values: &[Value]| computed.iter().map(|&at| values[at]).collect::<Vec<_>>();
            let results = pick(&op.results);
            let names = self.names(results.len());
            let types = list(self.types(&results));
            let arrow = if names.is_empty() { String::new() } else { format!(" -> ({types})") };
            self.line(format!("{}scf.if {condition}{arrow} {{", Self::results(&names)));
            self.body(yes, &[], &pick(&yes.yields))?;
            if !computed.is_empty() || has_effect(no) {
                self.line("} else {");
                self.body(no, &[], &pick(&no.yields))?;
            }
            self.line(format!("}}{place}"));
            self.at(&op.loc);
            self.bind_results(&results, names);
        }
        for at in chosen {
            let [a, b] = [yes, no].map(|region| self.outward(region.yields[at]));
            let ty = spelled(carried(self.ty(op.results[at])));
            let name = self.emit(format!("arith.select {condition}, {a}, {b} : {ty}"));
            self.inward(op.results[at], name);
        }
        Ok(())
    }

    fn bind_results(&mut self, results: &[Value], names: Vec<String>) {
        for (&result, name) in results.iter().zip(names) {
            self.inward(result, name);
        }
    }

    pub(super) fn count(&mut self, op: &Op) -> Result<(), Illegal> {
        let ([body], [low, high, step, inits @ ..]) = (op.regions.as_slice(), op.operands.as_slice()) else {
            return Err(self.refuse(op, Rule::Unverified("it must have bounds, a step and one region")));
        };
        let Some((&index, args)) = body.args.split_first() else {
            return Err(self.refuse(op, Rule::Unverified("its region must take the index")));
        };
        if op.results.is_empty() && !has_effect(body) {
            // libtpu fails on a loop that does nothing.
            return Ok(());
        }
        let place = self.place();
        let inits_text = self.outwards(inits);
        let names = self.names(op.results.len());
        let counter = self.fresh();
        let arg_names = self.names(args.len());
        let types = list(self.types(args));
        let carries: Vec<String> = arg_names.iter().zip(&inits_text).map(|(a, i)| format!("{a} = {i}")).collect();
        let carries = if carries.is_empty() { String::new() } else { format!(" iter_args({}) -> ({types})", carries.join(", ")) };
        let (mut lo, mut hi, by) = (self.name(*low), self.name(*high), self.name(*step));
        let offset = self.negative_start(*low, *high);
        if let Some(distance) = offset {
            let from = std::mem::replace(&mut lo, self.literal(Literal::from(0), Type::Scalar(DType::I32)));
            hi = match distance {
                Some(n) => self.literal(Literal::from(n), Type::Scalar(DType::I32)),
                None => self.emit(format!("arith.subi {hi}, {from} : i32")),
            };
        }
        self.line(format!("{}scf.for {counter} = {lo} to {hi} step {by}{carries} : i32 {{", Self::results(&names)));
        self.set_zeros(index, self.zeros(*low).min(self.zeros(*step)));
        let args: Vec<(Value, String)> = args.iter().copied().zip(arg_names).collect();
        self.nested(|f| {
            let counter = match offset {
                Some(_) => {
                    let from = f.name(*low);
                    f.emit(format!("arith.addi {counter}, {from} : i32"))
                }
                None => counter,
            };
            f.define(index, counter);
            Ok(())
        })?;
        self.body(body, &args, &body.yields)?;
        self.line(format!("}}{place}"));
        self.at(&op.loc);
        self.bind_results(&op.results, names);
        Ok(())
    }

    /// Whether a loop starts below zero, which libtpu fails on; with how far it goes, where that is known.
    fn negative_start(&self, low: Value, high: Value) -> Option<Option<i32>> {
        let known = |v: Value| self.literals.get(&v).and_then(|l| l.as_i32());
        let low = known(low).filter(|&n| n < 0)?;
        match known(high) {
            // Too far for i32: then it is as it was.
            Some(high) => high.checked_sub(low).map(Some),
            None => Some(None),
        }
    }

    pub(super) fn repeat(&mut self, op: &Op) -> Result<(), Illegal> {
        let [test, body] = op.regions.as_slice() else { return Err(self.refuse(op, Rule::Unverified("it must have two regions"))) };
        let &[condition] = test.yields.as_slice() else {
            return Err(self.refuse(op, Rule::Unverified("its test must yield one bool")));
        };
        let place = self.place();
        let inits = self.outwards(&op.operands);
        let names = self.names(op.results.len());
        let (test_args, body_args) = (self.names(inits.len()), self.names(inits.len()));
        let types = list(self.types(&op.operands));
        let carries: Vec<String> = test_args.iter().zip(&inits).map(|(a, i)| format!("{a} = {i}")).collect();
        let carries = if carries.is_empty() { String::new() } else { format!(" ({})", carries.join(", ")) };
        self.line(format!("{}scf.while{carries} : ({types}) -> ({types}) {{", Self::results(&names)));
        self.nested(|f| {
            for (&value, name) in test.args.iter().zip(&test_args) {
                f.inward(value, name.clone());
            }
            f.ops(test)?;
            let handed = if test_args.is_empty() { String::new() } else { format!(" {} : {types}", test_args.join(", ")) };
            let condition = f.name(condition);
            f.effect(format!("scf.condition({condition}){handed}"));
            Ok(())
        })?;
        self.line("} do {");
        if !body_args.is_empty() {
            let args: Vec<String> =
                body_args.iter().zip(self.types(&op.operands)).map(|(a, ty)| format!("{a}: {}", spelled(carried(ty)))).collect();
            self.line(format!("^bb0({}):", args.join(", ")));
        }
        let args: Vec<(Value, String)> = body.args.iter().copied().zip(body_args).collect();
        self.nested(|f| {
            for (value, name) in args {
                f.inward(value, name);
            }
            f.ops(body)?;
            let values = f.outwards(&body.yields).join(", ");
            f.effect(if values.is_empty() { "scf.yield".to_string() } else { format!("scf.yield {values} : {types}") });
            Ok(())
        })?;
        self.line(format!("}}{place}"));
        self.at(&op.loc);
        self.bind_results(&op.results, names);
        Ok(())
    }
}

/// Whether a region itself makes the value.
fn defines(region: &Region, value: Value) -> bool {
    region.ops.iter().any(|op| op.results.contains(&value))
}

/// Whether a region does more than compute: a store, or a loop that need not end.
fn has_effect(region: &Region) -> bool {
    region.ops.iter().any(|op| matches!(op.kind, OpKind::Store | OpKind::While) || op.regions.iter().any(has_effect))
}

/// `1, 2, 3`.
pub(super) fn commas<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
