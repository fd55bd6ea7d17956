//! Transformations: from a kernel to another kernel. Batching, fusion with functions on each element, and the
//! backward kernel that travels along.
//!
//! Rules: each is IR → IR and needs no array; the result verifies like a kernel that was written so. They are
//! part of a launch's configuration: each transforms what the ones before it made, and equal lists on one kernel
//! are one kernel to a runtime's cache. Where the user asked for one is no part of it.

mod backward;
mod batch;
mod bounds;
mod error;
mod function;
mod fuse;

pub(crate) use backward::check_pair;
pub use backward::{Backward, Meaning, check_gradient, meaning};
pub use batch::batch;
pub use bounds::{ReadInMap, by_scalars};
pub use error::TransformError;
pub use function::Function;
pub(crate) use function::one_element;
pub use fuse::{fuse_input, fuse_output};

use crate::Error;
use crate::ir::{DType, Kernel, Loc};
use crate::launch::{Argument, LaunchError, Launchable};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The transformations of a launch.
#[derive(Clone, Debug, Default)]
pub struct Transforms {
    steps: Vec<Step>,
    backward: Option<Arc<Backward>>,
    /// The first one that cannot be: shown when the kernel is built.
    fault: Option<Arc<Error>>,
}

/// One transformation, with the place where the user asked for it.
#[derive(Clone, Debug)]
enum Step {
    /// A leading dimension of these operands.
    Batch { operands: Vec<String>, loc: Loc },
    /// Of a backward kernel whose forward kernel has a leading dimension of these operands: of the same
    /// ones, and of all gradients.
    BatchGradients { operands: Vec<String>, loc: Loc },
    /// A function on each element of an input.
    Input { operand: String, function: Arc<Function>, loc: Loc },
    /// A function on each element of an output.
    Output { operand: String, function: Arc<Function>, loc: Loc },
}

/// What tells steps apart: all but the places.
type Key<'a> = (u8, &'a [String], Option<(&'a str, &'a Function)>);

impl Step {
    fn key(&self) -> Key<'_> {
        match self {
            Step::Batch { operands, .. } => (0, operands, None),
            Step::BatchGradients { operands, .. } => (1, operands, None),
            Step::Input { operand, function, .. } => (2, &[], Some((operand, function))),
            Step::Output { operand, function, .. } => (3, &[], Some((operand, function))),
        }
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Step) -> bool {
        self.key() == other.key()
    }
}

impl PartialEq for Transforms {
    fn eq(&self, other: &Transforms) -> bool {
        self.same_kernel(other) && self.backward == other.backward
    }
}
impl Eq for Transforms {}

impl Hash for Transforms {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for step in &self.steps {
            step.key().hash(state);
        }
    }
}

impl Transforms {
    /// Whether both make one kernel of one kernel; backward kernels aside.
    pub fn same_kernel(&self, other: &Transforms) -> bool {
        self.steps == other.steps && self.fault == other.fault
    }

    /// These transformations without the backward kernel.
    pub fn forward(&self) -> Transforms {
        Transforms { backward: None, ..self.clone() }
    }

