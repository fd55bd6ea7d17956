//! Runs a kernel literally, one element at a time: the oracle for every value.
//!
//! Rules: obvious before fast, but linear in the work of the kernel; no unsafe code; it shares the
//! definitions of elementwise operations ([`crate::ir::eval`], [`crate::math`]) with constant folding
//! and code generation, and nothing else with any executor.

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

use crate::exec::{Args, ArrayMut, ArrayRef, RunError};
use crate::ir::{Kernel, Literal, ParamKind, Revisit, Roots, Shape};
use crate::launch::Binding;
use body::Machine;
use fetch::Fetches;
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
        return Ok(());
    }
    room(kernel)?;
    let mut machine = Machine::new(kernel, binding, &mut *args.log);
    enter(kernel, binding, args.inputs, args.scalars, &mut machine)?;
    let ended = steps(kernel, binding, args.inputs, args.outputs, &mut machine);
    // Also after an error: outputs hold what was written before.
    for ((at, param), array) in kernel.outputs().zip(args.outputs.iter_mut()) {
        if param.window().is_none() {
            window::set_all(array, machine.elements(at));
        }
    }
    ended?;
    machine.counters.end(0)
}

/// Gives each operand its memory, its semaphores or its scalar.
fn enter(
    kernel: &Kernel,
    binding: &Binding,
    inputs: &[ArrayRef<'_>],
    scalars: &[Literal],
    machine: &mut Machine<'_>,
) -> Result<(), RunError> {
    let (mut scalars, mut inputs) = (scalars.iter(), inputs.iter());
    for (at, (param, operand)) in kernel.params.iter().zip(&kernel.body.args).enumerate() {
        let input = if param.is_input() { inputs.next() } else { None };
        let data = match (&param.kind, input) {
            (ParamKind::Scalar, _) => Data::Scalar(*scalars.next().expect("counted")),
            (ParamKind::InArray(_) | ParamKind::Prefetch(_), Some(array)) => {
                let shape = Shape::try_new(array.shape).expect("a binding has extents of 31 bits");
                let mut elements = Tile::poison(array.dtype, shape)?;
                window::get_all(array, &mut elements);
                Data::Memory(machine.memories.add(&param.name, elements))
            }
            (ParamKind::OutArray(_), _) => {
                let shape = Shape::try_new(&binding.arrays[at]).expect("a binding has extents of 31 bits");
                Data::Memory(machine.memories.add(&param.name, Tile::poison(param.ty.dtype(), shape)?))
            }
            _ => machine.allocate(&param.name, param.ty, &param.loc)?,
        };
        machine.values[operand.0 as usize] = Some(data);
    }
    Ok(())
}

fn steps(
    kernel: &Kernel,
    binding: &Binding,
    inputs: &[ArrayRef<'_>],
    outputs: &mut [ArrayMut<'_>],
    machine: &mut Machine<'_>,
) -> Result<(), RunError> {
    for ((at, param), array) in kernel.outputs().zip(outputs.iter_mut()) {
        if param.window().is_some_and(|window| window.pipelining.revisit == Revisit::Any) {
            let shape = Shape::try_new(&binding.arrays[at]).expect("a binding has extents of 31 bits");
            window::set_all(array, &Tile::poison(param.ty.dtype(), shape)?);
        }
    }
    // The block that each window shows; none before the first step.
    let mut blocks: Vec<Option<Vec<i32>>> = vec![None; kernel.params.len()];
    // When blocks of inputs are fetched shows only where the body changes what their maps read.
    let mut early = Roots::of(kernel).writes_prefetched(kernel).then(|| Fetches::new(kernel, binding));
    loop {
        // All maps before any check: those of inputs, then those of outputs.
        let mut indices: Vec<Option<Vec<i32>>> = vec![None; kernel.params.len()];
        for (at, param) in kernel.inputs().filter(|_| early.is_none()).chain(kernel.outputs()) {
            indices[at] = param.window().map(|window| machine.mapped(window)).transpose()?;
        }
        let mut arrays = inputs.iter();
        let mut outputs = outputs.iter_mut();
        for (at, param) in kernel.params.iter().enumerate() {
            let input = if param.is_input() { arrays.next() } else { None };
            let output = if param.is_output() { outputs.next() } else { None };
            let (Some(window), Some(next)) = (param.window(), indices[at].take()) else { continue };
            machine.inside(param, window, &next, &binding.arrays[at])?;
            if blocks[at].as_ref() == Some(&next) {
                continue;
            }
            let memory = machine.elements(at);
            if let Some(array) = input {
                window::read(window, &next, array, memory);
            }
            if let Some(array) = output {
                if let Some(last) = &blocks[at] {
                    window::write(window, last, array, memory);
                }
                match window.pipelining.revisit {
                    Revisit::Immediate => memory.fill_with_poison(),
                    Revisit::Any => window::read(window, &next, &shared(array), memory),
                }
            }
            blocks[at] = Some(next);
        }
        if let Some(early) = &mut early {
            early.step(machine, inputs)?;
        }
        machine.region(&kernel.body, None)?;
        if !advance(&mut machine.step, &binding.grid) {
            break;
        }
    }
    for ((at, param), array) in kernel.outputs().zip(outputs.iter_mut()) {
        if let (Some(window), Some(last)) = (param.window(), &blocks[at]) {
            window::write(window, last, array, machine.elements(at));
        }
    }
    Ok(())
}

/// An output array, to be read.
fn shared<'a>(array: &'a ArrayMut<'_>) -> ArrayRef<'a> {
    ArrayRef { dtype: array.dtype, shape: array.shape, bytes: array.bytes }
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
