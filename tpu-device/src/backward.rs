//! Gradients: the backward kernel that a kernel carries, given what its forward launch took and gave.
//!
//! Rules: the backward kernel's operands are found by their names; everything is checked before anything runs.
//! A gradient has the shape of its input: where the kernel is batched and the input is not, the backward kernel
//! gives one for each slice of the batch, and they are summed here.

use crate::{ArgSpec, Device, DeviceError, Tensor, launch, sum};
use tpu_kernel::ir::DType;
use tpu_kernel::launch::{Arg, Launchable, Target};
use tpu_kernel::transform::{Meaning, check_gradient, meaning};

/// The gradients of the arguments, in their order; `None` for scalars and for inputs that the backward kernel gives none of.
pub(crate) fn backward(
    device: &Device,
    kernel: &dyn Launchable,
    args: &[Arg<'_, Tensor>],
    outputs: &[&Tensor],
    gradients: &[&Tensor],
) -> Result<Vec<Option<Tensor>>, DeviceError> {
    let name = || kernel.name().to_string();
    if let Some(fault) = kernel.config().transforms.fault() {
        return Err(fault.clone().into());
    }
    let backward = kernel.config().transforms.backward().ok_or_else(|| DeviceError::NoBackward { operation: name() })?;
    let (Some(arguments), Some(results), Some(gives)) = (kernel.arguments(), kernel.outputs(), backward.outputs()) else {
        return Err(DeviceError::NoBackward { operation: name() });
    };

    let specs: Vec<ArgSpec<'_>> = args.iter().map(|&arg| arg.into()).collect();
    let forward = launch::infer(device, kernel, &specs)?;
    check_given(kernel, "outputs", &forward, outputs)?;
    check_given(kernel, "gradients", &forward, gradients)?;

    let mut taken = Vec::new();
    for declared in backward.arguments().unwrap_or_default() {
        let at = |list: &[tpu_kernel::launch::Argument], name: &str| list.iter().position(|a| a.name == name);
        let found = match meaning(declared.name, kernel) {
            Some(Meaning::Argument(name)) => at(arguments, name).and_then(|at| args.get(at).copied()),
            Some(Meaning::Output(name)) => at(results, name).and_then(|at| outputs.get(at)).map(|x| Arg::Array(*x)),
            Some(Meaning::Gradient(name)) => at(results, name).and_then(|at| gradients.get(at)).map(|x| Arg::Array(*x)),
            None => None,
        };
        // The pair was checked when it was made.
        taken.push(found.ok_or_else(|| DeviceError::NoBackward { operation: name() })?);
    }

    // Where each result of the backward kernel goes, and how many leading dimensions are summed.
    let specs: Vec<ArgSpec<'_>> = taken.iter().map(|&arg| arg.into()).collect();
    let mut places = Vec::new();
    for (declared, (dtype, shape)) in gives.iter().zip(launch::infer(device, backward, &specs)?) {
        let of = declared.name.strip_prefix("d_").unwrap_or(declared.name);
        let found = arguments.iter().zip(args).position(|(a, arg)| a.name == of && matches!(arg, Arg::Array(_)));
        let (Some(place), extra) = (found, backward.extra_dims(of)) else {
            return Err(DeviceError::NoBackward { operation: name() });
        };
        if let Arg::Array(x) = args[place] {
            check_gradient(kernel, backward, of, extra, (x.dtype(), x.shape()), (dtype, &shape))
                .map_err(tpu_kernel::Error::from)?;
        }
        places.push((place, extra));
    }

    let found = device.launch(backward, &taken)?;
    device.count_backward();
    let mut all: Vec<Option<Tensor>> = vec![None; args.len()];
    for ((place, extra), mut gradient) in places.into_iter().zip(found) {
        for _ in 0..extra {
            gradient = sum::slices(device, &gradient)?;
        }
        all[place] = Some(gradient);
    }
    Ok(all)
}

/// One tensor for each output of the forward kernel, of its element type and shape.
fn check_given(
    kernel: &dyn Launchable,
    what: &'static str,
    want: &[(DType, Vec<usize>)],
    got: &[&Tensor],
) -> Result<(), DeviceError> {
    let fits = |(want, got): (&(DType, Vec<usize>), &&Tensor)| want.0 == got.dtype() && want.1 == got.shape();
    if want.len() == got.len() && want.iter().zip(got).all(fits) {
        return Ok(());
    }
    let text = |dtype: DType, shape: &[usize]| format!("{dtype}{shape:?}");
    let want: Vec<String> = want.iter().map(|(dtype, shape)| text(*dtype, shape)).collect();
    let got: Vec<String> = got.iter().map(|x| text(x.dtype(), x.shape())).collect();
    Err(DeviceError::Gradients { operation: kernel.name().to_string(), what, want: want.join(", "), got: got.join(", ") })
}
