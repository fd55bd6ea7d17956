//! Runs a kernel literally, one element at a time: the oracle for every value.
//!
//! Rules: obvious before fast, but linear in the work of the kernel; no unsafe code; it shares the
//! definitions of elementwise operations ([`crate::ir::eval`], [`crate::math`]) with constant folding
//! and code generation, and nothing else with any executor.

mod body;
mod check;
mod dot;
mod random;
mod reduce;
mod shape;
mod sort;
mod tile;
mod window;

use crate::exec::{Args, RunError};
use crate::ir::{Kernel, Literal, ParamKind};
use crate::launch::Binding;
use body::Machine;
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
    let mut scalars = args.scalars.iter();
    for (param, operand) in kernel.params.iter().zip(&kernel.body.args) {
        match param.kind {
            ParamKind::Scalar => {
                let scalar: Literal = *scalars.next().expect("counted");
                machine.values[operand.0 as usize] = Some(Data::Scalar(scalar));
                machine.memory.push(None);
            }
            ParamKind::InArray(_) | ParamKind::OutArray(_) | ParamKind::Prefetch(_) => todo!(),
            ParamKind::In(_) | ParamKind::Out(_) | ParamKind::Scratch => {
                machine.memory.push(Some(Tile::poison(param.ty.dtype(), param.ty.shape())?));
            }
        }
    }

    // The block that each window shows; none before the first step.
    let mut blocks: Vec<Option<Vec<i32>>> = vec![None; kernel.params.len()];
    loop {
        let mut inputs = args.inputs.iter();
        let mut outputs = args.outputs.iter_mut();
        for (at, param) in kernel.params.iter().enumerate() {
            let Some(window) = param.window() else { continue };
            let next = machine.block_index(param, window, &binding.arrays[at])?;
            let input = if param.is_output() { None } else { inputs.next() };
            let output = if param.is_output() { outputs.next() } else { None };
            if blocks[at].as_ref() == Some(&next) {
                continue;
            }
            let memory = machine.memory[at].as_mut().expect("a window is memory");
            if let Some(array) = input {
                window::read(window, &next, array, memory);
            }
            if let Some(array) = output {
                if let Some(last) = &blocks[at] {
                    window::write(window, last, array, memory);
                }
                memory.fill_with_poison();
            }
            blocks[at] = Some(next);
        }
        machine.region(&kernel.body, None)?;
        if !advance(&mut machine.step, &binding.grid) {
            break;
        }
    }
    for ((at, param), array) in kernel.outputs().zip(args.outputs.iter_mut()) {
        if let (Some(window), Some(last), Some(memory)) = (param.window(), &blocks[at], &machine.memory[at]) {
            window::write(window, last, array, memory);
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
