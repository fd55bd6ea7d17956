//! Bounded sizes as scalars of the launch: one kernel, and one program on a chip, for all of them.
//!
//! Rules: arrays have the greatest extent that the bounds allow, and what lies behind the size in them is anything; the grid and the
//! body take the size from a scalar of its name, the last operands of the kernel in the order of their bounds. Steps count as far as
//! the size, so that what the kernel leaves behind it in an output is no result.

use crate::ir::{DType, Kernel, Op, OpKind, Param, ParamKind, Region, SizeExpr, SizeId, Type, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// An index map reads a bounded size: on a chip only prefetched arrays reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadInMap {
    /// The operand whose map does.
    pub operand: usize,
}

/// The kernel with a scalar for each bounded size; the kernel itself, where there is none.
///
/// # Errors
/// An index map reads such a size.
pub fn by_scalars(kernel: &Kernel) -> Result<Cow<'_, Kernel>, ReadInMap> {
    if kernel.bounds.is_empty() {
        return Ok(Cow::Borrowed(kernel));
    }
    let mut bounded = kernel.clone();
    let high: HashMap<SizeId, i64> = kernel.bounds.iter().map(|bound| (bound.size, i64::from(bound.high))).collect();
    for (operand, param) in bounded.params.iter_mut().enumerate() {
        let array = match &mut param.kind {
            ParamKind::In(window) | ParamKind::Out(window) => {
                if reads(&window.map.ops, &high) {
                    return Err(ReadInMap { operand });
                }
                &mut window.array
            }
            ParamKind::InArray(array) | ParamKind::OutArray(array) | ParamKind::Prefetch(array) => array,
            ParamKind::Scratch | ParamKind::Scalar => continue,
        };
        array.iter_mut().for_each(|dim| *dim = at_most(dim, &high));
    }
    let mut scalars = HashMap::new();
    for bound in std::mem::take(&mut bounded.bounds) {
        let (name, ty) = (kernel.sizes[bound.size.0 as usize].clone(), Type::Scalar(DType::I32));
        let value = bounded.new_value(ty);
        bounded.params.push(Param { name, ty, kind: ParamKind::Scalar, alias: None, loc: kernel.loc.clone() });
        bounded.body.args.push(value);
        scalars.insert(bound.size, value);
    }
    let mut read = HashMap::new();
    take_out(&mut bounded.body, &scalars, &mut read);
    rename(&mut bounded.body, &read);
    bounded.renumber();
    Ok(Cow::Owned(bounded))
}

fn reads(ops: &[Op], sizes: &HashMap<SizeId, i64>) -> bool {
    ops.iter().any(|op| {
        matches!(op.kind, OpKind::Size(size) if sizes.contains_key(&size))
            || op.regions.iter().any(|region| reads(&region.ops, sizes))
    })
}

/// The expression with the greatest values of bounded sizes.
fn at_most(expr: &SizeExpr, high: &HashMap<SizeId, i64>) -> SizeExpr {
    let both = |a: &SizeExpr, b: &SizeExpr| (Box::new(at_most(a, high)), Box::new(at_most(b, high)));
    match expr {
        SizeExpr::Size(size) => high.get(size).map_or_else(|| expr.clone(), |&n| SizeExpr::Const(n)),
        SizeExpr::Const(_) => expr.clone(),
        SizeExpr::Add(a, b) => SizeExpr::Add(both(a, b).0, both(a, b).1),
        SizeExpr::Sub(a, b) => SizeExpr::Sub(both(a, b).0, both(a, b).1),
        SizeExpr::Mul(a, b) => SizeExpr::Mul(both(a, b).0, both(a, b).1),
        SizeExpr::CeilDiv(a, b) => SizeExpr::CeilDiv(both(a, b).0, both(a, b).1),
    }
}

/// Takes the operations out that read such sizes; which value each result is.
fn take_out(region: &mut Region, scalars: &HashMap<SizeId, Value>, read: &mut HashMap<Value, Value>) {
    region.ops.retain_mut(|op| {
        op.regions.iter_mut().for_each(|region| take_out(region, scalars, read));
        match op.kind {
            OpKind::Size(size) if scalars.contains_key(&size) => {
                read.extend(op.results.iter().map(|&result| (result, scalars[&size])));
                false
            }
            _ => true,
        }
    });
}

fn rename(region: &mut Region, read: &HashMap<Value, Value>) {
    let new = |value: &mut Value| {
        if let Some(&scalar) = read.get(value) {
            *value = scalar;
        }
    };
    for op in &mut region.ops {
        op.operands.iter_mut().for_each(new);
        op.regions.iter_mut().for_each(|region| rename(region, read));
    }
    region.yields.iter_mut().for_each(new);
}
