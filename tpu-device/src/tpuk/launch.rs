//! The arrays of a launch, made or read, and the launch itself.
//!
//! Rules: everything that can be refused is refused before an array is made; what the host cannot hold is an error.

use super::case::{Case, Settings};
use super::data::{self, Random};
use super::failure::Failure;
use super::reference::{Array, Call};
use super::staged::Staged;
use crate::{Device, DeviceError, Tensor};
use std::path::Path;
use tpu_kernel::ahead::Bound;
use tpu_kernel::ir::{DType, Literal};
use tpu_kernel::launch::{Arg, Binding, Launchable, Target};

/// Why a bound kernel has no form on its chip.
fn refused(bound: &Bound<'_>) -> Option<(&'static str, String)> {
    let error = bound.mosaic().err()?;
    error.code().starts_with('M').then(|| (error.code(), error.to_string()))
}

/// A launch with its arrays.
pub(super) struct Prepared {
    pub(super) staged: Staged,
    pub(super) binding: Binding,
    pub(super) inputs: Vec<Tensor>,
    scalars: Vec<(String, Literal)>,
    /// For each argument whether it is a scalar.
    order: Vec<bool>,
    pub(super) call: Call,
    /// The case, with the sizes of the arrays.
    pub(super) text: String,
    /// By which rule of the way to it the chip refuses the kernel, which the simulator runs all the same: its code and a line.
    pub(super) refused: Option<(&'static str, String)>,
}

impl Prepared {
    /// With random arrays.
    pub(super) fn random(case: &Case<'_>, device: &Device, seed: u64) -> Result<Prepared, Failure> {
        let staged = Staged::new(case)?;
        let shapes = staged.shapes(case)?;
        let bound = staged.bind(device.chip(), &shapes)?;
        let (refused, binding) = (refused(&bound), bound.binding);
        let scalars = case.scalars()?;
        fits(&staged, &binding)?;
        let mut random = Random::new(seed);
        let mut inputs = vec![];
        for ((dtype, shape), name) in shapes.iter().zip(case.input_names()) {
            let range = case.entry.ranges.iter().find(|(n, ..)| n == name).map(|&(_, low, high)| (low, high));
            inputs.push(data::random(device, *dtype, shape, range, &mut random)?);
        }
        Ok(Prepared { refused, ..Prepared::with(case, staged, binding, inputs, scalars) })
    }

    /// With the arrays of a file, which decide sizes and element types. `kept` are settings that the user gave: sizes among
    /// them must agree.
    pub(super) fn file(case: &Case<'_>, device: &Device, path: &Path, kept: &Settings) -> Result<Prepared, Failure> {
        let case = case.without_sizes(kept);
        let names = case.input_names();
        let mut arrays = device.load_safetensors_named(path, &names)?;
        let mut inputs: Vec<Tensor> = names.iter().filter_map(|name| arrays.remove(*name)).collect();
        let types: Vec<DType> = inputs.iter().map(Tensor::dtype).collect();
        let case = case.with_types(&types);
        let staged = Staged::new(&case)?;
        for ((_, param), tensor) in staged.built.kernel.inputs().zip(&mut inputs) {
            let rank = param.array().map_or(0, <[_]>::len);
            if let Some(squeezed) = tensor.without_leading_ones(rank) {
                *tensor = squeezed;
            }
        }
        let shapes: Vec<(DType, Vec<usize>)> = inputs.iter().map(|t| (t.dtype(), t.shape().to_vec())).collect();
        let bound = staged.bind(device.chip(), &shapes)?;
        let (refused, binding) = (refused(&bound), bound.binding);
        let scalars = case.scalars()?;
        fits(&staged, &binding)?;
        Ok(Prepared { refused, ..Prepared::with(&case, staged, binding, inputs, scalars) })
    }

    fn with(case: &Case<'_>, staged: Staged, binding: Binding, inputs: Vec<Tensor>, scalars: Vec<(String, Literal)>) -> Prepared {
        let names = case.input_names().into_iter().map(str::to_string);
        let sizes = staged.built.kernel.sizes.iter().cloned().zip(binding.sizes.iter().map(|&n| usize::try_from(n).unwrap_or(0)));
        let sizes: Vec<(String, usize)> = sizes.collect();
        let text = case.with_sizes(&sizes).text();
        let call = Call {
            arrays: names.zip(inputs.iter().map(Array::of)).collect(),
            scalars: scalars.clone(),
            sizes,
            precision: case.precision(),
        };
        Prepared { staged, binding, inputs, scalars, order: case.order().collect(), call, text, refused: None }
    }

    /// Runs the kernel on a device, where the arrays come to.
    pub(super) fn launch(&self, device: &Device) -> Result<Vec<Tensor>, Failure> {
        Ok(self.launch_as(device, &*self.staged.launchable)?)
    }

    /// Runs that kernel, which takes the same.
    pub(super) fn launch_as(&self, device: &Device, kernel: &dyn Launchable) -> Result<Vec<Tensor>, DeviceError> {
        let inputs = self.inputs.iter().map(|tensor| tensor.to_device(device)).collect::<Result<Vec<_>, _>>()?;
        let (mut inputs, mut scalars) = (inputs.iter(), self.scalars.iter());
        let args: Option<Vec<Arg<'_, Tensor>>> = self
            .order
            .iter()
            .map(|scalar| match scalar {
                true => scalars.next().map(|(_, value)| Arg::Scalar(*value)),
                false => inputs.next().map(Arg::Array),
            })
            .collect();
        // Each argument was declared, and made.
        device.launch(kernel, &args.unwrap_or_default())
    }

    /// The element types of inputs and outputs.
    pub(super) fn types(&self) -> Vec<DType> {
        self.staged.built.kernel.params.iter().filter(|param| param.window().is_some()).map(|param| param.ty.dtype()).collect()
    }

    /// The names of the outputs, in their order.
    pub(super) fn output_names(&self) -> Vec<&str> {
        self.staged.built.kernel.outputs().map(|(_, param)| param.name.as_str()).collect()
    }
}

/// Whether the host holds the arrays, and the numbers of a reference beside them.
fn fits(staged: &Staged, binding: &Binding) -> Result<(), Failure> {
    let bytes = staged.built.kernel.params.iter().zip(&binding.arrays).filter(|(param, _)| param.array().is_some()).map(
        |(param, array)| {
            let elements = array.iter().fold(1u64, |n, &d| n.saturating_mul(d as u64));
            elements.saturating_mul(param.ty.dtype().bytes() as u64 + 2 * size_of::<f64>() as u64)
        },
    );
    let need = bytes.fold(0u64, u64::saturating_add);
    match available() {
        Some(available) if need > available => Err(Failure::kernel(format!(
            "arrays of these sizes take {} MiB of the host with their references, and {} MiB are free; choose smaller sizes",
            need >> 20,
            available >> 20
        ))),
        _ => Ok(()),
    }
}

/// The memory that the host can give away, where it says so.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kib.checked_mul(1024)
}
