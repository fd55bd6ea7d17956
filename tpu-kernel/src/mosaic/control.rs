//! Branches and loops.
//!
//! Rules: what crosses the border of a region may cross as it is. A branch that only chooses is a selection, and a loop that
//! does nothing is left out: libtpu fails on both once it has emptied them.

use super::function::{Function, spelled};
use crate::ir::{DType, Literal, Op, OpKind, Region, Type, Value};
use crate::legalise::{Illegal, Rule};

pub(super) fn list(types: impl IntoIterator<Item = Type>) -> String {
    types.into_iter().map(spelled).collect::<Vec<_>>().join(", ")
}

impl Function<'_> {
    fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.ty(v)).collect()
    }

    fn values(&mut self, values: &[Value]) -> Vec<String> {
        values.iter().map(|&v| self.name(v)).collect()
    }

    fn define_all(&mut self, values: &[Value], names: &[String]) {
        for (&value, name) in values.iter().zip(names) {
            self.define(value, name);
        }
    }

    pub(super) fn names(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// `%a, %b = `, or nothing.
    pub(super) fn results(names: &[String]) -> String {
        if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) }
    }

    /// The end of a region under `scf.yield`.
    fn hand_on(&mut self, yields: &[Value]) {
        if !yields.is_empty() {
            let values = self.values(yields).join(", ");
            let types = list(self.types(yields));
            self.effect(format!("scf.yield {values} : {types}"));
        }
    }

    fn body(&mut self, region: &Region, yields: &[Value]) -> Result<(), Illegal> {
        self.nested(|f| {
            f.ops(region)?;
            f.hand_on(yields);
            Ok(())
        })
    }

    pub(super) fn branch(&mut self, op: &Op) -> Result<(), Illegal> {
        let [yes, no] = op.regions.as_slice() else {
            return Err(self.refuse(op, Rule::Unverified("it must have two regions".into())));
        };
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
            self.body(yes, &pick(&yes.yields))?;
            if !computed.is_empty() || has_effect(no) {
                self.line("} else {");
                self.body(no, &pick(&no.yields))?;
            }
            self.line(format!("}}{place}"));
            self.at(&op.loc);
            self.define_all(&results, &names);
        }
        for at in chosen {
            let [a, b] = [yes, no].map(|region| self.name(region.yields[at]));
            let ty = self.ty(op.results[at]);
            let name = match ty {
                // libtpu has no selection of packed elements by a scalar.
                Type::Tile(dtype, shape) if dtype.bits() < 32 => {
                    let words = Type::Tile(DType::I32, shape);
                    let word = self.emit(format!("arith.extui {condition} : i1 to i32"));
                    let repeated = self.emit(format!("vector.broadcast {word} : i32 to {}", spelled(words)));
                    let zero = self.literal(Literal::from(0), words);
                    let mask = self.emit(format!("arith.cmpi ne, {repeated}, {zero} : {}", spelled(words)));
                    let masks = spelled(Type::Tile(DType::Bool, shape));
                    self.emit(format!("arith.select {mask}, {a}, {b} : {masks}, {}", spelled(ty)))
                }
                _ => self.emit(format!("arith.select {condition}, {a}, {b} : {}", spelled(ty))),
            };
            self.define(op.results[at], name);
        }
        Ok(())
    }

    pub(super) fn count(&mut self, op: &Op) -> Result<(), Illegal> {
        let ([body], [low, high, step, inits @ ..]) = (op.regions.as_slice(), op.operands.as_slice()) else {
            return Err(self.refuse(op, Rule::Unverified("it must have bounds, a step and one region".into())));
        };
        let Some((&index, args)) = body.args.split_first() else {
            return Err(self.refuse(op, Rule::Unverified("its region must take the index".into())));
        };
        if op.results.is_empty() && !has_effect(body) {
            // libtpu fails on a loop that does nothing.
            return Ok(());
        }
        let place = self.place();
        let inits_text = self.values(inits);
        let names = self.names(op.results.len());
        let counter = self.fresh();
        let arg_names = self.names(args.len());
        let types = list(self.types(args));
        let carries: Vec<String> = arg_names.iter().zip(&inits_text).map(|(a, i)| format!("{a} = {i}")).collect();
        let carries = if carries.is_empty() { String::new() } else { format!(" iter_args({}) -> ({types})", carries.join(", ")) };
        let (lo, hi, by) = (self.name(*low), self.name(*high), self.name(*step));
        self.line(format!("{}scf.for {counter} = {lo} to {hi} step {by}{carries} : i32 {{", Self::results(&names)));
        self.set_zeros(index, self.zeros(*low).min(self.zeros(*step)));
        self.define(index, counter);
        self.define_all(args, &arg_names);
        self.body(body, &body.yields)?;
        self.line(format!("}}{place}"));
        self.at(&op.loc);
        self.define_all(&op.results, &names);
        Ok(())
    }

    pub(super) fn repeat(&mut self, op: &Op) -> Result<(), Illegal> {
        let [test, body] = op.regions.as_slice() else {
            return Err(self.refuse(op, Rule::Unverified("it must have two regions".into())));
        };
        let &[condition] = test.yields.as_slice() else {
            return Err(self.refuse(op, Rule::Unverified("its test must yield one bool".into())));
        };
        let place = self.place();
        let inits = self.values(&op.operands);
        let names = self.names(op.results.len());
        let (test_args, body_args) = (self.names(inits.len()), self.names(inits.len()));
        let types = list(self.types(&op.operands));
        let carries: Vec<String> = test_args.iter().zip(&inits).map(|(a, i)| format!("{a} = {i}")).collect();
        let carries = if carries.is_empty() { String::new() } else { format!(" ({})", carries.join(", ")) };
        self.line(format!("{}scf.while{carries} : ({types}) -> ({types}) {{", Self::results(&names)));
        self.nested(|f| {
            f.define_all(&test.args, &test_args);
            f.ops(test)?;
            let handed = if test_args.is_empty() { String::new() } else { format!(" {} : {types}", test_args.join(", ")) };
            let condition = f.name(condition);
            f.effect(format!("scf.condition({condition}){handed}"));
            Ok(())
        })?;
        self.line("} do {");
        if !body_args.is_empty() {
            let args: Vec<String> =
                body_args.iter().zip(self.types(&op.operands)).map(|(a, ty)| format!("{a}: {}", spelled(ty))).collect();
            self.line(format!("^bb0({}):", args.join(", ")));
        }
        self.nested(|f| {
            f.define_all(&body.args, &body_args);
            f.ops(body)?;
            let values = f.values(&body.yields).join(", ");
            f.effect(if values.is_empty() { "scf.yield".to_string() } else { format!("scf.yield {values} : {types}") });
            Ok(())
        })?;
        self.line(format!("}}{place}"));
        self.at(&op.loc);
        self.define_all(&op.results, &names);
        Ok(())
    }
}

/// Whether a region itself makes the value.
fn defines(region: &Region, value: Value) -> bool {
    region.ops.iter().any(|op| op.results.contains(&value))
}

/// Whether a region does more than compute: it stores, draws or tells, or it is a loop that need not end.
pub(super) fn has_effect(region: &Region) -> bool {
    let does = |kind: &OpKind| {
        matches!(
            kind,
            OpKind::Store
                | OpKind::StoreScalar
                | OpKind::DmaStart { .. }
                | OpKind::DmaWait
                | OpKind::RemoteStart { .. }
                | OpKind::SemaphoreSignal
                | OpKind::CoreSignal
                | OpKind::SemaphoreWait
                | OpKind::While
                | OpKind::PrngSeed
                | OpKind::PrngBits(_)
                | OpKind::Print(_)
                | OpKind::Check(_)
                | OpKind::Defined(_)
        )
    };
    region.ops.iter().any(|op| does(&op.kind) || op.regions.iter().any(has_effect))
}

/// `1, 2, 3`.
pub(super) fn commas<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
