//! What a user calls to transform a kernel that `#[tpu_kernel]` made.

use super::each::{Each, function};
use super::element::Element;
use crate::exec::Checking;
use crate::ir::{DType, Loc};
use crate::launch::{Config, Cost, Launchable};
use crate::transform::{Transforms, check_pair};
use crate::{Error, launch, passes};
use std::sync::Arc;

/// The transformations of a kernel, and its cost. Each transforms what the calls before it made; one that cannot be
/// is an error of the launch (or of the registration, or the cost), with its code.
pub trait Transform: Launchable + Sized {
    #[doc(hidden)]
    fn config_mut(&mut self) -> &mut Config;

    /// The kernel over a batch: the arrays of these operands have one more dimension in front, and the kernel runs
    /// for each slice along it. Operands that are not named are the same for every slice. Every output is named.
    #[track_caller]
    fn batched<N: AsRef<str>>(mut self, operands: impl IntoIterator<Item = N>) -> Self {
        let loc = Loc::caller();
        let operands = operands.into_iter().map(|name| name.as_ref().to_string()).collect();
        transforms(&mut self).push_batch(operands, loc);
        self
    }

    /// The kernel with a function on each element that it loads from an input: `|x: Each<f32>| x * 2.0`, or a helper
    /// that is generic over the shape of its tile. The array has the element type that the function takes.
    #[track_caller]
    fn map_input<T: Element, U: Element>(mut self, operand: &str, f: impl FnOnce(Each<T>) -> Each<U>) -> Self {
        let loc = Loc::caller();
        let (kernel, function) = (self.name(), function(operand, &loc, f));
        transforms(&mut self).push_input(kernel, operand, function, loc);
        self
    }

    /// The kernel with a function on each element that it stores to an output, which it must not read back. The array
    /// has the element type that the function gives.
    #[track_caller]
    fn map_output<T: Element, U: Element>(mut self, operand: &str, f: impl FnOnce(Each<T>) -> Each<U>) -> Self {
        let loc = Loc::caller();
        let (kernel, function) = (self.name(), function(operand, &loc, f));
        transforms(&mut self).push_output(kernel, operand, function, loc);
        self
    }

    /// The kernel with the kernel that gives its gradients. That one takes operands of this one by their names, and
    /// `d_o`, the gradient of the output `o`; it gives `d_x`, the gradient of the input `x`.
    fn with_backward(mut self, backward: impl Launchable + 'static) -> Self {
        let checked = check_pair(&self, &backward);
        transforms(&mut self).pair(checked, Arc::new(backward));
        self
    }

    /// The same kernel, launched with every check: uninitialised memory, races with copies, outputs that are not written or shared by
    /// parallel steps. What the semantics leave open is drawn from the seed, and a failure says which seed replays it; 0 runs the
    /// steps in the order of the grid. Slower, and for finding mistakes: `docs/checked.md`.
    fn checked(mut self, seed: impl Into<Checking>) -> Self {
        self.config_mut().checking = Some(seed.into());
        self
    }

    /// What a launch on inputs of these element types and shapes costs. Nothing runs, and there are no arrays.
    ///
    /// # Errors
    /// A kernel that cannot be built, or inputs that it does not take.
    fn cost(&self, inputs: &[(DType, &[usize])]) -> Result<Cost, Error> {
        let types: Vec<DType> = inputs.iter().map(|(dtype, _)| *dtype).collect();
        let mut kernel = self.stage(&types)?;
        passes::canonicalise(&mut kernel);
        let inputs: Vec<(DType, Vec<usize>)> = inputs.iter().map(|(dtype, shape)| (*dtype, shape.to_vec())).collect();
        Ok(launch::cost(&kernel, &launch::numbers(&kernel, &inputs, self.config())?))
    }
}

fn transforms<K: Transform>(kernel: &mut K) -> &mut Transforms {
    &mut kernel.config_mut().transforms
}
