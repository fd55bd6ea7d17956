//! A kernel on its way to a chip that need not be here: built once, bound to sizes, and asked about.
//!
//! Rules: nothing runs. The steps are those of a launch: the kernel is staged, verified and made canonical; the numbers of the
//! launch are checked for the chip; what the chip lacks is lowered. [`Built`] serves every chip and all sizes.
//!
//! ```
//! use tpu_kernel::ahead::Built;
//! use tpu_kernel::chips::Chip;
//! use tpu_kernel::prelude::*;
//!
//! #[tpu_kernel(grid(i: n / B), semantics(parallel))]
//! fn double<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
//!     o.store(x.load() * 2.0);
//! }
//!
//! let built = Built::new(&double().b(1024), &[DType::F32])?;
//! for chip in Chip::ALL {
//!     let launch = built.bind(chip, &[(DType::F32, vec![10_000])])?;
//!     assert!(launch.predict()?.cycles > 0 && launch.cost().bytes > 0 && launch.mosaic()?.contains("iteration_bounds"));
//! }
//! # Ok::<(), tpu_kernel::Error>(())
//! ```

use crate::chips::Chip;
use crate::ir::{DType, Kernel};
use crate::launch::{Binding, Config, Cost, Launchable, bind, cost, numbers};
use crate::legalise::legalise;
use crate::predict::{Prediction, predict};
use crate::{Error, mosaic, passes};

/// A kernel with its configuration and element types, before any chip and any size is known.
#[derive(Clone, Debug)]
pub struct Built {
    /// As its function recorded it.
    pub recorded: Kernel,
    /// As every executor takes it: verified and canonical.
    pub kernel: Kernel,
    config: Config,
}

impl Built {
    /// Builds a kernel for inputs of these element types.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn new(launch: &dyn Launchable, inputs: &[DType]) -> Result<Built, Error> {
        let recorded = launch.stage(inputs)?;
        passes::verify(&recorded).map_err(|faults| Error::rules(&recorded, faults))?;
        let mut kernel = recorded.clone();
        passes::canonicalise(&mut kernel);
        Ok(Built { recorded, kernel, config: launch.config().clone() })
    }

    /// The kernel in operations that the chip has.
    ///
    /// # Errors
    /// It has no such form.
    pub fn legalised(&self, chip: &Chip) -> Result<Kernel, Error> {
        Ok(legalise(&self.kernel, chip)?)
    }

    /// The launch on inputs of these element types and shapes.
    ///
    /// # Errors
    /// The launch is refused.
    pub fn bind<'a>(&'a self, chip: &'a Chip, inputs: &[(DType, Vec<usize>)]) -> Result<Bound<'a>, Error> {
        let binding = bind(&self.kernel, chip, inputs, &self.config)?;
        Ok(Bound { built: self, chip, binding })
    }

    /// The same, also where the chip's rules refuse it: for looking at, not for running.
    ///
    /// # Errors
    /// The sizes do not fit each other.
    pub fn bind_unchecked<'a>(&'a self, chip: &'a Chip, inputs: &[(DType, Vec<usize>)]) -> Result<Bound<'a>, Error> {
        let binding = numbers(&self.kernel, inputs, &self.config)?;
        Ok(Bound { built: self, chip, binding })
    }
}

/// A launch on a chip.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    built: &'a Built,
    /// The chip.
    pub chip: &'a Chip,
    /// The numbers of the launch.
    pub binding: Binding,
}

impl Bound<'_> {
    /// How long the launch would take, by the model.
    ///
    /// # Errors
    /// The kernel has no form on the chip.
    pub fn predict(&self) -> Result<Prediction, Error> {
        Ok(predict(&self.built.legalised(self.chip)?, &self.binding, self.chip))
    }

    /// The arithmetic of the launch and the bytes that move.
    pub fn cost(&self) -> Cost {
        cost(&self.built.kernel, &self.binding)
    }

    /// The kernel in the language of Google's compiler.
    ///
    /// # Errors
    /// It has no form on the chip.
    pub fn mosaic(&self) -> Result<String, Error> {
        Ok(mosaic::print(&self.built.kernel, &self.binding, self.chip)?)
    }

    /// The same module with its arrays in device memory, for an estimate of the kernel alone.
    ///
    /// # Errors
    /// The kernel has no form on the chip.
    pub fn stablehlo_placed(&self) -> Result<String, Error> {
        Ok(mosaic::stablehlo_placed(&self.built.kernel, &self.binding, self.chip)?)
    }

    /// The module for that compiler.
    ///
    /// # Errors
    /// The kernel has no form on the chip.
    pub fn stablehlo(&self) -> Result<String, Error> {
        Ok(mosaic::stablehlo(&self.built.kernel, &self.binding, self.chip)?)
    }
}
