//! Batching: chosen operands get a leading array dimension, and the grid a leading dimension that counts it.
//!
//! Rules: the new grid dimension is parallel and the slowest, but for one that is split over cores: each core runs all slices, and may
//! be a slice ahead of another. A batched operand's window shows one slice, so
//! the body sees the shapes that it saw; every grid index that the kernel asks for behind it is one further in. Each
//! slice runs the steps of an unbatched launch in their order. Every output is batched: a block that two
//! slices wrote would be lost. Scratch is not reset between slices; like the state of a generator of random
//! numbers it must be set up in a slice's first step, as in a launch's.

use super::TransformError;
use super::fuse::{find, role};
use crate::ir::{
    BlockDim, DType, GridDim, Kernel, Loc, MAX_RANK, Op, OpKind, ParamKind, Region, Roots, Semantics, SizeExpr, SizeId, Type,
};

/// The name of the new size and grid dimension, where it is free.
const NAME: &str = "batch";

/// The kernel over a batch: the operands of these names have one more dimension in front. `loc` is where the
/// user asked for it.
pub fn batch(mut kernel: Kernel, operands: &[String], loc: &Loc) -> Result<Kernel, TransformError> {
    let mut batched = vec![false; kernel.params.len()];
    for operand in operands {
        let at = find(&kernel, "batched", operand, loc)?;
        let param = &kernel.params[at];
        let Some(window) = param.window() else {
            return Err(role("batched", "inputs and outputs", param));
        };
        let rank = window.array.len();
        if rank + 1 > MAX_RANK {
            let (operand, loc) = (operand.clone(), param.loc.clone());
            return Err(TransformError::Rank { operand, rank, limit: MAX_RANK, loc });
        }
        if std::mem::replace(&mut batched[at], true) {
            return Err(TransformError::Repeated { operand: operand.clone(), loc: loc.clone() });
        }
    }
    if let Some((_, param)) = kernel.outputs().find(|(at, _)| !batched[*at]) {
        return Err(TransformError::OutputNotBatched { output: param.name.clone(), loc: param.loc.clone() });
    }
    if let Some((output, input)) = kernel.aliases().find(|&(_, input)| !batched[input]) {
        let (output, input) = (&kernel.params[output], kernel.params[input].name.clone());
        return Err(TransformError::SharedNotBatched { output: output.name.clone(), input, loc: output.loc.clone() });
    }
    if !kernel.inputs().any(|(at, _)| batched[at]) {
        return Err(TransformError::NoInputBatched { kernel: kernel.name, loc: loc.clone() });
    }

    if let Some(array) = written_prefetch(&kernel) {
        return Err(TransformError::WrittenPrefetch { array, loc: loc.clone() });
    }

    let count = SizeId(u32::try_from(kernel.sizes.len()).expect("fewer than 2^32 sizes"));
    let size = fresh(kernel.sizes.iter().map(String::as_str));
    kernel.sizes.push(size);
    let name = fresh(kernel.grid.iter().map(|d| d.name.as_str()));
    let dim = GridDim { name, extent: SizeExpr::Size(count), semantics: Semantics::Parallel, loc: loc.clone() };
    let axis = usize::from(kernel.is_side_by_side());
    kernel.grid.insert(axis, dim);
    for (at, &batched) in batched.iter().enumerate() {
        let index = kernel.new_value(Type::Scalar(DType::I32));
        if let ParamKind::In(window) | ParamKind::Out(window) = &mut kernel.params[at].kind {
            window.map.args.insert(axis, index);
            shift(&mut window.map, axis);
            if batched {
                window.array.insert(0, SizeExpr::Size(count));
                window.block.insert(0, BlockDim::Squeezed);
                window.map.yields.insert(0, index);
            }
        }
    }
    shift(&mut kernel.body, axis);
    kernel.renumber();
    Ok(kernel)
}

/// A prefetched array of a kernel that writes to one: the next slice would find what this one has left.
fn written_prefetch(kernel: &Kernel) -> Option<String> {
    let written = Roots::of(kernel).writes_prefetched(kernel);
    kernel.prefetched().next().filter(|_| written).map(|(_, param)| param.name.clone())
}

/// Every grid dimension that the region names, from the first of those, is one further in.
fn shift(region: &mut Region, first: usize) {
    let op = |op: &mut Op| {
        match &mut op.kind {
            OpKind::ProgramId(axis) | OpKind::NumPrograms(axis) if *axis >= first => *axis += 1,
            _ => {}
        }
        op.regions.iter_mut().for_each(|inner| shift(inner, first));
    };
    region.ops.iter_mut().for_each(op);
}

/// [`NAME`], with a number where it is taken.
fn fresh<'a>(taken: impl Iterator<Item = &'a str> + Clone) -> String {
    let free = |name: &String| !taken.clone().any(|t| t == name);
    std::iter::once(NAME.to_string()).chain((2..).map(|n| format!("{NAME}_{n}"))).find(free).expect("numbers do not end")
}
