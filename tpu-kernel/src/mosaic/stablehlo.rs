//! The StableHLO module of one kernel.
//!
//! Rules: arguments are the kernel's scalars (rank 0) and inputs in the order of its parameters, of the user's element
//! types; results are the outputs in theirs. Where sizes are bounded arrays are as large as they may be, and the sizes are scalars
//! after all others.

use super::bounded::program;
use super::module::{Module, Tensor};
use crate::chips::Chip;
use crate::ir::{Kernel, ParamKind};
use crate::launch::Binding;
use crate::legalise::Illegal;

/// The kernel's text wrapped in a module whose `main` takes its operands and returns its outputs.
///
/// # Errors
/// The kernel has no form on the chip.
pub fn stablehlo(kernel: &Kernel, binding: &Binding, chip: &Chip) -> Result<String, Illegal> {
    write(Module::new(&kernel.name, chip), (kernel, binding), chip)
}

/// The same with its arrays in device memory, as the kernel's windows take them: what libtpu estimates for the module is then
/// what it estimates for the kernel. It refuses a few such modules on tpu7x whose arrays it places elsewhere.
///
/// # Errors
/// The kernel has no form on the chip.
pub fn stablehlo_placed(kernel: &Kernel, binding: &Binding, chip: &Chip) -> Result<String, Illegal> {
    write(Module::new(&kernel.name, chip).placed(), (kernel, binding), chip)
}

fn write(mut module: Module, (kernel, binding): (&Kernel, &Binding), chip: &Chip) -> Result<String, Illegal> {
    let (kernel, binding) = program(kernel, binding, chip)?;
    let (kernel, binding) = (&*kernel, &*binding);
    let mut operands: Vec<Tensor> = vec![];
    for (at, param) in kernel.params.iter().enumerate() {
        let shape = binding.arrays.get(at).map_or(&[][..], Vec::as_slice);
        match param.kind {
            ParamKind::Scalar => operands.push(module.input(param.ty.dtype(), &[])),
            ParamKind::In(_) | ParamKind::InArray(_) | ParamKind::Prefetch(_) => {
                operands.push(module.input(param.ty.dtype(), shape))
            }
            ParamKind::Out(_) | ParamKind::OutArray(_) | ParamKind::Scratch => {}
        }
    }
    let results = module.call(kernel, binding, &operands.iter().collect::<Vec<_>>())?;
    Ok(module.finish(&results.iter().collect::<Vec<_>>()))
}
