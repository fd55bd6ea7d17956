//! `docs/accuracy.md` says of each float function how large its error is; a part of the sweep behind it is repeated here.

use std::collections::BTreeMap;
use std::path::Path;
use tpu_microkernels::function::Function;
use tpu_tests::accuracy::{Density, subjects};

/// The document's figures by function: over f32, over bf16.
fn figures() -> BTreeMap<String, [f64; 2]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/accuracy.md");
    let document = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap_or_else(|e| panic!("{row}: {e}"));
        (cells[0].trim_end_matches('`').to_string(), [number(1), number(3)])
    })
    .collect()
}

#[test]
fn every_function_has_a_row() {
    let figures = figures();
    let library = Function::ALL.iter().take_while(|&&f| f != Function::DivSigned).map(|f| f.name());
    for name in ["exp", "tanh", "rsqrt", "sqrt", "recip", "round", "next_after"].into_iter().chain(library) {
        assert!(figures.contains_key(name), "no row for {name}");
    }
    let measured: Vec<&str> = subjects().iter().map(|s| s.name).collect();
    assert!(figures.keys().all(|name| measured.contains(&name.as_str())), "a row for no function");
}

#[test]
fn no_figure_exceeds_two_ulp() {
    for (name, figures) in figures() {
        assert!(figures.iter().all(|&figure| figure <= 2.0), "{name}: {figures:?}");
    }
}

/// Of 2^32 bit patterns every 2^14th, and the first 2^18 pairs: a part of what the document was measured with.
#[test]
fn no_error_exceeds_its_figure() {
    let figures = figures();
    let density = Density { step: 1 << 14, pairs: 1 << 18, threads: std::thread::available_parallelism().map_or(1, usize::from) };
    for subject in subjects() {
        let measured = subject.measure(density, |_| {});
        let [f32, bf16] = figures[subject.name];
        assert!(measured.f32.error <= f32, "{}: {:?}, not {f32}", subject.name, measured.f32);
        assert!(measured.bf16.error <= bf16, "{}: {:?}, not {bf16}", subject.name, measured.bf16);
    }
}
