//! Runs a kernel literally, one element at a time: the oracle for every value.
//!
//! Rules: obvious before fast, but linear in the work of the kernel; no unsafe code; it shares the
//! definitions of elementwise operations ([`crate::ir::eval`], [`crate::math`]) with constant folding
//! and code generation, and nothing else with any executor.

mod arrays;
mod body;
mod check;
mod dot;
mod fetch;
mod memory;
mod random;
mod reduce;
mod semaphore;
mod shape;
mod sort;
mod tile;
mod window;

use crate::exec::{Args, RunError};
use crate::ir::{Kernel, Literal, ParamKind, Revisit, Roots, Shape};
use crate::launch::{self, Binding};
use arrays::Arrays;
use body::Machine;
use fetch::Fetches;
use std::ops::Range;
use tile::{Data, Tile};

/// Runs the kernel over its whole grid.
///
/// The arrays are checked against the kernel and the binding first. After an error in the middle, the
/// outputs hold what earlier steps wrote.
///
/// # Panics
/// On a kernel that [`verify`](crate::passes::verify()) refuses.
pub fn run(kernel: &Kernel, binding: &Binding, args: &mut Args<'_, '_>) -> Result<(), RunError> {
    check::check(kernel, binding, args)?;
    if binding.grid.iter().any(|&extent| extent <= 0) {
        for (output, input) in kernel.aliases() {
            let [to, from] = [kernel.outputs().position(|(at, _)| at == output), kernel.inputs().position(|(at, _)| at == input)];
            if let (Some(to), Some(from)) = (to, from) {
                args.outputs[to].bytes.copy_from_slice(args.inputs[from].bytes);
            }
        }
        return Ok(());
    }
    room(kernel)?;
    let mut machine = Machine::new(kernel, binding, &mut *args.log);
    let mut arrays = Arrays::new(kernel, args.inputs, args.outputs);
    arrays.unvisited(kernel, binding)?;
    let launch::Split { axis, parts } = launch::split(kernel, binding);
    machine.cores = if parts.len() > 1 { 0 } else { 1 };
    let mut ended = Ok(());
    for (core, part) in parts.into_iter().enumerate() {
        machine.core = core;
        // Each core has memory, semaphores and a generator of its own.
        machine.random = None;
        ended = enter(kernel, binding, &arrays, args.scalars, &mut machine)
            .and_then(|()| steps(kernel, binding, (axis, part), &mut arrays, &mut machine))
            .and_then(|()| machine.counters.end(0));
        if ended.is_err() {
            break;
        }
    }
    // Also after an error: outputs hold what was written before.
    arrays.finish(kernel, &mut machine);
    ended
}

/// Gives each operand its memory, its semaphores or its scalar, and each array that is shared its memory, for a core that begins.
fn enter(
    kernel: &Kernel,
    binding: &Binding,
    arrays: &Arrays<'_, '_>,
    scalars: &[Literal],
    machine: &mut Machine<'_>,
) -> Result<(), RunError> {
    // Cores share arrays: the first one finds them as they came.
    let first = machine.core == 0;
    for (at, param) in kernel.outputs().filter(|_| first) {
        if let Some(elements) = arrays.shared(kernel, at) {
            machine.share(at, &param.name, elements?);
        }
    }
    let (mut scalars, mut inputs) = (scalars.iter(), 0..);
    for (at, (param, operand)) in kernel.params.iter().zip(&kernel.body.args).enumerate() {
        let nth = if param.is_input() { inputs.next() } else { None };
        let shared = kernel.aliases().find(|&(output, input)| output == at || input == at);
        let data = match (&param.kind, nth, shared) {
            (ParamKind::Scalar, ..) => Data::Scalar(*scalars.next().expect("counted")),
            (ParamKind::InArray(_) | ParamKind::OutArray(_), ..) if !first => continue,
            (ParamKind::InArray(_) | ParamKind::OutArray(_), _, Some((output, _))) => Data::Memory(machine.shared[&output].clone()),
            (ParamKind::InArray(_) | ParamKind::Prefetch(_), Some(nth), _) => {
                Data::Memory(machine.memories.add(&param.name, arrays.input(nth)?))
            }
            (ParamKind::OutArray(_), ..) => {
                let shape = Shape::try_new(&binding.arrays[at]).expect("a binding has extents of 31 bits");
                Data::Memory(machine.memories.add(&param.name, Tile::poison(param.ty.dtype(), shape)?))
            }
            _ => machine.allocate(&param.name, param.ty, &param.loc)?,
        };
        machine.values[operand.0 as usize] = Some(data);
    }
    Ok(())
}

