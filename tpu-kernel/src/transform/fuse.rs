//! Fusion: a function on each element of an input as it is loaded, or of an output as it is stored.
//!
//! Rules: the function stands after every load of an input, before every store to an output. So what
//! `load_or` puts outside the array replaces the function's result there, not its argument; the mask of
//! `in_bounds` is unchanged; what `load` reads outside is the function of the array's poison. Elements of
//! an output that nothing stores stay poison.

use super::{Function, TransformError};
use crate::ir::{Kernel, Loc, Op, OpKind, Param, ParamKind, Region, Type, Value};
use std::collections::HashMap;

/// The kernel with `function` on each element that it loads from the input; the array has the element
/// type that the function takes. `loc` is where the user asked for it.
pub fn fuse_input(mut kernel: Kernel, operand: &str, function: &Function, loc: &Loc) -> Result<Kernel, TransformError> {
    let at = find(&kernel, "map_input", operand, loc)?;
    let param = &kernel.params[at];
    if !matches!(param.kind, ParamKind::In(_)) {
        return Err(role("map_input", "an input", param));
    }
    if function.output() != param.ty.dtype() {
        let (want, got) = (param.ty.dtype().to_string(), function.output());
        return Err(TransformError::FunctionGives { operand: operand.to_string(), want, got, loc: loc.clone() });
    }
    unshared(&kernel, "map_input", at, loc)?;
    unviewed(&kernel, "map_input", at)?;
    let memory = retype(&mut kernel, at, function.input());
    let mut body = std::mem::take(&mut kernel.body);
    let mut pass = Loads { kernel: &mut kernel, memory, function, replaced: HashMap::new() };
    pass.region(&mut body);
    kernel.body = body;
    kernel.renumber();
    Ok(kernel)
}

/// The kernel with `function` on each element that it stores to the output; the array has the element
/// type that the function gives.
pub fn fuse_output(mut kernel: Kernel, operand: &str, function: &Function, loc: &Loc) -> Result<Kernel, TransformError> {
    let at = find(&kernel, "map_output", operand, loc)?;
    let param = &kernel.params[at];
    if !matches!(param.kind, ParamKind::Out(_)) {
        return Err(role("map_output", "an output", param));
    }
    if function.input() != param.ty.dtype() {
        let (want, got) = (param.ty.dtype(), function.input());
        return Err(TransformError::FunctionTakes { operand: operand.to_string(), want, got, loc: loc.clone() });
    }
    if let Some(load) = first_load(&kernel.body.ops, kernel.body.args[at]) {
        return Err(TransformError::ReadBack { output: operand.to_string(), loc: load.clone() });
    }
    unshared(&kernel, "map_output", at, loc)?;
    unviewed(&kernel, "map_output", at)?;
    let memory = retype(&mut kernel, at, function.output());
    let mut ops = std::mem::take(&mut kernel.body.ops);
    stores(&mut kernel, memory, function, &mut ops);
    kernel.body.ops = ops;
    kernel.renumber();
    Ok(kernel)
}

/// The operand has an array of its own.
fn unshared(kernel: &Kernel, step: &'static str, at: usize, loc: &Loc) -> Result<(), TransformError> {
    match kernel.is_aliased(at) {
        false => Ok(()),
        true => Err(TransformError::Shared { step, operand: kernel.params[at].name.clone(), loc: loc.clone() }),
    }
}

/// The position of the operand of that name.
pub(super) fn find(kernel: &Kernel, step: &'static str, operand: &str, loc: &Loc) -> Result<usize, TransformError> {
    kernel.params.iter().position(|p| p.name == operand).ok_or_else(|| TransformError::UnknownOperand {
        kernel: kernel.name.clone(),
        step,
        operand: operand.to_string(),
        names: kernel.params.iter().map(|p| p.name.clone()).collect(),
        loc: loc.clone(),
    })
}

/// The error that an operand has the wrong role.
pub(super) fn role(step: &'static str, want: &'static str, param: &Param) -> TransformError {
    let got = match param.kind {
        ParamKind::In(_) => "an input",
        ParamKind::Out(_) => "an output",
        ParamKind::InArray(_) => "a whole input array",
        ParamKind::OutArray(_) => "a whole output array",
        ParamKind::Prefetch(_) => "a prefetched array",
        ParamKind::Scratch => "scratch",
        ParamKind::Scalar => "a scalar",
    };
    TransformError::Role { step, operand: param.name.clone(), want, got, loc: param.loc.clone() }
}

/// Gives an operand another element type; its value.
fn retype(kernel: &mut Kernel, at: usize, dtype: crate::ir::DType) -> Value {
    let ty = kernel.params[at].ty.with_dtype(dtype);
    kernel.params[at].ty = ty;
    let memory = kernel.body.args[at];
    kernel.types[memory.0 as usize] = ty;
    memory
}

/// Refuses an operand whose elements also move on another way than by loads and stores of its own.
fn unviewed(kernel: &Kernel, step: &'static str, at: usize) -> Result<(), TransformError> {
    fn first(ops: &[Op], memory: Value) -> Option<&Loc> {
        ops.iter().find_map(|op| match op.kind {
            OpKind::Load(_) | OpKind::Store => None,
            _ if op.operands.contains(&memory) => Some(&op.loc),
            _ => op.regions.iter().find_map(|r| first(&r.ops, memory)),
        })
    }
    match first(&kernel.body.ops, kernel.body.args[at]) {
        None => Ok(()),
        Some(loc) => Err(TransformError::Viewed { step, operand: kernel.params[at].name.clone(), loc: loc.clone() }),
    }
}

fn first_load(ops: &[Op], memory: Value) -> Option<&Loc> {
    ops.iter().find_map(|op| match op.kind {
        OpKind::Load(_) if op.operands[0] == memory => Some(&op.loc),
        _ => op.regions.iter().find_map(|r| first_load(&r.ops, memory)),
    })
}

/// Puts the function after loads.
struct Loads<'a> {
    kernel: &'a mut Kernel,
    memory: Value,
    function: &'a Function,
    /// What stands for the result of each load.
    replaced: HashMap<Value, Value>,
}

impl Loads<'_> {
    fn rename(&self, values: &mut [Value]) {
        for value in values {
            *value = self.replaced.get(value).copied().unwrap_or(*value);
        }
    }

    fn region(&mut self, region: &mut Region) {
        let mut out = Vec::with_capacity(region.ops.len());
        for mut op in std::mem::take(&mut region.ops) {
            self.rename(&mut op.operands);
            op.regions.iter_mut().for_each(|r| self.region(r));
            match op.kind {
                OpKind::Load(shape) if op.operands[0] == self.memory => {
                    let result = op.results[0];
                    self.kernel.types[result.0 as usize] = Type::Tile(self.function.input(), shape);
                    out.push(op);
                    let mapped = self.function.apply(self.kernel, result, &mut out);
                    self.replaced.insert(result, mapped);
                }
                _ => out.push(op),
            }
        }
        region.ops = out;
        self.rename(&mut region.yields);
    }
}

/// Puts the function before stores.
fn stores(kernel: &mut Kernel, memory: Value, function: &Function, ops: &mut Vec<Op>) {
    let mut out = Vec::with_capacity(ops.len());
    for mut op in std::mem::take(ops) {
        if op.kind == OpKind::Store && op.operands[0] == memory {
            op.operands[1] = function.apply(kernel, op.operands[1], &mut out);
        }
        op.regions.iter_mut().for_each(|r| stores(kernel, memory, function, &mut r.ops));
        out.push(op);
    }
    *ops = out;
}
