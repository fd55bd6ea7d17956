//! The module of one kernel: `@main` with its attributes, and an index map a window.
//!
//! Rules: arguments of `@main` are the grid indices, the scalars, the prefetched arrays, the inputs, the outputs and the
//! scratch; index maps take the first three. A whole array has no window. A kernel without a grid is one step. A squeezed dimension is 1 in the window. Where one
//! dimension of a window counts in elements, all do.

use super::bounded::program;
use super::control;
use super::function::{Function, element, location, spelled};
use super::memory::memref;
use crate::chips::Chip;
use crate::ir::{BlockDim, Kernel, Param, ParamKind, Pipelining, Revisit, Semantics, SemaphoreKind, Type, Value, Window};
use crate::launch::{Binding, apart};
use crate::legalise::memory::place::held;
use crate::legalise::memory::unchanged::drop_last_unchanged;
use crate::legalise::memory::windows::{by_elements, starts};
use crate::legalise::{Illegal, Rule, legalise};
use std::collections::HashSet;

/// The Mosaic text of a verified kernel for one binding.
pub fn print(kernel: &Kernel, binding: &Binding, chip: &Chip) -> Result<String, Illegal> {
    let (kernel, binding) = program(kernel, binding, chip)?;
    let binding = &*binding;
    let mut legal = legalise(&kernel, chip)?;
    drop_last_unchanged(&mut legal);
    let kernel = &legal;
    if binding.grid.contains(&0) {
        return Err(whole(kernel, chip, "an array is empty: the grid has no step, and there is nothing to compile"));
    }
    if binding.grid.len() != kernel.grid.len() || binding.arrays.len() != kernel.params.len() {
        return Err(whole(kernel, chip, "the binding is of another kernel: the numbers of grid dimensions or operands differ"));
    }
    let mut names = Names::default();
    let grid: Vec<String> = if kernel.grid.is_empty() {
        vec![names.value("step")]
    } else {
        kernel.grid.iter().map(|dim| names.value(&dim.name)).collect()
    };
    let operands = operands(kernel, binding, &mut names);

    let mut main = Function::new(kernel, binding, chip, grid.clone());
    let mut args: Vec<String> = grid.iter().map(|name| format!("{name}: i32")).collect();
    for operand in operands.iter().filter(|o| !o.is_barrier()) {
        args.push(format!("{}: {}{}", operand.name, operand.memory, location(&operand.param.loc)));
        if !operand.param.ty.is_scalar() {
            main.define(operand.value, operand.name.clone());
        }
    }
    for operand in operands.iter().filter(|o| o.param.ty.is_scalar()) {
        main.at(&operand.param.loc);
        let value = main.scalar(&operand.name, &operand.memory);
        main.define(operand.value, value);
    }
    for operand in operands.iter().filter(|o| o.is_barrier()) {
        main.at(&operand.param.loc);
        let name = main.emit(format!("\"tpu.sem_barrier\"() : () -> {}", operand.memory));
        main.define(operand.value, name);
    }
    main.ops(&kernel.body)?;

    let mut text = format!("module {{\n  func.func @main(\n    {}\n  ) attributes {{\n", args.join(",\n    "));
    text.push_str(&attributes(kernel, binding, &operands));
    text.push_str("  } {\n");
    text.push_str(&main.finish());
    text.push_str("    return\n  }\n");
    for operand in &operands {
        if let Some(window) = operand.param.window() {
            text.push_str(&index_map((kernel, binding, chip), &grid, &operands, operand, window)?);
        }
    }
    text.push_str("}\n");
    Ok(text)
}

fn whole(kernel: &Kernel, chip: &Chip, reason: &'static str) -> Illegal {
    Illegal { chip: chip.name, at: kernel.name.clone(), rule: Rule::Binding(reason), loc: kernel.loc.clone() }
}

/// An operand with what stands for it in the text.
struct Operand<'a> {
    param: &'a Param,
    value: Value,
    /// `%x`
    name: String,
    /// `@map_x`
    map: String,
    memory: String,
}

impl Operand<'_> {
    /// Whether it is the device's barrier semaphore, which no argument stands for.
    fn is_barrier(&self) -> bool {
        matches!(self.param.ty, Type::Semaphore(SemaphoreKind::Barrier(_), _))
    }

    /// Whether it is in scalar memory before the grid starts, so that index maps take it.
    fn prefetched(&self) -> bool {
        self.param.ty.is_scalar() || matches!(self.param.kind, ParamKind::Prefetch(_))
    }
}