/// Runs the steps of one core: those with these indices along that dimension.
fn steps(
    kernel: &Kernel,
    binding: &Binding,
    (axis, part): (usize, Range<i32>),
    arrays: &mut Arrays<'_, '_>,
    machine: &mut Machine<'_>,
) -> Result<(), RunError> {
    let mut first = vec![0; binding.grid.len()];
    let mut grid = binding.grid.clone();
    if let (Some(first), Some(end)) = (first.get_mut(axis), grid.get_mut(axis)) {
        (*first, *end) = (part.start, part.end);
    }
    machine.step.clone_from(&first);
    // The block that each window shows; none before the first step.
    let mut blocks: Vec<Option<Vec<i32>>> = vec![None; kernel.params.len()];
    // When blocks of inputs are fetched shows only where what they are made from changes.
    let mut early = Roots::of(kernel).changes_inputs(kernel).then(|| Fetches::new(kernel, binding, (&first, &grid)));
    loop {
        // All maps before any check: those of inputs, then those of outputs.
        let mut indices: Vec<Option<Vec<i32>>> = vec![None; kernel.params.len()];
        for (at, param) in kernel.inputs().filter(|_| early.is_none()).chain(kernel.outputs()) {
            indices[at] = param.window().map(|window| machine.mapped(window)).transpose()?;
        }
        for (at, param) in kernel.params.iter().enumerate() {
            let (Some(window), Some(next)) = (param.window(), indices[at].take()) else { continue };
            machine.inside(param, window, &next, &binding.arrays[at])?;
            if blocks[at].as_ref() == Some(&next) {
                continue;
            }
            if let Some(last) = blocks[at].as_ref().filter(|_| param.is_output()) {
                arrays.write(machine, at, window, last);
            }
            if param.is_output() && window.pipelining.revisit == Revisit::Immediate {
                machine.elements(at).fill_with_poison();
            } else {
                arrays.read(machine, at, window, &next);
            }
            blocks[at] = Some(next);
        }
        if let Some(early) = &mut early {
            early.step(machine, arrays)?;
        }
        machine.region(&kernel.body, None)?;
        if !advance(&mut machine.step, &grid) {
            break;
        }
    }
    for (at, param) in kernel.outputs() {
        if let (Some(window), Some(last)) = (param.window(), &blocks[at]) {
            arrays.write(machine, at, window, last);
        }
    }
    Ok(())
}

/// Whether the host would give the memory of all tiles at once: each stays until it is computed again.
fn room(kernel: &Kernel) -> Result<(), RunError> {
    let elements = kernel.types.iter().filter(|ty| ty.is_tile()).map(|ty| ty.shape().elements());
    let elements = elements.fold(0usize, usize::saturating_add);
    let mut all: Vec<u32> = vec![];
    let given = all.try_reserve_exact(elements);
    // Memory that nothing looks at need not be asked for.
    std::hint::black_box(&mut all);
    given.map_err(|_| RunError::OutOfMemory { bytes: elements.saturating_mul(size_of::<u32>()) })
}

/// The next step in lexicographic order, the last dimension fastest; false after the last one.
fn advance(step: &mut [i32], grid: &[i32]) -> bool {
    for (index, &extent) in step.iter_mut().zip(grid).rev() {
        *index += 1;
        if *index < extent {
            return true;
        }
        *index = 0;
    }
    false
}
