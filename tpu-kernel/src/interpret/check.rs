//! The arrays and numbers of a launch against the kernel, before anything runs.

use crate::exec::{Args, RunError};
use crate::ir::{DType, Kernel, Param, ParamKind, SizeExpr, SizeId};
use crate::launch::Binding;

/// Checks counts, the binding's own consistency, and each array and scalar.
pub(super) fn check(kernel: &Kernel, binding: &Binding, args: &Args<'_, '_>) -> Result<(), RunError> {
    let scalars: Vec<&Param> = kernel.params.iter().filter(|p| matches!(p.kind, ParamKind::Scalar)).collect();
    count("sizes", kernel.sizes.len(), binding.sizes.len())?;
    count("grid dimensions", kernel.grid.len(), binding.grid.len())?;
    count("operands", kernel.params.len(), binding.arrays.len())?;
    count("inputs", kernel.inputs().count(), args.inputs.len())?;
    count("outputs", kernel.outputs().count(), args.outputs.len())?;
    count("scalars", scalars.len(), args.scalars.len())?;

    let size = |id: SizeId| binding.sizes.get(id.0 as usize).copied().map(i64::from);
    let eval = |expr: &SizeExpr| expr.eval(&size).ok().and_then(|n| usize::try_from(n).ok());
    for (dim, &extent) in kernel.grid.iter().zip(&binding.grid) {
        let want = eval(&dim.extent).unwrap_or(0);
        count("steps along a grid dimension", want, usize::try_from(extent).unwrap_or(0))?;
    }
    for (param, bound) in kernel.params.iter().zip(&binding.arrays) {
        let declared: Option<Vec<usize>> = param.array().unwrap_or_default().iter().map(eval).collect();
        if declared.as_ref() != Some(bound) {
            return Err(mismatch(param, &declared.unwrap_or_default(), param.ty.dtype(), bound));
        }
    }

    for (size, at) in kernel.given() {
        let nth = scalars.iter().position(|p| p.name == kernel.params[at].name);
        let given = nth.and_then(|nth| args.scalars[nth].as_i32()).and_then(|n| usize::try_from(n).ok());
        count("steps that a scalar gives", binding.sizes[size.0 as usize].max(0) as usize, given.unwrap_or(usize::MAX))?;
    }
    if let Some((output, input)) = kernel.aliases().find(|&(output, input)| binding.arrays[output] != binding.arrays[input]) {
        let (param, got) = (&kernel.params[output], &binding.arrays[output]);
        return Err(mismatch(param, &binding.arrays[input], param.ty.dtype(), got));
    }
    for ((at, param), array) in kernel.inputs().zip(args.inputs) {
        check_array(param, &binding.arrays[at], array.dtype, array.shape, array.bytes.len())?;
    }
    for ((at, param), array) in kernel.outputs().zip(args.outputs.iter()) {
        check_array(param, &binding.arrays[at], array.dtype, array.shape, array.bytes.len())?;
    }
    for (param, scalar) in scalars.into_iter().zip(args.scalars) {
        if scalar.dtype() != param.ty.dtype() {
            return Err(mismatch(param, &[], scalar.dtype(), &[]));
        }
    }
    Ok(())
}

fn count(what: &'static str, want: usize, got: usize) -> Result<(), RunError> {
    if want == got { Ok(()) } else { Err(RunError::Count { what, want, got }) }
}

fn check_array(param: &Param, want: &[usize], dtype: DType, shape: &[usize], bytes: usize) -> Result<(), RunError> {
    if dtype != param.ty.dtype() || shape != want {
        return Err(mismatch(param, want, dtype, shape));
    }
    let need = want.iter().try_fold(dtype.bytes(), |n, &dim| n.checked_mul(dim));
    // Bytes that do not make up the shape show as so many elements.
    if need == Some(bytes) { Ok(()) } else { Err(mismatch(param, want, dtype, &[bytes / dtype.bytes()])) }
}

fn mismatch(param: &Param, want: &[usize], got_dtype: DType, got: &[usize]) -> RunError {
    RunError::Array { operand: param.name.clone(), want_dtype: param.ty.dtype(), want: want.to_vec(), got_dtype, got: got.to_vec() }
}
