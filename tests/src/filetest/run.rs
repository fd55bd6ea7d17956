//! `; run:` lines.
//!
//! `; run: x=[1, 2] scale=2.0 m=2 -> o=[2, 4]`: inputs, scalars and sizes by name; a size that is a whole dimension
//! of an input need not be given. After the arrow the outputs by name, or `error R001 at 12:5: message`; then what the
//! kernel printed, as `printed [0, 1] at 12:5 "text"` with the grid step.
//! Executors must agree on the text of the result.

use super::array;
use crate::executors::{Array, EXECUTORS, Executor, INTERPRETER, run_logged};
use std::collections::HashMap;
use std::fmt::Write;
use tpu_kernel::exec::Printed;
use tpu_kernel::ir::{Kernel, Literal, ParamKind, SizeExpr, SizeId};
use tpu_kernel::launch::Binding;

const RUN: &str = "; run: ";

/// Elements of an array, and steps of a grid.
const LARGEST: usize = 1 << 16;

/// The file with the results that the executors give.
pub(super) fn outcome(text: &str, kernel: &Kernel, canonical: &Kernel) -> Result<String, String> {
    let mut found = String::new();
    let mut runs = 0;
    for line in text.split_inclusive('\n') {
        let Some(run) = line.strip_prefix(RUN.trim_end()) else {
            found.push_str(line);
            continue;
        };
        runs += 1;
        let given = given(run);
        let launch = Launch::new(kernel, given)?;
        let result = launch.result(kernel, canonical).map_err(|e| format!("{given}\n{e}"))?;
        let space = if given.is_empty() { "" } else { " " };
        found.push_str(&format!("{RUN}{given}{space}-> {result}\n"));
    }
    if runs == 0 { Err("no `; run:` line".into()) } else { Ok(found) }
}

/// How many of the text's `; run:` lines fit a kernel; an error says what executors disagree about.
pub(super) fn agreement(text: &str, kernel: &Kernel, canonical: &Kernel) -> Result<usize, String> {
    let launches = text.lines().filter_map(|line| Launch::new(kernel, given(line.strip_prefix(RUN.trim_end())?)).ok());
    launches.map(|launch| launch.result(kernel, canonical).map(|_| 1)).sum()
}

/// What stands before the arrow.
fn given(run: &str) -> &str {
    run.split("-> ").next().unwrap_or(run).trim()
}

struct Launch {
    inputs: Vec<Array>,
    scalars: Vec<Literal>,
    binding: Binding,
}

impl Launch {
    fn new(kernel: &Kernel, given: &str) -> Result<Launch, String> {
        let mut values: HashMap<&str, &str> = HashMap::new();
        for pair in pairs(given) {
            let (name, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
            values.insert(name.trim(), value.trim());
        }
        let mut take = |name: &str| values.remove(name).ok_or_else(|| format!("`{name}` is not given"));
        let (mut inputs, mut scalars) = (vec![], vec![]);
        let mut sizes: Vec<Option<i32>> = vec![None; kernel.sizes.len()];
        for param in &kernel.params {
            match &param.kind {
                ParamKind::In(_) | ParamKind::InArray(_) | ParamKind::Prefetch(_) => {
                    let array = array::parse(param.ty.dtype(), take(&param.name)?)?;
                    for (expr, &dim) in param.array().unwrap_or_default().iter().zip(&array.shape) {
                        if let SizeExpr::Size(id) = expr {
                            sizes[id.0 as usize] = i32::try_from(dim).ok();
                        }
                    }
                    inputs.push(array);
                }
                ParamKind::Scalar => {
                    let text = take(&param.name)?;
                    let literal = Literal::parse(param.ty.dtype(), text);
                    scalars.push(literal.ok_or_else(|| format!("`{text}` is not a literal of {}", param.ty))?);
                }
                ParamKind::Out(_) | ParamKind::OutArray(_) | ParamKind::Scratch => {}
            }
        }
        for (name, size) in kernel.sizes.iter().zip(&mut sizes) {
            match take(name) {
                Ok(text) => *size = text.parse().ok(),
                Err(missing) if size.is_none() => return Err(missing),
                Err(_) => {}
            }
        }
        if let Some(name) = values.keys().next() {
            return Err(format!("the kernel has no input, scalar or size `{name}`"));
        }
        let size = |id: SizeId| sizes.get(id.0 as usize).copied().flatten().map(i64::from);
        let eval = |expr: &SizeExpr| match expr.eval(&size) {
            Ok(n) => usize::try_from(n).map_err(|_| format!("a size of {n}")),
            Err(e) => Err(e.to_string()),
        };
        let bounded = |sizes: Vec<usize>| match sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size)) {
            Some(..=LARGEST) => Ok(sizes),
            _ => Err(format!("{sizes:?} is larger than a filetest may be")),
        };
        let grid = bounded(kernel.grid.iter().map(|dim| eval(&dim.extent)).collect::<Result<_, _>>()?)?;
        let grid = grid.into_iter().map(|n| n as i32).collect();
        let arrays = kernel.params.iter().map(|param| {
            let array = param.array().unwrap_or_default();
            bounded(array.iter().map(eval).collect::<Result<_, String>>()?)
        });
        let arrays = arrays.collect::<Result<_, _>>()?;
        let sizes = sizes.into_iter().flatten().collect();
        Ok(Launch { inputs, scalars, binding: Binding { cores: 1, sizes, grid, arrays } })
    }

    /// The result on which all executors agree, or what they disagree about.
    fn result(&self, kernel: &Kernel, canonical: &Kernel) -> Result<String, String> {
        let result = self.run(INTERPRETER, kernel);
        for &executor in EXECUTORS {
            for (form, kernel) in [("as written", kernel), ("canonicalised", canonical)] {
                let other = self.run(executor, kernel);
                if other != result {
                    return Err(format!("interpreter: {result}\n{}, {form}: {other}\n{kernel}", executor.name));
                }
            }
        }
        Ok(result)
    }

    /// The outputs, or the error, and what was printed, as text.
    fn run(&self, executor: Executor, kernel: &Kernel) -> String {
        let compiled = match (executor.compile)(kernel) {
            Ok(compiled) => compiled,
            Err(e) => return format!("does not compile: {e}"),
        };
        let mut printed = String::new();
        let mut log = |message: &Printed| {
            let Printed { step, text, loc } = message;
            let _ = write!(printed, " printed {step:?} at {}:{} {text:?}", loc.line, loc.column);
        };
        let outcome = run_logged(kernel, &compiled, &self.binding, &self.inputs, &self.scalars, &mut log);
        let result = match outcome {
            Ok(outputs) => {
                let named = kernel.outputs().zip(&outputs).map(|((_, p), a)| format!("{}={}", p.name, array::text(a)));
                named.collect::<Vec<_>>().join(" ")
            }
            Err(e) => {
                let at = e.loc().map_or(String::new(), |loc| format!(" at {}:{}", loc.line, loc.column));
                format!("error {}{at}: {e}", e.code())
            }
        };
        result + &printed
    }
}

/// Splits at spaces outside brackets.
fn pairs(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let outside = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ' ' && depth == 0
    };
    text.split(outside).filter(|pair| !pair.is_empty()).collect()
}
