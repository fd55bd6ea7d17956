//! A kernel, launched on a device: arguments checked, code found or compiled, outputs allocated, run.
//!
//! Rules: everything that can be refused is refused before the first output is allocated; on the cached
//! path nothing is staged, compared as IR or formatted.

use crate::bound::Bound;
use crate::cache::Entry;
use crate::guard::guarded;
use crate::program::Program;
use crate::tensor::Unwritten;
use crate::{ArgSpec, Device, DeviceError, Executor, Tensor};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tpu_kernel::cranelift::checked::CheckedExecutable;
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef, Checking, Printed};
use tpu_kernel::ir::{DType, Kernel, Literal, Loc, ParamKind};
use tpu_kernel::launch::{Allow, Arg, Argument, Binding, Config, Cost, LaunchError, Launchable, Target};

impl Target for Device {
    type Tensor = Tensor;
    type Error = DeviceError;

    /// Runs the kernel and returns its outputs. An element that no grid step writes is poison: NaN,
    /// `i32::MIN` or true.
    fn launch(&self, kernel: &dyn Launchable, args: &[Arg<'_, Tensor>]) -> Result<Vec<Tensor>, DeviceError> {
        guarded("a launch", || launch(self, kernel, args))
    }
}

/// A launch that is not refused.
pub(crate) struct Prepared {
    pub(crate) entry: Arc<Entry>,
    pub(crate) bound: Arc<Bound>,
}

/// What runs it.
pub(crate) enum Ready<'e> {
    Plain(&'e Program),
    Checked(&'e CheckedExecutable, Checking),
}

impl<'e> Ready<'e> {
    pub(crate) fn plain(device: &Device, entry: &'e Entry, kernel: &Kernel, executor: Executor) -> Result<Self, DeviceError> {
        let (program, compiled) = entry.program(kernel, executor)?;
        device.count_compilation(compiled);
        Ok(Ready::Plain(program))
    }

    pub(crate) fn checked(
        device: &Device,
        entry: &'e Entry,
        kernel: &Kernel,
        checking: Checking,
        config: &Config,
    ) -> Result<Self, DeviceError> {
        let (program, compiled) = entry.checked(kernel)?;
        device.count_compilation(compiled);
        let unwritten = checking.unwritten || config.allow.contains(&Allow::Unwritten);
        Ok(Ready::Checked(program, Checking { unwritten, ..checking }))
    }

    fn run(&self, kernel: &Kernel, binding: &Binding, args: &mut Args<'_, '_>) -> Result<(), tpu_kernel::Error> {
        match self {
            Ready::Plain(program) => Ok(program.run(kernel, binding, args)?),
            Ready::Checked(program, checking) => {
                program.run(binding, args, *checking).map_err(|error| tpu_kernel::Error::Checked { seed: checking.seed, error })
            }
        }
    }

    /// Runs it on several devices, in an order that the seed draws where it is not checked.
    pub(crate) fn run_mesh(&self, binding: &Binding, devices: &mut [Args<'_, '_>], seed: u64) -> Result<(), tpu_kernel::Error> {
        match self {
            Ready::Plain(Program::Compiled(program)) => Ok(program.run_mesh(binding, devices, seed)?),
            Ready::Plain(Program::Interpreted) => unreachable!("a mesh has no device that interprets its kernels"),
            Ready::Checked(program, checking) => program
                .run_mesh(binding, devices, *checking)
                .map_err(|error| tpu_kernel::Error::Checked { seed: checking.seed, error }),
        }
    }
}

fn launch(device: &Device, launchable: &dyn Launchable, args: &[Arg<'_, Tensor>]) -> Result<Vec<Tensor>, DeviceError> {
    check_devices(device, args)?;
    let specs: Vec<ArgSpec<'_>> = args.iter().map(|&arg| arg.into()).collect();
    let Prepared { entry, bound } = prepare(device, launchable, &specs, args)?;
    let kernel = entry.kernel(launchable)?;
    let config = launchable.config();
    let program = match config.checking.or(device.checking()) {
        None => Ready::plain(device, &entry, kernel, device.executor())?,
        Some(checking) => Ready::checked(device, &entry, kernel, checking, config)?,
    };

    let mut outputs = Vec::with_capacity(bound.covered.len());
    for ((at, param), &covered) in kernel.outputs().zip(&bound.covered) {
        let mut output = Unwritten::of_anything(device, param.ty.dtype(), &bound.binding.arrays[at])?;
        if !covered {
            output.fill(Literal::poison(param.ty.dtype()));
        }
        outputs.push(output);
    }
    // Of no step an output is still the input whose array it shares.
    if !bound.binding.grid.contains(&0) || kernel.aliases().next().is_some() {
        let mut inputs = Vec::with_capacity(args.len());
        let mut scalars = Vec::new();
        for &arg in args {
            match arg {
                Arg::Array(x) => inputs.push(ArrayRef { dtype: x.dtype(), shape: x.shape(), bytes: x.bytes() }),
                Arg::Scalar(scalar) => scalars.push(scalar),
            }
        }
        let shapes = kernel.outputs().map(|(at, _)| bound.binding.arrays[at].as_slice());
        let mut arrays: Vec<ArrayMut<'_>> = outputs
            .iter_mut()
            .zip(shapes)
            .map(|(output, shape)| ArrayMut { dtype: output.dtype(), shape, bytes: output.bytes() })
            .collect();
        // Most kernels print nothing: what takes messages is looked up when there is one.
        let mut log = |message: &Printed| device.print()(message);
        let mut args = Args { inputs: &inputs, outputs: &mut arrays, scalars: &scalars, log: &mut log };
        program.run(kernel, &bound.binding, &mut args)?;
    }
    entry.launches.fetch_add(1, Relaxed);
    device.count_launch();
    Ok(outputs.into_iter().map(Unwritten::finish).collect())
}

/// The element types and shapes of the outputs of a launch, which is checked but neither compiled nor run.
pub(crate) fn infer(
    device: &Device,
    launchable: &dyn Launchable,
    args: &[ArgSpec<'_>],
) -> Result<Vec<(DType, Vec<usize>)>, DeviceError> {
    guarded("shape inference", || {
        let Prepared { entry, bound } = prepare(device, launchable, args, &[])?;
        let outputs = entry.kernel(launchable)?.outputs();
        Ok(outputs.map(|(at, param)| (param.ty.dtype(), bound.binding.arrays[at].clone())).collect())
    })
}

/// What a launch would cost, which is checked but neither compiled nor run.
pub(crate) fn cost(device: &Device, launchable: &dyn Launchable, args: &[ArgSpec<'_>]) -> Result<Cost, DeviceError> {
    let Prepared { entry, bound } = prepare(device, launchable, args, &[])?;
    Ok(tpu_kernel::launch::cost(entry.kernel(launchable)?, &bound.binding))
}

/// An array of another device is refused.
pub(crate) fn check_devices(device: &Device, args: &[Arg<'_, Tensor>]) -> Result<(), DeviceError> {
    match args.iter().position(|arg| matches!(arg, Arg::Array(x) if x.device() != device)) {
        Some(index) => Err(DeviceError::OtherDevice { index }),
        None => Ok(()),
    }
}

/// `values` are the arguments themselves, where there are some: scalars among them may count steps of the grid.
pub(crate) fn prepare(
    device: &Device,
    launchable: &dyn Launchable,
    args: &[ArgSpec<'_>],
    values: &[Arg<'_, Tensor>],
) -> Result<Prepared, DeviceError> {
    if let Some(declared) = launchable.arguments() {
        check_kinds(launchable, declared, args)?;
    }
    let mut inputs = Vec::with_capacity(args.len());
    inputs.extend(args.iter().filter_map(|arg| arg.array()).map(|(dtype, _)| dtype));
    let entry = device.cache().entry(launchable, &inputs);
    let kernel = entry.kernel(launchable)?;
    check_args(kernel, args)?;
    let steps = steps(launchable, kernel, values)?;
    let config = match steps.is_empty() {
        true => Cow::Borrowed(launchable.config()),
        false => {
            let mut config = launchable.config().clone();
            config.sizes.retain(|(name, _)| steps.iter().all(|(step, _)| step != name));
            config.sizes.extend(steps);
            Cow::Owned(config)
        }
    };
    let bound = entry.bindings.get(kernel, &config, device.chip(), args)?;
    Ok(Prepared { entry, bound })
}

/// The sizes that scalars of the launch give.
fn steps(
    launchable: &dyn Launchable,
    kernel: &Kernel,
    values: &[Arg<'_, Tensor>],
) -> Result<Vec<(&'static str, usize)>, LaunchError> {
    let mut steps = vec![];
    if kernel.given().next().is_none() {
        return Ok(steps);
    }
    for (declared, value) in launchable.arguments().unwrap_or_default().iter().zip(values) {
        let scalar = kernel.given().find(|&(_, at)| kernel.params[at].name == declared.name);
        let (Some((_, at)), Arg::Scalar(scalar)) = (scalar, value) else { continue };
        let value = scalar.as_i32().unwrap_or_default();
        let Ok(count) = usize::try_from(value) else {
            let param = &kernel.params[at];
            return Err(LaunchError::Steps { scalar: param.name.clone(), value, loc: param.loc.clone() });
        };
        steps.push((declared.name, count));
    }
    Ok(steps)
}

/// Arguments fit what is declared in number and order: before the kernel is built for the arrays among them.
fn check_kinds(launchable: &dyn Launchable, declared: &[Argument], args: &[ArgSpec<'_>]) -> Result<(), LaunchError> {
    if declared.len() != args.len() {
        let (kernel, want) = (launchable.name().to_string(), declared.len());
        // The first that is missing, or what is declared last.
        let place = declared.get(args.len()).or(declared.last()).or(launchable.outputs().and_then(<[Argument]>::last));
        let loc = place.map_or(Loc::UNKNOWN, |argument| argument.loc.clone());
        return Err(LaunchError::ArgumentCount { kernel, want, got: args.len(), loc });
    }
    match declared.iter().zip(args).find(|(declared, arg)| declared.scalar == arg.array().is_some()) {
        Some((declared, arg)) => {
            let dtype = launchable.config().transforms.element_type(declared);
            Err(wrong_kind(declared.name, declared.scalar, dtype, &declared.loc, arg))
        }
        None => Ok(()),
    }
}

/// Arguments fit the kernel's inputs and scalars in number, order and kind; scalars also in type.
fn check_args(kernel: &Kernel, args: &[ArgSpec<'_>]) -> Result<(), LaunchError> {
    let wanted = || kernel.params.iter().filter(|p| p.is_input() || matches!(p.kind, ParamKind::Scalar));
    let want = wanted().count();
    if want != args.len() {
        let (kernel, loc) = (kernel.name.clone(), kernel.loc.clone());
        return Err(LaunchError::ArgumentCount { kernel, want, got: args.len(), loc });
    }
    for (param, arg) in wanted().zip(args) {
        let fits = match arg {
            ArgSpec::Array { .. } => param.is_input(),
            ArgSpec::Scalar(dtype) => matches!(param.kind, ParamKind::Scalar) && *dtype == param.ty.dtype(),
        };
        if !fits {
            let scalar = matches!(param.kind, ParamKind::Scalar);
            return Err(wrong_kind(&param.name, scalar, Some(param.ty.dtype()), &param.loc, arg));
        }
    }
    Ok(())
}

fn wrong_kind(operand: &str, scalar: bool, dtype: Option<DType>, loc: &Loc, arg: &ArgSpec<'_>) -> LaunchError {
    let what = if scalar { "a scalar" } else { "an array" };
    LaunchError::ArgumentKind {
        operand: operand.to_string(),
        want: dtype.map_or(what.to_string(), |dtype| format!("{what} of {dtype}")),
        got: match arg {
            ArgSpec::Array { dtype, shape } => format!("an array {dtype}{shape:?}"),
            ArgSpec::Scalar(dtype) => format!("a scalar of {dtype}"),
        },
        loc: loc.clone(),
    }
}
