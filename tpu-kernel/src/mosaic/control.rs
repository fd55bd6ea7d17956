//! Branches and loops.
//!
//! Rules: masks cannot be carried or yielded, so they cross as i32 and are compared again inside.

use super::Unsupported;
use super::function::{Function, refuse, spelled};
use crate::ir::{DType, Op, Region, Type, Value};

/// The type under which a value crosses the border of a region.
fn carried(ty: Type) -> Type {
    match ty {
        Type::Tile(DType::Bool, _) => ty.with_dtype(DType::I32),
        ty => ty,
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
        let (name, ty) = (self.name(value), self.ty(value));
        if carried(ty) == ty { name } else { self.mask_to_i32(&name, ty) }
    }

    /// Binds a value that crosses in under a name.
    fn inward(&mut self, value: Value, name: String) {
        let ty = self.ty(value);
        let name = if carried(ty) == ty { name } else { self.i32_to_mask(&name, ty) };
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

    fn body(&mut self, region: &Region, args: &[(Value, String)]) -> Result<(), Unsupported> {
        self.nested(|f| {
            for (value, name) in args {
                f.inward(*value, name.clone());
            }
            f.ops(region)?;
            f.hand_on(&region.yields);
            Ok(())
        })
    }

    pub(super) fn branch(&mut self, op: &Op) -> Result<(), Unsupported> {
        let [yes, no] = op.regions.as_slice() else { return Err(refuse(op, "it must have two regions")) };
        let place = self.place();
        let names = self.names(op.results.len());
        let types = list(self.types(&op.results));
        let arrow = if names.is_empty() { String::new() } else { format!(" -> ({types})") };
        let condition = self.name(op.operands[0]);
        self.line(format!("{}scf.if {condition}{arrow} {{", Self::results(&names)));
        self.body(yes, &[])?;
        if !no.ops.is_empty() || !no.yields.is_empty() {
            self.line("} else {");
            self.body(no, &[])?;
        }
        self.line(format!("}}{place}"));
        self.at(&op.loc);
        self.bind_results(op, names);
        Ok(())
    }

    fn bind_results(&mut self, op: &Op, names: Vec<String>) {
        for (&result, name) in op.results.iter().zip(names) {
            self.inward(result, name);
        }
    }

    pub(super) fn count(&mut self, op: &Op) -> Result<(), Unsupported> {
        let ([body], [low, high, step, inits @ ..]) = (op.regions.as_slice(), op.operands.as_slice()) else {
            return Err(refuse(op, "it must have bounds, a step and one region"));
        };
        let Some((&index, args)) = body.args.split_first() else { return Err(refuse(op, "its region must take the index")) };
        let place = self.place();
        let inits_text = self.outwards(inits);
        let names = self.names(op.results.len());
        let counter = self.fresh();
        let arg_names = self.names(args.len());
        let types = list(self.types(args));
        let carries: Vec<String> = arg_names.iter().zip(&inits_text).map(|(a, i)| format!("{a} = {i}")).collect();
        let carries = if carries.is_empty() { String::new() } else { format!(" iter_args({}) -> ({types})", carries.join(", ")) };
        let (lo, hi, by) = (self.name(*low), self.name(*high), self.name(*step));
        self.line(format!("{}scf.for {counter} = {lo} to {hi} step {by}{carries} : i32 {{", Self::results(&names)));
        self.set_zeros(index, self.zeros(*low).min(self.zeros(*step)));
        let args: Vec<(Value, String)> = [(index, counter)].into_iter().chain(args.iter().copied().zip(arg_names)).collect();
        self.body(body, &args)?;
        self.line(format!("}}{place}"));
        self.at(&op.loc);
        self.bind_results(op, names);
        Ok(())
    }

    pub(super) fn repeat(&mut self, op: &Op) -> Result<(), Unsupported> {
        let [test, body] = op.regions.as_slice() else { return Err(refuse(op, "it must have two regions")) };
        let &[condition] = test.yields.as_slice() else { return Err(refuse(op, "its test must yield one bool")) };
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
        self.bind_results(op, names);
        Ok(())
    }
}

/// `1, 2, 3`.
pub(super) fn commas<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
