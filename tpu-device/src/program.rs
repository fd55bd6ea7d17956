//! What runs a kernel: the code generator, or the interpreter that it is checked against.

use crate::DeviceError;
use tpu_kernel::cranelift::Executable;
use tpu_kernel::exec::{Args, RunError};
use tpu_kernel::interpret;
use tpu_kernel::ir::Kernel;
use tpu_kernel::launch::Binding;

/// What runs the kernels of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Executor {
    /// Kernels are compiled for the host.
    #[default]
    Cranelift,
    /// Kernels are interpreted: slow, simple, and the reference for every value.
    Interpreter,
}

/// A kernel made ready to run.
pub(crate) enum Program {
    Compiled(Box<Executable>),
    Interpreted,
}

impl Program {
    pub(crate) fn compile(kernel: &Kernel, executor: Executor) -> Result<Program, DeviceError> {
        match executor {
            Executor::Cranelift => Ok(Program::Compiled(Box::new(Executable::compile(kernel)?))),
            Executor::Interpreter => Ok(Program::Interpreted),
        }
    }

    /// Runs the program; `kernel` is the one that it was made of.
    pub(crate) fn run(&self, kernel: &Kernel, binding: &Binding, args: &mut Args<'_, '_>) -> Result<(), RunError> {
        match self {
            Program::Compiled(executable) => executable.run(binding, args),
            Program::Interpreted => interpret::run(kernel, binding, args),
        }
    }
}
