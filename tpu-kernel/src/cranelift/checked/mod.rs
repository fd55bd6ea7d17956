//! Checked execution: the same lowering with hooks, on a kernel that also computes which of its elements are poison.
//!
//! Data flows downwards: `several` runs devices and cores side by side, `run` walks the grid of one, with `blocks` of its windows and
//! `known` of its memory; `hooks` are what compiled code calls, `watch` and `flight` (of copies) what they ask; `memory`, `region`,
//! `touched`, `clocks` and `outputs` keep what is known, `order` and `garbage` draw from the seed. `docs/checked.md` says what is found.

mod blocks;
mod clocks;
mod flight;
mod garbage;
mod hooks;
mod known;
mod memory;
mod order;
mod outputs;
mod region;
mod run;
mod several;
mod touched;
mod watch;

use super::site::{ReachSite, Site};
use super::{Executable, body, jit, plan, widen};
use crate::exec::{Args, Checking, RunError};
use crate::ir::{DType, Kernel, Type};
use crate::launch::Binding;
use crate::passes::poison::{Tracked, track};
use crate::{Error, passes};
pub(super) use order::Random;
pub(crate) use watch::Watched;

/// A kernel compiled to be checked while it runs. May run in several threads at once.
#[derive(Debug)]
pub struct CheckedExecutable {
    exe: Executable,
    /// How many operands are the kernel's own; behind them is the memory that says what is poison.
    operands: usize,
    /// Memories by number.
    roots: Vec<Root>,
}

/// What is known of a memory before a launch.
#[derive(Clone, Debug)]
struct Root {
    name: String,
    dtype: DType,
    /// Of an array: empty.
    shape: Vec<usize>,
    /// The operand that it is.
    param: Option<usize>,
    /// The memory that says which of its elements are poison.
    shadow: Option<usize>,
}

impl CheckedExecutable {
    /// Compiles a kernel, for any array sizes.
    ///
    /// # Errors
    /// [`Error::Build`] where the verifier finds faults, [`Error::Compile`] where the code generator or the
    /// host refuses.
    pub fn compile(kernel: &Kernel) -> Result<CheckedExecutable, Error> {
        let refuse = |reason: String| Error::Compile { kernel: kernel.name.clone(), reason };
        if let Err(faults) = passes::verify(kernel) {
            return Err(Error::rules(kernel, faults));
        }
        let tracked = track(kernel);
        let widened = widen::widen(&tracked.kernel);
        let roots = roots(&widened, &tracked);
        let of_poison: Vec<usize> = roots.iter().filter_map(|root| root.shadow).collect();
        let watched: Vec<bool> = (0..roots.len()).map(|number| !of_poison.contains(&number)).collect();
        let mut exe = Executable::compile_watching(&widened, jit::features(), &watched).map_err(refuse)?;
        // A start outside a memory is outside its shadow, which is looked at first.
        let name = |shadow: &str| {
            let own = roots.iter().find(|root| root.shadow.is_some_and(|number| roots[number].name == shadow));
            own.map(|root| root.name.clone())
        };
        for site in &mut exe.tables.sites {
            if let Site::Start { operand, .. } | Site::Reach(ReachSite { operand, .. }) = site {
                *operand = name(operand).unwrap_or_else(|| std::mem::take(operand));
            }
        }
        Ok(CheckedExecutable { exe, operands: kernel.params.len(), roots })
    }

    /// Runs the kernel over the grid of a launch, checked.
    ///
    /// # Errors
    /// As [`Executable::run`], and what the checks find.
    pub fn run(&self, binding: &Binding, args: &mut Args<'_, '_>, checking: Checking) -> Result<(), RunError> {
        run::run(self, binding, args, checking)
    }
}

impl CheckedExecutable {
    /// Runs the kernel on several devices at once, checked: `devices` has the arrays of each, of one binding. Devices, the moments of
    /// copies and signals, and how far one comes before another are drawn from the seed. Where the kernel has a barrier, each device
    /// runs it twice in a row, as a second launch would follow the first, into arrays that are not kept.
    ///
    /// # Errors
    /// As [`Executable::run_mesh`], and what the checks find.
    pub fn run_mesh(&self, binding: &Binding, devices: &mut [Args<'_, '_>], checking: Checking) -> Result<(), RunError> {
        several::run(self, binding, devices, checking)
    }
}

/// Memories by number: operands, then the memory of regions.
fn roots(kernel: &Kernel, tracked: &Tracked) -> Vec<Root> {
    let numbers = plan::numbers(kernel);
    let mut roots: Vec<Option<Root>> = vec![None; numbers.len()];
    for (&value, &number) in &numbers {
        let ty = kernel.ty(value);
        let param = kernel.param_of(value);
        roots[number] = Some(Root {
            name: param.map_or(body::OWN.to_string(), |(_, param)| param.name.clone()),
            dtype: if matches!(ty, Type::Semaphore(..)) { DType::I32 } else { ty.dtype() },
            shape: if ty.is_ref() { ty.shape().dims().to_vec() } else { vec![] },
            param: param.map(|(at, _)| at),
            shadow: tracked.shadows.get(&value).and_then(|shadow| numbers.get(shadow).copied()),
        });
    }
    roots.into_iter().flatten().collect()
}
