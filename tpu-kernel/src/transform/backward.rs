//! A kernel and its backward kernel.
//!
//! Rules: they are paired by names. A backward kernel takes any operands of its kernel (inputs, scalars,
//! outputs) and `d_o`, the gradient of an output `o`; it gives `d_x`, the gradient of an input `x`. What
//! stands for an operand has its element type and its rank. A name that a kernel has itself comes before
//! the `d_` of another.

use super::{Step, TransformError, Transforms};
use crate::Error;
use crate::ir::{DType, Kernel, Loc};
use crate::launch::{Argument, Config, Launchable, Parameters};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The backward kernel of a kernel, batched as its kernel is.
#[derive(Clone)]
pub struct Backward {
    kernel: Arc<dyn Launchable>,
    /// The kernel's own configuration, with the transformations that follow those of the forward kernel.
    config: Config,
    /// How many of the transformations are the kernel's own.
    own: usize,
}

impl Backward {
    pub(super) fn new(kernel: Arc<dyn Launchable>) -> Backward {
        let config = kernel.config().clone();
        let own = config.transforms.steps.len();
        Backward { kernel, config, own }
    }

    /// Follows the forward kernel, which is batched over these operands.
    pub(super) fn follow(&mut self, operands: &[String], loc: &Loc) {
        self.config.transforms.steps.push(Step::BatchGradients { operands: operands.to_vec(), loc: loc.clone() });
    }

    /// How many leading dimensions the gradient of that input has beyond those of the input: one for each batch
    /// that the input itself is not part of. Summed over, they give its gradient.
    pub fn extra_dims(&self, input: &str) -> usize {
        let shares =
            |step: &&Step| matches!(step, Step::BatchGradients { operands, .. } if !operands.iter().any(|name| name == input));
        self.config.transforms.steps[self.own..].iter().filter(shares).count()
    }
}

impl Launchable for Backward {
    fn name(&self) -> &'static str {
        self.kernel.name()
    }

    fn path(&self) -> &'static str {
        self.kernel.path()
    }

    fn identity(&self) -> usize {
        self.kernel.identity()
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn arguments(&self) -> Option<&'static [Argument]> {
        self.kernel.arguments()
    }

    fn outputs(&self) -> Option<&'static [Argument]> {
        self.kernel.outputs()
    }

    fn parameters(&self) -> Option<&'static Parameters> {
        self.kernel.parameters()
    }

    fn stage(&self, inputs: &[DType]) -> Result<Kernel, Error> {
        let kernel = self.kernel.stage(inputs)?;
        Ok(super::apply(kernel, &self.config.transforms.steps[self.own..])?)
    }
}

impl std::fmt::Debug for Backward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backward").field("path", &self.path()).field("config", &self.config).finish_non_exhaustive()
    }
}

/// The same kernel with the same configuration.
impl PartialEq for Backward {
    fn eq(&self, other: &Backward) -> bool {
        self.path() == other.path() && self.identity() == other.identity() && self.config == other.config
    }
}
impl Eq for Backward {}

impl Hash for Backward {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.path(), self.identity(), &self.config).hash(state);
    }
}

/// What an operand of a backward kernel stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// The operand of that name, which is an argument of the forward kernel.
    Argument(&'a str),
    /// The output of that name.
    Output(&'a str),
    /// The gradient of the output of that name.
    Gradient(&'a str),
}

/// The operands of a kernel, as far as they are declared.
struct Side<'a> {
    name: &'a str,
    arguments: Vec<Operand>,
    outputs: Vec<Operand>,
}

struct Operand {
    name: &'static str,
    scalar: bool,
    /// `None`: the arrays of a launch decide.
    dtype: Option<DType>,
    rank: usize,
    loc: Loc,
}

impl Side<'_> {
    /// What the kernel declares, with its transformations; `None` where it does not declare.
    fn of(kernel: &dyn Launchable) -> Option<Side<'_>> {
        let transforms = &kernel.config().transforms;
        let operand = |declared: &'static Argument| Operand {
            name: declared.name,
            scalar: declared.scalar,
            dtype: transforms.element_type(declared),
            rank: declared.rank + transforms.batches(declared.name),
            loc: declared.loc.clone(),
        };
        let list = |declared: &'static [Argument]| declared.iter().map(operand).collect();
        Some(Side { name: kernel.name(), arguments: list(kernel.arguments()?), outputs: list(kernel.outputs()?) })
    }

    fn gradients(operands: &[Operand]) -> impl Iterator<Item = String> {
        operands.iter().filter(|o| !o.scalar).map(|o| format!("d_{}", o.name))
    }
}

