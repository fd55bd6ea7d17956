//! From CLIF to machine code in memory.
//!
//! Rules: `opt_level` is none, because the emitter hoists, merges and interleaves itself and the optimiser
//! would undo the interleaving; code has no relocations; memory of code is freed with the [`Code`].

use super::body::{Body, PlanSummary, Tables};
use super::code::{self, Features};
use super::context::Entry;
use super::plan::Plan;
use super::schedule::FRAME;
use super::site::Site;
use crate::ir::Kernel;
use cranelift::codegen::ir::Function;
use cranelift::codegen::isa::OwnedTargetIsa;
use cranelift::prelude::*;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

/// The machine code of a kernel.
pub(super) struct Code {
    /// Writes the block indices of every window for the running step.
    pub maps: Entry,
    /// Runs one step.
    pub body: Entry,
    module: ManuallyDrop<JITModule>,
}

// SAFETY: after compilation the module is never touched until it is dropped; the code it owns is immutable.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here.
        let module = unsafe { ManuallyDrop::take(&mut self.module) };
        // SAFETY: the entries are private to this crate and called only through a borrow of the executable
        // that owns this value, so no call is running and none can follow.
        unsafe { module.free_memory() }
    }
}

/// What compilation gives.
pub(super) struct Compiled {
    pub code: Code,
    pub tables: Tables,
    /// Those of the index maps.
    pub map_sites: Vec<Site>,
    pub summary: PlanSummary,
}

fn isa() -> Result<OwnedTargetIsa, String> {
    static ISA: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    let make = || {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "none"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
            ("is_pic", "false"),
            ("probestack_strategy", "inline"),
            ("unwind_info", "false"),
        ] {
            flags.set(name, value).map_err(|e| e.to_string())?;
        }
        let builder = cranelift_native::builder().map_err(|e| e.to_string())?;
        builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
    };
    ISA.get_or_init(make).clone()
}

/// What this processor has.
pub(super) fn features() -> Features {
    #[cfg(target_arch = "x86_64")]
    {
        Features { fused: std::arch::is_x86_feature_detected!("fma"), rounds: std::arch::is_x86_feature_detected!("sse4.1") }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        Features { fused: true, rounds: true }
    }
}

fn signature(isa: &OwnedTargetIsa) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// Fills `function` through a builder.
fn build<R>(
    isa: &OwnedTargetIsa,
    features: Features,
    function: &mut Function,
    emit: impl FnOnce(code::Code<'_>) -> Result<R, String>,
) -> Result<R, String> {
    function.signature = signature(isa);
    let mut context = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(function, &mut context);
    emit(code::Code::new(builder, features))
}

fn build_maps(
    isa: &OwnedTargetIsa,
    features: Features,
    kernel: &Kernel,
    plan: &Plan<'_>,
    watched: &[bool],
    function: &mut Function,
) -> Result<Vec<Site>, String> {
    build(isa, features, function, |code| {
        let (code, sites) = Body::new(code, kernel, plan).emit_maps(watched)?;
        code.finish(&**isa);
        Ok(sites)
    })
}

fn build_body(
    isa: &OwnedTargetIsa,
    features: Features,
    kernel: &Kernel,
    plan: &Plan<'_>,
    watched: &[bool],
    function: &mut Function,
) -> Result<(Tables, PlanSummary), String> {
    build(isa, features, function, |code| {
        let (code, tables, summary) = Body::new(code, kernel, plan).emit_body(watched)?;
        code.finish(&**isa);
        Ok((tables, summary))
    })
}

/// Compiles a verified kernel for a processor with these instructions. Accesses of the memories that are `watched`, by number, are
/// told to the launch.
pub(super) fn compile(kernel: &Kernel, features: Features, watched: &[bool]) -> Result<Compiled, String> {
    let isa = isa()?;
    let plan = Plan::new(kernel);
    let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
    let compiled = define(&isa, features, kernel, &plan, watched, &mut module);
    match compiled {
        Ok((maps, body, tables, map_sites, summary)) => {
            // SAFETY: both were compiled with the signature of `Entry` and its calling convention.
            let [maps, body] =
                [maps, body].map(|id| unsafe { std::mem::transmute::<*const u8, Entry>(module.get_finalized_function(id)) });
            Ok(Compiled { code: Code { maps, body, module: ManuallyDrop::new(module) }, tables, map_sites, summary })
        }
        Err(reason) => {
            // SAFETY: no address of the module's code was given out.
            unsafe { module.free_memory() };
            Err(reason)
        }
    }
}

type Defined = (FuncId, FuncId, Tables, Vec<Site>, PlanSummary);

fn define(
    isa: &OwnedTargetIsa,
    features: Features,
    kernel: &Kernel,
    plan: &Plan<'_>,
    watched: &[bool],
    module: &mut JITModule,
) -> Result<Defined, String> {
    let mut context = module.make_context();
    let map_sites = build_maps(isa, features, kernel, plan, watched, &mut context.func)?;
    let maps = add(isa, module, &mut context, "maps")?;
    let (tables, summary) = build_body(isa, features, kernel, plan, watched, &mut context.func)?;
    let body = add(isa, module, &mut context, "body")?;
    module.finalize_definitions().map_err(|e| e.to_string())?;
    Ok((maps, body, tables, map_sites, summary))
}

fn add(isa: &OwnedTargetIsa, module: &mut JITModule, context: &mut codegen::Context, name: &str) -> Result<FuncId, String> {
    let id = module.declare_function(name, Linkage::Export, &signature(isa)).map_err(|e| e.to_string())?;
    module.define_function(id, context).map_err(|e| format!("{e:?}"))?;
    let relocations = context.compiled_code().map_or(0, |code| code.buffer.relocs().len());
    if relocations != 0 {
        return Err(format!("the code of `{name}` needs {relocations} addresses of its own"));
    }
    // It may run on a fiber, and a stack that overflows ends the process.
    let frame = context.compiled_code().and_then(|code| code.buffer.frame_layout()).map_or(0, |frame| frame.frame_to_fp_offset);
    if frame as usize > FRAME {
        return Err(format!("the code of `{name}` holds too many values at a time: {frame} bytes of them, of {FRAME}"));
    }
    module.clear_context(context);
    Ok(id)
}

/// The CLIF of both functions.
pub(super) fn text(kernel: &Kernel) -> Result<String, String> {
    let isa = isa()?;
    let plan = Plan::new(kernel);
    let [mut maps, mut body] = [Function::new(), Function::new()];
    build_maps(&isa, features(), kernel, &plan, &[], &mut maps)?;
    build_body(&isa, features(), kernel, &plan, &[], &mut body)?;
    Ok(format!("{maps}\n{body}"))
}

/// The machine code of both functions, as text.
pub(super) fn assembly(kernel: &Kernel) -> Result<String, String> {
    let isa = isa()?;
    let plan = Plan::new(kernel);
    let mut context = codegen::Context::new();
    let mut text = String::new();
    for name in ["maps", "body"] {
        context.clear();
        context.set_disasm(true);
        match name {
            "maps" => drop(build_maps(&isa, features(), kernel, &plan, &[], &mut context.func)?),
            _ => drop(build_body(&isa, features(), kernel, &plan, &[], &mut context.func)?),
        }
        let code = context.compile(&*isa, &mut Default::default()).map_err(|e| format!("{:?}", e.inner))?;
        let listing = code.vcode.as_deref().unwrap_or_default();
        text.push_str(&format!("{name}: ; {} bytes of {} code\n{listing}\n", code.code_buffer().len(), isa.triple().architecture));
    }
    Ok(text)
}
