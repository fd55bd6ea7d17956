//! The Cranelift executor: a kernel as machine code, run over its grid.
//!
//! Data flows downwards: `plan` decides which tiles live in memory; `body` and `control` emit regions,
//! `nest` and `loops` the fused loops, `lane` single operations, `dot` and `tile` calls of functions compiled ahead, for which
//! `widen` has put casts; `jit` makes code of it; `driver`,
//! `window` and `launch` run it step by step. Compiled code reaches everything through the table in `context`.
//!
//! Rules: unsafe code is in `crew`, `jit`, `memory`, `movement`, `mesh`, `schedule`, `window`, `launch` and `driver`; no kernel that the verifier has not seen is
//! compiled; compiled code touches the table, the arena, and windows that the driver has checked.

mod body;
pub mod checked;
mod code;
mod context;
mod control;
mod cost;
mod crew;
mod dot;
mod driver;
mod fetch;
mod jit;
mod lane;
mod launch;
mod loops;
mod map;
mod math;
mod mem;
mod memory;
mod mesh;
mod movement;
mod nest;
mod plan;
mod reach;
mod reduce;
mod schedule;
mod scoped;
mod semaphore;
mod site;
mod stream;
mod tile;
mod watch;
mod widen;
mod window;

#[cfg(test)]
mod tests;

use crate::exec::{Args, RunError};
use crate::ir::{Kernel, Roots};
use crate::launch::{Binding, split};
use crate::{Error, passes};
pub use body::PlanSummary;
use body::Tables;
use code::Features;
use driver::Driver;
use jit::Code;
use memory::Pool;
use site::Site;
use window::Windows;

/// A compiled kernel. May run in several threads at once.
#[derive(Debug)]
pub struct Executable {
    kernel: Kernel,
    code: Code,
    tables: Tables,
    map_sites: Vec<Site>,
    summary: PlanSummary,
    windows: Windows,
    /// Whether it shows when blocks of inputs are fetched: what they are made from changes.
    ahead: bool,
    pool: Pool,
}

impl Executable {
    /// Compiles a kernel, for any array sizes.
    ///
    /// # Errors
    /// [`Error::Build`] where the verifier finds faults, [`Error::Compile`] where the code generator or the
    /// host refuses.
    pub fn compile(kernel: &Kernel) -> Result<Executable, Error> {
        Self::compile_for(kernel, jit::features())
    }

    /// Compiles for a processor with these instructions.
    fn compile_for(kernel: &Kernel, features: Features) -> Result<Executable, Error> {
        let refuse = |reason: String| Error::Compile { kernel: kernel.name.clone(), reason };
        if let Err(faults) = passes::verify(kernel) {
            return Err(Error::rules(kernel, faults));
        }
        let kernel = &widen::widen(kernel);
        Self::compile_watching(kernel, features, &[]).map_err(refuse)
    }

    /// Compiles a kernel that verifies and is widened. Accesses of the memories that are `watched`, by number, are told to the launch,
    /// and where there are any, each window has memory of its own.
    fn compile_watching(kernel: &Kernel, features: Features, watched: &[bool]) -> Result<Executable, String> {
        let compiled = jit::compile(kernel, features, watched)?;
        let (ahead, direct) = (Roots::of(kernel).changes_inputs(kernel), watched.is_empty());
        let windows = Windows::new(kernel, compiled.summary.arena_bytes, ahead, direct);
        let windows = windows.ok_or("its windows are too large")?;
        Ok(Executable {
            kernel: kernel.clone(),
            code: compiled.code,
            tables: compiled.tables,
            map_sites: compiled.map_sites,
            summary: compiled.summary,
            windows,
            ahead,
            pool: Pool::default(),
        })
    }

    /// Runs the kernel over the grid of a launch.
    ///
    /// # Errors
    /// Where the launch or the arrays do not fit the kernel, nothing has been written; where a step fails,
    /// the effects of earlier steps remain.
    pub fn run(&self, binding: &Binding, args: &mut Args<'_, '_>) -> Result<(), RunError> {
        let split = split(&self.kernel, binding);
        if split.parts.len() > 1 && self.kernel.is_side_by_side() {
            return mesh::run(self, binding, std::slice::from_mut(args), 0);
        }
        Driver::new(self, binding, args)?.run(&split)
    }

    /// Runs the kernel on several devices at once: `devices` has the arrays of each, of one binding. The order in which they run is
    /// drawn from the seed; each goes on until it must wait, with seed 0, and else also stops where it has signalled or copied.
    ///
    /// # Errors
    /// The first error of a device, which ends the others; or that all of them wait, and for what.
    pub fn run_mesh(&self, binding: &Binding, devices: &mut [Args<'_, '_>], seed: u64) -> Result<(), RunError> {
        mesh::run(self, binding, devices, seed)
    }

    /// What the plan came to.
    pub fn plan_summary(&self) -> PlanSummary {
        self.summary
    }

    /// The intermediate code of a kernel: its index maps and its body.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn clif(kernel: &Kernel) -> Result<String, Error> {
        passes::verify(kernel).map_err(|faults| Error::rules(kernel, faults))?;
        jit::text(&widen::widen(kernel)).map_err(|reason| Error::Compile { kernel: kernel.name.clone(), reason })
    }

    /// The machine code of a kernel for this processor, as text: its index maps and its body.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn assembly(kernel: &Kernel) -> Result<String, Error> {
        passes::verify(kernel).map_err(|faults| Error::rules(kernel, faults))?;
        jit::assembly(&widen::widen(kernel)).map_err(|reason| Error::Compile { kernel: kernel.name.clone(), reason })
    }
}
