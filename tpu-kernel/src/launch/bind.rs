//! Binds a kernel to the shapes of its input arrays, and checks everything that needs no data.
//!
//! Rules: named sizes get their value from the first array that names them, in the order of the
//! operands, and from the launch where no input does; every other mention must agree. The checks run
//! in this order, the first that fails is the error: inputs (number, rank, element type), sizes, array
//! shapes, grid, products of matrices, block shapes, VMEM, block indices, outputs written everywhere. A kernel
//! with an empty grid has nothing to check beyond its shapes.

use super::{Allow, Binding, Config, LaunchError, coverage, maps, products, rules, vmem};
use crate::chips::Chip;
use crate::ir::{BlockDim, DType, Kernel, Loc, Param, SizeExpr, SizeFault, SizeId};

/// The numbers of one launch, or why it may not run.
///
/// `inputs` has the element type and the shape of each input array, in the order of the kernel's inputs.
pub fn bind(kernel: &Kernel, chip: &Chip, inputs: &[(DType, Vec<usize>)], config: &Config) -> Result<Binding, LaunchError> {
    let binding = Binding { cores: chip.cores_together, ..numbers(kernel, inputs, config)? };
    if binding.grid.contains(&0) {
        return empty(kernel, binding);
    }
    if let (Some(dim), Some(&extent)) = (kernel.grid.first().filter(|_| kernel.is_side_by_side()), binding.grid.first())
        && usize::try_from(extent) != Ok(chip.cores_together)
    {
        let (dimension, loc) = (dim.name.clone(), dim.loc.clone());
        return Err(LaunchError::Cores { dimension, extent, cores: chip.cores_together, chip: chip.name, loc });
    }
    if binding.grid.iter().try_fold(1i64, |n, &d| n.checked_mul(i64::from(d))).is_none() {
        let loc = kernel.grid.first().map_or(Loc::UNKNOWN, |d| d.loc.clone());
        let what = format!("the grid {:?}", binding.grid);
        return Err(LaunchError::TooLarge { what, unit: "steps", loc });
    }
    if !config.allow.contains(&Allow::DotTypes) {
        products::check(kernel, chip)?;
    }
    // On the chip bounded arrays are as large as they may be, whatever this launch has of them.
    let largest = largest(kernel, &binding)?;
    if !config.allow.contains(&Allow::BlockShape) {
        rules::check(kernel, chip, &largest)?;
    }
    vmem::check(kernel, chip, &largest)?;
    block_indices(kernel, &binding)?;
    if !config.allow.contains(&Allow::Unwritten) {
        coverage::check(kernel, &binding)?;
    }
    Ok(binding)
}

/// The numbers of one launch on one core, before any of the checks that need them.
pub fn numbers(kernel: &Kernel, inputs: &[(DType, Vec<usize>)], config: &Config) -> Result<Binding, LaunchError> {
    let params: Vec<(&Param, &[SizeExpr])> = kernel.inputs().filter_map(|(_, p)| Some((p, p.array()?))).collect();
    if params.len() != inputs.len() {
        let (kernel, loc) = (kernel.name.clone(), kernel.loc.clone());
        return Err(LaunchError::ArgumentCount { kernel, want: params.len(), got: inputs.len(), loc });
    }
    for (&(param, declared), (dtype, shape)) in params.iter().zip(inputs) {
        check_input(kernel, param, declared, *dtype, shape)?;
    }
    let sizes = Sizes::bind(kernel, &params, inputs, config)?;
    sizes.check_inputs(&params, inputs)?;
    sizes.check_bounds()?;
    of_sizes(kernel, sizes.finish()?)
}

/// The binding of the largest arrays that a launch like this one may have: bounded sizes are the greatest they may be.
pub fn largest(kernel: &Kernel, binding: &Binding) -> Result<Binding, LaunchError> {
    if kernel.bounds.is_empty() {
        return Ok(binding.clone());
    }
    let mut sizes = binding.sizes.clone();
    for bound in &kernel.bounds {
        if let Some(size) = sizes.get_mut(bound.size.0 as usize) {
            *size = bound.high;
        }
    }
    Ok(Binding { cores: binding.cores, ..of_sizes(kernel, sizes)? })
}

