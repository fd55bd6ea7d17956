//! Where poison may not come: each use ends a checked launch with R015 that says which it is, at its line; on the interpreter too,
//! which runs the tracked kernel. What only passes it on does not.

use tpu_kernel::exec::{Printed, RunError};
use tpu_kernel::ir::{DType, Kernel, Literal, ParamKind, parse_named};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::poison::track;
use tpu_kernel::passes::verify;
use tpu_tests::executors::{Array, CHECKED, INTERPRETER, run_logged};
use tpu_tests::tracked::with_windows;

/// Fills the output, has a poison number, bool, tile of bools and tile of indices, and then does something.
fn kernel(params: &str, body: &str) -> Kernel {
    let window = |name: &str| {
        let ids = if params.starts_with("prefetch") { format!("%ids_{name}: smem<?xi32>") } else { String::new() };
        let map = format!("at ({ids}) {{\n%c_{name} = const 0 : i32\nyield %c_{name}, %c_{name}\n}}\n");
        format!("vmem<4x6xi32> = [4, 6] blocks [4, 6] {map}")
    };
    let text = format!(
        "kernel @k() {{\n{params}\nin %x: {}out %o: {}scratch %s: smem<2xi32>\nbody {{\n%z = const 0 : i32\n%one = const 1 : i32\n\
         %two = const 2 : i32\n%t = load %x[%z, %z] : tile<4x6xi32>\nstore %t, %o[%z, %z]\n%p = load_scalar %s[%one] : i32\n\
         %pc = eq %p, %z : bool\n%pt = broadcast %p : tile<4x6xi32>\n%pm = broadcast %pc : tile<4x6xbool>\n{body}\n}}\n}}\n",
        window("x"),
        window("o")
    );
    let kernel = parse_named(&text, "uses.tpuir").unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    verify(&kernel).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    kernel
}

/// How it ends on each executor.
fn outcomes(kernel: &Kernel) -> Vec<(&'static str, Result<Vec<Array>, RunError>)> {
    let shape = |name: &str| if name == "ids" { vec![2] } else { vec![4, 6] };
    let has_array = |kind: &ParamKind| !matches!(kind, ParamKind::Scratch | ParamKind::Scalar);
    let binding = |kernel: &Kernel| {
        let arrays = kernel.params.iter().map(|p| if has_array(&p.kind) { shape(&p.name) } else { vec![] });
        Binding { cores: 1, sizes: vec![], grid: vec![], arrays: arrays.collect() }
    };
    let filled = |kernel: &Kernel| -> Vec<Array> {
        let inputs = kernel.params.iter().filter(|p| has_array(&p.kind) && !matches!(p.kind, ParamKind::Out(_)));
        let inputs = inputs.filter(|p| !kernel.outputs().any(|(_, output)| output.name == p.name));
        // Numbers are 1, and nothing is poison.
        let one = |dtype| if dtype == DType::Bool { Literal::from(false) } else { Literal::from_f64(dtype, 1.0) };
        inputs.map(|p| Array::filled(&shape(&p.name), one(p.ty.dtype()))).collect()
    };
    let silent = &mut |_: &Printed| {};
    let mut all = vec![];
    for executor in CHECKED {
        let compiled = (executor.compile)(kernel).unwrap_or_else(|e| panic!("{e}\n{kernel}"));
        all.push((executor.name, run_logged(kernel, &compiled, &binding(kernel), &filled(kernel), &[], silent)));
    }
    let tracked = with_windows(kernel, &track(kernel));
    verify(&tracked).unwrap_or_else(|faults| panic!("{faults:?}\n{tracked}"));
    let compiled = (INTERPRETER.compile)(&tracked).unwrap_or_else(|e| panic!("{e}"));
    all.push((INTERPRETER.name, run_logged(&tracked, &compiled, &binding(&tracked), &filled(&tracked), &[], silent)));
    all
}

/// The line that is marked.
fn marked(params: &str, body: &str) -> u32 {
    // The marker is a comment; `kernel` puts so many lines before the body.
    let before = 20 + params.lines().count().max(1);
    let at = body.lines().position(|line| line.ends_with("; here")).expect("a marker");
    (before + at + 1) as u32
}