/// The operands in the order of the arguments.
fn operands<'a>(kernel: &'a Kernel, binding: &Binding, names: &mut Names) -> Vec<Operand<'a>> {
    let order = |param: &Param| match param.kind {
        ParamKind::Scalar => 0,
        ParamKind::Prefetch(_) => 1,
        ParamKind::In(_) | ParamKind::InArray(_) => 2,
        ParamKind::Out(_) | ParamKind::OutArray(_) => 3,
        ParamKind::Scratch => 4,
    };
    let mut operands = vec![];
    for (at, (param, &value)) in kernel.params.iter().zip(&kernel.body.args).enumerate() {
        let memory = match param.ty {
            Type::Scalar(dtype) => format!("memref<1x{}, #tpu.memory_space<smem>>", element(param.ty, dtype)),
            Type::Array(place, dtype, _) => {
                let extents: Vec<(usize, bool)> = binding.arrays[at].iter().map(|&n| (n, false)).collect();
                memref(place, dtype, &extents)
            }
            Type::Ref(place, dtype, _) => memref(place, dtype, &held(param)),
            ty => spelled(ty),
        };
        let name = names.value(&param.name);
        operands.push(Operand { param, value, map: format!("@map_{}", &name[1..]), name, memory });
    }
    operands.sort_by_key(|o| order(o.param));
    operands
}