/// The shapes of arrays, and the grid, of these sizes.
fn of_sizes(kernel: &Kernel, sizes: Vec<i32>) -> Result<Binding, LaunchError> {
    let value = |SizeId(id): SizeId| sizes.get(id as usize).map(|&n| i64::from(n));
    let mut arrays = vec![vec![]; kernel.params.len()];
    for (at, param) in kernel.params.iter().enumerate() {
        if let Some(declared) = param.array() {
            arrays[at] = array(kernel, param, declared, &value)?;
        }
    }
    if let Some((output, input)) = kernel.aliases().find(|&(output, input)| arrays[output] != arrays[input]) {
        let [(to, got), (from, want)] = [output, input].map(|at| (&kernel.params[at], arrays[at].clone()));
        return Err(LaunchError::Alias { output: to.name.clone(), input: from.name.clone(), want, got, loc: to.loc.clone() });
    }
    let mut grid = vec![];
    for dim in &kernel.grid {
        let what = || format!("grid dimension `{}` ({})", dim.name, dim.extent.display(&kernel.sizes));
        grid.push(extent(&dim.extent, what, &dim.loc, &value)?);
    }
    Ok(Binding { cores: 1, sizes, grid, arrays })
}

fn check_input(kernel: &Kernel, param: &Param, declared: &[SizeExpr], dtype: DType, shape: &[usize]) -> Result<(), LaunchError> {
    let want = param.ty.dtype();
    if declared.len() != shape.len() {
        let sizes: Vec<String> = declared.iter().map(|d| d.display(&kernel.sizes).to_string()).collect();
        return Err(LaunchError::Rank {
            operand: param.name.clone(),
            want: declared.len(),
            declared: sizes.join(", "),
            got: shape.len(),
            shape: shape.to_vec(),
            loc: param.loc.clone(),
        });
    }
    if want != dtype {
        let (operand, loc) = (param.name.clone(), param.loc.clone());
        return Err(LaunchError::ElementType { operand, want: want.to_string(), got: dtype, loc });
    }
    Ok(())
}

/// Where a size got its value.
#[derive(Clone)]
enum Source {
    Launch,
    Operand(String),
}

/// The named sizes while they are bound.
struct Sizes<'a> {
    kernel: &'a Kernel,
    values: Vec<Option<(usize, Source, Loc)>>,
}

