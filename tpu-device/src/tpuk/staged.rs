//! A case on the way to a launch: built, simplified, bound to its sizes, and asked about by a chip.

use super::case::Case;
use super::failure::Failure;
use super::inspection::{Legality, Refusal};
use crate::guard::guarded;
use std::sync::Arc;
use tpu_kernel::ahead::{Bound, Built};
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, SizeId};
use tpu_kernel::launch::Launchable;

/// A kernel for one case, before any chip is known.
pub(super) struct Staged {
    pub(super) launchable: Arc<dyn Launchable>,
    pub(super) built: Built,
    /// The element types of the inputs.
    pub(super) inputs: Vec<DType>,
}

impl Staged {
    pub(super) fn new(case: &Case<'_>) -> Result<Staged, Failure> {
        let (launchable, inputs) = (case.kernel(), case.inputs()?);
        let built = guarded("building a kernel", || Ok(Built::new(&*launchable, &inputs)?))?;
        Ok(Staged { launchable, built, inputs })
    }

    /// The shapes of the inputs, from the sizes of the case.
    pub(super) fn shapes(&self, case: &Case<'_>) -> Result<Vec<(DType, Vec<usize>)>, Failure> {
        let kernel = &self.built.kernel;
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

    /// The launch on a chip, all checked.
    pub(super) fn bind<'a>(&'a self, chip: &'a Chip, shapes: &[(DType, Vec<usize>)]) -> Result<Bound<'a>, Failure> {
        Ok(self.built.bind(chip, shapes)?)
    }

    /// Whether the chip takes the case.
    pub(super) fn legality(&self, chip: &Chip, case: &Case<'_>) -> Legality {
        let taken = self.shapes(case).and_then(|shapes| Ok(self.bind(chip, &shapes)?.mosaic()?));
        Legality { chip: chip.name, refused: taken.err().map(Refusal::from) }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let Failure { code, reason, text, .. } = failure;
        Refusal { code: code.unwrap_or("usage"), reason, rendered: text }
    }
}