#[test]
fn each_use_is_named() {
    let copies = "in %a: hbm<?x?xf32> = [4, 6]\nout %b: hbm<?x?xf32> = [4, 6]\nscratch %sem: semaphore<dma>";
    let counts = "scratch %sems: semaphore<2xregular>";
    let cases: &[(&str, &str, &str)] = &[
        ("a condition", "", "if %pc { ; here\nprint \"here\"\n}"),
        (
            "a condition",
            "",
            "%n = while carry (%a = %p) : i32 { ; here\n%g = gt %a, %z : bool\nyield %g\n} do (%b) {\n%c = sub %b, %one : i32\nyield %c\n}",
        ),
        // Only after the first round.
        (
            "a condition",
            "",
            "%n = while carry (%a = %one) : i32 { ; here\n%g = eq %a, %one : bool\nyield %g\n} do (%b) {\nyield %p\n}",
        ),
        ("the first index of a loop", "", "for %i = %p to %two step %one { ; here\nprint \"here\"\n}"),
        ("the end of a loop", "", "for %i = %z to %p step %one { ; here\nprint \"here\"\n}"),
        ("the step of a loop", "", "for %i = %z to %two step %p { ; here\nprint \"here\"\n}"),
        ("the start along axis 1 of operand `x`", "", "%r = load %x[%z, %p] : tile<1x2xi32> ; here"),
        ("the start along axis 0 of operand `o`", "", "%r = load %x[%z, %z] : tile<1x6xi32>\nstore %r, %o[%p, %z] ; here"),
        (
            "the start along axis 0 of operand `x`",
            "",
            "%v = view %x[%p, %z] : vmem<1x6xi32> ; here\n%r = load %v[%z, %z] : tile<1x6xi32>",
        ),
        (
            "the start along axis 1 of operand `x`",
            "",
            "%v = view %x[%one, %z] : vmem<1x6xi32>\n%r = load %v[%z, %p] : tile<1x2xi32> ; here",
        ),
        (
            "the start along axis 0 of memory of the region",
            "",
            "%q = scoped (%m: vmem<4x6xi32>) : tile<1x6xi32> {\n%w = load %m[%p, %z] : tile<1x6xi32> ; here\nyield %w\n}",
        ),
        (
            "the start along axis 0 of operand `a`",
            copies,
            "%v = view %a[%p, %z] : hbm<1x6xf32> ; here\n%w = view %b[%z, %z] : hbm<1x6xf32>\ndma_start %v, %w, %sem\ndma_wait %v, %w, %sem",
        ),
        ("the index along axis 0 of operand `s`", "", "%r = load_scalar %s[%p] : i32 ; here"),
        ("the index along axis 0 of operand `s`", "", "store_scalar %one, %s[%p] ; here"),
        (
            "the index along axis 0 of operand `sems`",
            counts,
            "%sem = semaphore_at %sems[%p] : semaphore<regular> ; here\nsemaphore_signal %sem, %one\nsemaphore_wait %sem, %one",
        ),
        (
            "the amount of a semaphore",
            counts,
            "%sem = semaphore_at %sems[%z] : semaphore<regular>\nsemaphore_signal %sem, %p ; here",
        ),
        (
            "the amount of a semaphore",
            counts,
            "%sem = semaphore_at %sems[%z] : semaphore<regular>\nsemaphore_signal %sem, %one\nsemaphore_wait %sem, %p ; here",
        ),
        ("the number of rows of a copy", copies, "dma_start %a, %b, %sem, %p ; here\ndma_wait %a, %b, %sem, %p"),
        ("the number of rows of a copy", copies, "dma_start %a, %b, %sem\ndma_wait %a, %b, %sem, %p ; here"),
        ("an index of a gather", "", "%r = gather %t, %pt axis 1 : tile<4x6xi32> ; here"),
        ("a mask", "", "%r = load_masked %x[%z, %z] where %pm else %t : tile<4x6xi32> ; here"),
        ("a mask", "", "store_masked %t, %o[%z, %z] where %pm ; here"),
        ("the seed of random numbers", "", "%u = cast %p : u32\nprng_seed %u ; here"),
        ("the seed of random numbers", "", "%u = cast %p : u32\n%w = const 1 : u32\nprng_seed %w, %u ; here"),
        ("a check", "", "check \"it\", %pc ; here"),
        ("a store to operand `ids`", "prefetch %ids: smem<?xi32> = [2]", "store_scalar %p, %ids[%z] ; here"),
    ];
    for &(what, params, body) in cases {
        let kernel = kernel(params, body);
        for (executor, outcome) in outcomes(&kernel) {
            match outcome {
                Err(RunError::Poison { what: got, loc, step }) => {
                    assert_eq!(got, what, "{executor}\n{kernel}");
                    assert_eq!((loc.line, step), (marked(params, body), vec![]), "{executor}: {got}\n{body}");
                }
                got => panic!("{executor}: {what}: {got:?}\n{kernel}"),
            }
        }
    }
}

#[test]
fn what_passes_poison_on_is_no_use() {
    let cases = [
        "print \"{} {}\", %p, %pt",
        "%r = select %pm, %t, %t : tile<4x6xi32>\n%f = const false : bool\n%fs = broadcast %f : tile<4x6xbool>\n\
         %n = select %fs, %pt, %t : tile<4x6xi32>\nstore %n, %o[%z, %z]",
        "%f = const false : bool\n%c = and %f, %pc : bool\nif %c {\nprint \"never\"\n}",
        "%m = const true : bool\n%c = or %pc, %m : bool\ncheck \"always\", %c",
        "%n = rotate %t, %p axis 1 : tile<4x6xi32>",
        "store_scalar %p, %s[%z]\nstore_scalar %one, %s[%one]\n%q = load_scalar %s[%one] : i32\nfor %i = %z to %q step %one {\nprint \"once\"\n}",
        "%f = const false : bool\nif %f {\n%r = load %x[%z, %p] : tile<4x1xi32>\n}",
    ];
    for body in cases {
        let kernel = kernel("", body);
        for (executor, outcome) in outcomes(&kernel) {
            let got = outcome.unwrap_or_else(|e| panic!("{executor}: {e}\n{kernel}"));
            assert!(got[0].elements().all(|e| e == Literal::from(1)), "{executor}: {got:?}\n{body}");
        }
    }
}