fn attributes(kernel: &Kernel, binding: &Binding, operands: &[Operand<'_>]) -> String {
    let semantics: Vec<String> = match kernel.grid.as_slice() {
        [] => vec!["#tpu.dimension_semantics<arbitrary>".to_string()],
        grid => {
            let semantics = grid.iter().enumerate().map(|(axis, dim)| match dim.semantics {
                Semantics::Parallel if !apart(kernel, axis) => Semantics::Arbitrary,
                semantics => semantics,
            });
            semantics.map(|s| format!("#tpu.dimension_semantics<{}>", s.name())).collect()
        }
    };
    let bounds = match binding.grid.as_slice() {
        [] => "1".to_string(),
        // MLIR's mark of an extent that an operand of the call brings.
        grid => control::commas(&grid.iter().enumerate().map(|(axis, &n)| bound(kernel, axis, n)).collect::<Vec<i64>>()),
    };
    let count = |test: fn(&Operand<'_>) -> bool| operands.iter().filter(|o| test(o)).count();
    let windows: Vec<String> = operands
        .iter()
        .filter_map(|o| {
            if matches!(o.param.kind, ParamKind::InArray(_) | ParamKind::OutArray(_)) {
                return Some("      {}".to_string());
            }
            let block: Vec<usize> = o.param.window()?.block.iter().map(|b| b.size()).collect();
            let bounds = control::commas(&block);
            let kind = o.param.window().and_then(element_window).unwrap_or_default();
            let pipeline = pipeline(o.param.window()?.pipelining);
            Some(format!("      {{transform_indices = {}, window_bounds = array<i64: {bounds}>{kind}{pipeline}}}", o.map))
        })
        .collect();
    let windows = if windows.is_empty() { "[]".to_string() } else { format!("[\n{}\n    ]", windows.join(",\n")) };
    format!(
        "    dimension_semantics = [{}],\n    iteration_bounds = array<i64: {bounds}>,\n    scalar_prefetch = {} : i64,\n    scratch_operands = {} : i64,\n    window_params = {windows}\n",
        semantics.join(", "),
        count(|o| o.prefetched()),
        count(|o| o.param.kind == ParamKind::Scratch && !o.is_barrier()),
    )
}

/// The kind of a window with an element dimension; what lies before the array is in the padded array.
fn element_window(window: &Window) -> Option<String> {
    let high = |b: &BlockDim| match *b {
        BlockDim::Element { high, .. } => high,
        BlockDim::Blocked(_) | BlockDim::Squeezed => 0,
    };
    let high: Vec<usize> = window.block.iter().map(high).collect();
    let (low, high) = (control::commas(&vec![0; high.len()]), control::commas(&high));
    by_elements(window).then(|| format!(", window_kind = #tpu.element_window<[{low}], [{high}]>"))
}

fn bound(kernel: &Kernel, axis: usize, extent: i32) -> i64 {
    if kernel.is_dynamic(axis) { i64::MIN } else { i64::from(extent) }
}

/// How the blocks of a window come and go, where the kernel says it.
fn pipeline(pipelining: Pipelining) -> String {
    let mode = if pipelining.depth() == 1 { "synchronous" } else { "double_buffered" };
    let said = pipelining.buffers.is_some() || pipelining.depth() == 1;
    let mut text = if said { format!(", pipeline_mode = #tpu.pipeline_mode<{mode}>") } else { String::new() };
    if pipelining.revisit == Revisit::Any {
        text.push_str(", revisit_mode = #tpu.revisit_mode<any>");
    }
    text
}

/// The first element along each dimension.
fn first_elements(function: &mut Function<'_>, window: &Window) -> Vec<String> {
    let mut names = vec![];
    for (&block, start) in window.block.iter().zip(starts(window)) {
        let mut name = function.name(start.from);
        let (by, with) = match block {
            BlockDim::Element { .. } => ("arith.addi", start.add),
            BlockDim::Blocked(size) => ("arith.muli", i32::try_from(size).unwrap_or(i32::MAX)),
            BlockDim::Squeezed => ("arith.muli", 1),
        };
        if with != i32::from(by == "arith.muli") {
            let with = function.constant(format!("{with} : i32"));
            name = function.emit(format!("{by} {name}, {with} : i32"));
        }
        names.push(name);
    }
    names
}

fn index_map(
    (kernel, binding, chip): (&Kernel, &Binding, &Chip),
    grid: &[String],
    operands: &[Operand<'_>],
    operand: &Operand<'_>,
    window: &Window,
) -> Result<String, Illegal> {
    let mut function = Function::new(kernel, binding, chip, grid.to_vec());
    // A kernel without a grid has no index, but its text has one.
    let (indices, arrays) = window.map.args.split_at(kernel.grid.len().min(window.map.args.len()));
    for (&arg, name) in indices.iter().zip(grid) {
        function.define(arg, name.clone());
    }
    let prefetched = operands.iter().filter(|o| matches!(o.param.kind, ParamKind::Prefetch(_)));
    for (&arg, operand) in arrays.iter().zip(prefetched) {
        function.define(arg, operand.name.clone());
        function.arrays.insert(arg, operand.value);
    }
    function.ops(&window.map)?;
    let indices: Vec<String> = match by_elements(window) {
        true => first_elements(&mut function, window),
        false => window.map.yields.iter().map(|&v| function.name(v)).collect(),
    };
    let types = vec!["i32"; indices.len()].join(", ");
    let mut args: Vec<String> = grid.iter().map(|name| format!("{name}: i32")).collect();
    args.extend(operands.iter().filter(|o| o.prefetched()).map(|o| format!("{}: {}", o.name, o.memory)));
    let returned = if indices.is_empty() { String::new() } else { format!(" {} : {types}", indices.join(", ")) };
    Ok(format!(
        "  func.func {}({}) -> ({types}) {{\n{}    return{returned}\n  }}\n",
        operand.map,
        args.join(", "),
        function.finish()
    ))
}

/// Names of values that are unique and that MLIR reads.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
}

impl Names {
    fn value(&mut self, wanted: &str) -> String {
        let clean: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        // Numbers, `c0` and `cst_0` are the text's own names.
        let own = |s: &str| s.starts_with("cst_") || s.strip_prefix('c').unwrap_or(s).bytes().all(|b| b.is_ascii_digit());
        let clean = if own(&clean) || clean.starts_with(|c: char| c.is_ascii_digit()) { format!("_{clean}") } else { clean };
        let mut name = format!("%{clean}");
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            name = format!("%{clean}_{count}");
            count += 1;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_never_the_texts_own() {
        let mut names = Names::default();
        let got: Vec<String> = ["x", "x", "größe", "c0", "7", "cst_1", "c", ""].iter().map(|n| names.value(n)).collect();
        assert_eq!(got, ["%x", "%x_1", "%gr__e", "%_c0", "%_7", "%_cst_1", "%_c", "%_"]);
    }
}