impl<'a> Sizes<'a> {
    fn bind(
        kernel: &'a Kernel,
        params: &[(&Param, &[SizeExpr])],
        inputs: &[(DType, Vec<usize>)],
        config: &Config,
    ) -> Result<Sizes<'a>, LaunchError> {
        let mut sizes = Sizes { kernel, values: vec![None; kernel.sizes.len()] };
        for &(name, value) in &config.sizes {
            let Some(at) = kernel.sizes.iter().position(|s| s == name) else {
                let (names, loc) = (kernel.sizes.clone(), kernel.loc.clone());
                return Err(LaunchError::UnknownSize { kernel: kernel.name.clone(), size: name.to_string(), names, loc });
            };
            sizes.values[at] = Some((value, Source::Launch, kernel.loc.clone()));
        }
        for ((param, declared), (_, shape)) in params.iter().zip(inputs) {
            for (dim, &extent) in declared.iter().zip(shape) {
                let SizeExpr::Size(SizeId(id)) = *dim else { continue };
                match sizes.values.get_mut(id as usize) {
                    None => {}
                    Some(unbound @ None) => *unbound = Some((extent, Source::Operand(param.name.clone()), param.loc.clone())),
                    Some(Some((value, ..))) if *value == extent => {}
                    Some(Some((value, source, _))) => {
                        return Err(mismatch(kernel.sizes[id as usize].clone(), (*value, source), extent, param));
                    }
                }
            }
        }
        Ok(sizes)
    }

    /// That bounded sizes are within their bounds.
    fn check_bounds(&self) -> Result<(), LaunchError> {
        for bound in &self.kernel.bounds {
            let at = bound.size.0 as usize;
            let Some(Some((value, source, loc))) = self.values.get(at) else { continue };
            if i32::try_from(*value).is_ok_and(|value| (bound.low..=bound.high).contains(&value)) {
                continue;
            }
            let operand = if let Source::Operand(operand) = source { Some(operand.clone()) } else { None };
            let (size, loc) = (self.kernel.sizes[at].clone(), loc.clone());
            return Err(LaunchError::Bounds { size, value: *value, operand, low: bound.low, high: bound.high, loc });
        }
        Ok(())
    }

    /// Expressions and constants in the shapes of inputs.
    fn check_inputs(&self, params: &[(&Param, &[SizeExpr])], inputs: &[(DType, Vec<usize>)]) -> Result<(), LaunchError> {
        let value = |SizeId(id): SizeId| self.values.get(id as usize)?.as_ref().and_then(|(n, ..)| i64::try_from(*n).ok());
        for ((param, declared), (_, shape)) in params.iter().zip(inputs) {
            for (dim, &extent) in declared.iter().zip(shape) {
                if matches!(dim, SizeExpr::Size(_)) {
                    continue;
                }
                let text = dim.display(&self.kernel.sizes).to_string();
                match dim.eval(&value) {
                    Ok(n) if usize::try_from(n) == Ok(extent) => {}
                    Ok(n) => match usize::try_from(n) {
                        Ok(n) => return Err(mismatch(text, (n, &self.source(dim, param)), extent, param)),
                        Err(_) => {
                            return Err(range(format!("size `{text}` of operand `{}`", param.name), n.to_string(), &param.loc));
                        }
                    },
                    Err(SizeFault::Unbound(id)) => return Err(self.unbound(id)),
                    Err(fault) => {
                        let what = format!("size `{text}` of operand `{}`", param.name);
                        return Err(range(what, format!("without a value (it {fault})"), &param.loc));
                    }
                }
            }
        }
        Ok(())
    }

    /// What gave an expression its value: the first size in it, or the declaration itself.
    fn source(&self, dim: &SizeExpr, param: &Param) -> Source {
        let mut first = None;
        dim.sizes(&mut |SizeId(id)| {
            if first.is_none() {
                first = self.values.get(id as usize).and_then(|v| v.as_ref()).map(|(_, source, _)| source.clone());
            }
        });
        first.unwrap_or_else(|| Source::Operand(param.name.clone()))
    }

    fn unbound(&self, SizeId(id): SizeId) -> LaunchError {
        let name = self.kernel.sizes.get(id as usize).cloned().unwrap_or_default();
        let mentions = |dim: &SizeExpr| {
            let mut found = false;
            dim.sizes(&mut |size| found |= size == SizeId(id));
            found
        };
        let first = self.kernel.params.iter().find(|p| p.window().is_some_and(|w| w.array.iter().any(mentions)));
        let loc = first.map_or(&self.kernel.loc, |param| &param.loc).clone();
        LaunchError::Unbound { what: "size", name, example: "1000", loc }
    }

    fn finish(self) -> Result<Vec<i32>, LaunchError> {
        let mut values = vec![];
        for (at, (name, value)) in self.kernel.sizes.iter().zip(&self.values).enumerate() {
            let (n, _, loc) = value.as_ref().ok_or_else(|| self.unbound(SizeId(at as u32)))?;
            values.push(i32::try_from(*n).map_err(|_| range(format!("size `{name}`"), n.to_string(), loc))?);
        }
        Ok(values)
    }
}

fn mismatch(size: String, (value, source): (usize, &Source), got: usize, param: &Param) -> LaunchError {
    let loc = param.loc.clone();
    match source {
        Source::Operand(first) => {
            LaunchError::SizeMismatch { size, first: (first.clone(), value), then: (param.name.clone(), got), loc }
        }
        Source::Launch => LaunchError::SizeSet { size, set: value, operand: param.name.clone(), got, loc },
    }
}

fn range(what: String, value: String, loc: &Loc) -> LaunchError {
    LaunchError::SizeRange { what, value, loc: loc.clone() }
}

