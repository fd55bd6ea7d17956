//! A case on the way to a launch: built, simplified, bound to its sizes, and asked about by a chip.

use super::case::Case;
use super::failure::Failure;
use super::inspection::{Legality, Refusal};
use crate::guard::guarded;
use std::sync::Arc;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, SizeId};
use tpu_kernel::launch::{Binding, Launchable, bind};
use tpu_kernel::legalise::legalise;
use tpu_kernel::predict::{Prediction, predict};
use tpu_kernel::{Error, mosaic, passes};

/// A kernel for one case, before any chip is known.
pub(super) struct Staged {
    pub(super) launchable: Arc<dyn Launchable>,
    /// As its function recorded it.
    pub(super) raw: Kernel,
    /// As every executor takes it.
    pub(super) kernel: Kernel,
    /// The element types of the inputs.
    pub(super) inputs: Vec<DType>,
}

impl Staged {
    pub(super) fn new(case: &Case<'_>) -> Result<Staged, Failure> {
        let (launchable, inputs) = (case.kernel(), case.inputs()?);
        let raw = guarded("building a kernel", || Ok(launchable.stage(&inputs)?))?;
        passes::verify(&raw).map_err(|faults| Error::rules(&raw, faults))?;
        let mut kernel = raw.clone();
        passes::canonicalise(&mut kernel);
        Ok(Staged { launchable, raw, kernel, inputs })
    }

    /// The shapes of the inputs, from the sizes of the case.
    pub(super) fn shapes(&self, case: &Case<'_>) -> Result<Vec<(DType, Vec<usize>)>, Failure> {
        let kernel = &self.kernel;
        let name = |SizeId(id): SizeId| kernel.sizes.get(id as usize).map(String::as_str).unwrap_or_default();
        let value = |id: SizeId| case.sizes.get(name(id)).and_then(|&n| i64::try_from(n).ok());
        for size in &kernel.sizes {
            match case.sizes.get(size) {
                Some(&n) if i64::try_from(n).is_err() => {
                    return Err(Failure::kernel(format!("size `{size}` cannot be {n}: sizes are below 2147483648")));
                }
                Some(_) => {}
                None => {
                    let (name, all) = (&kernel.name, kernel.sizes.join(", "));
                    let how = if case.knows(size) {
                        format!("give it with `--size {size}=…`")
                    } else {
                        "a transformation added it: name it among the sizes of the entry".to_string()
                    };
                    let reason = format!("size `{size}` has no value: {how}\n  sizes of kernel `{name}`: {all}");
                    return Err(Failure::usage(reason));
                }
            }
        }
        if let Some(other) = case.added_sizes().find(|size| !kernel.sizes.iter().any(|known| known == size)) {
            let (entry, all) = (&case.entry.name, kernel.sizes.join(", "));
            let reason = format!("kernel `{entry}` is registered with a size `{other}`, which it lacks\n  its sizes: {all}");
            return Err(Failure::kernel(reason));
        }
        let mut shapes = vec![];
        for ((_, param), &dtype) in kernel.inputs().zip(&self.inputs) {
            let mut shape = vec![];
            for dim in param.array().unwrap_or_default() {
                let what = || format!("size `{}` of operand `{}`", dim.display(&kernel.sizes), param.name);
                let extent = dim.eval(&value).map_err(|fault| Failure::kernel(format!("{} has no value: it {fault}", what())))?;
                shape.push(usize::try_from(extent).map_err(|_| Failure::kernel(format!("{} would be {extent}", what())))?);
            }
            shapes.push((dtype, shape));
        }
        Ok(shapes)
    }

    /// The numbers of a launch on a chip, all checked.
    pub(super) fn bind(&self, chip: &Chip, shapes: &[(DType, Vec<usize>)]) -> Result<Binding, Failure> {
        Ok(bind(&self.kernel, chip, shapes, self.launchable.config()).map_err(Error::from)?)
    }

    /// The module for Google's compiler, or why there is none.
    pub(super) fn stablehlo(&self, chip: &Chip, binding: &Binding) -> Result<String, Failure> {
        Ok(mosaic::stablehlo(&self.kernel, binding, chip).map_err(Error::from)?)
    }

    /// The kernel in the language of that compiler.
    pub(super) fn mosaic(&self, chip: &Chip, binding: &Binding) -> Result<String, Failure> {
        Ok(mosaic::print(&self.kernel, binding, chip).map_err(Error::from)?)
    }

    /// The kernel in operations that the chip has.
    pub(super) fn legalised(&self, chip: &Chip) -> Result<Kernel, Failure> {
        Ok(legalise(&self.kernel, chip).map_err(Error::from)?)
    }

    /// How long the launch would take, by the model.
    pub(super) fn predict(&self, chip: &Chip, binding: &Binding) -> Result<Prediction, Failure> {
        Ok(predict(&self.legalised(chip)?, binding, chip))
    }

    /// Whether the chip takes the case.
    pub(super) fn legality(&self, chip: &Chip, case: &Case<'_>) -> Legality {
        let taken = self.shapes(case).and_then(|shapes| self.bind(chip, &shapes)).and_then(|binding| self.mosaic(chip, &binding));
        Legality { chip: chip.name, refused: taken.err().map(Refusal::from) }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let Failure { code, reason, text, .. } = failure;
        Refusal { code: code.unwrap_or("usage"), reason, rendered: text }
    }
}
