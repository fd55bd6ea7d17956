//! Sizes that scalars of the launch give: they count steps of the grid.

use super::{At, Verifier};
use crate::ir::{DType, Op, OpKind, Param, Rule, SizeId, Type};

/// Such a scalar is an i32, and its size stands in extents of the grid alone.
pub(super) fn check(verifier: &mut Verifier<'_>) {
    let kernel = verifier.kernel;
    for (size, scalar) in kernel.given() {
        let name = kernel.sizes[size.0 as usize].clone();
        let param = &kernel.params[scalar];
        let mut fault = |why, at: At<'_>| verifier.fault(Rule::Given { size: name.clone(), why }, at);
        if param.ty != Type::Scalar(DType::I32) {
            fault("is no i32", At(&param.name, &param.loc));
        }
        for param in &kernel.params {
            let mut found = false;
            param.array().unwrap_or_default().iter().for_each(|dim| dim.sizes(&mut |id| found |= id == size));
            if found {
                fault("is no size of an array", At(&param.name, &param.loc));
            }
        }
        let maps = kernel.params.iter().filter_map(Param::window).map(|window| &window.map);
        if let Some(op) = maps.chain([&kernel.body]).find_map(|region| reads(&region.ops, size)) {
            fault("is read as a scalar", At(op.kind.mnemonic(), &op.loc));
        }
    }
}

impl Verifier<'_> {
    /// Bounds of sizes that arrays have, each of one size, in order.
    pub(super) fn bounds(&mut self) {
        let kernel = self.kernel;
        for (at, bound) in kernel.bounds.iter().enumerate() {
            let name = kernel.sizes.get(bound.size.0 as usize);
            let why = match name {
                None => Some("is not declared"),
                _ if bound.low < 0 => Some("is less than 0"),
                _ if bound.low > bound.high => Some("has no value between its bounds"),
                _ if kernel.bounds[..at].iter().any(|other| other.size == bound.size) => Some("is bounded twice"),
                _ if kernel.params.iter().flat_map(|p| p.array().unwrap_or_default()).any(|dim| dim.falls_with(bound.size)) => {
                    Some("makes an array smaller where it is larger")
                }
                _ if kernel.given().any(|(size, _)| size == bound.size) => Some("is given by a scalar"),
                _ => None,
            };
            if let Some(why) = why {
                let size = name.cloned().unwrap_or_default();
                self.fault(Rule::Bound { size, why }, At(&kernel.name, &kernel.loc));
            }
        }
    }
}

/// An operation that reads the size.
fn reads(ops: &[Op], size: SizeId) -> Option<&Op> {
    let read = |op: &Op| op.kind == OpKind::Size(size);
    ops.iter().find_map(|op| if read(op) { Some(op) } else { op.regions.iter().find_map(|region| reads(&region.ops, size)) })
}