/// The value of an expression whose sizes are all bound.
fn extent(
    expr: &SizeExpr,
    what: impl Fn() -> String,
    loc: &Loc,
    value: &dyn Fn(SizeId) -> Option<i64>,
) -> Result<i32, LaunchError> {
    match expr.eval(value) {
        Ok(n) => i32::try_from(n).ok().filter(|n| *n >= 0).ok_or_else(|| range(what(), n.to_string(), loc)),
        Err(fault) => Err(range(what(), format!("without a value (it {fault})"), loc)),
    }
}

/// The shape of an operand's array.
fn array(
    kernel: &Kernel,
    param: &Param,
    declared: &[SizeExpr],
    value: &dyn Fn(SizeId) -> Option<i64>,
) -> Result<Vec<usize>, LaunchError> {
    let mut shape = vec![];
    for dim in declared {
        let what = || format!("size `{}` of operand `{}`", dim.display(&kernel.sizes), param.name);
        shape.push(extent(dim, what, &param.loc, value)? as usize);
    }
    // A 0 makes the array empty, but an executor multiplies in some order: no product may overflow.
    let bytes = shape.iter().filter(|&&d| d > 0).try_fold(param.ty.dtype().bytes(), |n, &d| n.checked_mul(d));
    match bytes.map(isize::try_from) {
        Some(Ok(_)) => Ok(shape),
        _ => {
            let what = format!("the array of operand `{}` with shape {shape:?}", param.name);
            Err(LaunchError::TooLarge { what, unit: "bytes", loc: param.loc.clone() })
        }
    }
}

/// A launch of no steps: fine when there is nothing to write.
fn empty(kernel: &Kernel, binding: Binding) -> Result<Binding, LaunchError> {
    for (at, param) in kernel.outputs() {
        let elements: usize = binding.arrays[at].iter().product();
        if elements > 0 && param.alias.is_none() {
            let extents = kernel.grid.iter().zip(&binding.grid).map(|(d, n)| format!("{} = {n}", d.name));
            let zero = binding.grid.iter().position(|&n| n == 0).and_then(|at| kernel.grid.get(at));
            return Err(LaunchError::EmptyGrid {
                extents: extents.collect::<Vec<_>>().join(", "),
                output: param.name.clone(),
                elements,
                loc: zero.map_or(Loc::UNKNOWN, |d| d.loc.clone()),
            });
        }
    }
    Ok(binding)
}

/// Every block must hold at least one element of its array, at every step; a window by elements lies within array and padding.
fn block_indices(kernel: &Kernel, binding: &Binding) -> Result<(), LaunchError> {
    let numbers = maps::Numbers { sizes: &binding.sizes, grid: &binding.grid };
    let mut first: Option<(Vec<i32>, LaunchError)> = None;
    for (at, param) in kernel.params.iter().enumerate() {
        let Some(window) = param.window() else { continue };
        for (axis, (&extent, &block)) in binding.arrays[at].iter().zip(&window.block).enumerate() {
            let (lo, hi) = block.indices(extent);
            let allowed = maps::Range { lo, hi };
            let Some((step, index)) = maps::first_outside(kernel, &window.map, &numbers, axis, allowed) else { continue };
            if first.as_ref().is_none_or(|(earliest, _)| step < *earliest) {
                let (operand, array, loc, step) = (param.name.clone(), binding.arrays[at].clone(), param.loc.clone(), step.clone());
                let error = match block {
                    BlockDim::Element { size, low, high } => {
                        let (pad, allowed) = ((low, high), (lo, hi));
                        LaunchError::ElementStart {
                            operand,
                            axis,
                            array,
                            start: index,
                            size,
                            pad,
                            allowed,
                            step: step.clone(),
                            loc,
                        }
                    }
                    BlockDim::Blocked(_) | BlockDim::Squeezed => {
                        let (blocks, block) = (block.blocks(extent), block.size());
                        LaunchError::BlockIndex { operand, axis, array, index, extent, block, blocks, step: step.clone(), loc }
                    }
                };
                first = Some((step, error));
            }
        }
    }
    first.map_or(Ok(()), |(_, error)| Err(error))
}