/// What an argument of the backward kernel stands for, by its name.
pub fn meaning<'a>(name: &'a str, forward: &dyn Launchable) -> Option<Meaning<'a>> {
    let named = |list: Option<&[Argument]>, name: &str| list.is_some_and(|list| list.iter().any(|a| a.name == name));
    if named(forward.arguments(), name) {
        return Some(Meaning::Argument(name));
    }
    if named(forward.outputs(), name) {
        return Some(Meaning::Output(name));
    }
    name.strip_prefix("d_").filter(|of| named(forward.outputs(), of)).map(Meaning::Gradient)
}

/// Whether the kernels fit as far as they declare; what the arrays of a launch decide is left to the launch.
pub(crate) fn check_pair(forward: &dyn Launchable, backward: &dyn Launchable) -> Result<(), TransformError> {
    let undeclared = |kernel: &dyn Launchable| TransformError::BackwardUndeclared { backward: kernel.name().to_string() };
    let ours = Side::of(forward).ok_or_else(|| undeclared(forward))?;
    let theirs = Side::of(backward).ok_or_else(|| undeclared(backward))?;
    for operand in &theirs.arguments {
        let find = |list: &'_ [Operand], name: &str| list.iter().position(|o| o.name == name);
        let of = match meaning(operand.name, forward) {
            Some(Meaning::Argument(name)) => find(&ours.arguments, name).map(|at| &ours.arguments[at]),
            Some(Meaning::Output(name) | Meaning::Gradient(name)) => find(&ours.outputs, name).map(|at| &ours.outputs[at]),
            None => None,
        };
        let Some(of) = of else {
            let own = ours.arguments.iter().chain(&ours.outputs).map(|o| o.name.to_string());
            return Err(TransformError::BackwardInput {
                forward: ours.name.to_string(),
                backward: theirs.name.to_string(),
                operand: operand.name.to_string(),
                takes: own.chain(Side::gradients(&ours.outputs)).collect(),
                loc: operand.loc.clone(),
            });
        };
        fits(&ours, of, &theirs, operand)?;
    }
    for operand in &theirs.outputs {
        let of = operand.name.strip_prefix("d_").and_then(|name| ours.arguments.iter().find(|o| !o.scalar && o.name == name));
        let Some(of) = of else {
            return Err(TransformError::BackwardOutput {
                forward: ours.name.to_string(),
                backward: theirs.name.to_string(),
                operand: operand.name.to_string(),
                gives: Side::gradients(&ours.arguments).collect(),
                loc: operand.loc.clone(),
            });
        };
        fits(&ours, of, &theirs, operand)?;
    }
    Ok(())
}

fn fits(ours: &Side<'_>, of: &Operand, theirs: &Side<'_>, operand: &Operand) -> Result<(), TransformError> {
    let (forward, backward) = (ours.name.to_string(), theirs.name.to_string());
    let (name, stands_for, loc) = (operand.name.to_string(), of.name.to_string(), operand.loc.clone());
    let text = |o: &Operand| match (o.scalar, o.dtype) {
        (false, dtype) => dtype.map_or("an array".to_string(), |d| format!("an array of {d}")),
        (true, dtype) => dtype.map_or("a scalar".to_string(), |d| format!("a scalar of {d}")),
    };
    let types_differ = matches!((of.dtype, operand.dtype), (Some(a), Some(b)) if a != b);
    if of.scalar != operand.scalar || types_differ {
        let (want, got) = (text(of), text(operand));
        return Err(TransformError::BackwardType { forward, backward, operand: name, of: stands_for, want, got, loc });
    }
    if of.rank != operand.rank {
        let (want, got) = (of.rank, operand.rank);
        return Err(TransformError::BackwardRank { forward, backward, operand: name, of: stands_for, want, got, loc });
    }
    Ok(())
}

/// Whether a gradient that a launch of the backward kernel would give fits its input. `extra` is
/// [`Backward::extra_dims`].
pub fn check_gradient(
    forward: &dyn Launchable,
    backward: &dyn Launchable,
    of: &str,
    extra: usize,
    want: (DType, &[usize]),
    got: (DType, &[usize]),
) -> Result<(), TransformError> {
    let (forward, name) = (forward.name().to_string(), backward.name().to_string());
    let (operand, of) = (format!("d_{of}"), of.to_string());
    if want.0 != got.0 {
        let declared = backward.outputs().and_then(|list| list.iter().find(|a| a.name == operand));
        let loc = declared.map_or(Loc::UNKNOWN, |a| a.loc.clone());
        let (want, got) = (format!("an array of {}", want.0), format!("an array of {}", got.0));
        return Err(TransformError::BackwardType { forward, backward: name, operand, of, want, got, loc });
    }
    if got.1.get(extra..) != Some(want.1) {
        let (want, got) = (want.1.to_vec(), got.1.to_vec());
        return Err(TransformError::GradientShape { forward, backward: name, operand, of, want, got });
    }
    Ok(())
}

impl Transforms {
    /// The kernel that gives the gradients, where there is one.
    pub fn backward(&self) -> Option<&Backward> {
        self.backward.as_deref()
    }
}