    /// The first transformation that cannot be, for whatever arrays.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_deref()
    }

    /// Keeps the first error.
    fn refuse(&mut self, error: impl Into<Error>) {
        self.fault.get_or_insert_with(|| Arc::new(error.into()));
    }

    pub(crate) fn push_batch(&mut self, operands: Vec<String>, loc: Loc) {
        if let Some(backward) = &mut self.backward {
            Arc::make_mut(backward).follow(&operands, &loc);
        }
        self.steps.push(Step::Batch { operands, loc });
    }

    pub(crate) fn push_input(&mut self, kernel: &str, operand: &str, function: Result<Function, Error>, loc: Loc) {
        let make = |operand, function, loc| Step::Input { operand, function, loc };
        self.push_function(kernel, operand, function, loc, make);
    }

    pub(crate) fn push_output(&mut self, kernel: &str, operand: &str, function: Result<Function, Error>, loc: Loc) {
        let make = |operand, function, loc| Step::Output { operand, function, loc };
        self.push_function(kernel, operand, function, loc, make);
    }

    /// Adds a function, unless there is a backward kernel of what was there before.
    fn push_function(
        &mut self,
        kernel: &str,
        operand: &str,
        function: Result<Function, Error>,
        loc: Loc,
        make: fn(String, Arc<Function>, Loc) -> Step,
    ) {
        let operand = operand.to_string();
        match function {
            _ if self.backward.is_some() => {
                self.refuse(TransformError::FusedAfterBackward { kernel: kernel.to_string(), operand, loc });
            }
            Ok(function) => self.steps.push(make(operand, Arc::new(function), loc)),
            Err(error) => self.refuse(error),
        }
    }

    pub(crate) fn pair(&mut self, checked: Result<(), TransformError>, backward: Arc<dyn Launchable>) {
        if let Some(fault) = backward.config().transforms.fault() {
            self.refuse(fault.clone());
        }
        match checked {
            Ok(()) => self.backward = Some(Arc::new(Backward::new(backward))),
            Err(error) => self.refuse(error),
        }
    }

    /// How many leading dimensions the operand has gained.
    fn batches(&self, operand: &str) -> usize {
        let names = |step: &&Step| matches!(step, Step::Batch { operands, .. } if operands.iter().any(|name| name == operand));
        self.steps.iter().filter(names).count()
    }

    /// The element type of a declared operand's array: what the last function on it takes or gives.
    pub fn element_type(&self, declared: &Argument) -> Option<DType> {
        let of = |step: &Step| match step {
            Step::Input { operand, function, .. } if operand == declared.name => Some(function.input()),
            Step::Output { operand, function, .. } if operand == declared.name => Some(function.output()),
            _ => None,
        };
        self.steps.iter().rev().find_map(of).or(declared.dtype)
    }

    /// The element types that the kernel itself sees, of those of the arrays; both in the order of the inputs, whose
    /// names and places are given.
    pub(crate) fn inner_types(&self, inputs: &[(&str, &Loc)], arrays: &[DType]) -> Result<Vec<DType>, Error> {
        let mut types = arrays.to_vec();
        for (&(name, declared), dtype) in inputs.iter().zip(&mut types) {
            // The function nearer to the array, and its place.
            let mut outer: Option<&Loc> = None;
            for step in self.steps.iter().rev() {
                let Step::Input { operand, function, loc } = step else { continue };
                if operand != name {
                    continue;
                }
                let (want, got) = (function.input(), *dtype);
                if want != got {
                    let (operand, want) = (name.to_string(), format!("{want}, as the function on it does"));
                    return Err(match outer {
                        None => LaunchError::ElementType { operand, want, got, loc: declared.clone() }.into(),
                        Some(loc) => {
                            let want = format!("{}, as the next function does", function.input());
                            TransformError::FunctionGives { operand, want, got, loc: loc.clone() }.into()
                        }
                    });
                }
                *dtype = function.output();
                outer = Some(loc);
            }
        }
        Ok(types)
    }

    /// The error that the innermost function on that input gives what the kernel does not take, where there is one.
    pub(crate) fn gives(&self, name: &str, want: &str) -> Option<TransformError> {
        self.steps.iter().find_map(|step| match step {
            Step::Input { operand, function, loc } if operand == name => Some(TransformError::FunctionGives {
                operand: operand.clone(),
                want: want.to_string(),
                got: function.output(),
                loc: loc.clone(),
            }),
            _ => None,
        })
    }

    /// The kernel that these transformations make of `kernel`.
    pub fn apply(&self, kernel: Kernel) -> Result<Kernel, Error> {
        match &self.fault {
            Some(fault) => Err((**fault).clone()),
            None => Ok(apply(kernel, &self.steps)?),
        }
    }
}

fn apply(kernel: Kernel, steps: &[Step]) -> Result<Kernel, TransformError> {
    steps.iter().try_fold(kernel, |kernel, step| match step {
        Step::Batch { operands, loc } => batch(kernel, operands, loc),
        Step::BatchGradients { operands, loc } => {
            let named = |name: &str| operands.iter().any(|operand| operand == name);
            let gradient = |name: &str| name.strip_prefix("d_").is_some_and(named);
            let windows = kernel.params.iter().filter(|p| p.window().is_some());
            let batched = windows.filter(|p| p.is_output() || named(&p.name) || gradient(&p.name));
            let batched: Vec<String> = batched.map(|p| p.name.clone()).collect();
            batch(kernel, &batched, loc)
        }
        Step::Input { operand, function, loc } => fuse_input(kernel, operand, function, loc),
        Step::Output { operand, function, loc } => fuse_output(kernel, operand, function, loc),
    })
}
